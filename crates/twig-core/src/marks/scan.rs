//! Whether a place in a Markdown text is prose or code.

use std::collections::HashMap;

/// Where a `$` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DollarContext {
    /// Among words.
    Prose,
    /// In backticks on a line.
    Inline,
    /// In a block of code.
    Block,
    /// In code, between single quotes: there a shell passes it to another program.
    Quoted,
}

/// Every `$` of a text with its context, in order. Linear in the length of the text.
pub fn dollars(text: &str) -> Vec<(usize, DollarContext)> {
    let mut found = Vec::new();
    // Most texts have none.
    let Some(last) = text.rfind('$') else {
        return found;
    };
    for line in lines(text).take_while(|line| line.start <= last) {
        match (line.text.contains('$'), line.is_code) {
            (false, _) => {}
            (true, true) => within(line.text, line.start, DollarContext::Block, &mut found),
            (true, false) => inline(line.text, line.start, &mut found),
        }
    }
    found
}

/// A line of a text.
#[derive(Debug, Clone, Copy)]
pub struct TextLine<'t> {
    /// The line, including its end.
    pub text: &'t str,
    /// Bytes before it.
    pub start: usize,
    /// True if it belongs to a code block, including the fences.
    pub is_code: bool,
}

/// The lines of a text.
pub fn lines(text: &str) -> impl Iterator<Item = TextLine<'_>> {
    let mut fence: Option<(char, usize)> = None;
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        // Hardly any line is a fence: the first byte that is not whitespace shows it.
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let margin = line.bytes().take_while(blank).count();
        let mark = match line.as_bytes().get(margin) {
            Some(b'`') => Some('`'),
            Some(b'~') => Some('~'),
            _ => None,
        };
        let said = mark.map_or("", |_| line.trim());
        let count = mark.map_or(0, |mark| said.chars().take_while(|c| *c == mark).count());
        let info = &said[count..];
        let was_open = fence.is_some();
        match (fence, mark) {
            (Some((open, length)), Some(mark))
                if mark == open && count >= length && info.is_empty() =>
            {
                fence = None;
            }
            (None, Some(mark)) if count >= 3 && !info.contains('`') => fence = Some((mark, count)),
            _ => {}
        }
        let line = TextLine {
            text: line,
            start,
            is_code: was_open || fence.is_some(),
        };
        start += line.text.len();
        line
    })
}

/// Scans a line with code in backticks.
fn inline(line: &str, start: usize, found: &mut Vec<(usize, DollarContext)>) {
    let runs = runs(line);
    let mut at = 0;
    let mut next = 0;
    while let Some(run) = runs.get(next) {
        let Some(close) = run.twin.and_then(|twin| runs.get(twin)) else {
            next += 1;
            continue;
        };
        prose(&line[at..run.at], start + at, found);
        let inside = run.at + run.length;
        within(
            &line[inside..close.at],
            start + inside,
            DollarContext::Inline,
            found,
        );
        at = close.at + close.length;
        next = run.twin.map_or(next, |twin| twin) + 1;
    }
    prose(&line[at..], start + at, found);
}

/// Adjacent backticks.
struct Run {
    at: usize,
    length: usize,
    /// The next run of the same length.
    twin: Option<usize>,
}

fn runs(line: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some(last) if last.at + last.length == at => last.length += 1,
            _ => runs.push(Run {
                at,
                length: 1,
                twin: None,
            }),
        }
    }
    let mut later: HashMap<usize, usize> = HashMap::new();
    for (at, run) in runs.iter_mut().enumerate().rev() {
        run.twin = later.insert(run.length, at);
    }
    runs
}

fn prose(part: &str, start: usize, found: &mut Vec<(usize, DollarContext)>) {
    let dollars = part.match_indices('$');
    found.extend(dollars.map(|(at, _)| (start + at, DollarContext::Prose)));
}

fn within(part: &str, start: usize, place: DollarContext, found: &mut Vec<(usize, DollarContext)>) {
    let mut left = part.bytes().filter(|byte| *byte == b'\'').count();
    let mut is_quoted = false;
    for (at, byte) in part.bytes().enumerate() {
        match byte {
            b'\'' => {
                left -= 1;
                // A quote without a second one is an apostrophe.
                is_quoted = !is_quoted && left > 0;
            }
            b'$' if is_quoted => found.push((start + at, DollarContext::Quoted)),
            b'$' => found.push((start + at, place)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn code_is_told_from_prose() {
        let text = "a $1 `b $2` ``c ` $3`` `d $4\n```sh\n$5 '$6' don't $7\n````\n$8\n~~~\n$9";
        let places: Vec<_> = dollars(text)
            .into_iter()
            .map(|(at, place)| (&text[at..at + 2], place))
            .collect();
        assert_eq!(
            places,
            [
                ("$1", DollarContext::Prose),
                ("$2", DollarContext::Inline),
                ("$3", DollarContext::Inline),
                ("$4", DollarContext::Prose),
                ("$5", DollarContext::Block),
                ("$6", DollarContext::Quoted),
                ("$7", DollarContext::Block),
                ("$8", DollarContext::Prose),
                ("$9", DollarContext::Block),
            ]
        );
    }

    proptest! {
        #[test]
        fn every_dollar_is_found(text in "[a$`~'\n ]{0,60}") {
            let found: Vec<usize> = dollars(&text).into_iter().map(|(at, _)| at).collect();
            let all: Vec<usize> = text.match_indices('$').map(|(at, _)| at).collect();
            prop_assert_eq!(found, all);
        }
    }
}
