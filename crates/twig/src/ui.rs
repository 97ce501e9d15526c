//! All printing: data to stdout, talk to stderr.
//!
//! Control and invisible characters in text from files are spelled out, so that a library cannot
//! control the user's terminal.

mod pager;
mod progress;
mod style;
mod table;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;
use twig_core::{Problem, Severity};

pub(crate) use self::progress::Progress;
pub(crate) use self::style::{ColorWhen, Meaning, Paint};
use self::table::Layout;
pub(crate) use self::table::{TableGroup, cut};
use crate::command_error::{CommandError, ErrorReport};
use crate::places;
use crate::platform::terminal_size;
use crate::stderr;

/// What the user wants to see.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UiOptions {
    pub(crate) color: ColorWhen,
    /// No messages but errors and questions.
    pub(crate) is_quiet: bool,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// The two output streams.
pub(crate) struct Ui {
    out: BufWriter<io::Stdout>,
    /// What is collected for the pager, if there is one.
    pages: Option<Vec<u8>>,
    /// The terminal that standard output is, if it is one.
    screen: Option<ScreenSize>,
    paint: Paint,
    message_paint: Paint,
    is_quiet: bool,
    /// True if an error is one line of JSON.
    has_json_errors: bool,
}

impl Ui {
    pub(crate) fn new(options: UiOptions) -> Self {
        let out = io::stdout();
        Self {
            screen: out
                .is_terminal()
                .then(|| legible(screen_size(terminal_size(&out)))),
            paint: Paint::new(options.color.is_on(out.is_terminal())),
            message_paint: Paint::new(options.color.is_on(io::stderr().is_terminal())),
            is_quiet: options.is_quiet,
            pages: None,
            has_json_errors: false,
            out: BufWriter::new(out),
        }
    }

    /// True if the user wants no hints and no messages.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// True if standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.screen.is_some()
    }

    /// From now on, a text that is longer than the terminal goes to the user's pager.
    pub(crate) fn page(&mut self) {
        if self.is_terminal() && self.pages.is_none() {
            self.pages = Some(Vec::new());
        }
    }

    fn data(&mut self) -> &mut dyn Write {
        match &mut self.pages {
            Some(pages) => pages,
            None => &mut self.out,
        }
    }

    /// From now on, an error is one line of JSON.
    pub(crate) fn report_errors_as_json(&mut self) {
        self.has_json_errors = true;
    }

    /// One line of data.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        let text = visible(text.as_ref());
        writeln!(self.data(), "{text}")
    }

    /// One line that is above what belongs to it.
    pub(crate) fn heading(&mut self, text: &str) -> io::Result<()> {
        let text = self
            .paint
            .paint(Meaning::Heading, &one_line(text))
            .into_owned();
        writeln!(self.data(), "{text}")
    }

    /// A line of a diff.
    pub(crate) fn diff_line(&mut self, line: &str) -> io::Result<()> {
        let shown = visible(line);
        let meaning = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Meaning::Heading,
            [b'+', ..] => Meaning::Added,
            [b'-', ..] => Meaning::Removed,
            [b'@', ..] => Meaning::Name,
            _ => return self.line(line),
        };
        let shown = self.paint.paint(meaning, &shown).into_owned();
        writeln!(self.data(), "{shown}")
    }

    /// Data exactly as it is.
    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Text exactly as it is; a terminal sees control characters spelled out.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        if self.is_terminal() {
            return self.raw(&visible(text));
        }
        self.raw(text)
    }

    /// Bytes exactly as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.data().write_all(bytes)
    }

    /// A value as JSON, indented.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(value)?;
        writeln!(self.data(), "{}", escape_c1(&text))?;
        Ok(())
    }

    /// Rows in aligned columns, two spaces apart. On a terminal they fit its width; in a pipe the
    /// last column may have any length.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        let text = table::aligned(self.layout(""), rows);
        self.raw(&text)
    }

    /// Groups of rows, each below its heading, for a terminal.
    pub(crate) fn grouped_table(&mut self, groups: &[TableGroup]) -> io::Result<()> {
        let text = table::grouped(self.layout("  "), groups);
        self.raw(&text)
    }

    /// Rows of which nothing is cut: on a terminal the last column is wrapped.
    pub(crate) fn facts(&mut self, indent: &str, rows: &[Vec<String>]) -> io::Result<()> {
        let text = table::facts(self.layout(indent), rows);
        self.raw(&text)
    }

    fn layout<'i>(&self, indent: &'i str) -> Layout<'i> {
        Layout {
            indent,
            width: self.screen.map(|screen| screen.columns),
            paint: self.paint,
        }
    }

    /// A problem with its excerpt.
    pub(crate) fn problem(&mut self, problem: &Problem) -> io::Result<()> {
        let text = problem_text(problem, self.paint);
        self.raw(&text)
    }

    /// A problem with its excerpt, separate from the data.
    pub(crate) fn insist_on_problem(&mut self, problem: &Problem) {
        let _ = self.out.flush();
        stderr::write(problem_text(problem, self.message_paint));
    }

    /// A message to the user, separate from the data. `--quiet` turns it off.
    pub(crate) fn say(&mut self, text: impl AsRef<str>) {
        if !self.is_quiet {
            self.insist(text);
        }
    }

    /// A message that the user gets in any case: an error or a question.
    pub(crate) fn insist(&mut self, text: impl AsRef<str>) {
        // On a terminal, the data printed before must come first, too.
        let _ = self.out.flush();
        let text = visible(text.as_ref());
        stderr::write(format!("{}\n", self.message_paint.message(&text)));
    }

    /// Shows that this takes a while, until the value is dropped.
    pub(crate) fn progress(&mut self, what: &str) -> Progress {
        self.counted_progress(what, 0)
    }

    /// The same with how much of it is done: [`Progress::step`] counts.
    pub(crate) fn counted_progress(&mut self, what: &str, total: usize) -> Progress {
        if self.is_quiet || !io::stderr().is_terminal() {
            return Progress::default();
        }
        let _ = self.out.flush();
        Progress::start(what, total, self.message_paint)
    }

    /// A question, or the sign that an answer is awaited: the answer goes on the same line.
    pub(crate) fn ask(&mut self, text: &str) {
        let _ = self.out.flush();
        stderr::write(visible(text).into_owned());
    }

    /// The error that ends a command.
    pub(crate) fn error(&mut self, error: &CommandError) {
        if self.has_json_errors
            && let Ok(json) = serde_json::to_string(&ErrorReport::from(error))
        {
            self.insist(escape_c1(&json));
            return;
        }
        self.insist(format!("error: {}", error.message));
        for hint in &error.hints {
            self.insist(format!("hint: {hint}"));
        }
    }

    /// Prints what is left, through the pager if it is longer than the terminal.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let (Some(pages), Some(screen)) = (self.pages.take(), self.screen) {
            let is_long = memchr::memchr_iter(b'\n', &pages).count() >= screen.rows;
            if !(is_long && pager::show(&pages)) {
                self.out.write_all(&pages)?;
            }
        }
        // Flushing nothing would wait for a thread that writes to a client which does not read.
        if self.out.buffer().is_empty() {
            return Ok(());
        }
        self.out.flush()
    }
}

