//! Keys, roles and sessions in PostgreSQL, which servers share.
//! Skipped, with a line that says so, where PostgreSQL is not installed.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, channel};

use twig_core::access::{
    AccessError, AccessPlace, AccessRecord, AccessRole, Grantee, KeyText, RANDOM_BYTES, RoleGrant,
};
use twig_core::store::Timestamp;
use twig_sources::{
    AccessFollowing, AccessHolder, AccessStore, AccessStoreError, FollowedAccess, StorePlace,
    StoreRoles,
};
use twig_testkit::PgServer;

use super::postgres::{SHARED, database, place_at};
use crate::support::LONG;

const NOW: Timestamp = Timestamp(1_000);

/// Takes the tables back to the version before keys.
const OLD_TABLES: &str = "DROP TABLE twig.access, twig.session, twig.ended_session; \
    UPDATE twig.meta SET schema = 2";

/// The workspaces of a new database, and its name.
fn migrated(server: &PgServer) -> (StorePlace, String) {
    let of = database(server);
    let place = place_at(&server.url(&of));
    place.migrate(StoreRoles::default()).unwrap();
    (place, of)
}

fn shared(place: &StorePlace) -> AccessStore {
    AccessStore::new(Some(place), None).unwrap()
}

/// The keys of a server that also has a file for them.
fn beside(place: &StorePlace, file: &Path) -> AccessStore {
    AccessStore::new(Some(place), Some(file.to_owned())).unwrap()
}

/// Bytes that no key of this process had before.
fn random() -> [u8; RANDOM_BYTES] {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    [NEXT.fetch_add(1, Ordering::Relaxed); RANDOM_BYTES]
}

fn new_key(record: &mut AccessRecord, name: &str) -> Result<KeyText, AccessError> {
    let everywhere = AccessPlace::Everywhere;
    record.create_key(name, AccessRole::Reader, everywhere, None, &random(), NOW)
}

fn create(store: &AccessStore, name: &str) -> Result<KeyText, AccessStoreError> {
    store.change(|record| new_key(record, name))
}

fn names(record: &AccessRecord) -> Vec<&str> {
    record.keys.iter().map(|key| &*key.name).collect()
}

/// Follows the keys, with a signal for news.
fn follow(store: &AccessStore, session_key: u8) -> (FollowedAccess, AccessRecord, Receiver<()>) {
    let (sender, news) = channel();
    let followed = store.follow(AccessFollowing {
        on_news: Box::new(move || {
            // Nobody may listen any more.
            let _ = sender.send(());
        }),
        session_key: [session_key; 32],
    });
    let (followed, record) = followed.unwrap();
    (followed, record, news)
}

/// The next record, or why there is none.
fn next(followed: &mut FollowedAccess, news: &Receiver<()>) -> Result<AccessRecord, String> {
    loop {
        if let Some(read) = followed.look() {
            return read.map_err(|error| error.to_string());
        }
        news.recv_timeout(LONG).unwrap();
    }
}

#[test]
fn changes_at_the_same_time_are_all_made() {
    let Some(server) = &*SHARED else { return };
    let (place, _) = migrated(server);
    std::thread::scope(|scope| {
        for person in ["a", "b", "c"] {
            let store = shared(&place);
            scope.spawn(move || {
                for number in 0..10 {
                    create(&store, &format!("{person}{number}")).unwrap();
                }
            });
        }
    });
    let (record, holder) = shared(&place).read().unwrap();
    assert_eq!((record.keys.len(), record.changes.len()), (30, 30));
    assert!(record.verify().is_ok());
    assert_eq!(holder, AccessHolder::Database);
    let refused = create(&shared(&place), "a0");
    assert!(matches!(
        refused,
        Err(AccessStoreError::Refused(AccessError::KeyExists(_)))
    ));
    assert_eq!(shared(&place).read().unwrap().0, record);
}

#[test]
fn a_change_reaches_every_server() {
    let Some(server) = &*SHARED else { return };
    let (place, of) = migrated(server);
    let other = place_at(&server.url(&of));
    let mut followed: Vec<_> = [&place, &other].map(|it| follow(&shared(it), 1)).into();
    let key = create(&shared(&place), "anna").unwrap();
    for (followed, _, news) in &mut followed {
        let record = next(followed, news).unwrap();
        assert_eq!(record.keys[0].digest, key.digest());
    }
    shared(&other)
        .change(|record| record.revoke_key("anna", NOW))
        .unwrap();
    for (followed, _, news) in &mut followed {
        assert_eq!(next(followed, news).unwrap().principals().count(), 0);
    }
    // A look that is asked for sees what was changed before.
    let (followed, _, _) = &mut followed[0];
    create(&shared(&other), "ben").unwrap();
    followed.asker().unwrap().ask();
    let read = followed.look().unwrap().unwrap();
    assert_eq!(names(&read), ["anna", "ben"]);
    followed.asker().unwrap().ask();
    assert!(followed.look().is_none());
}

