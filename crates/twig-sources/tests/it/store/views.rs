//! Views of projects: what a server learns of writes to the stores that its callers see.

use std::sync::Arc;
use std::sync::mpsc::channel;

use twig_core::access::AccessRights;
use twig_core::store::{Noun, StoreName};
use twig_sources::{Access, CatalogViews, StorePlace, ViewScope};

use super::support::*;
use crate::support::{LONG, Tree};

/// Nothing reports such a write: the store is followed from the next look on.
#[test]
fn what_is_written_before_a_store_is_followed_is_news() {
    let (home, tree) = (Home::with_project(), Tree::new());
    let place = StorePlace::folder(home.workspaces.folder().to_owned());
    let views = Arc::new(CatalogViews::new(
        Arc::new(tree.load()),
        place,
        Access::Write,
    ));
    let (sender, heard) = channel();
    views.watch(move || sender.send(()).unwrap());
    assert!(!views.refresh());
    let workspace = StoreName::parse(Noun::Workspace, "default").unwrap();
    let scope = ViewScope::Project(workspace, name("p"));
    let view = views.view(&scope, &AccessRights::all()).unwrap().unwrap();
    let before = view.snapshot();
    prompt(&home.open(), "early", text("Hello")).unwrap();
    assert!(views.refresh());
    assert!(view.snapshot().revisions() != before.revisions());
    assert!(!views.refresh());
    // A later one is reported.
    prompt(&home.open(), "late", text("Hello")).unwrap();
    heard.recv_timeout(LONG).unwrap();
    assert!(views.refresh());
}
