//! Snippets: the line that shows where the words are.
//!
//! FTS5 has a function for this, but its cost grows with the square of the number of matches in a
//! text, and it does not see the parts of `codeReview`.

use std::ops::Range;

use super::words::{SEAM, fold, is_start};

/// Maximum number of characters in a snippet, not counting `…`.
const LENGTH: usize = 160;
/// How many of them are before the first match.
const BEFORE: usize = 40;
/// Maximum number of matches that are considered for the best position.
const MARKS: usize = 1_000;

/// A position in a line where a word was found.
#[derive(Debug, Clone, Copy)]
struct Mark {
    start: usize,
    end: usize,
    /// Which of the words.
    word: usize,
}

/// One line of a text, from the position where most of the words are close together; `None` if
/// there are none. The words are folded.
pub(super) fn around(text: &str, words: &[Vec<char>]) -> Option<String> {
    let line = flatten(text, usize::MAX);
    let marks = find(&line, words);
    let best = (0..marks.len()).max_by_key(|at| {
        // Of several positions, take the first.
        (together(&marks[*at..]), std::cmp::Reverse(*at))
    });
    best.map(|at| window(&line, marks[at].start))
}

/// The bytes of a snippet that match words, each only once.
pub(super) fn matches(snippet: &str, words: &[Vec<char>]) -> Vec<Range<usize>> {
    let line: Vec<char> = snippet.chars().collect();
    let mut starts: Vec<usize> = snippet.char_indices().map(|(at, _)| at).collect();
    starts.push(snippet.len());
    let mut end = 0;
    let marks = find(&line, words).into_iter().filter_map(|mark| {
        let is_new = mark.start >= end && mark.end > mark.start;
        end = end.max(mark.end);
        is_new.then(|| starts[mark.start]..starts[mark.end])
    });
    marks.collect()
}

/// The beginning of a text as one line.
pub(super) fn beginning(text: &str) -> String {
    window(&flatten(text, 2 * LENGTH), 0)
}

/// The first line with words, for an item that was found by its name alone.
pub(super) fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(|line| line.trim_start_matches('#').trim());
    // Fences, rules and the like are not worth showing.
    let first = lines.find(|line| line.chars().any(char::is_alphanumeric));
    beginning(first.unwrap_or_default())
}

/// The text on one line, as it was before it was indexed, up to the needed length.
fn flatten(text: &str, most: usize) -> Vec<char> {
    let mut line: Vec<char> = Vec::with_capacity(text.len().min(most));
    let mut chars = text.chars().peekable();
    let mut is_heading = true;
    while let Some(c) = chars.next() {
        let is_sign = c == '#' && matches!(chars.peek(), Some('#' | ' '));
        is_heading = c == '\n' || (is_heading && is_sign);
        match c {
            SEAM => {}
            // On one line there are no headings.
            '#' if is_heading => {}
            c if c.is_whitespace() || c.is_control() => {
                if line.last().is_some_and(|last| *last != ' ') {
                    line.push(' ');
                }
            }
            c => line.push(c),
        }
        if line.len() >= most {
            break;
        }
    }
    while line.last() == Some(&' ') {
        line.pop();
    }
    line
}

/// The positions of words that begin with one of these.
fn find(line: &[char], words: &[Vec<char>]) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut before = None;
    for (start, c) in line.iter().enumerate() {
        if is_start(before, *c) {
            let found = (0..).zip(words).find_map(|(word, letters)| {
                let end = start + length(&line[start..], letters)?;
                Some(Mark { start, end, word })
            });
            marks.extend(found);
        }
        if marks.len() >= MARKS {
            break;
        }
        before = Some(*c);
    }
    marks
}

/// How many characters of the line match those letters, if it begins with them.
fn length(line: &[char], letters: &[char]) -> Option<usize> {
    let mut letters = letters.iter();
    for (at, c) in line.iter().enumerate() {
        for folded in fold(*c) {
            match letters.next() {
                None => return Some(at),
                Some(letter) if *letter == folded => {}
                Some(_) => return None,
            }
        }
    }
    letters.next().is_none().then_some(line.len())
}

