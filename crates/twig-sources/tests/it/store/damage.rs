//! A damaged file is noticed or does no harm: no wrong text, no panic, and nothing is made worse.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use twig_core::Limits;
use twig_core::store::{Change, ItemKind, Project, Store, StoreError, Summary, Version};
use twig_sources::{Access, SqliteStore, Workspaces};

use super::support::*;

/// Everything that can be read of a store, and what came of reading it.
#[derive(Debug, PartialEq)]
struct All {
    projects: Result<Vec<Summary>, StoreError>,
    project: Result<Option<Project>, StoreError>,
    histories: Vec<Result<Vec<Version>, StoreError>>,
    contents: Vec<Result<Vec<u8>, StoreError>>,
}

const ITEMS: u64 = 7;

/// A workspace with versions of all sorts, contents of all sizes.
fn furnish(store: &dyn Store) {
    create_project(store, "p").unwrap();
    create_project(store, "q").unwrap();
    for at in 0..ITEMS {
        let (prompt_name, long) = (
            format!("prompt-{at}"),
            usize::try_from(at * at * 250).unwrap(),
        );
        prompt(store, &prompt_name, text(&format!("first {at}"))).unwrap();
        prompt(store, &prompt_name, new_text(&"long ".repeat(long + 1))).unwrap();
        let (uri, body) = (format!("file:///{at}"), format!("{at} ").repeat(long + 1));
        resource(
            store,
            &format!("resource-{at}"),
            super::support::at(&uri, &body),
        )
        .unwrap();
    }
    prompt(store, "prompt-3", Change::Delete).unwrap();
    prompt(store, "prompt-4", Change::Restore { version: Some(1) }).unwrap();
}

fn read_all(store: &SqliteStore, expected: Option<&All>) -> All {
    let project = store.project(&name("p")).map(|found| {
        found.map(|mut project| {
            // A count of writes is no text.
            project.revision = 0;
            project
        })
    });
    let items = (0..ITEMS).flat_map(|at| {
        [
            (ItemKind::Prompt, format!("prompt-{at}")),
            (ItemKind::Resource, format!("resource-{at}")),
        ]
    });
    let histories: Vec<_> = items
        .map(|(kind, item)| store.history(&name("p"), kind, &name(&item)))
        .collect();
    let known = expected.map_or(&histories, |expected| &expected.histories);
    let digests = known.iter().flatten().flatten();
    let contents = digests
        .map(|version| store.content(&version.content.digest))
        .collect();
    All {
        projects: store.projects(),
        project,
        histories,
        contents,
    }
}

/// Each version and each content is what was written, or the answer says what is wrong. Digests are of
/// these two; a project or an item that is gone is not noticed by the others, or only by their count.
fn check(found: &All, expected: &All, what: &str) -> usize {
    fn one<T>(found: &Result<T, StoreError>, what: &str, check: impl FnOnce(&T)) -> usize {
        match found {
            Ok(found) => check(found),
            Err(
                StoreError::Damaged { .. }
                | StoreError::File { .. }
                | StoreError::ContentGone { .. }
                | StoreError::Unavailable(_),
            ) => return 1,
            Err(StoreError::NoProject { .. } | StoreError::Missing { .. }) => {}
            Err(error) => panic!("{what}: {error}"),
        }
        0
    }
    let heads: Vec<_> = expected.project.iter().flatten().collect();
    let heads: Vec<_> = heads.iter().flat_map(|project| &project.items).collect();
    let mut noticed = one(&found.projects, what, |_| ());
    noticed += one(&found.project, what, |project| {
        let items = project.iter().flat_map(|project| &project.items);
        for item in items {
            assert!(heads.contains(&item), "{what}: {item:?}");
        }
    });
    assert_eq!(found.histories.len(), expected.histories.len());
    for (found, expected) in found.histories.iter().zip(&expected.histories) {
        noticed += one(found, what, |versions| {
            assert_eq!(Ok(versions), expected.as_ref(), "{what}");
        });
    }
    assert_eq!(found.contents.len(), expected.contents.len());
    for (found, expected) in found.contents.iter().zip(&expected.contents) {
        noticed += one(found, what, |content| {
            assert_eq!(Ok(content), expected.as_ref(), "{what}");
        });
    }
    noticed
}

