//! The parts of a document that can be read although others cannot.
//!
//! A document consists of sections: a header and the lines up to the next one. A section with a
//! mistake is replaced by spaces of the same length, until the rest can be read. So everything that
//! is read has its place in the file, and nothing is guessed.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_parser::Source;
use toml_parser::lexer::{Token, TokenKind};

use super::{TomlSyntaxError, header_keys, read_any};

/// How many mistakes are looked for one after the other.
const MISTAKES: usize = 32;

/// How many bytes are read to find them: each mistake means that the whole document is read again.
const BYTES: usize = 4 * 1024 * 1024;

/// A document of which a part can be read.
#[derive(Debug)]
pub(crate) struct TomlParts {
    /// The document with spaces in place of the sections that cannot be read.
    pub(crate) text: String,
    /// The mistakes, in the order of the document.
    pub(crate) errors: Vec<TomlSyntaxError>,
    /// The keys of the headers that were not read, and the mistake because of which; no keys stand
    /// for the lines before the first header.
    pub(crate) unread: BTreeMap<Vec<String>, Box<str>>,
}

/// A header and the lines below it.
#[derive(Debug)]
struct TomlSection {
    range: Range<usize>,
    /// The keys of its header; the first lines have none.
    keys: Option<Vec<String>>,
    /// True if a bracket in it is not closed.
    is_open: bool,
    is_blank: bool,
}

/// Finds the parts that can be read of a document with a mistake.
pub(crate) fn read_parts(text: &str, first: TomlSyntaxError) -> TomlParts {
    let tokens: Vec<Token> = Source::new(text).lex().collect();
    let mut sections = sections(text, &tokens);
    let has_unclosed_text = tokens.iter().any(|token| is_unclosed_text(text, token));
    // The missing end may be that of an earlier text, which then has a header in it.
    let doubted = tokens
        .iter()
        .find(|token| has_unclosed_text && has_header(text, token))
        .map(|token| token.span().start());
    let mut parts = TomlParts {
        text: text.to_owned(),
        errors: Vec::new(),
        unread: BTreeMap::new(),
    };
    let mistakes = MISTAKES.min(BYTES / text.len().max(1));
    let mut error = Some(first);
    while let Some(mistake) = error {
        let at = mistake.span.as_ref().map_or(0, |span| span.start);
        let at = doubted.map_or(at, |doubted| doubted.min(at));
        let blamed = blamed(&sections, at).filter(|_| parts.errors.len() < mistakes);
        let why = Box::from(mistake.message.as_str());
        parts.errors.push(mistake);
        let Some(blamed) = blamed else {
            // Nothing that is left can be told from the mistakes.
            parts.blank(text, &mut sections, has_unclosed_text, &why);
            break;
        };
        // Behind a text that never ends, headers may be text and texts may be headers.
        let end = if has_unclosed_text {
            sections.len()
        } else {
            blamed + 1
        };
        parts.blank(text, &mut sections[blamed..end], has_unclosed_text, &why);
        error = read_any(&parts.text).err();
    }
    parts
        .errors
        .sort_by_key(|error| error.span.as_ref().map_or(0, |span| span.start));
    parts
}

impl TomlParts {
    /// Leaves sections out. A text that does not end hides headers in its lines.
    fn blank(
        &mut self,
        text: &str,
        sections: &mut [TomlSection],
        has_unclosed_text: bool,
        why: &str,
    ) {
        for section in sections.iter_mut().filter(|it| !it.is_blank) {
            section.is_blank = true;
            let lines = &text[section.range.clone()];
            let spaces = lines.bytes().map(|byte| match byte {
                b'\n' => '\n',
                _ => ' ',
            });
            let spaces: String = spaces.collect();
            self.text.replace_range(section.range.clone(), &spaces);
            if section.keys.is_none() && !lines.trim().is_empty() {
                self.unread.insert(Vec::new(), why.into());
            }
            let hidden = lines.lines().filter(|_| has_unclosed_text);
            for keys in section
                .keys
                .take()
                .into_iter()
                .chain(hidden.filter_map(header_keys))
            {
                self.unread.entry(keys).or_insert_with(|| why.into());
            }
        }
    }
}

