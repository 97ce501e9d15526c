//! Tables: aligned columns in a pipe, and on a terminal rows that fit its width.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::one_line;
use super::style::{Meaning, Paint};

/// The widest column that others are aligned to; a longer cell shifts only its own row.
const COLUMN: usize = 200;
/// The longest cell that is shown whole, in characters.
const CELL: usize = 2000;
/// The spaces between two columns.
const GAP: usize = 2;
/// The narrowest column that says anything.
const NARROWEST: usize = 8;

/// The narrowest column in which wrapped text is read with ease.
const LEGIBLE: usize = 30;

/// How a table is laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout<'i> {
    pub(super) indent: &'i str,
    /// The columns of the terminal, if it is one.
    pub(super) width: Option<usize>,
    pub(super) paint: Paint,
}

/// Rows with a heading.
#[derive(Debug)]
pub(crate) struct TableGroup {
    pub(crate) heading: String,
    /// What is said about the group beside its heading.
    pub(crate) note: String,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Rows as lines with aligned columns; the last column may have any length in a pipe.
pub(super) fn aligned(layout: Layout<'_>, rows: &[Vec<String>]) -> String {
    let rows = clean(rows);
    let widths = widths(layout, rows.iter());
    let mut text = String::new();
    write_rows(layout, &rows, &widths, &mut text);
    text
}

/// Groups of rows, each below its heading, with the same columns in all of them.
pub(super) fn grouped(layout: Layout<'_>, groups: &[TableGroup]) -> String {
    let cleaned: Vec<Vec<Vec<String>>> = groups.iter().map(|group| clean(&group.rows)).collect();
    let widths = widths(layout, cleaned.iter().flatten());
    let mut text = String::new();
    for (at, (group, rows)) in groups.iter().zip(&cleaned).enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let heading = one_line(&group.heading);
        let room = layout
            .width
            .map_or(CELL, |width| width.saturating_sub(heading.width() + GAP));
        let note = cut(&one_line(&group.note), room);
        let heading = layout.paint.paint(Meaning::Heading, &heading);
        let note = layout.paint.paint(Meaning::Faint, &note);
        let _ = writeln!(text, "{heading}  {note}");
        write_rows(layout, rows, &widths, &mut text);
    }
    text
}

/// Cells on one line, without control characters, and not endless.
fn clean(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let rows = rows.iter();
    rows.map(|row| row.iter().map(|cell| shortened(one_line(cell))).collect())
        .collect()
}

/// The widths of all columns but the last, whose width is its limit.
fn widths<'r>(layout: Layout<'_>, rows: impl Iterator<Item = &'r Vec<String>>) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width().min(COLUMN));
        }
    }
    let Some(screen) = layout.width else {
        return widths;
    };
    let Some(last) = widths.len().checked_sub(1) else {
        return widths;
    };
    let gaps = GAP * last + layout.indent.width();
    let room = screen.saturating_sub(gaps);
    let total: usize = widths.iter().sum();
    if total <= room || last == 0 {
        if let Some(only) = widths.get_mut(last) {
            *only = (*only).min(room);
        }
        return widths;
    }
    // The first column is what people type: it is cut last.
    let others = NARROWEST * last;
    widths[0] = widths[0].min(room.saturating_sub(others).max(NARROWEST));
    let mut left = room.saturating_sub(widths[0]);
    // The columns in the middle get what the last does not need, or half.
    let middle: usize = widths[1..last].iter().sum();
    let for_middle = middle.min(left.saturating_sub(widths[last].min(left - left / 3)));
    let mut excess = middle - for_middle;
    while excess > 0 {
        let Some(widest) = (1..last).max_by_key(|at| widths[*at]) else {
            break;
        };
        if widths[widest] == 0 {
            break;
        }
        widths[widest] -= 1;
        excess -= 1;
    }
    left = left.saturating_sub(widths[1..last].iter().sum());
    widths[last] = left;
    widths
}

fn write_rows(layout: Layout<'_>, rows: &[Vec<String>], widths: &[usize], text: &mut String) {
    let last = widths.len().saturating_sub(1);
    for row in rows {
        let mut line = layout.indent.to_owned();
        let end = row.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let cell = match layout.width {
                Some(_) => cut(cell, *width),
                None => cell.clone(),
            };
            let padding = width.saturating_sub(cell.width()) + GAP;
            if at == 0 {
                line.push_str(&layout.paint.paint(Meaning::Name, &cell));
            } else {
                line.push_str(&cell);
            }
            if at >= end || at == last {
                break;
            }
            line.extend(std::iter::repeat_n(' ', padding));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// A text that fits, or its beginning and `…`; of a path, `…` and its end.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    if room == 0 {
        return String::new();
    }
    let mut left = room - 1;
    let mut fits = |c: char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let is_path = text.starts_with('/') || text.starts_with("~/");
    if is_path {
        let count = text.chars().rev().take_while(|c| fits(*c)).count();
        let skipped = text.chars().count() - count;
        let end: String = text.chars().skip(skipped).collect();
        // Whole names of folders, unless the last name alone is longer than the room.
        let whole = end.find('/').filter(|at| at + 1 < end.len());
        return format!("…{}", &end[whole.unwrap_or(0)..]);
    }
    let start: String = text.chars().take_while(|c| fits(*c)).collect();
    format!("{}…", start.trim_end())
}

