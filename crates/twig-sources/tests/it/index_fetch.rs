//! Fetches from an index of skills within limits of time, bytes and files.

use std::time::Duration;

use twig_sources::{
    FetchLimits, FetchedPackage, GitEnvironment, PackageError, PackageFetcher, PackageStore,
};
use twig_testkit::GitServer;

const INDEX: &str = "/.well-known/agent-skills/index.json";

/// A host with skills, each of some bytes.
fn host(folder: &tempfile::TempDir, skills: usize, bytes: usize) -> GitServer {
    let server = GitServer::start(folder.path());
    let entries: Vec<String> = (0..skills)
        .map(|at| {
            server.file(&format!("/s{at}.md"), "text/markdown", "x".repeat(bytes));
            format!(r#"{{"name":"s{at}","type":"skill-md","description":"d","url":"/s{at}.md"}}"#)
        })
        .collect();
    let index = format!(r#"{{"skills":[{}]}}"#, entries.join(","));
    server.file(INDEX, "application/json", index);
    server
}

fn fetch(
    folder: &tempfile::TempDir,
    server: &GitServer,
    limits: FetchLimits,
) -> Result<FetchedPackage, PackageError> {
    let fetcher = PackageFetcher {
        keys: twig_sources::SourceKeys::default(),
        store: PackageStore::new(&folder.path().join("packages")),
        limits,
        environment: GitEnvironment::default(),
        stop: twig_sources::FetchStop::default(),
        hold: twig_sources::FetchHold::default(),
    };
    let result = fetcher.fetch_index(&server.base(), &|_| {});
    if result.is_err() {
        let left = std::fs::read_dir(folder.path().join("packages"));
        assert_eq!(left.into_iter().flatten().count(), 0, "nothing is left");
    }
    result
}

#[test]
fn the_same_skills_have_the_same_digest_in_whatever_order_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let server = host(&folder, 24, 100);
    let fetched = fetch(&folder, &server, FetchLimits::default()).unwrap();
    assert_eq!(fetched.files.files().len(), 24);
    server.latency(Duration::from_millis(5));
    let again = fetch(&folder, &server, FetchLimits::default()).unwrap();
    assert_eq!(again.tree, fetched.tree);
}

#[test]
fn an_answer_that_stalls_is_ended_and_takes_the_others_along() {
    let folder = tempfile::tempdir().unwrap();
    let server = host(&folder, 12, 10_000);
    let limits = FetchLimits {
        stall: Duration::from_secs(1),
        ..FetchLimits::default()
    };
    // The index is shorter than that, the skills are longer.
    server.stall_after(2_000);
    let error = fetch(&folder, &server, limits).unwrap_err();
    assert!(matches!(error, PackageError::Stalled { .. }), "{error}");
}

#[test]
fn a_fetch_that_takes_too_long_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let server = host(&folder, 40, 100);
    server.latency(Duration::from_millis(300));
    let limits = FetchLimits {
        total: Duration::from_millis(700),
        ..FetchLimits::default()
    };
    let error = fetch(&folder, &server, limits).unwrap_err();
    assert!(matches!(error, PackageError::TooLong { .. }), "{error}");
}

#[test]
fn bytes_and_files_have_limits() {
    let folder = tempfile::tempdir().unwrap();
    let server = host(&folder, 10, 300 * 1024);
    let limits = FetchLimits {
        bytes: 2 * 1024 * 1024,
        ..FetchLimits::default()
    };
    let error = fetch(&folder, &server, limits).unwrap_err();
    assert!(matches!(error, PackageError::TooLarge { .. }), "{error}");
    let limits = FetchLimits {
        files: 9,
        ..FetchLimits::default()
    };
    let error = fetch(&folder, &server, limits).unwrap_err();
    assert!(
        matches!(error, PackageError::TooManyFiles { limit: 9, .. }),
        "{error}"
    );
}
