//! A title and description from the text itself: its first heading and its first paragraph.

use twig_core::hidden::{self, TextPlace};
use twig_core::marks::scan::lines;

/// The longest description made from the text, in characters.
const DESCRIPTION: usize = 1024;

/// The longest title made from the text or a file's name, in characters.
const TITLE: usize = 200;

/// The first heading and the first paragraph of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextAbout {
    heading: Option<String>,
    /// True if the heading is of the first level: others are headings of a section.
    is_title: bool,
    paragraph: Option<String>,
}

impl TextAbout {
    /// Reads a Markdown text, ignoring its code.
    pub(super) fn of(body: &str) -> Self {
        let mut about = Self::default();
        let mut paragraph = String::new();
        let mut in_comment = false;
        for line in lines(body) {
            let said = line.text.trim();
            let was_comment = in_comment;
            if said.starts_with("<!--") {
                in_comment = true;
            }
            if in_comment && said.contains("-->") {
                in_comment = false;
            }
            let is_remark = was_comment || said.starts_with("<!--");
            let is_quiet = line.is_code || is_remark || said.is_empty() || is_rule(said);
            let heading = heading(said).filter(|_| !is_quiet);
            if !is_quiet && heading.is_none() && !is_tag(said) {
                add(&mut paragraph, said);
                if paragraph.len() < 8 * DESCRIPTION {
                    continue;
                }
            }
            // The underline of a heading is not part of the text.
            let is_underlined = !line.is_code && said.starts_with("==") && is_rule(said);
            if is_underlined && about.heading.is_none() {
                about.heading = Some(std::mem::take(&mut paragraph));
                about.is_title = true;
            }
            if says_something(&paragraph) {
                // A heading after the first paragraph is not a title.
                break;
            }
            paragraph.clear();
            if about.heading.is_none() {
                about.heading = heading.map(str::to_owned);
                about.is_title = !said.starts_with("##");
            }
        }
        about.paragraph = Some(paragraph).filter(|it| says_something(it));
        about
    }

    /// The first heading, if it is a title of the whole text.
    pub(super) fn title(&self) -> Option<String> {
        let heading = self.heading.as_deref().filter(|_| self.is_title);
        heading.and_then(title)
    }

    /// A description from whatever there is.
    pub(super) fn description(&self, title: &str) -> String {
        let shown = |text: &Option<String>| label(text.as_deref()?, DESCRIPTION);
        let said = shown(&self.paragraph).or_else(|| shown(&self.heading));
        said.unwrap_or_else(|| format!("The prompt {title}"))
    }
}

/// A title made from a text or a file's name; `None` if nothing visible remains.
pub(super) fn title(text: &str) -> Option<String> {
    label(text, TITLE)
}

/// Adds a line to a paragraph.
fn add(paragraph: &mut String, line: &str) {
    let line = line.trim_start_matches(['>', ' ']);
    let bullet = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = match (line.len() - bullet.len(), bullet) {
        (0, line) => ["- ", "* ", "+ ", "• "]
            .iter()
            .find_map(|bullet| line.strip_prefix(bullet))
            .unwrap_or(line),
        (_, rest) => rest.strip_prefix(". ").unwrap_or(line),
    };
    if !paragraph.is_empty() {
        paragraph.push(' ');
    }
    paragraph.push_str(line);
}

/// True if a paragraph contains words.
fn says_something(paragraph: &str) -> bool {
    let has_words = paragraph
        .chars()
        .filter(|c| c.is_alphanumeric())
        .nth(1)
        .is_some();
    let is_mark = paragraph.starts_with('$') && !paragraph.contains(' ');
    has_words && !is_mark
}

