//! `list_resources`: the resources that are served, for clients that have tools only.

use std::sync::Arc;

use twig_core::{Catalog, DocumentRef};

use super::ToolAnswer;
use super::given::ToolArguments;
use super::list_page::ListPage;
use crate::call::{Call, CallOutcome};
use crate::cursor::List;
use crate::json::{self, Object};
use crate::schema;

/// Resources on one page.
const PAGE: usize = 100;

/// Bytes of one page, which models read.
const PAGE_BYTES: usize = 64 * 1024;

/// No folder has this name, so that a cursor of this list is none of a folder's.
const KEY: &str = "list_resources";

/// Answers with one page.
pub(super) fn call(
    call: &Call<'_>,
    given: &ToolArguments<'_>,
    result: &mut Object<'_>,
) -> ToolAnswer {
    let cursor = given.maybe_text("cursor");
    let page = ListPage::at(call, List::Documents, KEY, cursor, Catalog::document_count)?;
    let catalog = Arc::clone(&page.catalog);
    let items = catalog.documents(page.offset).map(|found| {
        let mut item = Vec::new();
        json::object(&mut item, |item| write(found, item));
        Some(item)
    });
    page.write("resources", items, PAGE, PAGE_BYTES, result);
    Ok(CallOutcome::Complete)
}

fn write(found: DocumentRef<'_>, item: &mut Object<'_>) {
    schema::about_document(found.document, item);
    if let Some(version) = schema::stored_document(found) {
        item.number("version", version);
    }
}