/// The size of a terminal: as it says, else as the shell says.
pub(crate) fn screen_size(size: Option<(u16, u16)>) -> ScreenSize {
    let said = |count: Option<u16>| count.filter(|count| *count > 0).map(usize::from);
    let variable = |name| places::variable(name)?.to_str()?.parse().ok();
    let columns = said(size.map(|(columns, _)| columns)).or_else(|| variable("COLUMNS"));
    let rows = said(size.map(|(_, rows)| rows)).or_else(|| variable("LINES"));
    ScreenSize {
        columns: columns.unwrap_or(80).max(1),
        rows: rows.unwrap_or(24).max(1),
    }
}

/// A size that tables fit: on a narrower terminal they wrap instead of saying nothing.
fn legible(size: ScreenSize) -> ScreenSize {
    ScreenSize {
        columns: size.columns.max(20),
        rows: size.rows.max(2),
    }
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

fn problem_text(problem: &Problem, paint: Paint) -> String {
    let mut text = String::new();
    let meaning = match problem.severity {
        Severity::Error => Meaning::Error,
        Severity::Warning => Meaning::Warning,
        Severity::Note => Meaning::Hint,
    };
    let title = format!("{}[{}]", problem.severity.as_str(), problem.code);
    let message = format!(": {}", one_line(&problem.message));
    let _ = writeln!(
        text,
        "{}{}",
        paint.paint(meaning, &title),
        paint.paint(Meaning::Heading, &message)
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
    let _ = writeln!(
        text,
        "{gutter}{} {place}",
        paint.paint(Meaning::Place, "-->")
    );
    let bar = paint.paint(Meaning::Place, "|");
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
        let number = paint.paint(Meaning::Place, &number);
        let carets = paint.paint(meaning, &carets);
        let _ = writeln!(
            text,
            "{gutter} {bar}\n{number} {bar} {}",
            shown(&excerpt.text)
        );
        let _ = writeln!(text, "{gutter} {bar} {indent}{carets}");
    }
    if let Some(help) = &problem.help {
        let (equals, word) = (
            paint.paint(Meaning::Place, "="),
            paint.paint(Meaning::Heading, "help:"),
        );
        let _ = writeln!(text, "{gutter} {equals} {word} {}", one_line(help));
    }
    text
}
