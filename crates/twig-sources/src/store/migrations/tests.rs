//! Files of earlier versions, and an interrupted migration.

#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    reason = "the environment tells a child what to do"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;

use sha2::{Digest as _, Sha256};
use twig_core::Limits;
use twig_core::store::{
    ContentInfo, Digest, ItemKind, Noun, Operation, Store, StoreName, Timestamp, Version,
};

use super::super::{Access, Workspaces};
use super::*;

fn name(text: &str) -> StoreName {
    StoreName::parse(Noun::Workspace, text).unwrap()
}

/// A workspace file as written by an earlier Twig with this many migrations: a project with two
/// versions of a prompt.
fn make_old(path: &Path, steps: usize) {
    const FIRST: &str = "INSERT INTO workspace (only_row, id, rev, state) VALUES (1, zeroblob(16), 3, zeroblob(32)); \
        INSERT INTO project (id, name, created, prompts, resources, state, buried, seal) \
         VALUES (zeroblob(16), 'p', 5, 1, 0, zeroblob(32), zeroblob(32), zeroblob(32)); \
        INSERT INTO item (project, kind, name, id, head, deleted) \
         VALUES (zeroblob(16), 'prompt', 'a', zeroblob(16), 2, 0);";
    const VERSION: &str = "INSERT INTO version (item, number, operation, content, size, is_text, at, author, digest) \
         VALUES (zeroblob(16), ?1, ?2, ?3, 3, 1, 7, 'twig', ?4)";
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let connection = Connection::open(path).unwrap();
    migrate(&connection, MIGRATIONS[..steps.min(2)].iter().copied()).unwrap();
    connection.execute_batch(FIRST).unwrap();
    let texts = ["one", "two"]
        .into_iter()
        .zip([Operation::Create, Operation::Update]);
    for (number, (text, operation)) in (1..).zip(texts) {
        let digest: Digest = Sha256::digest(text).into();
        let version = Version {
            number,
            operation,
            description: None,
            uri: None,
            mime: None,
            content: ContentInfo {
                digest,
                size: 3,
                is_text: true,
            },
            at: Timestamp(7),
            author: "twig".into(),
        };
        let sealed = version.digest(ItemKind::Prompt, &name("a"));
        let content = "INSERT INTO content (digest, bytes) VALUES (?1, ?2)";
        connection
            .execute(content, (digest, text.as_bytes()))
            .unwrap();
        let values = (
            i64::try_from(number).unwrap(),
            operation.as_str(),
            digest,
            sealed,
        );
        connection.execute(VERSION, values).unwrap();
    }
    migrate(&connection, MIGRATIONS[..steps].iter().copied()).unwrap();
}

/// Project `p` of such a file has all its contents.
fn check_migrated(store: &dyn Store) {
    let summary = &store.projects().unwrap()[0];
    assert_eq!((summary.prompts, summary.resources), (1, 0));
    assert_eq!(summary.created, Timestamp(5));
    let project = store.project(&name("p")).unwrap().unwrap();
    let history = store
        .history(&name("p"), ItemKind::Prompt, &name("a"))
        .unwrap();
    assert_eq!(history.last(), Some(&project.items[0].head));
    let texts = history
        .iter()
        .map(|it| store.content(&it.content.digest).unwrap());
    assert_eq!(texts.collect::<Vec<_>>(), [b"one", b"two"]);
}

fn seen(path: &Path) -> usize {
    version(&Connection::open(path).unwrap()).unwrap()
}

#[test]
fn an_older_file_is_brought_up_to_date_and_a_copy_is_kept() {
    let limits = Limits::default();
    for steps in 1..MIGRATIONS.len() {
        let folder = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(folder.path().to_path_buf());
        let path = folder.path().join("old.db");
        make_old(&path, steps);
        let before = fs::read(&path).unwrap();
        let refused = workspaces.open(&name("old"), Access::Read, &limits);
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("was written by an older Twig"),
            "{refused}"
        );
        assert_eq!(fs::read(&path).unwrap(), before);
        // A file left by an earlier attempt does no harm.
        let kept = folder.path().join(format!("old.db.v{steps}.bak"));
        fs::write(with_end(&kept, ".new"), "half a copy").unwrap();
        let store = workspaces
            .open(&name("old"), Access::ReadOrUpdate, &limits)
            .unwrap();
        check_migrated(&store);
        let chain = &store.check_changes().unwrap()[0];
        assert_eq!((chain.unchained, chain.changes, chain.broken), (1, 0, None));
        drop(store);
        assert_eq!((seen(&path), seen(&kept)), (MIGRATIONS.len(), steps));
        assert_eq!(
            fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(workspaces.list(), Ok(vec![name("old")]));
        // The copy is the workspace as it was.
        fs::rename(&kept, &path).unwrap();
        check_migrated(
            &workspaces
                .open(&name("old"), Access::Write, &limits)
                .unwrap(),
        );
    }
}

#[test]
fn twenty_that_find_an_older_file_migrate_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let workspaces = Workspaces::new(folder.path().to_path_buf());
    let path = folder.path().join("old.db");
    make_old(&path, 3);
    let barrier = Barrier::new(20);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                barrier.wait();
                let limits = Limits::default();
                let store = workspaces.open(&name("old"), Access::Write, &limits);
                check_migrated(&store.unwrap());
            });
        }
    });
    assert_eq!(seen(&path), MIGRATIONS.len());
    let connection = Connection::open(&path).unwrap();
    assert!(!migrate(&connection, MIGRATIONS.into_iter()).unwrap());
}