#[test]
fn sessions_have_one_key_and_end_on_every_server() {
    let Some(server) = &*SHARED else { return };
    let (place, of) = migrated(server);
    let (one, _, _) = follow(&shared(&place), 1);
    let (two, _, heard) = follow(&shared(&place_at(&server.url(&of))), 2);
    let (one, two) = (one.sessions().unwrap(), two.sessions().unwrap());
    assert_eq!((one.key(), two.key()), ([1; 32], [1; 32]));
    let ended = |expected: &[[u8; 32]]| {
        let mut all = Vec::new();
        while all.len() < expected.len() {
            heard.recv_timeout(LONG).unwrap();
            all.extend(two.take_ended());
        }
        all.sort_unstable();
        assert_eq!(all, expected);
    };
    one.end([7; 32]);
    ended(&[[7; 32]]);
    one.end([8; 32]);
    one.end([9; 32]);
    ended(&[[8; 32], [9; 32]]);
    // A server that starts later knows them.
    let (late, _, _) = follow(&shared(&place), 3);
    let late = late.sessions().unwrap();
    assert_eq!((late.key(), late.take_ended().len()), ([1; 32], 3));
    // What has expired, and the oldest of too many, are forgotten.
    let numbers = "SELECT string_agg(number::text, ' ' ORDER BY number) FROM twig.ended_session";
    server.sql(
        &of,
        "UPDATE twig.ended_session SET until = 1 WHERE number = 2",
    );
    one.end([10; 32]);
    ended(&[[10; 32]]);
    wait_until(|| server.sql(&of, numbers).trim() == "1 3 4");
    server.sql(&of, "UPDATE twig.session SET ended = 100002");
    one.end([11; 32]);
    ended(&[[11; 32]]);
    wait_until(|| server.sql(&of, numbers).trim() == "4 100003");
}

/// Waits for what follows an announcement in the same moment.
fn wait_until(condition: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LONG);
    }
}

#[test]
fn a_lost_row_is_no_empty_one() {
    let Some(server) = &*SHARED else { return };
    let (place, of) = migrated(server);
    let store = shared(&place);
    create(&store, "anna").unwrap();
    let (mut followed, record, news) = follow(&store, 1);
    assert_eq!(names(&record), ["anna"]);
    server.sql(
        &of,
        "CREATE TABLE kept AS TABLE twig.access; DELETE FROM twig.access",
    );
    assert_eq!(next(&mut followed, &news).unwrap(), AccessRecord::default());
    assert_eq!(followed.holder(), AccessHolder::Database);
    for outcome in [
        store.read().map(|_| ()),
        create(&store, "ben").map(|_| ()),
        store.change(|record| record.revoke_key("anna", NOW)),
    ] {
        assert!(matches!(outcome, Err(AccessStoreError::LostRow)));
    }
    let following = AccessFollowing {
        on_news: Box::new(|| ()),
        session_key: [1; 32],
    };
    let refused = store.follow(following);
    assert!(matches!(refused, Err(AccessStoreError::LostRow)));
    server.sql(&of, "INSERT INTO twig.access TABLE kept");
    assert_eq!(next(&mut followed, &news).unwrap(), record);
    server.sql(&of, "ALTER TABLE twig.access RENAME TO other");
    for outcome in [store.read().map(|_| ()), create(&store, "ben").map(|_| ())] {
        assert!(matches!(outcome, Err(AccessStoreError::LostTable)));
    }
}

#[test]
fn keys_that_were_altered_are_not_used() {
    let Some(server) = &*SHARED else { return };
    let (place, of) = migrated(server);
    let store = shared(&place);
    create(&store, "anna").unwrap();
    let (mut followed, _, news) = follow(&store, 1);
    let alter = "UPDATE twig.access SET rev = rev + 1, record = replace(record, 'anna', 'emma')";
    server.sql(&of, alter);
    let said = next(&mut followed, &news).unwrap_err();
    assert!(said.contains("not as they were written"), "{said}");
    assert!(store.read().is_err() && create(&store, "ben").is_err());
    server.sql(&of, &alter.replace("'anna', 'emma'", "'emma', 'anna'"));
    assert_eq!(names(&next(&mut followed, &news).unwrap()), ["anna"]);
}

#[test]
fn keys_are_followed_over_a_crash_of_the_database() {
    let Some(server) = PgServer::start() else {
        return;
    };
    let (place, _) = migrated(&server);
    let store = shared(&place);
    create(&store, "anna").unwrap();
    let (mut followed, _, news) = follow(&store, 1);
    let sessions = followed.sessions().unwrap();
    let (other, _, heard) = follow(&store, 2);
    server.crash();
    assert!(next(&mut followed, &news).is_err(), "it is said once");
    followed.asker().unwrap().ask();
    assert!(followed.look().is_none());
    sessions.end([7; 32]);
    server.begin();
    assert_eq!(names(&next(&mut followed, &news).unwrap()), ["anna"]);
    create(&store, "ben").unwrap();
    assert_eq!(names(&next(&mut followed, &news).unwrap()), ["anna", "ben"]);
    let ended = || other.sessions().unwrap().take_ended();
    let mut all = ended();
    while all.is_empty() {
        heard.recv_timeout(LONG).unwrap();
        all = ended();
    }
    assert_eq!(all, [[7; 32]]);
}

