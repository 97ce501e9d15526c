//! The HTTP server serves, and its faults do what they say.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use twig_testkit::{GitRepo, GitServer, hermetic_git};

use crate::{Site, assert_done, assert_fails, said};

fn site() -> (Site, GitServer) {
    let site = Site::new();
    let server = GitServer::start(&site.served());
    (site, server)
}

/// Sends a request as it is; returns all that comes back.
fn exchange(server: &GitServer, request: &[u8]) -> String {
    let base = server.base();
    let address = base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.write_all(request).expect("the server reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer).into_owned()
}

fn get(server: &GitServer, path: &str) -> String {
    exchange(server, format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes())
}

#[test]
fn repositories_are_cloned_with_protocol_2() {
    let (site, server) = site();
    site.assert_clones(&server.url("repo"));
    assert_eq!(
        server.requests(),
        [
            "GET /repo.git/info/refs?service=git-upload-pack",
            "POST /repo.git/git-upload-pack",
            "POST /repo.git/git-upload-pack",
        ]
    );
    assert_eq!(server.request_count(), 3);
    assert!(server.bytes_sent() > 500, "{}", server.bytes_sent());
}

#[test]
fn every_layout_of_a_repository_is_found() {
    let (site, server) = site();
    for name in ["team/deep", "dotted.git"] {
        let repo = GitRepo::new(site.served().join(name));
        repo.write("a", "A").commit("first");
        let listed = hermetic_git()
            .args(["ls-remote", &server.url(name)])
            .output()
            .expect("git starts");
        assert_done(&listed);
        assert!(!listed.stdout.is_empty());
    }
    let missing = site.clone(&server.url("missing"));
    assert_fails(&missing, "not found");
}

#[test]
fn a_blobless_shallow_fetch_of_one_commit_works() {
    let (site, server) = site();
    let first = site.repo.git(["rev-parse", "main"]);
    site.repo.write("greet.md", "Later.\n").commit("second");
    let target = site.target();
    let git = |args: &[&str]| {
        let mut command = hermetic_git();
        let output = command.arg("-C").arg(site.folder.path()).args(args);
        output.output().expect("git starts")
    };
    let target = target.to_str().expect("UTF-8");
    assert_done(&git(&["init", "--quiet", "--bare", target]));
    let url = server.url("repo");
    let fetch = [
        "--git-dir",
        target,
        "fetch",
        "--quiet",
        "--depth=1",
        "--filter=blob:none",
        &url,
        &first,
    ];
    let output = git(&fetch);
    assert_done(&output);
    assert_eq!(said(&output), "");

    server.old_server();
    let refused = git(&[&fetch[..6], &[&url, &"1".repeat(40)]].concat());
    assert_fails(&refused, "unadvertised object");
}

#[test]
fn compressed_and_chunked_requests_are_read() {
    let (site, server) = site();
    site.repo.many_files(1_500).commit("many");
    let objects = site.repo.git(["ls-tree", "-r", "--object-only", "main"]);
    let objects: Vec<&str> = objects.lines().collect();
    // Git compresses a request of more than 1 KiB, and sends one in chunks that may not fit its buffer.
    for (buffer, header) in [
        ("1000000", "Content-Encoding: gzip"),
        ("65536", "Transfer-Encoding: chunked"),
    ] {
        let target = GitRepo::new(site.target().join(buffer));
        let mut command = hermetic_git();
        command
            .env("GIT_TRACE_CURL", "1")
            .arg("--git-dir")
            .arg(target.folder())
            .args(["-c", &format!("http.postBuffer={buffer}")])
            .args(["fetch", &server.url("repo")])
            .args(&objects);
        let output = command.output().expect("git starts");
        assert_done(&output);
        let header = format!("Send header: {header}");
        assert!(said(&output).contains(&header), "{header}");
        target.git(["cat-file", "-e", objects[0]]);
    }
}

#[test]
fn a_chunked_body_is_put_together() {
    let (_site, server) = site();
    let body = "0014command=ls-refs\n0000";
    let (start, end) = body.split_at(9);
    let request = format!(
        "POST /repo.git/git-upload-pack HTTP/1.1\r\nGit-Protocol: version=2\r\n\
         Content-Type: application/x-git-upload-pack-request\r\nExpect: 100-continue\r\n\
         Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{start}\r\n{:X};x=y\r\n{end}\r\n0\r\n\r\n",
        start.len(),
        end.len()
    );
    let answer = exchange(&server, request.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"));
    assert!(answer.contains("refs/heads/main"), "{answer}");
}

#[test]
fn files_are_served_beside_repositories() {
    let (_site, server) = site();
    server.file(
        "/.well-known/agent-skills/index.json",
        "application/json",
        "{}",
    );
    let answer = get(&server, "/.well-known/agent-skills/index.json");
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\
         Connection: close\r\n\r\n{}"
    );
    let answer = get(&server, "/.well-known/other");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}

#[test]
fn a_password_is_needed_and_taken() {
    for password in ["a", "ab", "abc"] {
        let (site, server) = site();
        server.require_basic_auth("me", password);
        let url = server.url("repo");
        let refused = site.clone(&url);
        assert_fails(&refused, "could not read Username");
        let wrong = site.clone(&url.replace("http://", "http://me:x@"));
        assert_fails(&wrong, "Authentication failed");
        site.assert_clones(&url.replace("http://", &format!("http://me:{password}@")));
        assert!(get(&server, "/").contains("\r\nWWW-Authenticate: Basic realm="));
    }
}

#[test]
fn latency_is_added_to_every_request() {
    let (site, server) = site();
    let latency = Duration::from_millis(30);
    server.latency(latency);
    let start = Instant::now();
    site.assert_clones(&server.url("repo"));
    assert!(start.elapsed() >= 3 * latency);
}

#[test]
fn a_stalled_answer_waits_until_the_server_is_dropped() {
    for bytes in [0, 500] {
        let (site, server) = site();
        site.repo.write("noise", noise(100_000)).commit("large");
        server.stall_after(bytes);
        let mut command = site.clone_command(&server.url("repo"));
        let mut child = command.stderr(Stdio::piped()).spawn().expect("git starts");
        server.wait_until_stalled();
        assert!(child.try_wait().expect("a child").is_none());
        drop(server);
        let output = child.wait_with_output().expect("git was started");
        assert!(!output.status.success());
    }
}

#[test]
fn a_cut_answer_ends_early() {
    for bytes in [0, 500, 20_000] {
        let (site, server) = site();
        site.repo.write("noise", noise(100_000)).commit("large");
        server.cut_after(bytes);
        let output = site.clone(&server.url("repo"));
        assert!(!output.status.success());
        assert!(server.bytes_sent() >= bytes);
        server.heal();
        site.assert_clones(&server.url("repo"));
    }
}

#[test]
fn garbage_is_not_taken_for_a_repository() {
    let (site, server) = site();
    server.garbage();
    assert_fails(&site.clone(&server.url("repo")), "fatal");
    server.file("/index.json", "application/json", "{}");
    assert!(!get(&server, "/index.json").ends_with("{}"));
    site.repo.write("noise", noise(100_000)).commit("large");
    server.garbage_after(5_000);
    assert_fails(&site.clone(&server.url("repo")), "fatal");
}

#[test]
fn nothing_is_found_where_the_server_says_so() {
    let (site, server) = site();
    server.not_found();
    assert_fails(&site.clone(&server.url("repo")), "not found");
}

#[test]
fn clients_are_sent_to_another_server() {
    let (site, server) = site();
    let first = GitServer::start(site.folder.path());
    first.redirect_to(&server.base());
    site.assert_clones(&first.url("repo"));
    assert_eq!((first.request_count(), server.request_count()), (1, 3));
}

#[test]
fn an_endless_answer_goes_on_until_the_client_leaves() {
    let (site, server) = site();
    server.endless();
    let mut child = site
        .clone_command(&server.url("repo"))
        .spawn()
        .expect("git starts");
    server.wait_for_requests(3);
    assert!(child.try_wait().expect("a child").is_none());
    child.kill().expect("git runs");
    child.wait().expect("git was started");
    server.heal();
    // What the killed clone left behind is in the way.
    let _ = std::fs::remove_dir_all(site.target());
    site.assert_clones(&server.url("repo"));
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}
