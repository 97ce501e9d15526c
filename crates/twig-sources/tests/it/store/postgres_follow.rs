//! What replicas agree on about packages that they follow: one asks a source at a time.

use twig_packages::{LockedLibrary, PackageTree};
use twig_sources::{
    AgreedState, CommitAgreement, DatabaseAddress, FollowProblem, LookOutcome, StorePlace,
    StoreRoles, WantedPackage,
};
use twig_testkit::PgServer;

use super::postgres::database;

/// A replica.
type Replica = Box<dyn CommitAgreement>;

/// Two replicas on one database, and its name; `None` where PostgreSQL is not installed.
fn replicas() -> Option<(PgServer, String, [Replica; 2])> {
    let server = PgServer::start()?;
    let name = database(&server);
    let replica = || {
        let address = DatabaseAddress {
            url: server.url(&name),
            listen_url: None,
            freshness: std::time::Duration::ZERO,
        };
        let place = StorePlace::database(&address).unwrap();
        place.migrate(StoreRoles::default()).unwrap();
        place.agreement().unwrap()
    };
    let replicas = [replica(), replica()];
    Some((server, name, replicas))
}

fn wanted() -> WantedPackage {
    let source = "git+https://git.example.com/kit.git";
    WantedPackage::new(source, Some("main"), None, Vec::new(), None).unwrap()
}

fn read(replica: &dyn CommitAgreement) -> AgreedState {
    replica.read(&[wanted()]).unwrap().remove(0)
}

fn locked(commit: char) -> LockedLibrary {
    let wanted = wanted();
    LockedLibrary {
        name: wanted.name,
        source: wanted.source,
        reference: wanted.reference,
        path: None,
        commit: Some(commit.to_string().repeat(40)),
        tree: PackageTree::new(Vec::new()).digest(),
        files: 0,
        license: None,
        signed_by: None,
    }
}

#[test]
fn one_replica_at_a_time_asks_and_all_read_what_it_found() {
    let Some((_server, _, [one, other])) = replicas() else {
        return;
    };
    let wanted = wanted();
    let (first, stale) = (read(&*one), read(&*other));
    assert!(first.is_due(&wanted, 60_000) && first.locked.is_none());
    assert!(one.lease(&wanted, &first).unwrap());
    assert!(!other.lease(&wanted, &stale).unwrap());
    // Without the lease nothing is written.
    assert!(
        !other
            .finish(&wanted, &LookOutcome::Taken(locked('b')))
            .unwrap()
    );
    assert!(!other.renew(&wanted).unwrap() && one.renew(&wanted).unwrap());
    assert!(
        one.finish(&wanted, &LookOutcome::Taken(locked('a')))
            .unwrap()
    );
    let agreed = read(&*other);
    assert_eq!(agreed.locked, Some(locked('a')));
    assert!(!agreed.is_due(&wanted, 60_000));
    // What was read before the other's look is no reason for another one.
    assert!(!other.lease(&wanted, &stale).unwrap());
    other.hint(std::slice::from_ref(&wanted)).unwrap();
    let hinted = read(&*one);
    assert!(hinted.is_due(&wanted, 60_000));
    assert!(one.lease(&wanted, &hinted).unwrap());
    // A hint during the look is followed after it, and so is one whose look failed.
    other.hint(std::slice::from_ref(&wanted)).unwrap();
    assert!(one.finish(&wanted, &LookOutcome::Same).unwrap());
    let hinted = read(&*other);
    assert!(hinted.is_due(&wanted, 60_000) && other.lease(&wanted, &hinted).unwrap());
    assert!(other.finish(&wanted, &LookOutcome::Failed).unwrap());
    let failed = read(&*one);
    assert!(failed.is_due(&wanted, 60_000) && one.lease(&wanted, &failed).unwrap());
    let problem = FollowProblem {
        is_refused: true,
        message: "wrong".to_owned(),
        help: "fix it".to_owned(),
    };
    let refused = LookOutcome::Refused {
        commit: "c".repeat(40),
        problem: problem.clone(),
    };
    assert!(one.finish(&wanted, &refused).unwrap());
    let agreed = read(&*other);
    assert_eq!(agreed.refused, Some(("c".repeat(40), problem)));
    assert_eq!(agreed.locked, Some(locked('a')));
    assert!(!agreed.is_due(&wanted, 60_000));
}

#[test]
fn tables_that_are_too_old_are_named() {
    let Some((server, name, [one, _])) = replicas() else {
        return;
    };
    server.sql(&name, "DROP TABLE twig.followed_library");
    let error = one.read(&[wanted()]).unwrap_err().to_string();
    assert!(error.contains("twig store migrate"), "{error}");
}
