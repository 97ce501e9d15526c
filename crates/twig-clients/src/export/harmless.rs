//! Breaks up text that a client would run, attach or replace, with a space.
//!
//! A value may be empty, so the text on both sides of a mark counts as adjacent.

use std::collections::HashSet;

use super::arguments::WrittenPart;
use twig_core::problem::shorten;
use twig_core::shell_lines::file_reference;

/// Characters of a place that are shown.
pub(super) const SHOWN: usize = 30;

/// A place in a text: a character, a mark, or something that the client is meant to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Char(char),
    Mark,
    Live,
}

/// What was found, and how often.
#[derive(Debug, Default)]
pub(super) struct HazardCount {
    /// Places that a client would run or replace: each has a space now.
    pub(super) kept: usize,
    /// The first of them as it was.
    pub(super) first: String,
    /// Files of the project that a client may attach; they are not changed.
    pub(super) files: Vec<String>,
}

impl HazardCount {
    /// The notes on it.
    pub(super) fn notes(&self, title: &str) -> Vec<String> {
        let mut notes = Vec::new();
        let first = quoted_place(&self.first);
        match self.kept {
            0 => {}
            1 => notes.push(format!(
                "a space was put into one place that {title} would run or fill in: {first}"
            )),
            kept => notes.push(format!(
                "a space was put into {kept} places that {title} would run or fill in, such as {first}"
            )),
        }
        let (shown, more) = self.files.split_at(self.files.len().min(3));
        if !shown.is_empty() {
            let more = if more.is_empty() { "" } else { ", …" };
            let shown = shown.join("`, `");
            notes.push(format!(
                "{title} attaches `{shown}`{more} where there is such a file"
            ));
        }
        notes
    }
}

/// A place as notes show it: backticks around backticks would not be readable.
pub(super) fn quoted_place(place: &str) -> String {
    if place.contains('`') {
        format!("\"{place}\"")
    } else {
        format!("`{place}`")
    }
}

/// Commands and files of Claude Code: `` !`…` `` after a space, ```` ```! ````, `@~/…`.
pub(super) fn claude(parts: &mut [WrittenPart]) -> HazardCount {
    claude_hazards(parts, false)
}

/// The same for a text that has no marks and no escapes: a `$ARGUMENTS` in it is not meant.
pub(super) fn claude_without_marks(parts: &mut [WrittenPart]) -> HazardCount {
    claude_hazards(parts, true)
}

fn claude_hazards(parts: &mut [WrittenPart], separates_marks: bool) -> HazardCount {
    let mut found = keep(parts, |cells, at| {
        match cells[at] {
            Cell::Char('$') if separates_marks => {
                (word_after(cells, at) == "ARGUMENTS").then_some(at + 1)
            }
            Cell::Char('!') => {
                let is_command = next(cells, at) == Some('`') && after_blank(cells, at);
                // A fence whose language is `!`; the space goes before it.
                is_command
                    .then_some(at + 1)
                    .or_else(|| after_fence(cells, at).then_some(at))
            }
            Cell::Char('@') => is_far(cells, at).then_some(at + 1),
            _ => None,
        }
    });
    found.files = files(parts);
    found
}

/// Commands and files of opencode: `` !`…` `` anywhere, and numbers. Its marks are numbers if there
/// are several, and a value may end in `!`: so a space also separates a mark from the text after
/// it.
pub(super) fn opencode(parts: &mut [WrittenPart], has_numbers: bool) -> HazardCount {
    let is_quoted = quoted(&cells_of(parts));
    let mut found = keep(parts, |cells, at| match cells[at] {
        Cell::Char('!') => {
            let is_marked = cells.get(at + 1) == Some(&Cell::Mark);
            (is_marked || is_quoted[at]).then_some(at + 1)
        }
        Cell::Mark => {
            let is_number = has_numbers
                && matches!(cells.get(at + 1), Some(Cell::Char(c)) if c.is_ascii_digit());
            (is_number || is_quoted[at]).then_some(at + 1)
        }
        Cell::Char('@') => is_far(cells, at).then_some(at + 1),
        Cell::Char('$') => {
            let word = word_after(cells, at);
            let is_mark = word.starts_with(|c: char| c.is_ascii_digit()) || word == "ARGUMENTS";
            is_mark.then_some(at + 1)
        }
        Cell::Char(_) | Cell::Live => None,
    });
    found.files = files(parts);
    found
}

