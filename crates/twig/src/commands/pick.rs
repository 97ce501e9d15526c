//! `twig pick`: type to find a prompt or a skill, with a preview beside the list; Enter asks for its
//! arguments and prints it.
//!
//! Everything that the user sees goes to the terminal itself and the prompt alone to standard
//! output, so `claude "$(twig pick)"` works.

mod finder;
mod keys;
mod terminal;

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use twig_core::{Catalog, Latest, PromptRef};

use self::finder::{Finder, PickedItem};
use self::keys::{Key, KeyReader};
use self::terminal::{Event, RawTerminal};
use super::opened_catalog::{FunctionArgs, OpenedCatalog, SourceArgs};
use super::question::QuestionTerminal;
use super::{list, render, show, values};
use crate::command_error::CommandError;
use crate::ui::{Meaning, Paint, ScreenSize, Ui, cut, one_line, visible};

/// The exit code of a program that Ctrl-C ended, which shells know.
const INTERRUPTED: u8 = 130;
/// The narrowest terminal with room for a preview.
const PREVIEW_FROM: usize = 60;

#[derive(Debug, Args)]
pub(crate) struct PickArgs {
    /// What to search for at first
    words: Vec<String>,

    /// Print the names of all prompts and ask nothing, such as for `fzf`
    #[arg(long)]
    plain: bool,

    /// Copy the text to the clipboard instead of printing it
    #[arg(long, conflicts_with = "plain")]
    copy: bool,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    functions: FunctionArgs,
}

/// How picking ended.
enum PickOutcome {
    /// The name of a prompt.
    Picked(String),
    /// The user left.
    Left,
    /// A signal ended it.
    Signal(u8),
}