#[test]
fn the_keys_of_a_file_count_until_the_database_has_some() {
    let Some(server) = &*SHARED else { return };
    let (place, of) = migrated(server);
    server.sql(&of, OLD_TABLES);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.json");
    // Tables of before keys: there are none, and none can be made.
    let store = beside(&place, &path);
    assert_eq!(store.read().unwrap().0, AccessRecord::default());
    let refused = create(&store, "anna").unwrap_err().to_string();
    assert!(refused.contains("`twig store migrate`"), "{refused}");
    assert!(!path.exists());
    // The server has keys from before the database: commands and servers go on with them.
    let alone = AccessStore::new(None, Some(path.clone())).unwrap();
    create(&alone, "anna").unwrap();
    create(&store, "ben").unwrap();
    let (record, holder) = store.read().unwrap();
    assert_eq!(
        (names(&record), holder),
        (vec!["anna", "ben"], AccessHolder::File)
    );
    let (mut followed, at_start, news) = follow(&store, 1);
    assert_eq!(
        (&at_start, followed.holder()),
        (&record, AccessHolder::File)
    );
    assert!(followed.sessions().is_none());
    place.migrate(StoreRoles::default()).unwrap();
    // Roles without a key open nothing, so they do not take the place of keys.
    let grant = RoleGrant {
        who: Grantee::Everyone,
        role: AccessRole::Reader,
        place: AccessPlace::Everywhere,
    };
    let elsewhere = shared(&place);
    elsewhere
        .change(|record| record.add_grant(grant.clone(), NOW))
        .unwrap();
    assert_eq!(store.read().unwrap(), (record.clone(), AccessHolder::File));
    create(&store, "carl").unwrap();
    assert_eq!(names(&next_of_file(&mut followed)), ["anna", "ben", "carl"]);
    // They are moved.
    let (record, _) = store.read().unwrap();
    store
        .change_shared(|shared| shared.take_over(record.clone(), NOW))
        .unwrap();
    let mut moved = next(&mut followed, &news).unwrap();
    while followed.holder() == AccessHolder::File {
        moved = next(&mut followed, &news).unwrap();
    }
    assert_eq!(names(&moved), ["anna", "ben", "carl"]);
    assert!(moved.grants.contains(&grant) && moved.verify().is_ok());
    assert_eq!(followed.holder(), AccessHolder::Database);
    assert_eq!(
        store.read().unwrap(),
        (moved.clone(), AccessHolder::Database)
    );
    let again = store.change_shared(|shared| shared.take_over(record, NOW));
    assert!(matches!(
        again,
        Err(AccessStoreError::Refused(AccessError::HasKeys))
    ));
    // From now on the file means nothing, also if the row is lost.
    let before = fs::read(&path).unwrap();
    create(&store, "dora").unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    server.sql(&of, "DELETE FROM twig.access");
    assert!(matches!(store.read(), Err(AccessStoreError::LostRow)));
}

/// The file is looked at, and nothing announces it.
fn next_of_file(followed: &mut FollowedAccess) -> AccessRecord {
    loop {
        if let Some(read) = followed.look() {
            return read.unwrap();
        }
    }
}

#[test]
fn the_role_of_servers_can_do_this_and_no_more() {
    let Some((server, of)) = super::postgres_roles::with_roles() else {
        return;
    };
    let place = place_at(&server.url_of(&of, "app", ""));
    let store = shared(&place);
    create(&store, "anna").unwrap();
    let (mut followed, _, news) = follow(&store, 1);
    let sessions = followed.sessions().unwrap();
    sessions.end([7; 32]);
    news.recv_timeout(LONG).unwrap();
    assert_eq!(sessions.take_ended(), [[7; 32]]);
    create(&store, "ben").unwrap();
    let record = next(&mut followed, &news).unwrap();
    for sql in [
        "DELETE FROM twig.access",
        "INSERT INTO twig.access (only_row) VALUES (true)",
        "TRUNCATE twig.access",
        "UPDATE twig.session SET key = sha256('')",
        "DELETE FROM twig.session",
        "UPDATE twig.ended_session SET until = 0",
    ] {
        let said = server.sql_of(&of, "app", sql).unwrap_err();
        assert!(said.contains("permission denied"), "{sql}: {said}");
    }
    // The backup role dumps them, and a restored database goes on with them.
    let file = server.folder().join("dump").display().to_string();
    server
        .client("pg_dump", "dumper", &["-Fc", "-f", &file, &*of])
        .unwrap();
    server.create("restored");
    let restore = ["--no-owner", "--no-acl", "-d", "restored", &*file];
    server.client("pg_restore", "keeper", &restore).unwrap();
    let restored = shared(&place_at(&server.url("restored")));
    assert_eq!(restored.read().unwrap().0, record);
    let (followed, ..) = follow(&restored, 9);
    let sessions = followed.sessions().unwrap();
    assert_eq!(
        (sessions.key(), sessions.take_ended()),
        ([1; 32], vec![[7; 32]])
    );
    create(&restored, "carl").unwrap();
}