/// As many characters after a `$` as its longest mark has.
fn word_after(cells: &[Cell], at: usize) -> String {
    let rest = cells[at + 1..].iter().map_while(|cell| match cell {
        Cell::Char(c) => Some(*c),
        Cell::Mark | Cell::Live => None,
    });
    rest.take("ARGUMENTS".len()).collect()
}

/// `!{…}`, `@{…}` and `{{args}}` of the Gemini command line.
pub(super) fn gemini(parts: &mut [WrittenPart]) -> HazardCount {
    keep(parts, |cells, at| match cells[at] {
        // A mark begins with a brace, too.
        Cell::Char('!' | '@') => {
            let is_marked = cells.get(at + 1) == Some(&Cell::Mark);
            (is_marked || next(cells, at) == Some('{')).then_some(at + 1)
        }
        Cell::Char('{') => {
            let is_args = "{{args}}"
                .chars()
                .enumerate()
                .all(|(offset, c)| cells.get(at + offset) == Some(&Cell::Char(c)));
            is_args.then_some(at + 2)
        }
        _ => None,
    })
}

/// `${input:…}` of VS Code.
pub(super) fn copilot(parts: &mut [WrittenPart]) -> HazardCount {
    keep(parts, |cells, at| {
        let is_input = cells[at] == Cell::Char('$')
            && "{input:"
                .chars()
                .enumerate()
                .all(|(offset, c)| cells.get(at + 1 + offset) == Some(&Cell::Char(c)));
        is_input.then_some(at + 1)
    })
}

fn cells_of(parts: &[WrittenPart]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for part in parts {
        match part {
            WrittenPart::Text(text) => cells.extend(text.chars().map(Cell::Char)),
            WrittenPart::Mark(_) => cells.push(Cell::Mark),
            WrittenPart::Live(_) => cells.push(Cell::Live),
        }
    }
    cells
}

/// Inserts the spaces.
fn keep(parts: &mut [WrittenPart], place: impl Fn(&[Cell], usize) -> Option<usize>) -> HazardCount {
    let cells = cells_of(parts);
    let found = (0..cells.len()).filter_map(|at| Some((at, place(&cells, at)?)));
    let (starts, mut places): (Vec<usize>, Vec<usize>) = found.unzip();
    places.sort_unstable();
    places.dedup();
    let found = HazardCount {
        kept: places.len(),
        first: starts
            .first()
            .map_or_else(String::new, |at| excerpt(&cells, *at)),
        files: Vec::new(),
    };
    if places.is_empty() {
        return found;
    }
    let mut places = places.into_iter().peekable();
    let mut at = 0;
    for part in parts.iter_mut() {
        let WrittenPart::Text(text) = part else {
            // A space before a mark belongs to the text before it, which is already written.
            at += 1;
            continue;
        };
        let mut kept = String::with_capacity(text.len() + 8);
        for c in text.chars() {
            if places.next_if_eq(&at).is_some() {
                kept.push(' ');
            }
            kept.push(c);
            at += 1;
        }
        if places.next_if_eq(&at).is_some() {
            kept.push(' ');
        }
        *text = kept;
    }
    found
}

/// The text at a place, as far as it belongs together, without values.
fn excerpt(cells: &[Cell], at: usize) -> String {
    // A fence's language is shown with its fence.
    let is_fence = cells[at] == Cell::Char('!') && after_fence(cells, at);
    let start = if is_fence { at.saturating_sub(3) } else { at };
    let chars = cells[start..].iter().map(|cell| match cell {
        Cell::Char(c) => *c,
        Cell::Mark | Cell::Live => '…',
    });
    let end = match next(cells, at) {
        _ if is_fence => '\n',
        Some(end @ '`') => end,
        Some('{') => '}',
        _ => ' ',
    };
    let mut text = String::new();
    // The first two characters open what the loop searches the end of.
    for (count, c) in chars.enumerate() {
        if c.is_control() || (end == ' ' && c.is_whitespace()) {
            break;
        }
        text.push(c);
        if c == end && count > 1 {
            break;
        }
    }
    shorten(&text, SHOWN)
}

/// The next character, skipping marks.
fn next(cells: &[Cell], at: usize) -> Option<char> {
    let next = cells[at + 1..].iter().find(|cell| **cell != Cell::Mark)?;
    match next {
        Cell::Char(c) => Some(*c),
        Cell::Mark | Cell::Live => None,
    }
}

