//! The difference of two texts: lines with their signs, and the words in them that changed.

use std::time::Duration;

use maud::{Markup, html};
use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices};

use crate::visible::visible;

/// What two texts differ in.
#[derive(Debug)]
pub struct TextComparison {
    /// The lines that changed with some around them; empty if the texts are equal.
    pub html: Markup,
    /// How many lines the second text has that the first has not.
    pub added: usize,
    /// How many lines only the first text has.
    pub removed: usize,
}

/// How long the shortest difference is looked for; a longer one is still right.
pub(crate) const LONGEST: Duration = Duration::from_millis(100);
/// Equal lines around each change.
pub(crate) const AROUND: usize = 3;
/// The most lines that are shown.
pub(crate) const LINES: usize = 4_000;
/// The most bytes of text that are shown.
pub(crate) const BYTES: usize = 512 * 1024;
/// The words of a changed part are compared if both sides together have no more than so many.
const WORDS: usize = 4_000;

/// A line of one side: parts of its text, and whether they changed.
pub(crate) type MarkedLine<'t> = Vec<(bool, &'t str)>;

/// A line with where it is in each text.
struct DiffRow<'t> {
    old: Option<usize>,
    new: Option<usize>,
    parts: MarkedLine<'t>,
}

/// Compares two texts.
pub fn compare(before: &str, after: &str) -> TextComparison {
    let diff = TextDiff::configure()
        .timeout(LONGEST)
        .diff_lines(before, after);
    let (old, new) = (diff.old_slices(), diff.new_slices());
    let (mut added, mut removed) = (0, 0);
    for op in diff.ops() {
        if !matches!(op, DiffOp::Equal { .. }) {
            removed += op.old_range().len();
            added += op.new_range().len();
        }
    }
    let mut left = (LINES, BYTES);
    let mut is_cut = false;
    let mut hunks = Vec::new();
    for group in diff.grouped_ops(AROUND) {
        let mut rows = Vec::new();
        for op in &group {
            for row in op_rows(op, old, new) {
                let bytes: usize = row.parts.iter().map(|(_, text)| text.len()).sum();
                if left.0 == 0 || left.1 < bytes {
                    (is_cut, left) = (true, (0, 0));
                    break;
                }
                left = (left.0 - 1, left.1 - bytes);
                rows.push(row);
            }
        }
        if !rows.is_empty() {
            hunks.push(rows);
        }
    }
    let html = html! {
        @if !hunks.is_empty() {
            table.diff {
                caption.sr { "Changed lines" }
                @for rows in &hunks {
                    tbody { @for row in rows { (shown_row(row)) } }
                }
            }
        }
        @if is_cut { p.faint { "The rest of the difference is not shown: it is too long." } }
    };
    TextComparison {
        html,
        added,
        removed,
    }
}

