//! `twig pick`: type to find a prompt or a skill, with a preview beside the list; Enter asks for its
//! arguments and prints it.
//!
//! Everything that the user sees goes to the terminal itself and the prompt alone to standard
//! output, so `claude "$(twig pick)"` works.

mod finder;
mod fuzzy;

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use twig_core::{Catalog, Latest, PromptRef};

use self::finder::{Finder, PickedItem};
use super::keys::{Key, KeyReader};
use super::opened_catalog::{FunctionArgs, OpenedCatalog, SourceArgs};
use super::question::QuestionTerminal;
use super::raw_terminal::{Event, RawTerminal, width as width_of};
use super::{list, render, show, values};
use crate::command_error::CommandError;
use crate::ui::{Meaning, Paint, ScreenSize, Ui, cut, one_line, visible};

/// The exit code of a program that Ctrl-C ended, which shells know.
const INTERRUPTED: u8 = 130;
/// The narrowest terminal with room for a preview.
const PREVIEW_FROM: usize = 60;
/// The columns for the query, without which the count beside it is not shown.
const COUNT_FROM: usize = 12;

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
    let Some(mut terminal) = RawTerminal::open()? else {
        let error = CommandError::fixable("there is no terminal to pick on");
        return Err(error.hint("`twig pick --plain` prints the names of all prompts"));
    };
    terminal.enter_screen()?;
    let picked = pick(&mut terminal, &mut finder, &opened, &catalog);
    terminal.leave_screen()?;
    let name = match picked? {
        PickOutcome::Picked(name) => name,
        PickOutcome::Left => return Ok(ExitCode::from(INTERRUPTED)),
        PickOutcome::Signal(number) => return Ok(ExitCode::from(128 + number)),
    };
    let found = opened.find(&catalog, &name)?;
    let mut given = Vec::new();
    values::ask(
        QuestionTerminal::new(terminal),
        &found.prompt.arguments,
        &mut given,
    )?;
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
                Key::Leave | Key::Interrupt | Key::EndOfInput => return Ok(PickOutcome::Left),
                // The query is one line, edited at its end.
                Key::Paste(text) => {
                    let letters = one_line(&text);
                    letters.chars().for_each(|letter| finder.add(letter));
                }
                Key::Left | Key::Right | Key::Home | Key::End | Key::Delete | Key::DeleteRest => {}
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
    // A narrow terminal has room for the query only. Its last column stays free for the cursor.
    let has_count = size.columns >= count.len() + COUNT_FROM;
    let taken = if has_count { count.len() + 4 } else { 3 };
    let query = cut(
        &one_line(finder.query()),
        size.columns.saturating_sub(taken),
    );
    let [start, sign, blank] = if size.columns > 2 {
        ["> ", "❯ ", "  "]
    } else {
        [""; 3]
    };
    let start = paint.paint(Meaning::Hint, start).into_owned();
    let mut text = format!("\u{1b}[H{start}{query}\u{1b}[K");
    if has_count {
        let counted = paint.paint(Meaning::Faint, &count);
        let _ = write!(
            text,
            "\u{1b}[1;{}H{counted}",
            size.columns - count.len() + 1
        );
    }
    let rows = size.rows.saturating_sub(1);
    if rows > 0 {
        text.push_str("\r\n");
    }
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
            let used = 2 + width_of(&name);
            if *is_selected {
                text.push_str(&paint.paint(Meaning::Hint, sign));
                text.push_str(&paint.paint(Meaning::Heading, &name));
            } else {
                text.push_str(blank);
                text.push_str(&name);
            }
            let room = width.saturating_sub(used + 3);
            if !has_preview && room > 0 {
                text.push_str("  ");
                text.push_str(&paint.paint(Meaning::Faint, &cut(&item.about, room)));
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
    let column = (width_of(&query) + 3).min(size.columns);
    let _ = write!(text, "\u{1b}[J\u{1b}[1;{column}H");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a frame without what moves the cursor and paints, as far as they reach.
    fn columns_used(frame: &str) -> Vec<usize> {
        let mut used = vec![0];
        let mut column = 0;
        let mut parts = frame.split('\u{1b}');
        let plain = parts.next().map(|text| ('m', 0, text));
        let sequences = parts.filter_map(|part| {
            let part = part.strip_prefix('[')?;
            let end = part.find(|c: char| c.is_ascii_alphabetic())?;
            let number = part[..end].rsplit(';').next()?.parse().unwrap_or(1);
            Some((part[end..].chars().next()?, number, &part[end + 1..]))
        });
        for (kind, number, text) in plain.into_iter().chain(sequences) {
            if matches!(kind, 'H' | 'G') {
                column = number - 1;
            }
            for (at, line) in text.split("\r\n").enumerate() {
                if at > 0 {
                    used.push(0);
                    column = 0;
                }
                column += width_of(line);
                let last = used.len() - 1;
                used[last] = used[last].max(column);
            }
        }
        used
    }

    #[test]
    fn a_frame_fits_a_terminal_of_any_size() {
        let items = (0..300).map(|at| {
            let name = format!("library:prompt-日本語-{at}");
            PickedItem::new(&name, &"what it is about ".repeat(9))
        });
        let finder = Finder::new(items.collect(), "prompt with a long query");
        let all = Finder::new(vec![PickedItem::new("a", "b")], "");
        let preview = vec!["日本語 and more ".repeat(20); 50];
        for columns in 1..130 {
            for rows in 1..8 {
                let size = ScreenSize { columns, rows };
                for finder in [&finder, &all] {
                    let used = columns_used(&frame(finder, &preview, size));
                    assert!(used.len() <= rows, "{size:?}: {used:?}");
                    let widest = used.into_iter().max();
                    assert!(widest <= Some(columns), "{size:?}: {widest:?}");
                }
            }
        }
    }
}
