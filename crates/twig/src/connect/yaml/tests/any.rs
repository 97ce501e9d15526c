//! Arbitrary files come back byte for byte, or are refused.

use proptest::prelude::*;

use super::{LIST, MAP, entry, has_container, remove, set};

/// A line of a file; some need another one to be valid, and some contradict each other.
fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "# a: comment",
        "    # another",
        "a: 1_000 # one",
        "b: |\n  extensions:\n    twig: {}\n  # no comment",
        "c: \"two\n  # lines\"",
        "d: >-\n\n  folded\n",
        "e: {f: [1, 2], g: *x}",
        "h: &x {}",
        "extensions:",
        "extensions: {}",
        "mcpServers: [] # none",
        "mcpServers:",
        "  files: # files\n    type: builtin",
        "  \"x.y\":\n    cmd: 'it''s'",
        "  - name: files\n    command: x\n\n    # inner",
        "- name: other",
        "...",
        "---",
    ])
}

proptest! {
    #[test]
    fn everything_comes_back(
        lines in prop::collection::vec(line(), 0..9),
        mark in prop::sample::select(vec!["", "\u{feff}"]),
        newline in prop::sample::select(vec!["\n", "\r\n"]),
        is_closed in any::<bool>(),
        place in prop::sample::select(vec![MAP, LIST]),
    ) {
        let end = if is_closed { newline } else { "" };
        let text = lines.join("\n").replace('\n', newline);
        let before = format!("{mark}{text}{end}");
        // A file that contradicts itself, or is written in another form, is refused.
        if let Ok(after) = set(&before, place, "twig", &entry(place)) {
            let kept = has_container(&before, place);
            let restored = remove(&after, place, "twig", kept);
            prop_assert!(restored.is_ok());
            // A key without a value gets an empty one, and the last line ends.
            let dense = |text: &str| -> String {
                let text = text.replace(": {}", ":").replace(": []", ":");
                text.trim_end().to_owned()
            };
            prop_assert_eq!(dense(&restored.unwrap_or_default()), dense(&before));
        }
    }
}
