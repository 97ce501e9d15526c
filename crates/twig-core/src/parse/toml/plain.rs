//! The regular part of TOML: headers of bare keys, and one simple value per line.
//!
//! Anything else (escapes, several lines, dotted keys, inline tables, keys set twice) is declined,
//! never guessed: [`read`] returns `None` and the `toml` crate decides. A property test checks that
//! both give the same result.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

use super::{Table, TomlEntry, TomlItem, TomlValue};
use crate::limits::NESTING;

/// Reads a plain document; `None` if it is not plain, or not TOML at all.
pub(super) fn read(text: &str) -> Option<Table<'_>> {
    let mut reader = PlainTomlReader {
        root: Table::default(),
        header: None,
        open: Table::default(),
    };
    let mut start = 0;
    while start < text.len() {
        let end = memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |at| start + at);
        let line = &text[start..end];
        let line = if end < text.len() {
            line.strip_suffix('\r').unwrap_or(line)
        } else {
            line
        };
        reader.line(LineCursor {
            text,
            at: start,
            end: start + line.len(),
        })?;
        start = end + 1;
    }
    reader.close()?;
    keys_are_unique(&reader.root).then_some(reader.root)
}

struct PlainTomlReader<'a> {
    root: Table<'a>,
    header: Option<Header<'a>>,
    /// The entries since the last header; attached to the tree when the next one comes.
    open: Table<'a>,
}

struct Header<'a> {
    /// Between the brackets: bare keys, dots and spaces.
    keys: &'a str,
    /// Its position.
    at: usize,
    is_list: bool,
    span: Range<usize>,
}

impl<'a> Header<'a> {
    /// The keys with their places, in order. Split again when they are needed: there are too many
    /// headers to allocate for each.
    fn keys(&self) -> impl Iterator<Item = (&'a str, Range<usize>)> + use<'a> {
        let mut at = self.at;
        self.keys.split('.').map(move |part| {
            let key = part.trim_matches([' ', '\t']);
            let start = at + (part.len() - part.trim_start_matches([' ', '\t']).len());
            at += part.len() + 1;
            (key, start..start + key.len())
        })
    }
}

impl<'a> PlainTomlReader<'a> {
    fn line(&mut self, mut line: LineCursor<'a>) -> Option<()> {
        line.skip_blanks();
        match line.peek() {
            None | Some(b'#') => line.finish(),
            Some(b'[') => {
                let header = line.header()?;
                line.finish()?;
                self.close()?;
                self.header = Some(header);
                Some(())
            }
            Some(_) => {
                let (key, key_span) = line.key()?;
                line.skip_blanks();
                line.take(b'=')?;
                line.skip_blanks();
                let item = line.value()?;
                line.finish()?;
                self.open.entries.push(TomlEntry {
                    key: Cow::Borrowed(key),
                    key_span,
                    item,
                });
                Some(())
            }
        }
    }

    /// Attaches the open table. Only the newest entry of a table is ever considered: a document
    /// that returns to an older one ends up with a duplicate key and is declined for that.
    fn close(&mut self) -> Option<()> {
        let open = std::mem::take(&mut self.open);
        let Some(header) = self.header.take() else {
            self.root = open;
            return Some(());
        };
        let Header {
            is_list, ref span, ..
        } = header;
        let mut keys = header.keys().peekable();
        let mut table = &mut self.root;
        let (last, last_span) = loop {
            let (key, key_span) = keys.next()?;
            if keys.peek().is_none() {
                break (key, key_span);
            }
            if newest(table).is_none_or(|entry| entry.key != key) {
                let item = TomlItem {
                    value: TomlValue::Table(Table::default()),
                    span: span.clone(),
                };
                table.entries.push(TomlEntry {
                    key: Cow::Borrowed(key),
                    key_span,
                    item,
                });
            }
            table = match &mut newest(table)?.item.value {
                TomlValue::Table(table) => table,
                TomlValue::List(items) => match &mut items.last_mut()?.value {
                    TomlValue::Table(table) => table,
                    _ => return None,
                },
                _ => return None,
            };
        };
        let item = TomlItem {
            value: TomlValue::Table(open),
            span: span.clone(),
        };
        let newest = newest(table).filter(|entry| entry.key == last);
        match newest {
            Some(TomlEntry {
                item:
                    TomlItem {
                        value: TomlValue::List(items),
                        ..
                    },
                ..
            }) if is_list && matches!(items.last()?.value, TomlValue::Table(_)) => {
                items.push(item);
            }
            Some(_) => return None,
            None => {
                let value = if is_list {
                    TomlValue::List(vec![item])
                } else {
                    item.value
                };
                let item = TomlItem {
                    value,
                    span: span.clone(),
                };
                table.entries.push(TomlEntry {
                    key: Cow::Borrowed(last),
                    key_span: last_span,
                    item,
                });
            }
        }
        Some(())
    }
}

fn newest<'t, 'a>(table: &'t mut Table<'a>) -> Option<&'t mut TomlEntry<'a>> {
    table.entries.last_mut()
}

fn keys_are_unique(table: &Table<'_>) -> bool {
    let keys = table.entries.iter().map(|entry| &*entry.key);
    // Most tables are small, and there are many of them.
    let differ = if table.entries.len() <= 8 {
        keys.clone()
            .enumerate()
            .all(|(at, key)| keys.clone().skip(at + 1).all(|other| key != other))
    } else {
        let mut keys: Vec<&str> = keys.collect();
        keys.sort_unstable();
        keys.windows(2).all(|pair| pair[0] != pair[1])
    };
    differ
        && table.entries.iter().all(|entry| match &entry.item.value {
            TomlValue::Table(table) => keys_are_unique(table),
            TomlValue::List(items) => items.iter().all(|item| match &item.value {
                TomlValue::Table(table) => keys_are_unique(table),
                _ => true,
            }),
            _ => true,
        })
}

/// Which bytes a bare key may have.
static IS_KEY: [bool; 256] = {
    let mut is_key = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        is_key[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        byte += 1;
    }
    is_key
};

/// A place in one line of the text.
struct LineCursor<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

impl<'a> LineCursor<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..self.end]
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Accepts only whitespace or a comment in the rest of the line.
    fn finish(&mut self) -> Option<()> {
        self.skip_blanks();
        match self.rest() {
            [] => Some(()),
            [b'#', comment @ ..] => comment
                .iter()
                .all(|b| *b == b'\t' || !b.is_ascii_control())
                .then_some(()),
            _ => None,
        }
    }

