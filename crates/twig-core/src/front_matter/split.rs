//! Where front matter begins and ends.

use std::ops::Range;

use super::Repair;

/// A file cut in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split<'t> {
    /// Where the text between the fences stands; `None` where there is no front matter.
    pub front: Option<Range<usize>>,
    /// What follows, byte for byte.
    pub body: &'t str,
    /// What had to be mended.
    pub repairs: Vec<Repair>,
}

/// Cuts a file into front matter and body.
///
/// The first line has to be `---` (blanks after it do not count); the block ends with the next line
/// that is `---` or `...`.
pub fn split(text: &str) -> Split<'_> {
    let whole = Split {
        front: None,
        body: text,
        repairs: Vec::new(),
    };
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return whole;
    };
    let mut at = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Split {
                front: Some(first.len()..at),
                body: &text[at + line.len()..],
                ..whole
            };
        }
        at += line.len();
    }
    let repair = Repair {
        at: 0..first.len(),
        message: "the front matter has no closing `---` line: all of the file is its body".into(),
    };
    Split {
        repairs: vec![repair],
        ..whole
    }
}
