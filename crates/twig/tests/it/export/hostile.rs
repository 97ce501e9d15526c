//! Targets that are not what they seem: nothing is written outside, nothing of others is lost.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{claude, env, read, states, tree, write};

#[test]
fn links_that_lead_out_are_not_followed() {
    let env = env();
    let outside = env.root().join("outside");
    fs::create_dir(&outside).expect("writable");
    symlink(&outside, env.work().join(".claude")).expect("a link");
    let outcome = claude(&env, ["plan"]);
    insta::assert_snapshot!(outcome, @"
    failed  review:plan  plan.md  leads outside the folder
    --- stderr
    [work]/.claude/commands: 1 failed
    --- exit 1
    ");
    assert_eq!(tree(&outside), [] as [&str; 0]);
    assert_eq!(claude(&env, ["plan", "--force"]).code, 1);
    assert_eq!(tree(&outside), [] as [&str; 0]);
}

#[test]
fn a_link_is_never_replaced() {
    let env = env();
    let outside = env.root().join("mine.md");
    fs::write(&outside, "mine").expect("writable");
    fs::create_dir_all(env.work().join(".claude/commands")).expect("writable");
    symlink(&outside, env.work().join(".claude/commands/plan.md")).expect("a link");
    insta::assert_snapshot!(claude(&env, ["plan", "--force"]), @"
    failed  review:plan  plan.md  is a link
    --- stderr
    [work]/.claude/commands: 1 failed
    --- exit 1
    ");
    // Nobody asked for it.
    assert_eq!(claude(&env, ["plan"]).code, 0);
    assert_eq!(fs::read_to_string(&outside).expect("readable"), "mine");
    assert!(env.work().join(".claude/commands/plan.md").is_symlink());
}

#[test]
fn a_folder_in_the_way_is_left() {
    let env = env();
    write(&env, ".claude/commands/plan.md/inner.txt", "mine");
    assert_eq!(states(&env, ["--force"])[1], "review:plan barred -");
    assert_eq!(claude(&env, ["--force"]).code, 1);
    assert_eq!(claude(&env, []).code, 0);
    assert_eq!(read(&env, ".claude/commands/plan.md/inner.txt"), "mine");
}

#[test]
fn a_file_in_the_way_of_a_folder_is_told() {
    let env = env();
    write(&env, ".claude", "mine");
    let outcome = claude(&env, ["plan"]);
    insta::assert_snapshot!(outcome, @"
    failed  review:plan  plan.md  cannot be written: not a directory
    --- stderr
    [work]/.claude/commands: 1 failed
    --- exit 1
    ");
    assert_eq!(read(&env, ".claude"), "mine");
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let env = env();
    let folder = env.work().join(".claude/commands");
    fs::create_dir_all(&folder).expect("writable");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("own folder");
    // Who may do everything cannot be refused.
    if fs::write(folder.join("probe"), "").is_ok() {
        println!("passed over: this user may write everywhere");
        return;
    }
    insta::assert_snapshot!(claude(&env, ["plan"]), @"");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("own folder");
    assert_eq!(tree(&env.work()), [] as [&str; 0]);
}

#[test]
fn files_that_are_no_text_are_somebodys_own() {
    let env = env();
    let path = env.work().join(".claude/commands/plan.md");
    fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
    fs::write(&path, b"\xff\xfe\x00bytes").expect("writable");
    assert_eq!(states(&env, [])[1], "review:plan taken -");
    assert_eq!(states(&env, ["--force"])[1], "review:plan taken replaced");
    let kept = fs::read(path.with_extension("md.bak")).expect("a copy");
    assert_eq!(kept, b"\xff\xfe\x00bytes");
}
