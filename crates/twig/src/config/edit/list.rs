//! One table less in an array that is written in one go: the table and its comma go, comments stay.

use std::ops::Range;

const BLANK: [char; 2] = [' ', '\t'];

/// What is cut out for the table at `own`. `before` is the end of the table before it.
pub(super) fn cuts(
    text: &str,
    own: Range<usize>,
    before: Option<usize>,
) -> Option<Vec<Range<usize>>> {
    let is_blank = |range: Range<usize>| text[range].trim_matches(BLANK).is_empty();
    // The last one may have no comma of its own: then the one before it has nothing to part.
    let (table, comma) = if let Some(comma) = comma(text, own.end) {
        if is_blank(own.end..comma) {
            (tidy(text, own.start..comma + 1), None)
        } else {
            (tidy(text, own), Some(comma))
        }
    } else if let Some(before) = before {
        let comma = comma(text, before)?;
        if is_blank(comma + 1..own.start) {
            (comma..own.end, None)
        } else {
            (tidy(text, own), Some(comma))
        }
    } else {
        (own, None)
    };
    let comma = comma.map(|comma| comma..comma + 1);
    Some([table].into_iter().chain(comma).collect())
}

/// The comma that follows a place, blanks and comments passed over.
fn comma(text: &str, place: usize) -> Option<usize> {
    let mut at = place;
    for line in text[place..].split_inclusive('\n') {
        let code = line.trim_start();
        let start = at + line.len() - code.len();
        match code.chars().next() {
            Some(',') => return Some(start),
            None | Some('#') => at += line.len(),
            Some(_) => return None,
        }
    }
    None
}

/// With its whole line where nothing else is in it, else with the blanks behind it, or before it
/// where the line ends.
fn tidy(text: &str, cut: Range<usize>) -> Range<usize> {
    let start = text[..cut.start].trim_end_matches(BLANK).len();
    let end = text.len() - text[cut.end..].trim_start_matches(BLANK).len();
    let rest = &text[end..];
    let line_end = ["\r\n", "\n"]
        .into_iter()
        .find(|line_end| rest.starts_with(line_end));
    match line_end {
        Some(line_end) if text[..start].ends_with('\n') => start..end + line_end.len(),
        Some(_) => start..cut.end,
        None => cut.start..end,
    }
}
