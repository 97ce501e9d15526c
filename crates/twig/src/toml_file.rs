//! A TOML file edited in place: adds or removes a table or a list entry.
//!
//! `toml_edit` reports where everything is. Its tree is not printed again: that would change line
//! ends, the order of dotted keys and the style of headers. Instead, lines are inserted into the
//! text or cut out of it, so every other byte stays as it is.

use std::ops::Range;

use toml_edit::{Array, Document, Item, Table, Value};
use twig_core::depth;

use crate::edit_error::EditError;

const BLANK: [char; 2] = [' ', '\t'];

/// A file that was parsed.
pub(crate) struct TomlFile<'t> {
    pub(crate) text: &'t str,
    pub(crate) document: Document<&'t str>,
    /// How its lines end.
    newline: &'static str,
}

/// A part of a file, from the first character of its first line to the last of its last.
pub(crate) type TomlPart = Range<usize>;

impl<'t> TomlFile<'t> {
    pub(crate) fn parse(text: &'t str) -> Result<Self, EditError> {
        depth::toml(text).map_err(|error| EditError::at(text, error.at, error.to_string()))?;
        let document = Document::parse(text).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            EditError::at(text, place, error.message())
        })?;
        Ok(Self {
            text,
            document,
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
        })
    }

    /// The text with a table added at its end. A file without a final newline gets none.
    pub(crate) fn append(&self, table: &[String]) -> String {
        let Self { text, newline, .. } = self;
        let table = table.join(newline);
        if text.trim_start_matches('\u{feff}').is_empty() {
            format!("{text}{table}{newline}")
        } else if text.ends_with('\n') {
            format!("{text}{newline}{table}{newline}")
        } else {
            format!("{text}{newline}{newline}{table}")
        }
    }

    /// The text with other lines in place of the first of these parts, and without the other parts.
    pub(crate) fn replace(&self, parts: &[TomlPart], table: &[String]) -> String {
        let table = table.join(self.newline);
        let (first, rest) = parts.split_at(parts.len().min(1));
        let first = first.iter().map(|part| (part.clone(), &*table));
        let rest = rest.iter().map(|part| (self.with_gap(part), ""));
        self.spliced(first.chain(rest))
    }

    /// The text without these parts, and without the empty lines that separate them.
    pub(crate) fn cut(&self, parts: &[TomlPart]) -> String {
        self.spliced(parts.iter().map(|part| (self.with_gap(part), "")))
    }

    fn spliced<'s>(&self, splices: impl Iterator<Item = (Range<usize>, &'s str)>) -> String {
        let mut edited = String::with_capacity(self.text.len());
        let mut done = 0;
        for (range, text) in splices {
            edited += &self.text[done..range.start.max(done)];
            edited += text;
            done = range.end;
        }
        edited + &self.text[done..]
    }

    /// The parts of the file that hold a table's item and the tables below it, in order; `None` if
    /// it has dotted keys, whose lines may be anywhere.
    pub(crate) fn parts_of_item(&self, table: &Table, name: &str) -> Option<Vec<TomlPart>> {
        match table.get(name)? {
            Item::Table(table) => self.parts(table),
            item => {
                let key = table.key(name)?.span()?;
                Some(vec![self.whole_lines(key.start..item.span()?.end)])
            }
        }
    }

    /// The same for a table.
    pub(crate) fn parts(&self, table: &Table) -> Option<Vec<TomlPart>> {
        let mut found = Vec::new();
        self.gather(table, &mut found)?;
        found.sort_by_key(|part| part.start);
        let mut joined: Vec<TomlPart> = Vec::new();
        for part in found {
            match joined.last_mut() {
                Some(last) if self.text[last.end..part.start].trim().is_empty() => {
                    last.end = part.end;
                }
                _ => joined.push(part),
            }
        }
        Some(joined)
    }

    /// The text with another key for a table's item, in each header that has it; `None` if it has
    /// dotted keys, whose lines may be anywhere. The table is one of the document's own.
    pub(crate) fn rename_item(&self, table: &Table, name: &str, key: &str) -> Option<String> {
        let mut keys = Vec::new();
        match table.get(name)? {
            Item::Table(inner) => self.header_keys(inner, &mut keys)?,
            Item::ArrayOfTables(tables) => {
                for inner in tables {
                    self.header_keys(inner, &mut keys)?;
                }
            }
            _ => keys.push(table.key(name)?.span()?),
        }
        keys.sort_by_key(|range| range.start);
        Some(self.spliced(keys.into_iter().map(|range| (range, key))))
    }

    /// The second key of every header of a table and of those below it.
    fn header_keys(&self, table: &Table, found: &mut Vec<Range<usize>>) -> Option<()> {
        if table.is_dotted() {
            return None;
        }
        if !table.is_implicit() {
            let header = table.span()?;
            let keys = second_key(&self.text[header.clone()])?;
            found.push(header.start + keys.start..header.start + keys.end);
        }
        for (_, item) in table {
            match item {
                Item::Table(inner) if inner.is_dotted() => {}
                Item::Table(inner) => self.header_keys(inner, found)?,
                Item::ArrayOfTables(tables) => {
                    for inner in tables {
                        self.header_keys(inner, found)?;
                    }
                }
                _ => {}
            }
        }
        Some(())
    }

    fn gather(&self, table: &Table, found: &mut Vec<TomlPart>) -> Option<()> {
        if table.is_dotted() {
            return None;
        }
        let mut end = 0;
        for (_, item) in table {
            match item {
                Item::Table(inner) if inner.is_dotted() => end = end.max(dotted_end(inner)?),
                Item::Table(inner) => self.gather(inner, found)?,
                Item::ArrayOfTables(tables) => {
                    for inner in tables {
                        self.gather(inner, found)?;
                    }
                }
                plain => end = end.max(plain.span()?.end),
            }
        }
        if !table.is_implicit() {
            let header = table.span()?;
            found.push(self.whole_lines(header.start..end.max(header.end)));
        }
        Some(())
    }

    fn whole_lines(&self, range: Range<usize>) -> TomlPart {
        let mark = self.text.len() - self.text.trim_start_matches('\u{feff}').len();
        let start = self.text[..range.start]
            .rfind('\n')
            .map_or(mark, |at| at + 1);
        let line = self.text[range.end..]
            .split('\n')
            .next()
            .unwrap_or_default();
        start..range.end + line.trim_end_matches('\r').len()
    }

    /// A part with its final newline, and the empty line that separates it from the text above. At
    /// the end of a file without a final newline, also with the newline that was added before it.
    fn with_gap(&self, part: &TomlPart) -> Range<usize> {
        let above = &self.text[..part.start];
        let is_apart = above.ends_with(&self.newline.repeat(2)) || above == self.newline;
        let gap = match is_apart {
            false => 0,
            true if part.end == self.text.len() => 2,
            true => 1,
        };
        let end = match &self.text[part.end..] {
            rest if rest.starts_with("\r\n") => part.end + 2,
            rest => part.end + usize::from(rest.starts_with('\n')),
        };
        part.start.saturating_sub(self.newline.len() * gap)..end
    }

    /// The text with an entry added to a list.
    pub(crate) fn push(&self, list: &Array, entry: &str) -> Option<String> {
        let (end, separator) = match list.iter().last() {
            Some(final_entry) => (final_entry.span()?.end, ", "),
            None => (list.span()?.start + 1, ""),
        };
        let (before, after) = self.text.split_at(end);
        Some(format!("{before}{separator}{entry}{after}"))
    }

    /// The text with another value in place of one of the document's.
    pub(crate) fn replace_value(&self, value: &Value, text: &str) -> Option<String> {
        let span = value.span()?;
        Some(self.spliced([(span, text.trim())].into_iter()))
    }

    /// The text without one entry of a list: its comma goes with it, comments stay.
    pub(crate) fn remove(&self, list: &Array, at: usize) -> Option<String> {
        let is_blank = |range: Range<usize>| self.text[range].trim_matches(BLANK).is_empty();
        let own = list.get(at)?.span()?;
        let before = at.checked_sub(1).and_then(|at| list.get(at)?.span());
        // The last entry may have no comma of its own: then the comma before it separates nothing.
        let (entry, comma) = if let Some(comma) = self.comma(own.end) {
            if is_blank(own.end..comma) {
                (self.tidy(own.start..comma + 1), None)
            } else {
                (self.tidy(own), Some(comma))
            }
        } else if let Some(before) = before {
            let comma = self.comma(before.end)?;
            if is_blank(comma + 1..own.start) {
                (comma..own.end, None)
            } else {
                (self.tidy(own), Some(comma))
            }
        } else {
            (own, None)
        };
        let mut cuts: Vec<Range<usize>> = comma.map(|comma| comma..comma + 1).into_iter().collect();
        cuts.push(entry);
        cuts.sort_by_key(|cut| cut.start);
        Some(self.spliced(cuts.into_iter().map(|cut| (cut, ""))))
    }

    /// The comma after a position, with nothing but whitespace and comments between.
    fn comma(&self, place: usize) -> Option<usize> {
        let mut at = place;
        for line in self.text[place..].split_inclusive('\n') {
            let code = line.trim_start();
            match code.chars().next() {
                Some(',') => return Some(at + line.len() - code.len()),
                None | Some('#') => at += line.len(),
                Some(_) => return None,
            }
        }
        None
    }

    /// A cut extended to its whole line if nothing else is on it, else by the whitespace after it,
    /// or before it at the end of a line.
    fn tidy(&self, cut: Range<usize>) -> Range<usize> {
        let start = self.text[..cut.start].trim_end_matches(BLANK).len();
        let end = self.text.len() - self.text[cut.end..].trim_start_matches(BLANK).len();
        let rest = &self.text[end..];
        let mut line_ends = ["\r\n", "\n"].into_iter();
        match line_ends.find(|line_end| rest.starts_with(line_end)) {
            Some(line_end) if self.text[..start].ends_with('\n') => start..end + line_end.len(),
            Some(_) => start..cut.end,
            None => cut.start..end,
        }
    }
}

