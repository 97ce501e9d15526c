//! Front matter of files that other tools read: strict YAML first, then line by line.

use super::node::{Fields, Node, yaml};
use crate::limits::Limits;

/// A file cut in two.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Front<'t> {
    /// What the front matter says, in its order.
    pub(super) fields: Fields,
    /// Whether there is any.
    pub(super) is_there: bool,
    /// What follows.
    pub(super) body: &'t str,
    /// What could not be read as it was meant.
    pub(super) repair: Option<String>,
}

/// Cuts a file into front matter and body and reads the first.
///
/// A byte-order mark, blank lines and lines with a `#` may stand before it. A block that does not
/// end is body.
pub(super) fn split_and_read<'t>(text: &'t str, limits: &Limits) -> Front<'t> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = Front {
        body: text,
        ..Front::default()
    };
    let mut at = 0;
    let mut fence = None;
    for line in text.split_inclusive('\n') {
        at += line.len();
        match line.trim_end() {
            line @ ("---" | "+++") => {
                fence = Some(line);
                break;
            }
            line if line.is_empty() || line.starts_with('#') => {}
            _ => return whole,
        }
    }
    let Some(fence) = fence else { return whole };
    match until_fence(&text[at..], fence) {
        Some((front, body)) => of_parts(front, body, limits),
        None => whole,
    }
}

/// The same for a file whose front matter has no opening line.
pub(super) fn split_preamble<'t>(text: &'t str, limits: &Limits) -> Option<Front<'t>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let (key, _) = first.split_once(':')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if key.is_empty() || !key.chars().all(is_word) {
        return None;
    }
    let (front, body) = until_fence(text, "---")?;
    Some(of_parts(front, body, limits))
}

fn until_fence<'t>(text: &'t str, fence: &str) -> Option<(&'t str, &'t str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == fence {
            return Some((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn of_parts<'t>(front: &str, body: &'t str, limits: &Limits) -> Front<'t> {
    let mut read = Front {
        is_there: true,
        body,
        ..Front::default()
    };
    if front.trim().is_empty() {
        return read;
    }
    if front.len() > limits.front_matter {
        read.repair = Some(format!(
            "its front matter has more than {} bytes and is passed over",
            limits.front_matter
        ));
        return read;
    }
    if let Ok(Node::Map(fields)) = yaml(front) {
        read.fields = fields;
    } else {
        read.fields = by_lines(front);
        read.repair = Some("its front matter is not valid YAML and is read line by line".into());
    }
    read
}

/// `key: value` at the start of a line; indented lines go on with the value.
fn by_lines(front: &str) -> Fields {
    let mut fields: Vec<(String, Node)> = Vec::new();
    for line in front.lines() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            if let Some((_, Node::Text(value))) = fields.last_mut() {
                if !value.is_empty() {
                    value.push(' ');
                }
                value.push_str(line.trim());
            }
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        let bare = ['"', '\'']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        let value = Node::Text(bare.unwrap_or(value).to_owned());
        fields.push((key.trim().to_owned(), value));
    }
    Fields(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Front<'_> {
        split_and_read(text, &Limits::default())
    }

    #[test]
    fn yaml_is_read_and_what_is_none_is_read_by_lines() {
        let front = read("---\ndescription: A \"b\"\nglobs: **/*\nalwaysApply: false\n---\nBody\n");
        assert_eq!(front.body, "Body\n");
        assert_eq!(front.fields.text("globs").as_deref(), Some("**/*"));
        assert_eq!(front.fields.text("description").as_deref(), Some("A \"b\""));
        assert!(front.repair.is_some());
        let front = read("# Licence\n\n---\r\nname: 'x'\r\n---\r\nBody");
        assert_eq!(front.fields.text("name").as_deref(), Some("x"));
        assert_eq!((front.body, front.repair), ("Body", None));
    }

    #[test]
    fn a_file_without_a_whole_block_is_body() {
        for text in ["", "Body", "---\nname: x\n", "text\n---\nname: x\n---\n"] {
            let front = read(text);
            assert_eq!((front.body, front.is_there), (text, false), "{text}");
        }
        assert_eq!(read("\u{feff}Body").body, "Body");
    }

    #[test]
    fn a_preamble_needs_no_opening_line() {
        let limits = Limits::default();
        let front = split_preamble("name: X\ndescription: Y\n---\nBody\n---\n", &limits).unwrap();
        assert_eq!(front.fields.text("name").as_deref(), Some("X"));
        assert_eq!(front.body, "Body\n---\n");
        assert!(split_preamble("Some text\n---\nmore", &limits).is_none());
        assert!(split_preamble("name: x", &limits).is_none());
    }
}
