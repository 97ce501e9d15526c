//! Arbitrary files come back byte for byte.

use proptest::prelude::*;

use super::{entry, has_container, remove, set};
use crate::toml_file::TomlFile;

/// A line of a file; some need another one to be valid, and some contradict each other.
fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "",
        "# a [comment]",
        "  # another",
        "a = 1_000 # one",
        "b = '''\n[mcp_servers.twig]\n'''",
        "\"c d\" = [1,\n  2, # two\n]",
        "e.f = 2026-11-15T00:00:00Z",
        "[mcp_servers]",
        "  [mcp_servers.files] # files",
        "[mcp_servers.files.env]",
        "[mcp_servers.\"x.y\"]",
        "[other]",
        "[[many]]",
        "mcp_servers.dotted.command = 'x'",
        "files = { command = 'x' }",
    ])
}

proptest! {
    #[test]
    fn everything_comes_back(
        lines in prop::collection::vec(line(), 0..9),
        mark in prop::sample::select(vec!["", "\u{feff}"]),
        newline in prop::sample::select(vec!["\n", "\r\n"]),
        is_closed in any::<bool>(),
        has_env in any::<bool>(),
    ) {
        let end = if is_closed { newline } else { "" };
        let text = lines.join("\n").replace('\n', newline);
        let before = format!("{mark}{text}{end}");
        // A file that contradicts itself is refused and stays as it is.
        let env: &[(&str, &str)] = if has_env { &[("A", "1")] } else { &[] };
        match set(&before, "mcp_servers", "twig", &entry(env)) {
            Err(_) => prop_assert!(TomlFile::parse(&before).is_err()),
            Ok(after) => {
                let ours = after.strip_prefix(&before);
                prop_assert!(ours.is_some_and(|ours| ours.contains("[mcp_servers.twig]")));
                let kept = has_container(&before, "mcp_servers");
                prop_assert_eq!(remove(&after, "mcp_servers", "twig", kept), Ok(before));
            }
        }
    }
}