fn op_rows<'t>(op: &DiffOp, old: &[&'t str], new: &[&'t str]) -> Vec<DiffRow<'t>> {
    let (old_range, new_range) = (op.old_range(), op.new_range());
    let whole = |line: &&'t str| vec![(false, *line)];
    if let DiffOp::Equal { .. } = op {
        let pairs = old_range.zip(new_range);
        let rows = pairs.map(|(from, to)| DiffRow {
            old: Some(from + 1),
            new: Some(to + 1),
            parts: whole(&old[from]),
        });
        return rows.collect();
    }
    let (before, after) = (&old[old_range.clone()], &new[new_range.clone()]);
    let (before, after) = changed_words(before, after).unwrap_or_else(|| {
        let lines = |side: &[&'t str]| side.iter().map(whole).collect();
        (lines(before), lines(after))
    });
    let removed = old_range.zip(before).map(|(at, parts)| DiffRow {
        old: Some(at + 1),
        new: None,
        parts,
    });
    let added = new_range.zip(after).map(|(at, parts)| DiffRow {
        old: None,
        new: Some(at + 1),
        parts,
    });
    removed.chain(added).collect()
}

/// Both sides of a change with their changed words marked; `None` if hardly a word is the same.
pub(crate) fn changed_words<'t>(
    before: &[&'t str],
    after: &[&'t str],
) -> Option<(Vec<MarkedLine<'t>>, Vec<MarkedLine<'t>>)> {
    let all = |side: &[&'t str]| -> Vec<&'t str> {
        let words = side.iter().flat_map(|line| words(line));
        words.take(WORDS + 1).collect()
    };
    let (old, new) = (all(before), all(after));
    if old.is_empty() || new.is_empty() || old.len() + new.len() > WORDS {
        return None;
    }
    let (mut is_old, mut is_new) = (vec![true; old.len()], vec![true; new.len()]);
    let mut same = 0;
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        if let DiffOp::Equal { .. } = op {
            let kept = &old[op.old_range()];
            same += kept.iter().map(|word| word.trim().len()).sum::<usize>();
            is_old[op.old_range()].fill(false);
            is_new[op.new_range()].fill(false);
        }
    }
    let letters = |words: &[&str]| words.iter().map(|word| word.trim().len()).sum::<usize>();
    if same * 3 < letters(&old).min(letters(&new)) {
        return None;
    }
    Some((lines(&old, &is_old), lines(&new, &is_new)))
}

/// A line in words, spaces and single signs.
fn words(line: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        '\n' => 0,
        c if c.is_whitespace() => 1,
        c if c.is_alphanumeric() || c == '_' => 2,
        _ => 3,
    };
    let mut words = Vec::new();
    let (mut start, mut last) = (0, None);
    for (at, c) in line.char_indices() {
        let now = kind(c);
        if last.is_some_and(|last| last != now || now == 3) {
            words.push(&line[start..at]);
            start = at;
        }
        last = Some(now);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

/// Words in lines again; equal neighbours become one part.
fn lines<'t>(words: &[&'t str], is_changed: &[bool]) -> Vec<MarkedLine<'t>> {
    let mut lines = Vec::new();
    let mut line: MarkedLine<'t> = Vec::new();
    for (word, is_changed) in words.iter().zip(is_changed) {
        line.push((*is_changed && *word != "\n", word));
        if word.ends_with('\n') {
            lines.push(std::mem::take(&mut line));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

fn shown_row(row: &DiffRow<'_>) -> Markup {
    let (class, sign, name) = match (row.old, row.new) {
        (Some(_), None) => ("removed", "−", "removed"),
        (None, Some(_)) => ("added", "+", "added"),
        _ => ("", "", ""),
    };
    let whole: String = row.parts.iter().map(|(_, text)| *text).collect();
    let is_changed = !class.is_empty();
    html! {
        tr class=[is_changed.then_some(class)] {
            td.number { @if let Some(old) = row.old { (old) } }
            td.number { @if let Some(new) = row.new { (new) } }
            td.sign { (sign) @if is_changed { span.sr { " " (name) } } }
            td.line dir="auto" {
                @for (is_marked, text) in merged(&row.parts) {
                    @let text = text.trim_end_matches(['\r', '\n']);
                    @if is_marked && class == "added" { ins { (visible(text)) } }
                    @else if is_marked { del { (visible(text)) } }
                    @else { (visible(text)) }
                }
                @if is_changed && whole.ends_with("\r\n") { span.hidden-char { "CR" } }
                @if is_changed && !whole.ends_with('\n') { span.faint { " (no line end)" } }
            }
        }
    }
}

/// Parts of a line, where neighbours of one kind are one part, also with only spaces between them.
pub(crate) fn merged(parts: &MarkedLine<'_>) -> Vec<(bool, String)> {
    let mut merged: Vec<(bool, String)> = Vec::new();
    for (at, (is_marked, text)) in parts.iter().enumerate() {
        let is_between = text.chars().all(char::is_whitespace)
            && merged.last().is_some_and(|(is_marked, _)| *is_marked)
            && parts.get(at + 1).is_some_and(|(is_marked, _)| *is_marked);
        let is_marked = *is_marked || is_between;
        match merged.last_mut() {
            Some((last, part)) if *last == is_marked => part.push_str(text),
            _ => merged.push((is_marked, (*text).to_owned())),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(before: &str, after: &str) -> String {
        compare(before, after).html.into_string()
    }

    #[test]
    fn changed_words_are_marked_and_signs_stand_beside_colour() {
        let html = html(
            "one\nRead the <b>table</b> twice.\n",
            "one\nRead the <b>chart</b> twice.\n",
        );
        assert!(
            html.contains("&lt;b&gt;<del>table</del>&lt;/b&gt; twice."),
            "{html}"
        );
        assert!(
            html.contains("&lt;b&gt;<ins>chart</ins>&lt;/b&gt; twice."),
            "{html}"
        );
        assert!(
            html.contains("<td class=\"sign\">−<span class=\"sr\"> removed</span></td>"),
            "{html}"
        );
        assert!(
            html.contains("<td class=\"sign\">+<span class=\"sr\"> added</span></td>"),
            "{html}"
        );
    }

    #[test]
    fn lines_that_share_nothing_are_not_marked_word_by_word() {
        let html = html("alpha beta\n", "something entirely else\n");
        assert!(!html.contains("<ins>") && !html.contains("<del>"), "{html}");
        let words = super::merged(&vec![
            (true, "a"),
            (false, " "),
            (true, "b"),
            (false, " "),
            (false, "c"),
        ]);
        assert_eq!(words, [(true, "a b".to_owned()), (false, " c".to_owned())]);
    }

    #[test]
    fn line_ends_and_hidden_characters_are_seen() {
        let found = html("a\nb", "a\nb\n");
        assert!(found.contains("(no line end)"), "{found}");
        assert!(html("a\n", "a\r\n").contains("CR"));
        assert!(html("a\n", "a\u{202e}\n").contains("U+202E"));
    }

    #[test]
    fn equal_texts_have_no_difference_and_long_ones_an_end() {
        assert_eq!(html("a\nb\n", "a\nb\n"), "");
        let many: String = (0..LINES * 2).map(|at| at.to_string() + "\n").collect();
        let comparison = compare("", &many);
        assert_eq!((comparison.added, comparison.removed), (LINES * 2, 0));
        let html = comparison.html.into_string();
        assert_eq!(html.matches("<tr").count(), LINES);
        assert!(html.contains("too long"));
        // A single line of a megabyte.
        let wide = "x".repeat(BYTES + 1);
        assert!(compare("", &wide).html.into_string().len() < 1_000);
    }

    proptest::proptest! {
        #[test]
        fn both_texts_can_be_read_from_what_changed(before in "([ab ,\u{fc}]{0,5}\n?){0,6}", after in "([ab ,\u{fc}]{0,5}\n?){0,6}") {
            let diff = TextDiff::configure().diff_lines(&*before, &*after);
            let (mut old, mut new) = (String::new(), String::new());
            for op in diff.ops() {
                for row in op_rows(op, diff.old_slices(), diff.new_slices()) {
                    let text: String = row.parts.iter().map(|(_, text)| *text).collect();
                    if row.old.is_some() { old.push_str(&text); }
                    if row.new.is_some() { new.push_str(&text); }
                }
            }
            proptest::prop_assert_eq!((old, new), (before.clone(), after.clone()));
        }
    }
}
