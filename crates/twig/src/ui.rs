//! All printing: data to stdout, talk to stderr.
//!
//! Control and invisible characters in text from files are spelled out, so that a library cannot
//! control the user's terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;
use twig_core::Problem;

use crate::command_error::CommandError;
use crate::stderr;

/// The widest column that others are aligned to; a longer cell shifts only its own row.
const COLUMN: usize = 200;
/// The longest cell that is shown whole, in characters.
const CELL: usize = 2000;

/// The two output streams.
pub(crate) struct Ui {
    out: BufWriter<io::Stdout>,
}

impl Ui {
    pub(crate) fn new() -> Self {
        Self {
            out: BufWriter::new(io::stdout()),
        }
    }

    /// One line of data.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        writeln!(self.out, "{}", visible(text.as_ref()))
    }

    /// Data exactly as it is.
    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Text exactly as it is; a terminal sees control characters spelled out.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        if self.out.get_ref().is_terminal() {
            return self.raw(&visible(text));
        }
        self.raw(text)
    }

    /// Bytes exactly as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// A value as JSON, indented.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(value)?;
        writeln!(self.out, "{}", escape_c1(&text))?;
        Ok(())
    }

    /// Rows in aligned columns, two spaces apart; the last column may have any length.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        self.indented_table("", rows)
    }

    /// The same, below a heading.
    pub(crate) fn indented_table(&mut self, indent: &str, rows: &[Vec<String>]) -> io::Result<()> {
        self.out.write_all(aligned(indent, rows).as_bytes())
    }

    /// A problem with its excerpt.
    pub(crate) fn problem(&mut self, problem: &Problem) -> io::Result<()> {
        self.out.write_all(problem_text(problem).as_bytes())
    }

    /// A message to the user, separate from the data.
    pub(crate) fn say(&mut self, text: impl AsRef<str>) {
        // On a terminal, the data printed before must come first, too.
        let _ = self.out.flush();
        stderr::write(format!("{}\n", visible(text.as_ref())));
    }

    /// The error that ends a command.
    pub(crate) fn error(&mut self, error: &CommandError) {
        self.say(format!("error: {}", error.message));
        for hint in &error.hints {
            self.say(format!("hint: {hint}"));
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Rows as lines with aligned columns.
fn aligned(indent: &str, rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| shortened(one_line(cell))).collect())
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let widths = cells.map(|cell| cell.chars().count().min(COLUMN));
        widths.max().unwrap_or_default()
    };
    // Nothing follows the last column: it needs no padding.
    let last = columns.saturating_sub(1);
    let widths: Vec<usize> = (0..last).map(width).chain([0]).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = indent.to_owned();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A cell, or its beginning and `…`.
fn shortened(mut cell: String) -> String {
    if let Some((end, _)) = cell.char_indices().nth(CELL) {
        cell.truncate(end);
        cell.push('…');
    }
    cell
}

/// The text with every control, direction and invisible character written as `<U+001B>`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            let _ = write!(shown, "<U+{:04X}>", c as u32);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Visible, and on one line.
pub(crate) fn one_line(text: &str) -> String {
    visible(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word, quoted for a shell.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@%".contains(c);
    if text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{200b}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e01ef}' => true,
        c => c.is_control(),
    }
}

/// JSON does not escape DEL and the C1 characters; some terminals obey them.
fn escape_c1(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|c| ('\u{7f}'..='\u{9f}').contains(&c)) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if ('\u{7f}'..='\u{9f}').contains(&c) {
            let _ = write!(escaped, "\\u{:04x}", c as u32);
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

fn problem_text(problem: &Problem) -> String {
    let mut text = String::new();
    let severity = problem.severity.as_str();
    let _ = writeln!(
        text,
        "{severity}[{}]: {}",
        problem.code,
        one_line(&problem.message)
    );
    let mut place = one_line(&problem.path);
    if let Some(line) = problem.line {
        let _ = write!(place, ":{line}");
        if let Some(column) = problem.column {
            let _ = write!(place, ":{column}");
        }
    }
    let number = problem
        .line
        .map_or_else(String::new, |line| line.to_string());
    let gutter = " ".repeat(number.len());
    let _ = writeln!(text, "{gutter}--> {place}");
    if let Some(excerpt) = &problem.excerpt {
        // Tabs and hidden characters take more than one column when they are shown.
        let shown = |part: &str| visible(part).replace('\t', "    ");
        let before: String = excerpt.text.chars().take(excerpt.start).collect();
        let marked: String = excerpt
            .text
            .chars()
            .skip(excerpt.start)
            .take(excerpt.width)
            .collect();
        let indent = " ".repeat(shown(&before).chars().count());
        let carets = "^".repeat(shown(&marked).chars().count().max(1));
        let _ = writeln!(text, "{gutter} |\n{number} | {}", shown(&excerpt.text));
        let _ = writeln!(text, "{gutter} | {indent}{carets}");
    }
    if let Some(help) = &problem.help {
        let _ = writeln!(text, "{gutter} = help: {}", one_line(help));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_hold_cells_of_any_length() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let long = "x".repeat(70_000);
        let rows = [row(["a", "b", &long]), row(["aa", &long, "c"])];
        let text = aligned("  ", &rows);
        let lines: Vec<&str> = text.lines().collect();
        let cell = format!("{}…", &long[..CELL]);
        assert_eq!(lines[1], format!("  aa  {cell}  c"));
        let blanks = " ".repeat(COLUMN - 1);
        assert_eq!(lines[0], format!("  a   b{blanks}  {cell}"));
    }
}
