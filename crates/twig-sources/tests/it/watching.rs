//! Changes are followed, whatever happens to the folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use twig_sources::{Settings, Watching};

use crate::support::{Following, LONG, Tree, body, manifest, names};

#[test]
fn three_hundred_libraries_made_in_a_rush_are_all_listed() {
    let tree = Tree::new();
    let following = tree.follow();
    for at in 0..300 {
        tree.library(&format!("data/lib{at:03}"), &["p"]);
    }
    let took = following.until("300 libraries", |live| live.snapshot().len() == 300);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn folders_deep_inside_a_library_are_followed() {
    let tree = Tree::with(&[]);
    let text = "[prompts.deep]\nfile = \"a/b/c/deep.md\"\n";
    tree.write("data/lib/twig.toml", text);
    let following = tree.follow();
    tree.write("data/lib/a/b/c/deep.md", "deep");
    following.until_named(&["lib:deep"]);
    fs::remove_dir_all(tree.path("data/lib/a")).unwrap();
    following.until_named(&[]);
    tree.write("data/lib/a/b/c/deep.md", "deep");
    following.until_named(&["lib:deep"]);
}

#[test]
fn a_data_folder_that_is_made_later_is_followed() {
    let tree = Tree::new();
    let following = Following::start(Settings {
        data: Some(tree.path("not/yet/there")),
        ..tree.settings()
    });
    tree.library("not/yet/there/lib", &["a"]);
    let took = following.until_named(&["lib:a"]);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_data_folder_that_is_made_again_is_followed() {
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    let data = tree.path("data");
    for round in 0..5 {
        fs::remove_dir_all(&data).unwrap();
        following.until_named(&[]);
        tree.library("data/lib", &["b"]);
        following.until_named(&["lib:b"]);
        // Removed and made again before anybody looks.
        fs::remove_dir_all(&data).unwrap();
        tree.library("data/lib", &["c"]);
        following.until_named(&["lib:c"]);
        tree.library("data/lib", &["d"]);
        let took = following.until_named(&["lib:d"]);
        assert!(took < Duration::from_secs(2), "round {round}: {took:?}");
    }
}

#[test]
fn a_data_folder_that_is_renamed_away_and_back_is_followed() {
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    let (data, away) = (tree.path("data"), tree.path("away"));
    fs::rename(&data, &away).unwrap();
    following.until_named(&[]);
    fs::rename(&away, &data).unwrap();
    following.until_named(&["lib:a"]);
    tree.library("data/lib", &["b"]);
    let took = following.until_named(&["lib:b"]);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_data_folder_that_becomes_a_link_is_followed() {
    let tree = Tree::with(&["a"]);
    tree.library("elsewhere/lib", &["b"]);
    let following = tree.follow();
    fs::rename(tree.path("data"), tree.path("old")).unwrap();
    symlink(tree.path("elsewhere"), tree.path("data")).unwrap();
    following.until_named(&["lib:b"]);
    tree.library("elsewhere/lib", &["c"]);
    following.until_named(&["lib:c"]);
    fs::remove_dir_all(tree.path("elsewhere")).unwrap();
    following.until_named(&[]);
    tree.library("elsewhere/lib", &["d"]);
    let took = following.until_named(&["lib:d"]);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_named_library_is_followed_when_its_folder_is_swapped() {
    let tree = Tree::new();
    tree.library("work/lib", &["a"]);
    let following = Following::start(Settings {
        libraries: vec![tree.path("work/lib")],
        ..tree.settings()
    });
    tree.library("work/next", &["b"]);
    fs::rename(tree.path("work/lib"), tree.path("work/old")).unwrap();
    fs::rename(tree.path("work/next"), tree.path("work/lib")).unwrap();
    following.until_named(&["lib:b"]);
    tree.library("work/lib", &["c"]);
    let took = following.until_named(&["lib:c"]);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn polling_follows_whatever_events_follow() {
    let tree = Tree::with(&["a"]);
    let following = tree.poll();
    tree.library("data/lib", &["b"]);
    following.until_named(&["lib:b"]);
    fs::remove_dir_all(tree.path("data")).unwrap();
    following.until_named(&[]);
    tree.library("data/other", &["c"]);
    following.until_named(&["other:c"]);
}

#[test]
fn a_half_written_manifest_ends_right() {
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    let scans = following.live.scans();
    tree.write("data/lib/twig.toml", "[prompts.b]\ndescription = \"Do");
    following.wait_for_scans(scans + 1);
    assert_eq!(names(&following.live), ["lib:a"]);
    tree.library("data/lib", &["b"]);
    following.until_named(&["lib:b"]);
}

#[test]
fn a_storm_of_writes_ends_right() {
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    let path = tree.path("data/lib/prompts/a.md");
    for _ in 0..20_000 {
        fs::write(&path, "x").unwrap();
    }
    tree.library("data/lib", &["a", "b"]);
    let took = following.until_named(&["lib:a", "lib:b"]);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn bodies_change_without_word_of_it() {
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    let scans = following.live.scans();
    tree.write("data/lib/prompts/a.md", "another text");
    following.wait_for_scans(scans + 1);
    assert_eq!(following.drain(), 0);
}

#[test]
fn who_follows_texts_hears_of_them_with_events_and_without() {
    for watching in [Watching::Auto, Watching::Poll] {
        let tree = Tree::with(&["a"]);
        let following = Following::start_with_texts(Settings {
            watching,
            ..tree.settings()
        });
        if watching == Watching::Poll {
            // By the next scan the stamps of the first one are known.
            following.wait_for_scans(3);
        }
        let before = following.live.texts();
        tree.write("data/lib/prompts/a.md", "another text");
        following.until("the text", |live| live.texts() > before);
    }
}

#[test]
fn a_look_by_somebody_else_is_announced_too() {
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    tree.library("data/lib", &["b"]);
    following.live.refresh();
    following.until_named(&["lib:b"]);
    // The name is there before the word of it.
    let started = Instant::now();
    while following.drain() == 0 {
        assert!(started.elapsed() < LONG, "never announced");
        std::thread::yield_now();
    }
}

#[test]
fn idle_is_idle() {
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    let scans = following.live.scans();
    // Reads and lists by ourselves and by others are no reason to look again.
    for _ in 0..50 {
        let _ = crate::support::read(&following.live, "prompts/a.md");
        let _ = fs::read_dir(tree.path("data/lib")).unwrap().count();
    }
    let beside = tree.path("beside");
    for _ in 0..50 {
        fs::write(&beside, "busy").unwrap();
    }
    assert!(following.is_silent_for(Duration::from_millis(1500)));
    let after = following.live.scans();
    assert!(after <= scans + 1, "{} scans in 1.5 s", after - scans);
}

#[test]
fn dropping_the_watch_ends_the_thread() {
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    let live = Arc::clone(&following.live);
    drop(following);
    let started = Instant::now();
    while Arc::strong_count(&live) > 1 {
        assert!(started.elapsed() < LONG, "the thread goes on");
        std::thread::yield_now();
    }
}

#[test]
fn a_checkout_of_another_commit_is_one_change_or_two() {
    let tree = Tree::new();
    let git = |arguments: &[&str]| git(&tree, arguments);
    let prompts: Vec<String> = (0..55).map(|at| format!("p{at:02}")).collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    git(&["init", "-q", "-b", "one", "."]);
    for at in 0..20 {
        tree.library(&format!("data/lib{at:02}"), &prompts);
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    git(&["checkout", "-qb", "two"]);
    for at in 0..20 {
        let folder = format!("data/lib{at:02}");
        fs::remove_dir_all(tree.path(&folder)).unwrap();
        for prompt in &prompts[5..] {
            tree.write(&format!("{folder}/prompts/{prompt}.md"), body("two"));
        }
        let text = manifest(&prompts[5..]).replace("Does", "Two does");
        tree.write(&format!("{folder}/twig.toml"), text);
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "two"]);
    let following = tree.follow();
    for round in 0..3 {
        for (branch, count) in [("one", 20 * 55), ("two", 20 * 50)] {
            following.drain();
            git(&["checkout", "-q", branch]);
            let took = following.until(branch, |live| {
                let catalog = live.snapshot();
                let is_two = |text: &str| text.starts_with("Two");
                catalog.len() == count
                    && catalog.prompts(0).all(|found| {
                        found.prompt.description.as_deref().is_some_and(is_two) == (branch == "two")
                    })
            });
            assert!(took < Duration::from_secs(2), "round {round}: {took:?}");
        }
    }
}

fn git(tree: &Tree, arguments: &[&str]) {
    let home: &Path = &tree.path("");
    let status = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.org"])
        .args(arguments)
        .current_dir(home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status()
        .unwrap();
    assert!(status.success(), "git {arguments:?}");
}