/// A server of an earlier Twig continues with its open connection.
#[test]
fn a_connection_of_an_earlier_twig_cannot_write_once_the_file_is_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    make_old(&path, 3);
    let earlier = Connection::open(&path).unwrap();
    // Every write of an earlier Twig begins with the first statement and ends with the others.
    let statements = [
        "SELECT id, name, created, prompts, resources, state, buried, seal, history FROM project",
        "UPDATE project SET prompts = 1, state = zeroblob(32), seal = zeroblob(32)",
        "UPDATE workspace SET rev = rev + 1",
        "INSERT INTO changes (rev, project, kind, name, version, at) \
         SELECT rev, zeroblob(16), 'prompt', 'a', 3, 0 FROM workspace",
    ];
    let mut statements = statements.map(|sql| earlier.prepare(sql).unwrap());
    for statement in &mut statements {
        statement.raw_query().next().unwrap();
    }
    let workspaces = Workspaces::new(folder.path().to_path_buf());
    let store = workspaces.open(&name("old"), Access::Write, &Limits::default());
    for statement in &mut statements {
        statement.raw_query().next().unwrap_err();
    }
    check_migrated(&store.unwrap());
}

/// The same for the Twig that wrote changes without an author.
#[test]
fn a_change_without_an_action_cannot_be_written_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    make_old(&path, 4);
    let earlier = Connection::open(&path).unwrap();
    let write = "INSERT INTO change (project, rev, kind, name, version, at, prompts, resources, \
        history) VALUES (zeroblob(16), ?1, 'prompt', 'a', 3, 0, 1, 0, 0)";
    let mut write = earlier.prepare(write).unwrap();
    write.execute([2]).unwrap();
    let workspaces = Workspaces::new(folder.path().to_path_buf());
    let store = workspaces.open(&name("old"), Access::Write, &Limits::default());
    write.execute([3]).unwrap_err();
    check_migrated(&store.unwrap());
}

#[test]
fn a_version_never_changes() {
    let connection = Connection::open_in_memory().unwrap();
    migrate(&connection, MIGRATIONS.into_iter()).unwrap();
    connection
        .pragma_update(None, "foreign_keys", false)
        .unwrap();
    connection
        .execute_batch(
            "INSERT INTO content VALUES (x'00', x'00'); \
             INSERT INTO version VALUES (x'00', 1, 'create', NULL, NULL, NULL, NULL, x'00', 1, 1, \
             0, 'a', x'00')",
        )
        .unwrap();
    for sql in [
        "UPDATE version SET at = 1",
        "UPDATE content SET bytes = x'01'",
    ] {
        let refused = connection.execute(sql, []).unwrap_err().to_string();
        assert!(refused.contains("never changes"), "{refused}");
    }
}

const STEPS: usize = 50;
const FILE: &str = "TWIG_TEST_FILE";
const STOP: &str = "TWIG_TEST_STOP";

fn steps() -> Vec<String> {
    (0..STEPS)
        .map(|at| format!("CREATE TABLE t{at} (x); INSERT INTO t{at} VALUES (zeroblob(9000));"))
        .collect()
}

/// Migrations that kill the process after this many.
struct Deadly<'s> {
    steps: std::slice::Iter<'s, String>,
    left: usize,
}

impl<'s> Iterator for Deadly<'s> {
    type Item = &'s str;

    fn next(&mut self) -> Option<&'s str> {
        if self.left == 0 {
            let this = rustix::process::getpid();
            rustix::process::kill_process(this, rustix::process::Signal::KILL).unwrap();
        }
        self.left -= 1;
        self.steps.next().map(String::as_str)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.steps.size_hint()
    }
}

impl ExactSizeIterator for Deadly<'_> {}

#[test]
#[ignore = "another test starts it"]
fn migrate_and_die() {
    let connection = Connection::open(std::env::var(FILE).unwrap()).unwrap();
    // Forces changes to disk that must be rolled back.
    connection.pragma_update(None, "cache_size", 5).unwrap();
    let steps = steps();
    let deadly = Deadly {
        steps: steps.iter(),
        left: std::env::var(STOP).unwrap().parse().unwrap(),
    };
    migrate(&connection, deadly).unwrap();
}

#[test]
fn a_migration_that_is_killed_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for stop in 0..=STEPS + 1 {
        let path = folder.path().join(format!("{stop}.db"));
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
            .unwrap();
        drop(connection);
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::migrations::tests::migrate_and_die"])
            .args(["--ignored", "-q"])
            .env(FILE, &path)
            .env(STOP, stop.to_string())
            .output()
            .unwrap()
            .status;
        let is_done = stop > STEPS;
        assert_eq!(status.signal(), (!is_done).then_some(9), "{stop}: {status}");
        let connection = Connection::open(&path).unwrap();
        let tables = "SELECT count(*) FROM sqlite_schema";
        let tables: u32 = connection.query_row(tables, [], |row| row.get(0)).unwrap();
        let expected = if is_done { (STEPS, 51) } else { (0, 1) };
        assert_eq!((version(&connection).unwrap(), tables), expected, "{stop}");
        let steps = steps();
        let is_new = migrate(&connection, steps.iter().map(String::as_str)).unwrap();
        assert_eq!(is_new, !is_done);
        assert_eq!(version(&connection).unwrap(), STEPS);
    }
}
