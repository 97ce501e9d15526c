//! The difference of two texts, as a unified diff, and versions as texts.

use std::fmt::Write as _;
use std::time::Duration;

use similar::TextDiff;
#[cfg(feature = "page")]
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use twig_core::store::{Operation, Version, hex};

/// How long the shortest difference is looked for; a longer one is still right.
const LONGEST: Duration = Duration::from_millis(500);

/// The unified diff of two texts under these names, with three lines around each change; empty if
/// they are equal.
pub(crate) fn unified(before: (&str, &str), after: (&str, &str)) -> String {
    let ((old_name, old), (new_name, new)) = (before, after);
    let diff = TextDiff::configure().timeout(LONGEST).diff_lines(old, new);
    let mut unified = diff.unified_diff();
    unified.header(old_name, new_name).to_string()
}

/// A text that an editor wrote, with the line ends of the text that it replaces.
///
/// Editors of browsers know one kind of line end. Lines that stay keep theirs, new ones get the one
/// that most have.
#[cfg(feature = "page")]
pub(crate) fn with_line_ends(before: &str, text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if !before.contains('\r') {
        return text;
    }
    let old = lines_with_ends(before);
    let count = |end: &str| old.iter().filter(|(_, it)| *it == end).count();
    let ends = ["\r", "\n", "\r\n"];
    let most = ends.into_iter().max_by_key(|end| count(end));
    let most = most.unwrap_or("\n");
    if count(most) == count("\r\n") + count("\n") + count("\r") {
        return text.replace('\n', most);
    }
    let new = lines_with_ends(&text);
    let line = |lines: &[(&str, &str)], at: usize| lines[at].0.to_owned();
    let mut ends: Vec<&str> = new
        .iter()
        .map(|(_, end)| if end.is_empty() { "" } else { most })
        .collect();
    let (olds, news): (Vec<String>, Vec<String>) = (
        (0..old.len()).map(|at| line(&old, at)).collect(),
        (0..new.len()).map(|at| line(&new, at)).collect(),
    );
    let until = std::time::Instant::now() + LONGEST;
    for op in capture_diff_slices_deadline(Algorithm::Myers, &olds, &news, Some(until)) {
        if let DiffOp::Equal { .. } = op {
            for (from, to) in op.old_range().zip(op.new_range()) {
                // Both may have one, or be the last line without any.
                if !ends[to].is_empty() && !old[from].1.is_empty() {
                    ends[to] = old[from].1;
                }
            }
        }
    }
    let lines = new.iter().zip(ends);
    lines.flat_map(|((line, _), end)| [*line, end]).collect()
}

/// Lines, each with its end.
#[cfg(feature = "page")]
fn lines_with_ends(text: &str) -> Vec<(&str, &str)> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let length = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        lines.push((&rest[..at], &rest[at..at + length]));
        rest = &rest[at + length..];
    }
    if !rest.is_empty() {
        lines.push((rest, ""));
    }
    lines
}

/// A version as text: its fields, then its content. A deleted one is empty.
pub(crate) fn version_text(version: &Version, content: &[u8]) -> String {
    if version.operation == Operation::Delete {
        return String::new();
    }
    let fields = [
        ("description", &version.description),
        ("uri", &version.uri),
        ("mime_type", &version.mime),
    ];
    let mut text = String::new();
    for (field, value) in fields {
        if let Some(value) = value {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{field}: {value}");
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    if version.content.is_text {
        text.push_str(&String::from_utf8_lossy(content));
    } else {
        let size = version.content.size;
        let noun = if size == 1 { "byte" } else { "bytes" };
        let digest = hex(&version.content.digest);
        let _ = writeln!(text, "{size} {noun}, sha256 {digest}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let lines: Vec<String> = (1..=20).map(|at| format!("line {at}\n")).collect();
        let old = lines.concat();
        let new = old
            .replace("line 10\n", "line ten\n")
            .replace("line 20\n", "line 20");
        let diff = unified(("a", &old), ("b", &new));
        insta::assert_snapshot!(diff, @r"
        --- a
        +++ b
        @@ -7,7 +7,7 @@
         line 7
         line 8
         line 9
        -line 10
        +line ten
         line 11
         line 12
         line 13
        @@ -17,4 +17,4 @@
         line 17
         line 18
         line 19
        -line 20
        +line 20
        \ No newline at end of file
        ");
        assert_eq!(unified(("a", &old), ("b", &old)), "");
    }

    #[cfg(feature = "page")]
    #[test]
    fn lines_keep_their_ends() {
        let check = |before: &str, text: &str, expected: &str| {
            assert_eq!(
                with_line_ends(before, text),
                expected,
                "{before:?} {text:?}"
            );
        };
        check("a\nb\n", "a\r\nc", "a\nc");
        check("a\r\nb\r\n", "a\nc\nd\n", "a\r\nc\r\nd\r\n");
        check("a\r\nb\nc\r\n", "a\nb\nnew\nc\n", "a\r\nb\nnew\r\nc\r\n");
        check("a\rb\r", "a\nb", "a\rb");
        check("one", "one\ntwo", "one\ntwo");
        check("a\r\nb\nc", "a\nb\nc\n", "a\r\nb\nc\r\n");
    }
}
