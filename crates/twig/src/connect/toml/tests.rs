//! Realistic files, with our table added and removed again.

mod any;

use super::{entries, has_container, remove, set};
use crate::connect::launch::{ClientLaunch, Form};
use crate::connect::node::ConfigNode;

fn entry(env: &[(&str, &str)]) -> ConfigNode {
    let env = env.iter();
    let launch = ClientLaunch {
        program: "/bin/twig".to_owned(),
        args: vec![
            "serve".to_owned(),
            "--library".to_owned(),
            "C:\\a \"b\"".to_owned(),
        ],
        env: env
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    };
    launch.entry(Form::Plain, "twig")
}

const OURS: &str = "[mcp_servers.twig]\ncommand = \"/bin/twig\"\nargs = [\"serve\", \"--library\", \"C:\\\\a \\\"b\\\"\"]";
const WITH_ENV: &str = "\n\n[mcp_servers.twig.env]\nTWIG_DATA_DIR = \"/data\"";

#[track_caller]
fn check(before: &str, env: &[(&str, &str)], after: &str) {
    let edited = set(before, "mcp_servers", "twig", &entry(env)).expect("a right file");
    assert_eq!(edited, after);
    let again = set(&edited, "mcp_servers", "twig", &entry(env)).expect("a right file");
    assert_eq!(again, after, "a second time changes nothing");
    let kept = has_container(before, "mcp_servers");
    let restored = remove(&edited, "mcp_servers", "twig", kept).expect("a right file");
    assert_eq!(restored, before);
}

const FILE: &str = "# mine\nmodel = 'o' # why\n\n[mcp_servers.files] # x\ncommand = \"npx\"\nargs = [\n  \"-y\", # yes\n]\n\n  [profiles.fast]\nnumber = 1_000\n# [mcp_servers.off]\n";

#[test]
fn at_the_end_of_the_file() {
    check(FILE, &[], &format!("{FILE}\n{OURS}\n"));
    let env = [("TWIG_DATA_DIR", "/data")];
    check(FILE, &env, &format!("{FILE}\n{OURS}{WITH_ENV}\n"));
}

#[test]
fn a_file_without_a_last_line_end_gets_none() {
    let file = FILE.trim_end();
    check(file, &[], &format!("{file}\n\n{OURS}"));
    let env = [("TWIG_DATA_DIR", "/data")];
    check(file, &env, &format!("{file}\n\n{OURS}{WITH_ENV}"));
}

#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    let windows = |text: &str| text.replace('\n', "\r\n");
    let file = format!("\u{feff}{}", windows(FILE));
    check(&file, &[], &format!("{file}\r\n{}\r\n", windows(OURS)));
    check("\u{feff}", &[], &format!("\u{feff}{OURS}\n"));
}

#[test]
fn every_way_to_name_other_servers() {
    for file in [
        "",
        "\n",
        "a = 1\n\n\n",
        "[mcp_servers]\n",
        "[mcp_servers]\nfiles = { command = \"x\" }\n",
        "mcp_servers.files.command = \"x\"\n",
        "[\"mcp_servers\".\"fi.les\"]\ncommand = 'x'\n",
        "a.x = 1\nb = 2\na.y = 3\n[a.b]\n[ \"a\" . c ]\n",
    ] {
        let gap = if file.is_empty() { "" } else { "\n" };
        check(file, &[], &format!("{file}{gap}{OURS}\n"));
    }
}

#[test]
fn a_table_in_the_middle_goes_with_those_below_it() {
    let text = "a = 1\n\n[mcp_servers.twig]\ncommand = \"twig\" # ours\nstartup.timeout = 5\n\n[b]\nc = 1\n\n[mcp_servers.twig.env]\nA = \"1\"\n\n# about d\n[d]\n";
    let left = "a = 1\n\n[b]\nc = 1\n\n# about d\n[d]\n";
    assert_eq!(
        remove(text, "mcp_servers", "twig", false),
        Ok(left.to_owned())
    );
    let replaced = format!("a = 1\n\n{OURS}\n\n[b]\nc = 1\n\n# about d\n[d]\n");
    assert_eq!(set(text, "mcp_servers", "twig", &entry(&[])), Ok(replaced));
}

#[test]
fn what_a_client_adds_below_our_table_moves_up() {
    let theirs = "[mcp_servers.other]\ncommand = \"x\"\n";
    let text = format!("{OURS}\n\n{theirs}");
    let left = remove(&text, "mcp_servers", "twig", false);
    assert_eq!(left, Ok(theirs.to_owned()));
}

#[test]
fn an_inline_table_is_replaced_and_removed() {
    let text = "[mcp_servers]\ntwig = { command = \"twig\", args = [\"serve\"] }\nx = {}\n";
    let left = "[mcp_servers]\nx = {}\n";
    assert_eq!(
        remove(text, "mcp_servers", "twig", true),
        Ok(left.to_owned())
    );
}

#[test]
fn an_empty_table_goes_only_where_it_is_ours_alone() {
    let text = format!("[mcp_servers] # mine\n\n{OURS}\n");
    let left = "[mcp_servers] # mine\n";
    assert_eq!(
        remove(&text, "mcp_servers", "twig", false),
        Ok(left.to_owned())
    );
    let text = format!("a = 1\n\n[mcp_servers]\n\n{OURS}\n");
    assert_eq!(
        remove(&text, "mcp_servers", "twig", false),
        Ok("a = 1\n".to_owned())
    );
}

#[test]
fn what_cannot_be_edited_is_refused_with_its_place() {
    let refused = |text: &str| match set(text, "mcp_servers", "twig", &entry(&[])) {
        Ok(text) => text,
        Err(error) => error.to_string(),
    };
    assert_eq!(
        refused("a = 1\nb = [\n"),
        "line 2, column 6: unclosed array, expected `]`"
    );
    assert_eq!(
        refused("x = 1\nmcp_servers = { a = {} }\n"),
        "line 2, column 15: `mcp_servers` has to be written as tables, `[mcp_servers.NAME]`"
    );
    assert_eq!(
        refused("mcp_servers.twig.command = 'x'\n"),
        "line 1, column 13: `twig` is written with dotted keys here"
    );
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(set(&deep, "mcp_servers", "twig", &entry(&[])).is_err());
}

#[test]
fn entries_are_read_with_their_text() {
    let text = "[mcp_servers.a]\ncommand = 'x'\nenabled = false\n[mcp_servers.a.env]\nB = '1'\n";
    let listed = entries(text, "mcp_servers").expect("a right file");
    let [(name, value, raw)] = listed.as_slice() else {
        panic!("one entry: {listed:?}");
    };
    assert_eq!((name.as_str(), raw.as_str()), ("a", text.trim_end()));
    assert_eq!(
        (&value["command"], &value["enabled"]),
        (&"x".into(), &false.into())
    );
    assert_eq!(value["env"]["B"], "1");
}