/// A text without decoration and invisible characters, cut at `limit`.
fn label(text: &str, limit: usize) -> Option<String> {
    let mut plain = String::with_capacity(text.len().min(4 * limit));
    let mut rest = text.trim();
    while !rest.is_empty() && plain.len() <= 8 * limit {
        let usual = rest.find(['*', '_', '[', '!', '`']).unwrap_or(rest.len());
        plain.push_str(&rest[..usual]);
        rest = &rest[usual..];
        if let Some(after) = ["**", "__", "`"]
            .iter()
            .find_map(|it| rest.strip_prefix(it))
        {
            rest = after;
        } else if let Some((shown, after)) = link(rest) {
            plain.push_str(shown);
            rest = after;
        } else if let Some(c) = rest.chars().next() {
            plain.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    let mut plain = shortened(&words.join(" "), limit);
    while let Some(found) = hidden::find(&plain, TextPlace::Label) {
        plain.remove(found.offset);
    }
    let plain = plain.trim().to_owned();
    (!plain.is_empty()).then_some(plain)
}

/// The longest link that is recognised, in bytes.
const LINK: usize = 512;

/// The visible text of a link or image that starts here, and what follows it.
fn link(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix("![").or_else(|| text.strip_prefix('['))?;
    let near = |text: &str, c: u8| text.bytes().take(LINK).position(|byte| byte == c);
    let shown = near(inside, b']')?;
    let target = inside[shown + 1..].strip_prefix('(')?;
    let end = near(target, b')')?;
    Some((&inside[..shown], &target[end + 1..]))
}

/// At most `limit` characters, the last of them `…` if something was omitted.
fn shortened(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit - 1).collect();
    short.push('…');
    short
}

fn heading(line: &str) -> Option<&str> {
    let after = line.trim_start_matches('#');
    let level = line.len() - after.len();
    let title = after.trim_end_matches('#').trim();
    let is_heading = (1..=6).contains(&level) && after.starts_with([' ', '\t']);
    (is_heading && !title.is_empty()).then_some(title)
}

/// A line with only `---`, `***`, `===`, `|---|` and the like.
fn is_rule(line: &str) -> bool {
    line.len() > 1 && line.bytes().all(|byte| b"-*_=| :+".contains(&byte))
}

/// A line with only a tag.
fn is_tag(line: &str) -> bool {
    let inside = line.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
    inside.is_some_and(|inside| !inside.contains(['<', '>', ' ']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_words_are_found() {
        for (body, heading, paragraph) in [
            ("# T\n\nOne\ntwo.\n\nThree", Some("T"), Some("One two.")),
            (
                "\n**Bold** and `code` [link](http://x).",
                None,
                Some("Bold and code link."),
            ),
            (
                "# A\n## B\n- first\n- second\n",
                Some("A"),
                Some("first second"),
            ),
            ("T\n===\nBody", Some("T"), Some("Body")),
            ("```\n# no\ncode\n```\nwords\n# Late", None, Some("words")),
            (
                "<!-- licence\nmore -->\n\n---\n# T ##\n> quoted",
                Some("T"),
                Some("quoted"),
            ),
            ("<role>\nYou are.\n</role>", None, Some("You are.")),
            ("$ARGUMENTS\n\n1. Do it", None, Some("Do it")),
            ("# Only", Some("Only"), None),
            ("", None, None),
            ("a\u{200b}b words", None, Some("ab words")),
            ("# \u{200b}\n", None, None),
            ("| a | b |\r\n|---|---|\r\n", None, Some("| a | b |")),
        ] {
            let about = TextAbout::of(body);
            assert_eq!(about.title().as_deref(), heading, "{body:?}");
            let said = paragraph.or(heading).unwrap_or("The prompt t");
            assert_eq!(about.description("t"), said, "{body:?}");
        }
        let part = TextAbout::of("## Part\n");
        assert_eq!(
            (part.title(), part.description("t")),
            (None, "Part".to_owned())
        );
        let long = TextAbout::of(&"wörd ".repeat(1_000)).description("t");
        assert_eq!(long.chars().count(), DESCRIPTION);
    }

    proptest! {
        #[test]
        fn there_is_always_a_description(body in "([#`~<>=*$a \n-]|\u{200b}|\u{202e}|ü){0,60}") {
            let about = TextAbout::of(&body);
            let description = about.description("t");
            prop_assert!(!description.trim().is_empty());
            prop_assert!(hidden::find(&description, TextPlace::Label).is_none());
        }
    }
}