/// Opens a file that somebody did something to and reads all of it; says whether that was noticed.
fn survives(workspaces: &Workspaces, path: &Path, expected: &All, what: &str) -> bool {
    let before = fs::read(path).unwrap();
    let opened = workspaces.open(&name("default"), Access::Write, &Limits::default());
    let noticed = match opened {
        Ok(store) => check(&read_all(&store, Some(expected)), expected, what) > 0,
        Err(StoreError::Damaged { .. } | StoreError::File { .. } | StoreError::Unavailable(_)) => {
            true
        }
        Err(error) => panic!("{what}: {error}"),
    };
    assert!(fs::read(path).unwrap() == before, "{what}: it was altered");
    noticed
}

/// The file of a furnished workspace, closed, and all that can be read of it.
fn furnished() -> (Home, All) {
    let home = Home::in_memory();
    furnish(&home.open());
    let all = read_all(&home.open(), None);
    (home, all)
}

#[test]
fn flipped_bits_are_noticed_or_do_no_harm() {
    let (home, all) = furnished();
    let sound = fs::read(home.file("default.db")).unwrap();
    let other = Home::in_memory();
    let path = other.file("default.db");
    copy(&home.file("default.db"), &path);
    let mut dice = Dice(0x5eed);
    let mut noticed = 0;
    for round in 0..500 {
        let mut bytes = sound.clone();
        for _ in 0..=(round % 64) {
            let at = usize::try_from(dice.roll(bytes.len() as u64)).unwrap();
            bytes[at] ^= 1 << dice.roll(8);
        }
        fs::write(&path, &bytes).unwrap();
        let what = format!("round {round}");
        noticed += usize::from(survives(&other.workspaces, &path, &all, &what));
    }
    assert!(noticed > 300, "{noticed} of 500 were noticed");
}

#[test]
fn a_write_to_a_damaged_file_is_refused_or_really_there() {
    let (home, _) = furnished();
    let sound = fs::read(home.file("default.db")).unwrap();
    let mut dice = Dice(0xd1ce);
    let (mut refused, mut done) = (0, 0);
    for round in 0..150 {
        let other = Home::in_memory();
        fs::create_dir_all(other.workspaces.folder()).unwrap();
        let mut bytes = sound.clone();
        for _ in 0..=(round % 16) * 16 {
            let at = usize::try_from(dice.roll(bytes.len() as u64)).unwrap();
            bytes[at] ^= 1 << dice.roll(8);
        }
        fs::write(other.file("default.db"), &bytes).unwrap();
        let Ok(store) = other.try_open(Access::Write) else {
            continue;
        };
        match prompt(&store, "prompt-1", new_text("written to a damaged file")) {
            Ok(_) => {
                done += 1;
                let history = store.history(&name("p"), ItemKind::Prompt, &name("prompt-1"));
                if let Ok(history) = history {
                    let digest = history.last().unwrap().content.digest;
                    let there = store.content(&digest).unwrap();
                    assert_eq!(there, b"written to a damaged file", "round {round}");
                }
            }
            Err(
                StoreError::Damaged { .. }
                | StoreError::ContentGone { .. }
                | StoreError::Unavailable(_)
                | StoreError::NoProject { .. }
                | StoreError::Missing { .. },
            ) => refused += 1,
            Err(error) => panic!("round {round}: {error}"),
        }
    }
    assert!(refused > 5 && done > 10, "{refused} refused, {done} done");
}

#[test]
fn a_text_with_one_wrong_bit_is_told_of() {
    let home = Home::with_project();
    prompt(&home.open(), "a", text("the only text")).unwrap();
    let sound = fs::read(home.file("default.db")).unwrap();
    let at = sound
        .windows(13)
        .position(|window| window == b"the only text")
        .unwrap();
    let mut bytes = sound;
    bytes[at] ^= 1;
    fs::write(home.file("default.db"), &bytes).unwrap();
    let store = home.open();
    let digest = project(&store).items[0].head.content.digest;
    let refused = store.content(&digest).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "The file of workspace 'default' is damaged (a content differs from what was written); it was left as it is"
    );
    assert_eq!(refused.path(), Some(&*home.file("default.db")));
}

