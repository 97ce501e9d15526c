//! Text as it is, with the characters drawn that people would not see.

use maud::{Markup, html};
use twig_core::hidden::{TextPlace, find};

/// The most characters that are drawn in one text; a text of nothing else would be a page of them.
const DRAWN: usize = 1_000;

/// A text with a labelled chip for each hidden character.
pub(crate) fn visible(text: &str) -> Markup {
    drawn(text, TextPlace::Body)
}

/// The same for a title or a description, where more characters are hidden ones.
pub(crate) fn label(text: &str) -> Markup {
    drawn(text, TextPlace::Label)
}

/// A sentence of Twig: what is between backticks is code.
pub(crate) fn sentence(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (label(part)) } } @else { (label(part)) }
        }
    }
}

fn drawn(text: &str, place: TextPlace) -> Markup {
    let mut rest = text;
    let mut parts = Vec::new();
    while let Some(found) = find(rest, place) {
        if parts.len() == DRAWN {
            break;
        }
        let (before, after) = rest.split_at(found.offset);
        parts.push((before, found));
        rest = &after[found.character.len_utf8()..];
    }
    let is_cut = parts.len() == DRAWN;
    html! {
        @for (before, found) in &parts {
            (before)
            span.hidden-char title=(format!("{}: {}", found.kind(), found.advice())) {
                (format!("U+{:04X}", u32::from(found.character)))
            }
        }
        @if is_cut {
            span.hidden-char { "more hidden characters are not drawn" }
        }
        (rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_drawn_and_text_is_escaped() {
        let html = visible("a\u{202e}<b>\u{200b}").into_string();
        assert!(html.starts_with("a<span class=\"hidden-char\""), "{html}");
        assert!(html.contains("U+202E</span>&lt;b&gt;"), "{html}");
        assert!(html.contains("U+200B</span>"), "{html}");
        assert_eq!(visible("plain\ntext").into_string(), "plain\ntext");
    }

    #[test]
    fn so_many_are_drawn_and_no_more() {
        let html = visible(&"\u{200b}".repeat(5_000)).into_string();
        assert_eq!(html.matches("U+200B").count(), DRAWN);
        assert!(html.contains("are not drawn"));
    }
}
