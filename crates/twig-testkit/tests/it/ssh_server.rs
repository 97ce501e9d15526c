//! OpenSSH's server serves, to those who know its key.

use std::process::Output;

use twig_testkit::SshServer;

use crate::{Site, assert_done, assert_fails, read};

fn clone(site: &Site, server: &SshServer) -> Output {
    let mut command = site.clone_command(&server.url("repo"));
    command.env("GIT_SSH_COMMAND", server.command());
    command.output().expect("git starts")
}

#[test]
fn repositories_are_cloned_until_a_key_changes() {
    let site = Site::new();
    let Some(server) = SshServer::start(&site.served()) else {
        println!("skipped: no sshd");
        return;
    };
    assert_done(&clone(&site, &server));
    assert_eq!(read(&site.target().join("greet.md")), "Hello.\n");
    std::fs::remove_dir_all(site.target()).expect("the clone");

    server.change_host_key();
    let changed = "REMOTE HOST IDENTIFICATION HAS CHANGED";
    assert_fails(&clone(&site, &server), changed);
    server.forget_host_key();
    assert_fails(&clone(&site, &server), "Host key verification failed");
}

#[test]
fn a_refused_key_gets_nothing() {
    let site = Site::new();
    let Some(server) = SshServer::start(&site.served()) else {
        println!("skipped: no sshd");
        return;
    };
    server.refuse_keys();
    assert_fails(&clone(&site, &server), "Permission denied (publickey)");
}