/// The section with the mistake that a reader found at this place, if one is left.
fn blamed(sections: &[TomlSection], at: usize) -> Option<usize> {
    let here = sections.partition_point(|section| section.range.start <= at);
    let is_left = |section: &TomlSection| !section.is_blank;
    let last = sections[..here].iter().rposition(is_left)?;
    // A bracket that is not closed is found at the next header.
    let before = sections[..last].iter().rposition(is_left);
    let before = before.filter(|before| sections[*before].is_open && last + 1 == here);
    Some(before.unwrap_or(last))
}

/// The sections of a document: its first lines, even if there are none, and one for each header.
fn sections(text: &str, tokens: &[Token]) -> Vec<TomlSection> {
    let mut sections = vec![TomlSection {
        range: 0..text.len(),
        keys: None,
        is_open: false,
        is_blank: false,
    }];
    let mut is_line_start = true;
    let mut open = 0_usize;
    for token in tokens {
        let at = token.span().start();
        match token.kind() {
            TokenKind::LeftSquareBracket => {
                let keys = is_line_start.then(|| header_keys(&text[at..])).flatten();
                if keys.is_some() {
                    if let Some(last) = sections.last_mut() {
                        last.range.end = at;
                        last.is_open = open > 0;
                    }
                    sections.push(TomlSection {
                        range: at..text.len(),
                        keys,
                        is_open: false,
                        is_blank: false,
                    });
                    open = 0;
                }
                open += 1;
            }
            TokenKind::LeftCurlyBracket => open += 1,
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                open = open.saturating_sub(1);
            }
            _ => {}
        }
        is_line_start = match token.kind() {
            TokenKind::Newline => true,
            TokenKind::Whitespace => is_line_start,
            _ => false,
        };
    }
    if let Some(last) = sections.last_mut() {
        last.is_open = open > 0;
    }
    sections
}

/// A text of several lines, and the quotes around it.
fn long_text<'t>(text: &'t str, token: &Token) -> Option<(&'t str, &'static str)> {
    let quotes = match token.kind() {
        TokenKind::MlBasicString => "\"\"\"",
        TokenKind::MlLiteralString => "'''",
        _ => return None,
    };
    Some((&text[token.span().start()..token.span().end()], quotes))
}

/// True for a text of several lines with a line that is a header.
fn has_header(text: &str, token: &Token) -> bool {
    let written = long_text(text, token);
    written.is_some_and(|(written, _)| written.lines().any(|line| header_keys(line).is_some()))
}