pub(super) fn run(options: &PickArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open_with_store(&options.sources, ui)?;
    let catalog = Latest::from(opened.live.snapshot());
    if options.plain {
        for found in catalog.prompts(0) {
            ui.line(&*found.prompt.full_name)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let items = items(&catalog);
    if items.is_empty() {
        ui.say(list::nothing(&opened));
        return Ok(ExitCode::FAILURE);
    }
    let mut finder = Finder::new(items, &options.words.join(" "));
    let mut terminal = RawTerminal::open()?;
    let picked = pick(&mut terminal, &mut finder, &opened, &catalog);
    let (input, output) = terminal.close()?;
    let name = match picked? {
        PickOutcome::Picked(name) => name,
        PickOutcome::Left => return Ok(ExitCode::from(INTERRUPTED)),
        PickOutcome::Signal(number) => return Ok(ExitCode::from(128 + number)),
    };
    let found = opened.find(&catalog, &name)?;
    let mut given = Vec::new();
    let mut questions = QuestionTerminal::new(input, output);
    values::ask(&mut questions, &found.prompt.arguments, &mut given)?;
    let rendered = render::rendered(&opened, &catalog, found, &given, &options.functions)?;
    render::print(found.prompt, &rendered.messages, options.copy, ui)?;
    Ok(ExitCode::SUCCESS)
}

/// Everything that can be picked.
fn items(catalog: &Catalog) -> Vec<PickedItem> {
    let item = |found: PromptRef<'_>| {
        let prompt = found.prompt;
        let about = prompt.description.as_deref().or(prompt.title.as_deref());
        let about = cut(&one_line(about.unwrap_or_default()), 300);
        PickedItem::new(&prompt.full_name, &about)
    };
    catalog.prompts(0).map(item).collect()
}

/// Lets the user type until something is picked.
fn pick(
    terminal: &mut RawTerminal,
    finder: &mut Finder,
    opened: &OpenedCatalog,
    catalog: &Catalog,
) -> Result<PickOutcome, CommandError> {
    let mut keys = KeyReader::default();
    // The preview of the last drawn selection: reading it again for each key would be slow.
    let mut preview: Option<(String, Vec<String>)> = None;
    loop {
        let size = terminal.size();
        let selected = finder.selected().map(|item| item.name.clone());
        if let Some(name) = &selected
            && preview.as_ref().is_none_or(|(shown, _)| shown != name)
        {
            preview = Some((name.clone(), preview_of(opened, catalog, name, size.rows)));
        }
        let lines = match (&preview, &selected) {
            (Some((_, lines)), Some(_)) => &lines[..],
            _ => &[],
        };
        terminal.draw(&frame(finder, lines, size))?;
        let bytes = match terminal.wait()? {
            Event::Input(bytes) => bytes,
            Event::Resized => continue,
            Event::Ended => return Ok(PickOutcome::Left),
            Event::Signal(number) => return Ok(PickOutcome::Signal(number)),
        };
        for key in keys.read(&bytes) {
            match key {
                Key::Letter(letter) => finder.add(letter),
                Key::Backspace => finder.remove_letter(),
                Key::DeleteWord => finder.remove_word(),
                Key::DeleteLine => finder.clear(),
                Key::Up => finder.move_up(1),
                Key::Down => finder.move_down(1),
                Key::PageUp => finder.move_up(size.rows.saturating_sub(2)),
                Key::PageDown => finder.move_down(size.rows.saturating_sub(2)),
                Key::Leave => return Ok(PickOutcome::Left),
                Key::Enter => {
                    if let Some(item) = finder.selected() {
                        return Ok(PickOutcome::Picked(item.name.clone()));
                    }
                }
            }
        }
    }
}

/// What is shown beside the list: what the prompt takes, and its text.
fn preview_of(opened: &OpenedCatalog, catalog: &Catalog, name: &str, rows: usize) -> Vec<String> {
    let Ok(found) = opened.find(catalog, name) else {
        return Vec::new();
    };
    let prompt = found.prompt;
    let mut lines = Vec::new();
    let about = prompt.description.as_deref().or(prompt.title.as_deref());
    lines.extend(about.map(one_line));
    if !prompt.arguments.is_empty() {
        let names = prompt.arguments.iter().map(|argument| {
            if argument.required {
                argument.name.to_string()
            } else {
                format!("[{}]", argument.name)
            }
        });
        lines.push(one_line(&names.collect::<Vec<_>>().join(" ")));
    }
    lines.push(String::new());
    for text in show::texts(&opened.live, found) {
        let shown = visible(&text).replace('\t', "    ");
        let room = rows.saturating_sub(lines.len());
        lines.extend(shown.lines().take(room).map(str::to_owned));
        lines.push(String::new());
    }
    lines
}

/// The whole screen as text: the query, the list, and the preview beside it.
fn frame(finder: &Finder, preview: &[String], size: ScreenSize) -> String {
    let paint = Paint::new(true);
    let count = format!("{}/{}", finder.found(), finder.total());
    let room = size.columns.saturating_sub(count.len() + 4);
    let query = cut(&one_line(finder.query()), room);
    let start = paint.paint(Meaning::Hint, ">").into_owned();
    let counted = paint.paint(Meaning::Faint, &count);
    let mut text = format!(
        "\u{1b}[H{start} {query}\u{1b}[K\u{1b}[1;{}H{counted}\r\n",
        size.columns.saturating_sub(count.len()) + 1
    );
    let rows = size.rows.saturating_sub(1);
    let has_preview = size.columns >= PREVIEW_FROM;
    let width = if has_preview {
        size.columns * 2 / 5
    } else {
        size.columns
    };
    let shown = finder.shown(rows);
    for at in 0..rows {
        if let Some((item, is_selected)) = shown.get(at) {
            let name = cut(&one_line(&item.name), width.saturating_sub(3));
            let used = 2 + terminal::width(&name);
            if *is_selected {
                text.push_str(&paint.paint(Meaning::Hint, "❯"));
                text.push(' ');
                text.push_str(&paint.paint(Meaning::Heading, &name));
            } else {
                text.push_str("  ");
                text.push_str(&name);
            }
            if !has_preview {
                let about = cut(&item.about, width.saturating_sub(used + 2));
                text.push_str("  ");
                text.push_str(&paint.paint(Meaning::Faint, &about));
            }
        }
        text.push_str("\u{1b}[K");
        if has_preview {
            let line = preview.get(at).map_or("", String::as_str);
            let line = cut(line, size.columns.saturating_sub(width + 3));
            let bar = paint.paint(Meaning::Faint, "│");
            let _ = write!(text, "\u{1b}[{}G{bar} {line}", width + 1);
        }
        if at + 1 < rows {
            text.push_str("\r\n");
        }
    }
    // The cursor stays behind the query.
    let column = terminal::width(&query) + 3;
    let _ = write!(text, "\u{1b}[J\u{1b}[1;{column}H");
    text
}