/// For each place, whether something between two backticks comes next, skipping marks. Computed
/// from the end: a text may have any number of marks in a row.
fn quoted(cells: &[Cell]) -> Vec<bool> {
    let tick = Cell::Char('`');
    // What is meant to run has backticks of its own.
    let last = cells
        .iter()
        .rposition(|cell| matches!(cell, Cell::Char('`') | Cell::Live));
    let opens = |at: usize| {
        let has_end = last.is_some_and(|last| last > at);
        cells[at] == tick && cells.get(at + 1).is_some_and(|cell| *cell != tick) && has_end
    };
    let mut all = vec![false; cells.len()];
    let mut is_next = false;
    for (at, cell) in cells.iter().enumerate().rev() {
        all[at] = is_next;
        if *cell != Cell::Mark {
            is_next = opens(at);
        }
    }
    all
}

/// True if whitespace, a line's beginning or a value comes before.
fn after_blank(cells: &[Cell], at: usize) -> bool {
    match at.checked_sub(1).map(|before| cells[before]) {
        None | Some(Cell::Mark) => true,
        Some(Cell::Char(c)) => c.is_whitespace(),
        Some(Cell::Live) => false,
    }
}

/// True if three backticks come before.
fn after_fence(cells: &[Cell], at: usize) -> bool {
    let before = cells[..at].iter().rev().filter(|cell| **cell != Cell::Mark);
    before
        .take(3)
        // What is meant to run may end with one.
        .filter(|cell| matches!(cell, Cell::Char('`') | Cell::Live))
        .count()
        == 3
}

/// True if an `@` path is outside the project: in home, at the root, or in a parent folder.
fn is_far(cells: &[Cell], at: usize) -> bool {
    let mut rest = cells[at + 1..].iter().filter_map(|cell| match cell {
        Cell::Char(c) => Some(*c),
        Cell::Mark | Cell::Live => None,
    });
    let is_apart = match at.checked_sub(1).map(|before| cells[before]) {
        Some(Cell::Char(c)) => !c.is_alphanumeric() && c != '_' && c != '`',
        _ => true,
    };
    let first = rest.next();
    is_apart
        && match first {
            Some('/' | '~') => true,
            Some('.') => rest.next() == Some('.'),
            _ => false,
        }
}

/// Words after an `@` that look like paths.
fn files(parts: &[WrittenPart]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    for part in parts {
        let WrittenPart::Text(text) = part else {
            continue;
        };
        for word in text.split_whitespace() {
            let Some(path) = file_reference(word) else {
                continue;
            };
            if known.insert(path) {
                files.push(format!("@{path}"));
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use twig_testkit::cpu_time;

    use super::*;

    /// Takes moments if the work is linear in the text, and minutes if it is quadratic.
    #[track_caller]
    fn in_moments(parts: &[WrittenPart]) -> Vec<HazardCount> {
        let mut found = Vec::new();
        let took = cpu_time(|| {
            found = vec![
                claude(&mut parts.to_vec()),
                opencode(&mut parts.to_vec(), true),
                gemini(&mut parts.to_vec()),
                copilot(&mut parts.to_vec()),
            ];
        });
        assert!(took < Duration::from_secs(5), "{took:?}");
        found
    }

    #[test]
    fn a_megabyte_of_marks_takes_moments() {
        let mark = || WrittenPart::Mark("$ARGUMENTS".to_owned());
        let mut parts: Vec<WrittenPart> = (0..100_000).map(|_| mark()).collect();
        in_moments(&parts);
        parts.insert(0, WrittenPart::Text("!".to_owned()));
        parts.push(WrittenPart::Text(format!("`x{}", "y".repeat(1 << 20))));
        assert_eq!(in_moments(&parts)[1].kept, 1);
        parts.push(WrittenPart::Text("`".to_owned()));
        assert_eq!(in_moments(&parts)[1].kept, 100_001);
    }

    #[test]
    fn a_megabyte_of_files_takes_moments() {
        let names = (0..90_000).chain(0..9).map(|at| format!("@a{at}.md"));
        let text = names.collect::<Vec<_>>().join("\n");
        let found = in_moments(&[WrittenPart::Text(text)]);
        assert_eq!(found[0].files.len(), 90_000);
        assert_eq!(found[1].files[2], "@a2.md");
    }
}
