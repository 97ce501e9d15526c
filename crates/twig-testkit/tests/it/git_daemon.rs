//! `git daemon` serves.

use twig_testkit::GitDaemon;

use crate::{Site, assert_fails};

#[test]
fn repositories_are_cloned() {
    let site = Site::new();
    let Some(daemon) = GitDaemon::start(&site.served()) else {
        println!("skipped: no git daemon");
        return;
    };
    assert_fails(&site.clone(&daemon.url("missing")), "no such repository");
    site.assert_clones(&daemon.url("repo"));
}