/// How many different words are found from here to the end of a snippet.
fn together(marks: &[Mark]) -> u32 {
    let Some(first) = marks.first() else { return 0 };
    let reach = first.start + LENGTH - BEFORE;
    let marks = marks.iter().take_while(|mark| mark.end <= reach);
    // There are never more words than bits.
    let words = marks.fold(0_u64, |words, mark| words | 1 << (mark.word % 64));
    words.count_ones()
}

/// The line, or a snippet of it around a position, cut between words if possible.
fn window(line: &[char], place: usize) -> String {
    if line.len() <= LENGTH + 2 {
        return line.iter().collect();
    }
    let mut start = place.saturating_sub(BEFORE).min(line.len() - LENGTH);
    if start > 0 {
        let before = &line[start - 1..place.max(start)];
        let gap = before.iter().position(|c| *c == ' ');
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

    fn show(text: &str, words: &[&str]) -> Option<String> {
        let words: Vec<Vec<char>> = words.iter().map(|word| word.chars().collect()).collect();
        around(text, &words)
    }

    #[test]
    fn a_snippet_is_one_line_as_its_author_wrote_it() {
        let text = "## one\n\n  two\tthree 代\u{1f}码\u{7}\n";
        assert_eq!(show(text, &["two"]).unwrap(), "one two three 代码");
        for word in ["wo", "four", "码代"] {
            assert_eq!(show(text, &[word]), None, "{word}");
        }
        for word in ["thr", "码", "代码"] {
            assert!(show(text, &[word]).is_some(), "{word}");
        }
    }

    #[test]
    fn words_are_found_whatever_their_case_accents_and_humps() {
        for text in ["Résumé", "RE\u{301}SUME\u{301}", "myResume", "a-résumés"] {
            assert_eq!(show(text, &["resume"]).as_deref(), Some(text));
        }
        assert_eq!(show("presume", &["resume"]), None);
    }

    #[test]
    fn what_matches_in_a_snippet_is_known_to_the_byte() {
        let marked = |snippet: &str, words: &[&str]| -> Vec<String> {
            let words: Vec<Vec<char>> = words.iter().map(|word| word.chars().collect()).collect();
            let found = matches(snippet, &words).into_iter();
            found.map(|range| snippet[range].to_owned()).collect()
        };
        assert_eq!(
            marked("…Résumé: a résumés", &["resume"]),
            ["Résumé", "résumé"]
        );
        assert_eq!(marked("codeReview <b>", &["review", "b"]), ["Review", "b"]);
        assert_eq!(marked("代码 code", &["代码", "码"]), ["代码"]);
        assert_eq!(marked("presume", &["resume"]), Vec::<String>::new());
    }

    #[test]
    fn a_long_one_is_cut_around_the_word_that_was_found() {
        let text = format!("{}here {}", "before ".repeat(50), "after ".repeat(50));
        let line = show(&text, &["her"]).unwrap();
        assert!(line.starts_with("…before "), "{line}");
        assert!(line.ends_with(" after…"), "{line}");
        assert!(line.contains(" here after"), "{line}");
        assert!(line.chars().count() <= LENGTH + 2, "{line}");
        let text = format!("{}.y{}", "x".repeat(500), "z".repeat(500));
        let line = show(&text, &["y"]).unwrap();
        assert!(line.contains(".yz"), "{line}");
        assert_eq!(line.chars().count(), LENGTH + 2);
    }

    #[test]
    fn the_place_with_most_of_the_words_is_shown() {
        let gap = "gap ".repeat(100);
        let text = format!("{gap}one One {gap}one two {gap}");
        let line = show(&text, &["one", "two"]).unwrap();
        assert!(line.contains("gap one two gap"), "{line}");
    }

    #[test]
    fn a_short_one_stays_as_it_is() {
        for length in [0, LENGTH, LENGTH + 2] {
            let text = "x".repeat(length);
            assert_eq!(beginning(&text), text);
        }
        let text = "x".repeat(LENGTH + 3);
        assert_eq!(beginning(&text), format!("{}…", &text[..LENGTH]));
    }

    #[test]
    fn the_first_line_says_something() {
        assert_eq!(first_line("\n---\n\n# Title\n\nText"), "Title");
        assert_eq!(first_line("\u{1f}\n"), "");
    }
}
