//! The text of a message: literal text, and code that is replaced.
//!
//! Every brace of the literal text that Jinja would interpret is escaped, so that a template
//! renders to exactly that text with the values in their places.

/// Text and code, alternating.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EscapedWords {
    pieces: Vec<WordsPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum WordsPiece {
    Text(String),
    Code(String),
}

impl EscapedWords {
    /// Only text.
    pub(super) fn of(text: &str) -> Self {
        let mut words = Self::default();
        words.text(text);
        words
    }

    /// Adds text.
    pub(super) fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(WordsPiece::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(WordsPiece::Text(text.to_owned())),
        }
    }

    /// Adds Jinja.
    pub(super) fn code(&mut self, jinja: impl Into<String>) {
        self.pieces.push(WordsPiece::Code(jinja.into()));
    }

    /// Adds an argument's value; nothing if there is none.
    pub(super) fn value(&mut self, argument: &str) {
        self.code(format!("{{{{ {argument} }}}}"));
    }

    /// Adds an argument's value; if there is none, the original text.
    pub(super) fn value_or(&mut self, argument: &str, written: &str) {
        self.code(format!(
            "{{{{ {argument} | default({}) }}}}",
            quote(written)
        ));
    }

    /// Appends another one.
    pub(super) fn append(&mut self, other: Self) {
        for piece in other.pieces {
            match piece {
                WordsPiece::Text(text) => self.text(&text),
                WordsPiece::Code(code) => self.code(code),
            }
        }
    }

    /// True if it has no code.
    pub(super) fn is_plain(&self) -> bool {
        let is_text = |piece: &WordsPiece| matches!(piece, WordsPiece::Text(_));
        self.pieces.iter().all(is_text)
    }

    /// True if it is only whitespace.
    pub(super) fn is_blank(&self) -> bool {
        let is_blank =
            |piece: &WordsPiece| matches!(piece, WordsPiece::Text(text) if text.trim().is_empty());
        self.pieces.iter().all(is_blank)
    }

    /// The text, if there is no code.
    pub(super) fn plain(&self) -> String {
        let texts = self.pieces.iter().map(|piece| match piece {
            WordsPiece::Text(text) => text.as_str(),
            WordsPiece::Code(_) => "",
        });
        texts.collect()
    }

    /// Removes whitespace from the end of the text that was added last.
    pub(super) fn trim_end(&mut self, is_blank: impl Fn(char) -> bool) {
        if let Some(WordsPiece::Text(text)) = self.pieces.last_mut() {
            let length = text.trim_end_matches(is_blank).len();
            text.truncate(length);
            if text.is_empty() {
                self.pieces.pop();
            }
        }
    }

    /// Removes line ends at both ends.
    pub(super) fn trim_lines(&mut self) {
        self.trim_end(is_line_end);
        if let Some(WordsPiece::Text(text)) = self.pieces.first_mut() {
            let rest = text.trim_start_matches(is_line_end);
            *text = rest.to_owned();
        }
    }

    /// As a Jinja template.
    pub(super) fn template(&self) -> String {
        let mut template = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                WordsPiece::Code(code) => template.push_str(code),
                WordsPiece::Text(text) => {
                    let before_code = matches!(self.pieces.get(at + 1), Some(WordsPiece::Code(_)));
                    escape(text, before_code, &mut template);
                }
            }
        }
        template
    }
}

fn is_line_end(c: char) -> bool {
    c == '\n' || c == '\r'
}

/// Writes a run of braces as a string if Jinja would read it as the start of a tag.
fn escape(text: &str, before_code: bool, template: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let run = rest[at..].bytes().take_while(|byte| *byte == b'{').count();
        let next = rest.as_bytes().get(at + run);
        let starts_tag =
            run > 1 || matches!(next, Some(b'%' | b'#')) || (next.is_none() && before_code);
        template.push_str(&rest[..at]);
        if starts_tag {
            template.push_str("{{ \"");
            template.push_str(&rest[at..at + run]);
            template.push_str("\" }}");
        } else {
            template.push_str(&rest[at..at + run]);
        }
        rest = &rest[at + run..];
    }
    template.push_str(rest);
}

/// A string of Jinja.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