/// A cell, or its beginning and `…`.
fn shortened(mut cell: String) -> String {
    if let Some((end, _)) = cell.char_indices().nth(CELL) {
        cell.truncate(end);
        cell.push('…');
    }
    cell
}

/// Aligned columns whose last one is wrapped at words beneath itself; nothing is cut.
pub(super) fn facts(layout: Layout<'_>, rows: &[Vec<String>]) -> String {
    let Some(screen) = layout.width else {
        return aligned(layout, rows);
    };
    let rows = clean(rows);
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        let before_last = &row[..row.len().saturating_sub(1)];
        widths.resize(widths.len().max(before_last.len()), 0);
        for (width, cell) in widths.iter_mut().zip(before_last) {
            *width = (*width).max(cell.width());
        }
    }
    // What leaves no room beside it shares a column with what follows.
    let before = |count: usize| {
        let columns = widths[..count].iter().map(|width| width + GAP);
        layout.indent.width() + columns.sum::<usize>()
    };
    let fitting = (0..=widths.len()).rev();
    let fitting = fitting.filter(|count| screen.saturating_sub(before(*count)) >= LEGIBLE);
    let count = fitting.max().unwrap_or(0).max(widths.len().min(1));
    let before = before(count);
    let room = screen.saturating_sub(before).max(NARROWEST);
    let mut text = String::new();
    for row in &rows {
        let (leading, rest) = row.split_at(count.min(row.len()));
        let mut line = layout.indent.to_owned();
        for (at, (cell, width)) in leading.iter().zip(&widths).enumerate() {
            let padding = width.saturating_sub(cell.width()) + GAP;
            if at == 0 {
                line.push_str(&layout.paint.paint(Meaning::Name, cell));
            } else {
                line.push_str(cell);
            }
            line.extend(std::iter::repeat_n(' ', padding));
        }
        let rest = rest
            .iter()
            .map(String::as_str)
            .filter(|cell| !cell.is_empty());
        let rest = rest.collect::<Vec<_>>().join("  ");
        for (at, part) in wrapped(&rest, room).iter().enumerate() {
            if at > 0 {
                line.push('\n');
                line.extend(std::iter::repeat_n(' ', before));
            }
            line.push_str(part);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The words of a text in lines of some width; a longer word has a line of its own.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.width() + 1 + word.width() > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(width: Option<usize>) -> Layout<'static> {
        Layout {
            indent: "  ",
            width,
            paint: Paint::new(false),
        }
    }

    fn row(cells: [&str; 3]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn tables_hold_cells_of_any_length() {
        let long = "x".repeat(70_000);
        let rows = [row(["a", "b", &long]), row(["aa", &long, "c"])];
        let text = aligned(layout(None), &rows);
        let lines: Vec<&str> = text.lines().collect();
        let cell = format!("{}…", &long[..CELL]);
        assert_eq!(lines[1], format!("  aa  {cell}  c"));
        let blanks = " ".repeat(COLUMN - 1);
        assert_eq!(lines[0], format!("  a   b{blanks}  {cell}"));
    }

    #[test]
    fn rows_fit_a_terminal_of_any_width() {
        let long = "word ".repeat(40);
        let rows = [
            row(["lib:a", "code [language] [framework]", &long]),
            row(["lib:日本語", &long, "日本語".repeat(30).as_str()]),
            row(["lib:c", "", ""]),
        ];
        for width in 20..200 {
            let text = aligned(layout(Some(width)), &rows);
            for line in text.lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
            assert!(text.contains("  lib:a"), "{width}: {text}");
        }
        assert_eq!(
            aligned(layout(Some(50)), &rows).lines().next(),
            Some("  lib:a       code [lang…  word word word word wo…")
        );
    }

    #[test]
    fn what_is_cut_shows_it() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("~/a/b/mcp.json", 9), "…mcp.json");
        assert_eq!(cut("~/folder/mcp.json", 14), "…/mcp.json");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn facts_wrap_beneath_themselves() {
        let rows = [vec!["name".to_owned(), "one two three".to_owned()]];
        assert_eq!(
            facts(layout(Some(16)), &rows),
            "  name  one two\n        three\n"
        );
        let rows = [row(["a", "new", "one two three four five six seven"])];
        assert_eq!(
            facts(layout(Some(40)), &rows),
            "  a  new  one two three four five six\n          seven\n"
        );
        let rows = [row(["a", "a long cell in the middle", "one two"])];
        assert_eq!(
            facts(layout(Some(40)), &rows),
            "  a  a long cell in the middle  one two\n"
        );
    }
}
