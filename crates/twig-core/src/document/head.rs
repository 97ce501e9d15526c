//! The type and title of a document, from its first bytes.

use std::borrow::Cow;

use super::mime::{is_text, mime_of};
use crate::problem::shorten;

/// What the first bytes of a file show, so that the bytes themselves need not be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The first heading, if there is one.
    pub heading: Option<Box<str>>,
    /// The MIME type.
    pub mime: &'static str,
    /// Whether it looks like text.
    pub is_text: bool,
}

/// How many bytes of a file are read for this.
pub const HEAD: usize = 2048;

/// Characters of a title.
pub const TITLE: usize = 200;

impl Head {
    /// Reads the first bytes of a file; `is_whole` is true if they are the whole file.
    pub fn read(file_name: &str, bytes: &[u8], is_whole: bool) -> Self {
        let mime = mime_of(file_name, bytes);
        let is_text = is_text(bytes);
        let heading = (is_text && mime == "text/markdown").then(|| {
            // Replacing what is not UTF-8 is slow, and it is the cut end at most.
            let text = str::from_utf8(bytes).map(Cow::Borrowed);
            let text = text.unwrap_or_else(|_| String::from_utf8_lossy(bytes));
            // A line that is cut may be half a heading.
            let whole = if is_whole {
                &*text
            } else {
                text.rsplit_once('\n').map_or("", |(whole, _)| whole)
            };
            heading(whole).map(|title| shorten(title, TITLE).into())
        });
        Self {
            heading: heading.flatten(),
            mime,
            is_text,
        }
    }
}

/// The first heading of a Markdown text.
fn heading(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let mut is_fenced = false;
    // Front matter holds no headings: a `#` there is a comment.
    let mut in_front_matter = text.starts_with("---\n") || text.starts_with("---\r\n");
    let mut above = "";
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if in_front_matter {
            in_front_matter = at == 0 || line != "---";
            continue;
        }
        if line.starts_with("```") || line.starts_with("~~~") {
            is_fenced = !is_fenced;
            above = "";
            continue;
        }
        if is_fenced {
            continue;
        }
        let after = line.trim_start_matches('#');
        let level = line.len() - after.len();
        let title = after.trim_end_matches('#').trim();
        if (1..=6).contains(&level) && after.starts_with([' ', '\t']) && !title.is_empty() {
            return Some(title);
        }
        // The other way to write a heading: a line of `=` beneath it.
        if line.len() > 1 && line.bytes().all(|byte| byte == b'=') && !above.is_empty() {
            return Some(above);
        }
        above = line;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_heading_is_the_first_one_outside_code() {
        for (text, found) in [
            ("# One\n# Two", Some("One")),
            ("\u{feff}\n\n## Two ##\n", Some("Two")),
            ("\u{feff}# Marked\r\ntext\r\n", Some("Marked")),
            ("---\n# comment\nname: x\n---\n# Three\n", Some("Three")),
            ("---\r\n# comment\r\n---\r\n# Four\r\n", Some("Four")),
            ("```\n# code\n```\n# Five", Some("Five")),
            ("Six\n===\n# Seven", Some("Six")),
            ("\n===\n# Eight", Some("Eight")),
            ("#hashtag\ntext", None),
            ("####### seven", None),
            ("# \ntext", None),
            ("# ##", None),
            ("", None),
        ] {
            assert_eq!(heading(text), found, "{text:?}");
        }
    }

    #[test]
    fn half_a_heading_is_none() {
        let title = |is_whole| Head::read("a.md", b"text\n# Half", is_whole).heading;
        assert_eq!(title(true).as_deref(), Some("Half"));
        assert_eq!(title(false), None);
    }

    #[test]
    fn only_markdown_has_headings() {
        assert_eq!(Head::read("a.txt", b"# One\n", true).heading, None);
        assert_eq!(Head::read("a.md", b"# One\0\n", true).heading, None);
        let long = format!("# {}", "ü".repeat(300));
        let heading = Head::read("a.md", long.as_bytes(), true).heading.unwrap();
        assert_eq!(heading.chars().count(), TITLE + 1);
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_head(bytes in proptest::collection::vec(any::<u8>(), 0..300), is_whole: bool) {
            let head = Head::read("a.md", &bytes, is_whole);
            prop_assert!(!head.is_text || std::str::from_utf8(&bytes).is_ok()
                || std::str::from_utf8(&bytes).is_err_and(|error| error.error_len().is_none()));
        }

        #[test]
        fn a_heading_is_a_line_of_the_text(text in "([#=`~ ab\r\n-]|\u{feff}){0,60}") {
            if let Some(heading) = Head::read("a.md", text.as_bytes(), true).heading {
                prop_assert!(!heading.trim().is_empty() && !heading.contains('\n'));
                prop_assert!(text.lines().any(|line| line.contains(&*heading)));
            }
        }

        /// More text after the first bytes never changes a title that was found.
        #[test]
        fn a_title_stays_when_the_text_goes_on(text in "[#= ab\n]{0,40}", more in "[#= ab\n]{0,40}") {
            let short = Head::read("a.md", text.as_bytes(), false).heading;
            let long = Head::read("a.md", format!("{text}{more}").as_bytes(), true).heading;
            if short.is_some() {
                prop_assert_eq!(short, long);
            }
        }
    }
}