#[test]
fn a_check_of_all_rows_finds_items_that_differ_from_their_versions() {
    for (sql, expected) in [
        (
            "UPDATE item SET deleted = 1 WHERE name = 'prompt-1'",
            "prompt 'prompt-1' is out of date",
        ),
        (
            "DELETE FROM version WHERE item = (SELECT id FROM item WHERE name = 'prompt-1')",
            "prompt 'prompt-1' has lost a version",
        ),
    ] {
        let (home, _) = furnished();
        let verified = home.open().verify();
        assert!(verified.is_ok(), "{verified:?}");
        let connection = Connection::open(home.file("default.db")).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
        drop(connection);
        let found = home.open().verify().unwrap_err().to_string();
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn truncated_zeroed_and_swapped_pages_are_noticed() {
    let (home, all) = furnished();
    let sound = fs::read(home.file("default.db")).unwrap();
    let other = Home::in_memory();
    let path = other.file("default.db");
    copy(&home.file("default.db"), &path);
    let pages = sound.len() / 4096;
    let mut noticed = 0;
    let mut attempt = |bytes: Vec<u8>, what: String| {
        fs::write(&path, bytes).unwrap();
        let seen = survives(&other.workspaces, &path, &all, &what);
        noticed += usize::from(seen);
        seen
    };
    for page in 1..pages {
        let cut = attempt(sound[..page * 4096].to_vec(), format!("cut at {page}"));
        assert!(cut, "cut at {page}");
        let mut zeroed = sound.clone();
        zeroed[page * 4096..(page + 1) * 4096].fill(0);
        attempt(zeroed, format!("zeroed {page}"));
        let mut swapped = sound.clone();
        swapped.copy_within(page * 4096..(page + 1) * 4096, (page - 1) * 4096);
        attempt(swapped, format!("doubled {page}"));
    }
    attempt(sound[..sound.len() - 1].to_vec(), "one byte less".into());
    let mut garbage = sound.clone();
    garbage[..16].fill(b'x');
    assert!(attempt(garbage, "no head".into()));
    assert!(attempt(b"hello".to_vec(), "five bytes".into()));
    assert!(noticed > pages * 2, "{noticed} noticed, {pages} pages");
}

#[test]
fn a_log_that_was_left_behind_is_read_and_one_that_is_damaged_does_no_harm() {
    let home = Home::in_memory();
    let store = home.open();
    furnish(&store);
    let all = read_all(&store, None);
    // As after a crash: nothing was written back.
    let files = ["default.db", "default.db-wal", "default.db-shm"];
    let crashed = files.map(|file| fs::read(home.file(file)).unwrap());
    assert!(crashed[1].len() > 100_000);
    let restore = |other: &Home, parts: [Option<&[u8]>; 3]| {
        fs::create_dir_all(other.workspaces.folder()).unwrap();
        for (file, bytes) in files.iter().zip(parts) {
            match bytes {
                Some(bytes) => fs::write(other.file(file), bytes).unwrap(),
                None => drop(fs::remove_file(other.file(file))),
            }
        }
    };
    let [main, log, index] = [&crashed[0][..], &crashed[1][..], &crashed[2][..]];
    let other = Home::in_memory();
    let stale = vec![0xa5; index.len()];
    for shm in [Some(index), None, Some(&stale[..]), Some(&[])] {
        restore(&other, [Some(main), Some(log), shm]);
        let read = read_all(&other.open(), Some(&all));
        assert_eq!(read, all);
    }
    // Without its log, or with half of it, the file is as it was some writes ago.
    let mut dice = Dice(77);
    let mut older = 0;
    for round in 0..60 {
        let mut broken = log.to_vec();
        match round {
            0 => broken.clear(),
            1..30 => broken.truncate(usize::try_from(dice.roll(log.len() as u64)).unwrap()),
            _ => {
                let at = usize::try_from(dice.roll(log.len() as u64)).unwrap();
                broken[at] ^= 1 << dice.roll(8);
            }
        }
        restore(&other, [Some(main), Some(&broken), None]);
        let store = other.open();
        // Whatever is there holds together.
        for summary in store.projects().unwrap() {
            let project = store.project(&summary.name).unwrap().unwrap();
            for item in &project.items {
                let history = store.history(&project.name, item.kind, &item.name).unwrap();
                assert_eq!(history.last(), Some(&item.head));
                for version in history {
                    store.content(&version.content.digest).unwrap();
                }
            }
        }
        older += usize::from(store.projects() != all.projects);
    }
    assert!(older > 10, "{older}");
}

#[test]
fn a_check_of_all_pages_finds_what_nothing_has_read() {
    let (home, _) = furnished();
    let sound = fs::read(home.file("default.db")).unwrap();
    home.open().check_pages().unwrap();
    let at = sound.windows(9).position(|window| window == b"long long");
    let page = at.unwrap() / 4096 * 4096;
    let mut bytes = sound;
    bytes[page..page + 4096].fill(0xff);
    fs::write(home.file("default.db"), &bytes).unwrap();
    let store = home.open();
    assert_eq!(project(&store).items.len(), 13);
    assert_eq!(
        store.check_pages().unwrap_err().to_string(),
        "The file of workspace 'default' is damaged (its pages are inconsistent); it was left as it is"
    );
}
