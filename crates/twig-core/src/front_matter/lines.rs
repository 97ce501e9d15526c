//! Reads front matter line by line: for text that is not YAML, and for values as the file has them.

use std::borrow::Cow;
use std::ops::Range;

use super::fields::{FrontMatterFields, FrontMatterValue};
use super::yaml;

/// The longest key.
const KEY: usize = 128;

/// How many entries of broken front matter are tried as YAML, one by one.
const TRIED: usize = 256;

/// One `key: value` and the lines that belong to it.
#[derive(Debug)]
pub(super) struct FrontMatterEntry<'t> {
    pub(super) key: Cow<'t, str>,
    /// All its lines.
    all: Range<usize>,
    /// The text on the line of the key.
    inline: &'t str,
    /// The lines after it.
    rest: &'t str,
    /// True if whitespace follows the colon, as YAML demands.
    is_apart: bool,
}

impl FrontMatterEntry<'_> {
    /// True if the value can only be the text on its line, as `[pr] [priority]` and `a: b` are.
    fn is_one_line_of_text(&self) -> bool {
        let is_text =
            self.inline.starts_with(char::is_alphanumeric) || has_more_after_list(self.inline);
        is_text && self.is_apart && !self.inline.contains(" #") && self.rest.trim().is_empty()
    }

    /// The value as its author wrote it: plain text on one line as it is there, a block without the
    /// line ends after it. `None` if it equals the value that YAML reads.
    pub(super) fn written<'v>(&'v self, value: &'v FrontMatterValue) -> Option<&'v str> {
        if let (true, FrontMatterValue::Text(text)) = (self.inline.starts_with(['|', '>']), value) {
            return Some(text.trim_end_matches('\n'));
        }
        let is_plain = !self.inline.is_empty()
            && !self
                .inline
                .starts_with(['"', '\'', '|', '>', '&', '!', '#']);
        let is_alone = self
            .rest
            .lines()
            .all(|line| line.trim().is_empty() || line.starts_with('#'));
        (is_plain && is_alone).then_some(self.inline)
    }
}

/// What reading line by line gave.
#[derive(Debug, Default)]
pub(super) struct LenientFields {
    pub(super) fields: FrontMatterFields,
    /// True if every value is what its author meant, although it is not YAML.
    pub(super) is_faithful: bool,
    /// The lines of `arguments` that are not YAML: they are not guessed at.
    pub(super) unread_arguments: Option<Range<usize>>,
}

/// Reads entries with a key at the start of a line; every value that is not YAML by itself is text,
/// or a list of texts.
pub(super) fn read(front: &str) -> LenientFields {
    let entries = entries(front);
    let start = entries.first().map_or(front.len(), |entry| entry.all.start);
    let mut lines_before = front[..start].lines().map(str::trim);
    let mut read = LenientFields {
        // Lines before the first key belong to nothing.
        is_faithful: lines_before.all(|line| line.is_empty() || line.starts_with('#')),
        ..LenientFields::default()
    };
    for (at, entry) in entries.into_iter().enumerate() {
        if read.fields.value(&entry.key).is_some() {
            read.is_faithful = false;
            continue;
        }
        let by_itself = (at < TRIED)
            .then(|| yaml::read(&front[entry.all.clone()]).ok())
            .flatten()
            .and_then(|mut read| read.pop());
        let value = match by_itself {
            Some((_, value)) => value,
            None if entry.key == "arguments" => {
                read.unread_arguments = Some(entry.all.clone());
                continue;
            }
            None => {
                read.is_faithful &= at < TRIED && entry.is_one_line_of_text();
                plain(&entry)
            }
        };
        let written = entry.written(&value).map(Into::into);
        read.fields.push(&entry.key, value, written);
    }
    read
}

/// The entries of a block, in their order.
pub(super) fn entries(front: &str) -> Vec<FrontMatterEntry<'_>> {
    let mut entries: Vec<FrontMatterEntry<'_>> = Vec::new();
    let mut at = 0;
    for line in front.split_inclusive('\n') {
        let here = at..at + line.len();
        at = here.end;
        if let Some((key, value)) = key(line) {
            let inline = value.trim();
            entries.push(FrontMatterEntry {
                key,
                all: here.clone(),
                inline,
                rest: &front[here.end..here.end],
                is_apart: value.is_empty() || value.starts_with([' ', '\t']),
            });
        } else if let Some(last) = entries.last_mut() {
            let start = here.start - last.rest.len();
            last.rest = &front[start..here.end];
            last.all.end = here.end;
        }
    }
    entries
}

