//! However a file is saved, the new text is served soon, and never half of it if the writer pauses for
//! less than 20 ms.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use twig_core::Bodies;
use twig_testkit::figure;

use crate::support::{Tree, age, description, library, manifest, relative, text};

/// One way to save.
pub(crate) type Save = fn(&Path, &str);

pub(crate) const EDITORS: [(&str, Save); 9] = [
    ("in place", |path, text| fs::write(path, text).unwrap()),
    ("rename", by_rename),
    ("vim with a backup", |path, text| {
        let folder = path.parent().unwrap();
        fs::write(folder.join("4913"), "").unwrap();
        fs::remove_file(folder.join("4913")).unwrap();
        let backup = path.with_extension("md~");
        fs::rename(path, &backup).unwrap();
        fs::write(path, text).unwrap();
        fs::remove_file(backup).unwrap();
    }),
    ("emacs with a lock", |path, text| {
        let lock = path.with_file_name(".#lock");
        std::os::unix::fs::symlink("me@here.1", &lock).unwrap();
        fs::copy(path, path.with_extension("md~")).unwrap();
        fs::write(path, text).unwrap();
        fs::remove_file(lock).unwrap();
    }),
    ("truncate and write in chunks", |path, text| {
        let mut file = File::create(path).unwrap();
        let third = text.len() / 3;
        for chunk in [&text[..third], &text[third..2 * third], &text[2 * third..]] {
            file.write_all(chunk.as_bytes()).unwrap();
        }
    }),
    ("sed -i", |path, text| {
        let next = path.with_file_name("sedXYZ");
        fs::write(&next, text).unwrap();
        fs::rename(next, path).unwrap();
    }),
    ("cp -p of an old file", |path, text| {
        fs::write(path, text).unwrap();
        age(path);
    }),
    ("same size and time", |path, text| {
        let modified = fs::metadata(path).unwrap().modified().unwrap();
        fs::write(path, text).unwrap();
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(modified).unwrap();
    }),
    ("remove and write", |path, text| {
        fs::remove_file(path).unwrap();
        fs::write(path, text).unwrap();
    }),
];

fn by_rename(path: &Path, text: &str) {
    let next = path.with_extension("next");
    fs::write(&next, text).unwrap();
    fs::rename(next, path).unwrap();
}

/// A writer that pauses for less than this is never read half. Nothing can be promised for one that
/// pauses longer, such as one whose disk or processor is busy.
const PAUSE: Duration = Duration::from_millis(20);

#[test]
fn bodies_are_served_new_at_once_and_never_half() {
    let tree = Tree::with(&["p"]);
    let live = tree.load();
    let lib = library(&live, "lib");
    let path = tree.path("data/lib/prompts/p.md");
    let name = relative("prompts/p.md");
    let text_of = |round: usize| format!("<{round:03}>{}<end>", "lorem ipsum ".repeat(500));
    fs::write(&path, text_of(0)).unwrap();
    for (round, (editor, save)) in (1..).zip(EDITORS) {
        let saved = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut halves = Vec::new();
                while !saved.load(Ordering::Acquire) {
                    // In between there may be no file at all.
                    if let Ok(read) = live.read(&lib, &name) {
                        let whole = read.text == text_of(round - 1) || read.text == text_of(round);
                        halves.extend((!whole).then_some(read.text.len()));
                    }
                }
                halves
            });
            let before = live.read(&lib, &name).unwrap();
            let started = Instant::now();
            save(&path, &text_of(round));
            let took = started.elapsed();
            assert_ne!(live.stamp(&lib, &name), Ok(before.stamp), "{editor}");
            assert_eq!(text(&live, "prompts/p.md"), Ok(text_of(round)), "{editor}");
            saved.store(true, Ordering::Release);
            let halves = reader.join().unwrap();
            assert!(
                halves.is_empty() || took >= PAUSE,
                "{editor}: {halves:?} bytes served of a save of {took:?}"
            );
        });
    }
}

#[test]
fn manifests_are_announced_however_they_are_saved() {
    let tree = Tree::with(&["p"]);
    let following = tree.follow();
    let path = tree.path("data/lib/twig.toml");
    for (round, (editor, save)) in (1..).zip(EDITORS) {
        let wanted = format!("Round {round:03}");
        save(&path, &manifest(&["p"]).replace("Does p", &wanted));
        let took = following.until(editor, |live| {
            description(live, "lib:p").as_deref() == Some(&*wanted)
        });
        figure(editor, took, Duration::from_secs(2));
    }
    assert_eq!(crate::support::codes(&following.live), [""; 0]);
}

#[test]
fn manifests_are_found_by_looking_as_well() {
    let tree = Tree::with(&["p"]);
    let following = tree.poll();
    for (round, (editor, save)) in (1..).zip(EDITORS) {
        let wanted = format!("Round {round:03}");
        let text = manifest(&["p"]).replace("Does p", &wanted);
        save(&tree.path("data/lib/twig.toml"), &text);
        following.until(editor, |live| {
            description(live, "lib:p").as_deref() == Some(&*wanted)
        });
    }
}