/// True for a text of several lines that the document ends in.
fn is_unclosed_text(text: &str, token: &Token) -> bool {
    let Some((written, quotes)) = long_text(text, token) else {
        return false;
    };
    written.len() < 2 * quotes.len() || !written.ends_with(quotes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::TomlValue;
    use super::*;

    /// The prompts that are read, and the headers that are not.
    fn read(text: &str) -> (Vec<String>, Vec<String>, usize) {
        let error = read_any(text).expect_err("a mistake");
        let parts = read_parts(text, error);
        assert_eq!(parts.text.len(), text.len());
        let table = read_any(&parts.text).expect("valid");
        let prompts = match table.get("prompts").map(|item| &item.value) {
            Some(TomlValue::Table(prompts)) => prompts.entries.iter(),
            _ => [].iter(),
        };
        let prompts = prompts.map(|entry| entry.key.to_string()).collect();
        let unread = parts.unread.keys().map(|keys| keys.join(".")).collect();
        (prompts, unread, parts.errors.len())
    }

    #[test]
    fn sections_without_a_mistake_are_read() {
        let sound = "[prompts.a]\ntext = \"a\"\n";
        let last = "[prompts.z]\ntext = \"z\"\n";
        let cases: &[(&str, &[&str], usize)] = &[
            ("[prompts.b]\ntext \"b\"\n", &["prompts.b"], 1),
            ("[prompts.b]\ntext = \"b\n", &["prompts.b"], 1),
            ("[prompts.b\ntext = \"b\"\n", &["prompts.b"], 1),
            (
                "[[prompts.b.arguments]\nname = \"x\"\n",
                &["prompts.b.arguments"],
                1,
            ),
            ("[prompts.b] x\ntext = \"b\"\n", &["prompts.b"], 1),
            ("[prompts.b]\narguments = [\"x\",\n", &["prompts.b"], 1),
            ("[prompts.b]\narguments = [\"x\"\n", &["prompts.b"], 1),
            ("[prompts.b]\nx = { y = 1\n", &["prompts.b"], 1),
            (
                "[prompts.b]\ntext = b\n[prompts.c]\ntext = c\n",
                &["prompts.b", "prompts.c"],
                2,
            ),
            (
                "[prompts.b]\nt = 1\n[prompts.c]\n[prompts.b]\n",
                &["prompts.b"],
                1,
            ),
        ];
        for (broken, unread, errors) in cases {
            let (prompts, found, count) = read(&format!("{sound}{broken}{last}"));
            assert!(prompts.contains(&"a".to_owned()), "{broken}: {prompts:?}");
            assert!(prompts.contains(&"z".to_owned()), "{broken}: {prompts:?}");
            assert_eq!(found, *unread, "{broken}");
            assert_eq!(count, *errors, "{broken}");
        }
    }

    #[test]
    fn behind_a_text_that_does_not_end_nothing_is_read() {
        let text = "[prompts.a]\ntext = \"a\"\n[prompts.b]\ntext = \"\"\"b\n[prompts.c]\ntext = \"\"\"\n[prompts.fake]\ntext = \"f\"\n[prompts.other]\n\"\"\"\n";
        let (prompts, unread, _) = read(text);
        assert_eq!(prompts, ["a"]);
        assert!(unread.contains(&"prompts.c".to_owned()), "{unread:?}");
    }

    #[test]
    fn a_header_in_a_text_that_ends_is_no_header() {
        let text =
            "[prompts.a]\ntext = \"\"\"\n[prompts.z]\n\"\"\"\nx y\n[prompts.z]\ntext = \"z\"\n";
        let (prompts, unread, _) = read(text);
        assert_eq!(prompts, ["z"]);
        assert_eq!(unread, ["prompts.a"]);
    }

    #[test]
    fn mistakes_are_bounded_by_the_bytes_that_are_read_for_them() {
        let mistakes = |headers: usize| {
            let text = format!("[prompts.a]\nx = [\n{}", "[a]\n".repeat(headers));
            read(&text).2
        };
        assert_eq!(mistakes(1000), MISTAKES + 1);
        assert_eq!(mistakes(100_000), 11);
        assert_eq!(mistakes(200_000), 6);
    }

    #[test]
    fn lines_before_the_first_header_can_be_wrong() {
        let (prompts, unread, _) = read("x\n[prompts.a]\ntext = \"a\"\n");
        assert_eq!(prompts, ["a"]);
        assert_eq!(unread, [""]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]
        #[test]
        fn what_is_left_of_any_text_is_valid(
            text in "(\\[\\[?(a|b|\"c)(\\.d)?\\]?\\]?|x = |y|\"|\"\"\"|'''|\\[|\\]|\\{|\\}|,|#|ü|\n|\n\n){0,24}",
        ) {
            if let Err(error) = read_any(&text) {
                let parts = read_parts(&text, error);
                prop_assert_eq!(parts.text.len(), text.len());
                prop_assert!(read_any(&parts.text).is_ok(), "{:?}", parts.text);
            }
        }
    }
}