/// True if a line of a block starts with a key.
pub(super) fn has_key(front: &str) -> bool {
    front.lines().any(|line| key(line).is_some())
}

/// True if a block is certainly front matter: every unindented line has a key that is no prose.
pub(super) fn is_surely(front: &str) -> bool {
    let mut lines = front
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with([' ', '\t', '#', '-']));
    let is_lower = |key: &str| key.starts_with(|c: char| c.is_ascii_lowercase());
    has_key(front) && lines.all(|line| key(line).is_some_and(|(key, _)| is_lower(&key)))
}

/// The key of a line and what follows its colon.
fn key(line: &str) -> Option<(Cow<'_, str>, &str)> {
    let line = line.trim_end();
    let quote = line.chars().next().filter(|c| matches!(c, '"' | '\''));
    if let Some(quote) = quote {
        let (key, after) = line[1..].split_once(quote)?;
        let value = after.trim_start().strip_prefix(':')?;
        let is_value = value.is_empty() || value.starts_with([' ', '\t']);
        return (is_value && key.len() <= KEY).then_some((key.into(), value));
    }
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '/' | '@');
    let end = line.find(|c: char| !is_inner(c))?;
    let (key, after) = line.split_at(end);
    let value = after.trim_start_matches([' ', '\t']).strip_prefix(':')?;
    let starts = key.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@'));
    let is_apart = value.is_empty() || value.starts_with([' ', '\t']);
    // `description:text` is not YAML, but meant as a field; `https://…` and `12:30` are not.
    let is_meant = key
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte))
        && !value.starts_with(['/', ':']);
    (starts && key.len() <= KEY && (is_apart || is_meant)).then_some((key.into(), value))
}

/// A value that is not YAML.
fn plain(entry: &FrontMatterEntry<'_>) -> FrontMatterValue {
    let rest = entry.rest.lines().filter(|line| !line.starts_with('#'));
    let said: Vec<&str> = rest
        .clone()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if entry.inline.is_empty() {
        let items: Option<Vec<FrontMatterValue>> = said
            .iter()
            .map(|line| {
                let item = line.strip_prefix('-')?;
                Some(FrontMatterValue::Text(unquoted(item.trim()).into()))
            })
            .collect();
        match items {
            Some(items) if !items.is_empty() => return FrontMatterValue::List(items),
            Some(_) => return FrontMatterValue::Null,
            None => {}
        }
    }
    let is_block = entry.inline.strip_prefix(['|', '>']).is_some_and(|more| {
        more.len() <= 2 && more.bytes().all(|byte| b"+-123456789".contains(&byte))
    });
    if is_block {
        let lines: Vec<&str> = rest.collect();
        let margin = |line: &&str| line.len() - line.trim_start().len();
        let full = lines.iter().filter(|line| !line.trim().is_empty());
        let margin = full.map(margin).min().unwrap_or_default();
        let lines = lines
            .iter()
            .map(|line| line.get(margin..).unwrap_or_default().trim_end());
        let between = if entry.inline.starts_with('|') {
            "\n"
        } else {
            " "
        };
        let text = lines.collect::<Vec<_>>().join(between);
        return FrontMatterValue::Text(text.trim().into());
    }
    let mut text = entry.inline.to_owned();
    for line in said {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line);
    }
    FrontMatterValue::Text(unquoted(&text).into())
}

/// True if text follows a list in brackets, so that the whole is not a list.
fn has_more_after_list(text: &str) -> bool {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at > 0 && at + 1 < text.len();
        }
    }
    false
}

/// A text without the quotes around it; `"a" and "b"` is not quoted as a whole.
fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|it| it.strip_suffix(quote));
        let Some(inner) = inner else { continue };
        let mut closes = inner.match_indices(quote).map(|(at, _)| {
            let (before, after) = (&inner[..at], &inner[at + 1..]);
            !before.ends_with(char::is_whitespace) && after.starts_with(char::is_whitespace)
        });
        return if closes.next() == Some(true) {
            text
        } else {
            inner
        };
    }
    text
}
