//! Where front matter begins and ends.

use std::ops::Range;

use super::{Repair, lines, yaml};
use crate::problem::Severity;

/// A file split in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split<'t> {
    /// Where the text between the fences is; `None` if there is no front matter.
    pub front: Option<Range<usize>>,
    /// What follows, byte for byte.
    pub body: &'t str,
    /// How many bytes of the file come before the body.
    pub body_start: usize,
    /// What had to be repaired.
    pub repairs: Vec<Repair>,
}

/// Splits a file into front matter and body.
///
/// The block is between a line `---` (spaces after it do not count) and the next line that is `---`
/// or `...`. Blank lines and `#` lines may come before it, and the whole file may be in a fence of
/// backticks. A block without an end, or without anything that could be `key: value`, is no front
/// matter.
pub fn split(text: &str) -> Split<'_> {
    let mark = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    let all = mark..text.len();
    let mut repairs = Vec::new();
    let (found, end) = match fenced(text, all.clone()) {
        Some((fence, inside)) => match block(text, inside.clone()) {
            TopOfText::Block(block) => {
                let message = "the whole file is in a code fence, which was removed";
                repairs.push(Repair::new(fence, message));
                (TopOfText::Block(block), inside.end)
            }
            _ => (TopOfText::Nothing, all.end),
        },
        None => (block(text, all.clone()), all.end),
    };
    let (front, start) = match found {
        TopOfText::Block(BlockBounds { lead, front, body }) => {
            if !lead.is_empty() {
                let message = "lines before the front matter were ignored";
                repairs.push(Repair::new(lead, message));
            }
            (Some(front), body)
        }
        TopOfText::Open(line) => {
            let message = "the front matter has no closing `---` line: the whole file is its body";
            repairs.push(Repair::new(line, message));
            (None, mark)
        }
        TopOfText::Prose(line) => {
            let message =
                "there is no `key: value` between the `---` lines: the whole file is its body";
            repairs.push(Repair::new(line, message));
            (None, mark)
        }
        TopOfText::Nothing => (None, mark),
    };
    Split {
        front,
        body: &text[start..end],
        body_start: start,
        repairs,
    }
}

impl Repair {
    pub(super) fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            at,
            severity: Severity::Note,
            message: message.into(),
            is_harmless: false,
        }
    }
}

/// What is at the top of a text.
enum TopOfText {
    Block(BlockBounds),
    /// A first line without a second one that ends the block.
    Open(Range<usize>),
    /// Two lines with something else between them.
    Prose(Range<usize>),
    Nothing,
}

struct BlockBounds {
    /// Lines before the first fence.
    lead: Range<usize>,
    front: Range<usize>,
    /// Where the body starts.
    body: usize,
}

fn block(text: &str, range: Range<usize>) -> TopOfText {
    let mut has_comments = false;
    let mut opened: Option<Range<usize>> = None;
    let mut at = range.start;
    for line in text[range.clone()].split_inclusive('\n') {
        let here = at..at + line.len();
        at = here.end;
        let word = line.trim_end();
        let Some(open) = &opened else {
            match word {
                "---" => opened = Some(here),
                "" => {}
                word if word.starts_with('#') => has_comments = true,
                _ => return TopOfText::Nothing,
            }
            continue;
        };
        if !matches!(word, "---" | "...") {
            continue;
        }
        let front = open.end..here.start;
        let inside = &text[front.clone()];
        let is_front = if has_comments {
            // Headings look like comments, and a rule like a fence.
            lines::is_surely(inside) || yaml::is_surely(inside)
        } else {
            has_fields(inside)
        };
        return if is_front {
            TopOfText::Block(BlockBounds {
                lead: range.start..open.start,
                front,
                body: here.end,
            })
        } else if has_comments {
            TopOfText::Nothing
        } else {
            TopOfText::Prose(open.clone())
        };
    }
    match opened {
        Some(open) if !has_comments => TopOfText::Open(open),
        _ => TopOfText::Nothing,
    }
}

/// True if a block has fields, or is empty.
fn has_fields(front: &str) -> bool {
    let mut said = front.lines().map(str::trim);
    let is_empty = said.all(|line| line.is_empty() || line.starts_with('#'));
    is_empty || lines::has_key(front) || yaml::is_mapping(front)
}

/// The first line of a fence around the whole text, and its inside.
fn fenced(text: &str, range: Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    let part = &text[range.clone()];
    let lead = part.len() - part.trim_start().len();
    let first = part[lead..].split_inclusive('\n').next()?;
    let ticks = ticks(first);
    let info = first[ticks..].trim();
    if ticks < 3 || info.contains('`') {
        return None;
    }
    let inside = lead + first.len();
    if part[inside..].trim_start().lines().next()?.trim_end() != "---" {
        return None;
    }
    let last = part.trim_end();
    let last_line = last.rfind('\n').map_or(0, |at| at + 1);
    // The closing fence is the first one that does not close another.
    let mut at = inside;
    let mut inner = None;
    for line in part[inside..].split_inclusive('\n') {
        let here = at;
        at += line.len();
        let count = self::ticks(line);
        let is_bare = line[count..].trim().is_empty();
        match inner {
            Some(open) if is_bare && count >= open => inner = None,
            None if is_bare && count >= ticks => {
                let start = range.start + lead;
                let fence = start..start + first.len();
                let inside = range.start + inside..range.start + here;
                return (here == last_line).then_some((fence, inside));
            }
            None if !is_bare && count >= ticks && !line[count..].contains('`') => {
                inner = Some(count);
            }
            _ => {}
        }
    }
    None
}

fn ticks(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b'`').count()
}
