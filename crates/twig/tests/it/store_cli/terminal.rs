//! What is asked on a terminal, and what is not printed on one.

use std::io::Read;

use crate::pty::{answered, terminal};
use crate::store_cli::{done, garden, json};

#[test]
fn what_is_destroyed_is_asked_about_first() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "x"]);
    let output = answered(&env, &["project", "delete", "garden"], "n\n");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    delete project `garden`? 1 prompt, 0 resources and all their versions would be lost for good [y/N]
    nothing was deleted
    ");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json(&env, &["project", "list", "--json"])[0]["prompts"], 1);
    let output = answered(&env, &["prompt", "delete", "water"], "y\n");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    delete prompt `water`? its one version can be brought back with `twig prompt restore` [y/N]
    deleted prompt `water` from project `garden`
    hint: `twig prompt restore water` brings it back
    ");
    assert_eq!(output.status.code(), Some(0));
    let output = answered(&env, &["project", "delete", "garden"], "yes\n");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = answered(&env, &["workspace", "delete", "default"], "y\n");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    delete workspace `default`? it has no projects [y/N]
    deleted workspace `default`
    ");
    assert_eq!(
        json(&env, &["workspace", "list", "--json"]),
        serde_json::json!([])
    );
}

#[test]
fn bytes_are_not_thrown_at_a_terminal() {
    let env = garden();
    done(
        &env,
        &[
            "resource",
            "add",
            "logo",
            "--uri",
            "a:1",
            "-m",
            "image/png",
            "-c",
            "AQI=",
        ],
    );
    let (_near, far) = terminal();
    let shown = env
        .command(["resource", "show", "logo"])
        .stdout(far)
        .output();
    let shown = shown.expect("the binary ends");
    insta::assert_snapshot!(String::from_utf8_lossy(&shown.stderr), @"
    error: resource `logo` is not text: 2 bytes of image/png
    hint: write it to a file with `> FILE`, or use --json
    ");
    assert_eq!(shown.status.code(), Some(1));
}

#[test]
fn a_text_on_a_terminal_ends_its_line() {
    let env = garden();
    for (name, text) in [("bare", "no line end"), ("ended", "a line end\n")] {
        done(&env, &["prompt", "add", name, "-c", text]);
        assert_eq!(done(&env, &["prompt", "show", name]), text);
        let (mut near, far) = terminal();
        let mut command = env.command(["prompt", "show", name]);
        assert!(command.stdout(far).status().expect("it ends").success());
        let mut shown = [0; 64];
        let length = near.read(&mut shown).expect("what was shown");
        let shown = String::from_utf8_lossy(&shown[..length]);
        // A terminal writes a line end as two characters.
        assert_eq!(shown, format!("{}\r\n", text.trim_end()));
    }
}
