//! Snippets: the line that shows where the words stand.

use super::words::SEAM;

/// Stands before a word that was found.
pub(super) const OPEN: &str = "\u{2}";
/// Stands after it.
pub(super) const CLOSE: &str = "\u{3}";

/// Characters that a snippet has at most, `…` aside.
const LENGTH: usize = 160;
/// Of those, the ones before the first word that was found.
const BEFORE: usize = 40;
/// Words that are looked at to find the best place.
const MARKS: usize = 1_000;

/// Whether a word is marked in a text.
pub(super) fn has_mark(text: &str) -> bool {
    text.contains(OPEN)
}

/// One line of a text, without its marks: where most of the words that were found stand together,
/// or else how it begins.
pub(super) fn one_line(text: &str) -> String {
    let (line, marks) = flatten(text);
    let best = (0..marks.len()).max_by_key(|at| {
        // Of several places the first one.
        (together(&line, &marks[*at..]), std::cmp::Reverse(*at))
    });
    window(&line, best.map_or(0, |at| marks[at].0))
}

/// The first line that says something, for what was found by its name alone.
pub(super) fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(|line| line.trim_start_matches('#').trim());
    // Fences, rules and the like are no line to show.
    let first = lines.find(|line| line.chars().any(char::is_alphanumeric));
    one_line(first.unwrap_or_default())
}

/// The text on one line, and where words are marked in it.
fn flatten(text: &str) -> (Vec<char>, Vec<(usize, usize)>) {
    let is_marked = has_mark(text);
    let mut line: Vec<char> = Vec::with_capacity(2 * LENGTH);
    let mut marks: Vec<(usize, usize)> = Vec::new();
    for c in text.chars() {
        match c {
            SEAM => {}
            '\u{2}' => marks.push((line.len(), line.len())),
            '\u{3}' => {
                if let Some(mark) = marks.last_mut() {
                    mark.1 = line.len();
                }
            }
            c if c.is_whitespace() || c.is_control() => {
                if line.last().is_some_and(|last| *last != ' ') {
                    line.push(' ');
                }
            }
            c => line.push(c),
        }
        // What is further behind is not shown anyway.
        let end = marks.last().map(|mark| mark.1).unwrap_or_default();
        let is_enough = !is_marked || marks.len() > MARKS;
        if is_enough && line.len() > end + 2 * LENGTH {
            break;
        }
    }
    while line.last() == Some(&' ') {
        line.pop();
    }
    (line, marks)
}

/// How many different words are marked from here on, as far as a snippet reaches.
fn together(line: &[char], marks: &[(usize, usize)]) -> usize {
    let Some(first) = marks.first() else { return 0 };
    let reach = first.0 + LENGTH - BEFORE;
    let mut words: Vec<String> = Vec::new();
    for (start, end) in marks.iter().take_while(|mark| mark.1 <= reach) {
        let word: String = line[*start..*end]
            .iter()
            .flat_map(|c| c.to_lowercase())
            .collect();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.len()
}

/// The line, or as much of it as may be shown with that place in it, cut between words if it can.
fn window(line: &[char], place: usize) -> String {
    if line.len() <= LENGTH + 2 {
        return line.iter().collect();
    }
    let mut start = place.saturating_sub(BEFORE).min(line.len() - LENGTH);
    if start > 0 {
        let gap = line[start - 1..place.max(start)]
            .iter()
            .position(|c| *c == ' ');
        start += gap.unwrap_or_default();
    }
    let mut end = (start + LENGTH).min(line.len());
    if end < line.len() {
        let gap = line[start..=end].iter().rposition(|c| *c == ' ');
        end = gap.map_or(end, |gap| start + gap).max(end - BEFORE);
    }
    let shown: String = line[start..end].iter().collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    format!("{before}{}{after}", shown.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_one_line_without_marks() {
        let text = "one\n\n  \u{2}two\u{3}\tthree 代\u{1f}\u{2}码\u{3}\u{7}\n";
        assert_eq!(one_line(text), "one two three 代码");
    }

    #[test]
    fn a_long_one_is_cut_around_the_word_that_was_found() {
        let (before, after) = ("before ".repeat(50), "after ".repeat(50));
        let line = one_line(&format!("{before}\u{2}here\u{3} {after}"));
        assert!(line.starts_with("…before "), "{line}");
        assert!(line.ends_with(" after…"), "{line}");
        assert!(line.contains(" here after"), "{line}");
        assert!(line.chars().count() <= LENGTH + 2, "{line}");
        let run = "x".repeat(500);
        let line = one_line(&format!("{run}\u{2}y\u{3}{run}"));
        assert!(line.contains('y'), "{line}");
        assert_eq!(line.chars().count(), LENGTH + 2);
    }

    #[test]
    fn the_place_with_most_of_the_words_is_shown() {
        let gap = "gap ".repeat(100);
        let (one, two) = ("\u{2}one\u{3} \u{2}One\u{3}", "\u{2}one\u{3} \u{2}two\u{3}");
        let line = one_line(&format!("{gap}{one} {gap}{two} {gap}"));
        assert!(line.contains("gap one two gap"), "{line}");
    }

    #[test]
    fn a_short_one_stays_as_it_is() {
        for length in [LENGTH, LENGTH + 2] {
            let text = "x".repeat(length);
            assert_eq!(one_line(&text), text);
        }
        assert_eq!(one_line(""), "");
        let text = "x".repeat(LENGTH + 3);
        assert_eq!(one_line(&text), format!("{}…", &text[..LENGTH]));
    }

    #[test]
    fn the_first_line_says_something() {
        assert_eq!(first_line("\n---\n\n# Title\n\nText"), "Title");
        assert_eq!(first_line("\u{1f}\n"), "");
    }
}
