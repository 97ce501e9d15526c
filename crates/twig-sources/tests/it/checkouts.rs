//! While git works on a library, the catalog waits for it; for a moment.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{Tree, age, names};

#[test]
fn a_checkout_is_applied_when_it_is_done() {
    for lock in ["data/.git/index.lock", "data/lib/.git/index.lock"] {
        let tree = Tree::with(&["a"]);
        let following = tree.follow();
        // The look that is under way is not put off any more.
        assert!(
            following.is_silent_for(Duration::from_millis(200)),
            "{lock}"
        );
        let started = Instant::now();
        tree.write(lock, "");
        tree.library("data/lib", &["b"]);
        let was_silent = following.is_silent_for(Duration::from_millis(300));
        // A machine that is this slow has waited long enough.
        if started.elapsed() < Duration::from_secs(1) {
            assert!(was_silent, "{lock}: {:?}", names(&following.live));
        }
        tree.library("data/lib", &["c"]);
        fs::remove_file(tree.path(lock)).unwrap();
        let took = following.until_named(&["lib:c"]);
        assert!(took < Duration::from_secs(1), "{lock}: {took:?}");
        assert_eq!(following.drain(), 0, "one change");
    }
}

#[test]
fn a_lock_that_stays_is_waited_for_two_seconds_once() {
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    let lock = "data/lib/.git/index.lock";
    tree.write(lock, "");
    tree.library("data/lib", &["b"]);
    let took = following.until_named(&["lib:b"]);
    assert!(took < Duration::from_secs(4), "{took:?}");
    age(&tree.path(lock));
    tree.library("data/lib", &["c"]);
    let took = following.until_named(&["lib:c"]);
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn who_asks_for_a_look_gets_it_at_once() {
    let tree = Tree::with(&["a"]);
    let live = tree.load();
    tree.write("data/lib/.git/index.lock", "");
    tree.library("data/lib", &["b"]);
    live.refresh();
    assert_eq!(names(&live), ["lib:b"]);
}