    fn key(&mut self) -> Option<(&'a str, Range<usize>)> {
        let is_key = |b: &&u8| IS_KEY[usize::from(**b)];
        let length = self.rest().iter().take_while(is_key).count();
        let span = self.at..self.at + length;
        self.at = span.end;
        (length > 0).then(|| (&self.text[span.clone()], span))
    }

    fn header(&mut self) -> Option<Header<'a>> {
        let start = self.at;
        self.take(b'[')?;
        let is_list = self.take(b'[').is_some();
        let at = self.at;
        let mut parts = 1;
        loop {
            self.skip_blanks();
            self.key()?;
            self.skip_blanks();
            if self.take(b'.').is_none() {
                break;
            }
            parts += 1;
        }
        if parts > NESTING {
            return None;
        }
        let keys = &self.text[at..self.at];
        self.take(b']')?;
        if is_list {
            self.take(b']')?;
        }
        Some(Header {
            keys,
            at,
            is_list,
            span: start..self.at,
        })
    }

    fn value(&mut self) -> Option<TomlItem<'a>> {
        let start = self.at;
        let value = match self.peek()? {
            b'"' | b'\'' => TomlValue::Text(Cow::Borrowed(self.string()?)),
            b'[' => TomlValue::List(self.strings()?),
            b't' => self.word("true", TomlValue::Bool(true))?,
            b'f' => self.word("false", TomlValue::Bool(false))?,
            b'0'..=b'9' => TomlValue::Integer(self.number()?),
            _ => return None,
        };
        Some(TomlItem {
            value,
            span: start..self.at,
        })
    }

    fn word(&mut self, word: &str, value: TomlValue<'a>) -> Option<TomlValue<'a>> {
        self.rest().starts_with(word.as_bytes()).then(|| {
            self.at += word.len();
            value
        })
    }

    fn number(&mut self) -> Option<i64> {
        let digits = self
            .rest()
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        let text = &self.text[self.at..self.at + digits];
        if digits > 18 || (digits > 1 && text.starts_with('0')) {
            return None;
        }
        self.at += digits;
        text.parse().ok()
    }

    /// A string without escapes, on one line.
    fn string(&mut self) -> Option<&'a str> {
        let quote = self.peek().filter(|byte| matches!(byte, b'"' | b'\''))?;
        let inner = &self.rest()[1..];
        let length = memchr2(quote, b'\\', inner)?;
        // A backslash is an escape in one form of string and literal in the other.
        let ends = inner[length] == quote;
        let is_long = length == 0 && inner.get(1) == Some(&quote);
        // Without an early exit, the compiler vectorises this.
        let is_control = |b: &u8| b.is_ascii_control() && *b != b'\t';
        let has_control = inner[..length]
            .iter()
            .fold(false, |any, b| any | is_control(b));
        if !ends || is_long || has_control {
            return None;
        }
        let start = self.at + 1;
        self.at = start + length + 1;
        Some(&self.text[start..start + length])
    }

    /// `["a", "b"]`, on one line.
    fn strings(&mut self) -> Option<Vec<TomlItem<'a>>> {
        self.take(b'[')?;
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            if self.take(b']').is_some() {
                return Some(items);
            }
            let start = self.at;
            let value = TomlValue::Text(Cow::Borrowed(self.string()?));
            items.push(TomlItem {
                value,
                span: start..self.at,
            });
            self.skip_blanks();
            if self.take(b',').is_none() {
                self.take(b']')?;
                return Some(items);
            }
        }
    }
}