/// The second key in a header such as `[prompts.review]` or `[[prompts."a.b".arguments]]`.
fn second_key(header: &str) -> Option<Range<usize>> {
    let mut at = header.len() - header.trim_start_matches(['[', ' ', '\t']).len();
    let mut first = true;
    loop {
        let rest = &header[at..];
        let length = match rest.chars().next()? {
            quote @ ('"' | '\'') => {
                let mut is_escaped = false;
                let end = rest[1..].find(|c: char| {
                    let ends = c == quote && !is_escaped;
                    is_escaped = quote == '"' && c == '\\' && !is_escaped;
                    ends
                })?;
                end + 2
            }
            _ => rest.find(['.', ']', ' ', '\t'])?,
        };
        if !first {
            return Some(at..at + length);
        }
        first = false;
        let after = header[at + length..].trim_start_matches(BLANK);
        let after = after.strip_prefix('.')?.trim_start_matches(BLANK);
        at = header.len() - after.len();
    }
}

/// Where the values of a table with dotted keys end.
fn dotted_end(table: &Table) -> Option<usize> {
    let mut end = 0;
    for (_, item) in table {
        end = end.max(match item {
            Item::Table(inner) => dotted_end(inner)?,
            plain => plain.span()?.end,
        });
    }
    Some(end)
}
