//! A line that the user types and edits: what the keys do to it, and how it is drawn.

use unicode_width::UnicodeWidthChar;

use super::keys::Key;

/// In front of the line.
const SIGN: &str = "> ";

/// The longest text that is taken: values have a limit of their own, which is reported later.
const LONGEST: usize = 4 * 1024 * 1024;

/// A text with a cursor.
#[derive(Debug, Default)]
pub(super) struct LineEditor {
    before: Vec<char>,
    /// What is behind the cursor, last letter first.
    after: Vec<char>,
}

impl LineEditor {
    /// Does what a key that edits says; other keys do nothing.
    pub(super) fn press(&mut self, key: Key) {
        match key {
            Key::Letter(letter) => self.add(letter),
            Key::Paste(text) => self.paste(&text),
            Key::Backspace => drop(self.before.pop()),
            Key::Delete => drop(self.after.pop()),
            Key::Left => self.after.extend(self.before.pop()),
            Key::Right => self.before.extend(self.after.pop()),
            Key::Home => self.after.extend(self.before.drain(..).rev()),
            Key::End => self.before.extend(self.after.drain(..).rev()),
            Key::DeleteLine => self.before.clear(),
            Key::DeleteRest => self.after.clear(),
            Key::DeleteWord => {
                let is_space = |letter: &char| letter.is_whitespace();
                while self.before.pop_if(|letter| is_space(letter)).is_some() {}
                while self.before.pop_if(|letter| !is_space(letter)).is_some() {}
            }
            _ => {}
        }
    }

    fn add(&mut self, letter: char) {
        if self.before.len() + self.after.len() < LONGEST {
            self.before.push(letter);
        }
    }

    /// Adds a pasted text; a terminal sends its ends of lines as carriage returns.
    fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let is_wanted = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
        text.chars()
            .filter(is_wanted)
            .for_each(|letter| self.add(letter));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// The text; the end of line that most pastes have is not part of it.
    pub(super) fn text(&self) -> String {
        let text: String = self.before.iter().chain(self.after.iter().rev()).collect();
        match text.strip_suffix('\n') {
            Some(text) => text.to_owned(),
            None => text,
        }
    }

    /// The line around the cursor, in one row of so many columns, with the cursor at its place.
    pub(super) fn row(&self, columns: usize) -> String {
        // The last column stays free for the cursor.
        let room = columns.saturating_sub(SIGN.len() + 1);
        let (left, left_width) = shown(self.before.iter().rev(), room);
        let left: String = left.chars().rev().collect();
        let (right, _) = shown(self.after.iter().rev(), room - left_width);
        let column = SIGN.len() + left_width + 1;
        format!("\r{SIGN}{left}{right}\u{1b}[K\u{1b}[{column}G")
    }
}

/// The letters that fit, and their width.
fn shown<'c>(letters: impl Iterator<Item = &'c char>, room: usize) -> (String, usize) {
    let mut text = String::new();
    let mut width = 0;
    for letter in letters {
        let letter = match letter {
            '\n' => '⏎',
            '\t' => ' ',
            letter => *letter,
        };
        let own = letter.width().unwrap_or(0);
        if width + own > room {
            break;
        }
        width += own;
        text.push(letter);
    }
    (text, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: impl IntoIterator<Item = Key>) -> LineEditor {
        let mut line = LineEditor::default();
        keys.into_iter().for_each(|key| line.press(key));
        line
    }

    #[test]
    fn keys_edit_at_the_cursor() {
        let letters = |text: &str| text.chars().map(Key::Letter).collect::<Vec<_>>();
        let line =
            |keys: &[Key]| typed(letters("one two").into_iter().chain(keys.iter().cloned())).text();
        assert_eq!(line(&[Key::Left, Key::Letter('x')]), "one twxo");
        assert_eq!(
            line(&[Key::Home, Key::Delete, Key::Right, Key::Backspace]),
            "e two"
        );
        assert_eq!(line(&[Key::DeleteWord]), "one ");
        assert_eq!(line(&[Key::DeleteWord, Key::DeleteWord]), "");
        assert_eq!(
            line(&[Key::Home, Key::Right, Key::DeleteRest, Key::End]),
            "o"
        );
        assert_eq!(line(&[Key::Left, Key::DeleteLine]), "o");
        assert_eq!(line(&[Key::Up, Key::PageDown]), "one two");
    }

    #[test]
    fn a_paste_keeps_its_lines_and_drops_control_characters() {
        let pasted = typed([Key::Paste("fn a() {\r\tb\u{1b}[A();\r\n}\r".to_owned())]);
        assert_eq!(pasted.text(), "fn a() {\n\tb[A();\n}");
        assert_eq!(pasted.row(80), "\r> fn a() {⏎ b[A();⏎}⏎\u{1b}[K\u{1b}[22G");
    }

    #[test]
    fn a_row_fits_and_shows_the_cursor() {
        let mut line = typed([Key::Paste("日本語".repeat(100))]);
        for _ in 0..20 {
            line.press(Key::Left);
        }
        for columns in 0..120 {
            let row = line.row(columns);
            let (text, _) = row.split_once('\u{1b}').unwrap();
            let width = unicode_width::UnicodeWidthStr::width(text.trim_start_matches('\r'));
            assert!(width <= columns.max(SIGN.len()), "{columns}: {row}");
        }
    }
}
