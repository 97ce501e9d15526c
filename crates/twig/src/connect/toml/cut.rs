//! Where a table of a TOML file is: its header, its lines, and the tables below it.

use std::ops::Range;

use toml_edit::{Item, Table};

/// A part of a file, from the first character of its first line to the last of its last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Cut {
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Its start, with the empty line that sets it apart from what is above; at the end of a file
    /// without a last line end, with the one that it was given for it.
    pub(super) fn start_with_gap(&self, text: &str, newline: &str) -> usize {
        let above = &text[..self.start];
        let is_apart = above.ends_with(&newline.repeat(2)) || above == newline;
        let ends = if !is_apart {
            0
        } else if self.end == text.len() {
            2
        } else {
            1
        };
        self.start.saturating_sub(newline.len() * ends)
    }

    /// Its end, with the end of its last line; where nothing is above, with the empty line that set
    /// it apart from what is below.
    pub(super) fn end_with_line(&self, text: &str) -> usize {
        let line_end = |at: usize| match &text[at..] {
            rest if rest.starts_with("\r\n") => at + 2,
            rest => at + usize::from(rest.starts_with('\n')),
        };
        let end = line_end(self.end);
        if text[..self.start].trim_start_matches('\u{feff}').is_empty() {
            return line_end(end);
        }
        end
    }
}

/// Everything of the server `name`, in the file's order; nothing where it is written with dotted
/// keys, whose lines may be anywhere.
pub(super) fn cuts(text: &str, servers: &Table, name: &str) -> Option<Vec<Cut>> {
    let mut found = Vec::new();
    match servers.get(name)? {
        Item::Table(table) => gather(text, table, &mut found)?,
        item => {
            let key = servers.key(name)?.span()?;
            let value = item.span()?;
            found.push(Cut {
                start: line_start(text, key.start),
                end: line_end(text, value.end),
            });
        }
    }
    found.sort_by_key(|cut| cut.start);
    let mut joined: Vec<Cut> = Vec::new();
    for cut in found {
        match joined.last_mut() {
            Some(last) if text[last.end..cut.start].trim().is_empty() => last.end = cut.end,
            _ => joined.push(cut),
        }
    }
    Some(joined)
}

fn gather(text: &str, table: &Table, found: &mut Vec<Cut>) -> Option<()> {
    if table.is_dotted() {
        return None;
    }
    let mut end = 0;
    for (_, item) in table {
        match item {
            Item::Table(inner) if inner.is_dotted() => end = end.max(dotted_end(inner)?),
            Item::Table(inner) => gather(text, inner, found)?,
            Item::ArrayOfTables(tables) => {
                for inner in tables {
                    gather(text, inner, found)?;
                }
            }
            plain => end = end.max(plain.span()?.end),
        }
    }
    if !table.is_implicit() {
        let header = table.span()?;
        found.push(Cut {
            start: line_start(text, header.start),
            end: line_end(text, end.max(header.end)),
        });
    }
    Some(())
}

/// Where the values of a table of dotted keys end.
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

fn line_start(text: &str, place: usize) -> usize {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    text[..place]
        .rfind('\n')
        .map_or(mark, |newline| newline + 1)
}

fn line_end(text: &str, place: usize) -> usize {
    let line = text[place..].split('\n').next().unwrap_or_default();
    place + line.trim_end_matches('\r').len()
}
