//! What a prompt is about, taken from its text if it has no description.

/// The part of a text that is read, in characters.
const LOOKED_AT: usize = 16 * 1024;
/// The longest paragraph, in bytes.
const PARAGRAPH: usize = 1600;
/// Minimum number of letters of a useful sentence.
const LETTERS: usize = 6;
/// Replaces code that decides about the text.
const CODE: char = '\u{1}';

/// The first paragraph that is no heading, else the first heading.
pub(super) fn of_text(text: &str) -> Option<String> {
    let (paragraphs, heading) = paragraphs(text);
    paragraphs.into_iter().next().or(heading)
}

/// The first sentence of a template that does not depend on a condition; values are `…`.
pub(super) fn of_template(text: &str) -> Option<String> {
    let (paragraphs, heading) = paragraphs(&without_code(text));
    let mut all = paragraphs.iter().chain(&heading);
    all.find_map(|paragraph| sentences(paragraph).find_map(whole))
}

/// True if a text has tags.
pub(super) fn has_tags(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// The paragraphs at the start of a text, and the first heading.
fn paragraphs(text: &str) -> (Vec<String>, Option<String>) {
    let end = text.char_indices().nth(LOOKED_AT);
    let text = end.map_or(text, |(end, _)| &text[..end]);
    let mut heading = None;
    let mut paragraphs = Vec::new();
    let mut paragraph = String::new();
    for line in text.lines().map(str::trim) {
        let is_rule = line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '=' | '*' | '`'));
        let is_code = |c: char| matches!(c, CODE | '…') || c.is_whitespace();
        let is_rule = is_rule || line.chars().all(is_code);
        if line.starts_with('#') || is_rule || line.starts_with("```") {
            paragraphs.push(std::mem::take(&mut paragraph));
            let bare = line.trim_start_matches('#').trim();
            if line.starts_with('#') && heading.is_none() && !bare.is_empty() {
                heading = Some(bare.to_owned());
            }
        } else if paragraph.len() <= PARAGRAPH {
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    paragraphs.push(paragraph);
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    (paragraphs, heading)
}

/// A template with `…` for each value and a mark for all other code.
fn without_code(text: &str) -> String {
    let mut literal = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        literal.push_str(&rest[..start]);
        rest = &rest[start..];
        let close = match rest.as_bytes().get(1) {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            Some(b'#') => "#}",
            _ => {
                literal.push('{');
                rest = &rest[1..];
                continue;
            }
        };
        let Some(end) = tag_end(&rest[2..], close) else {
            // Code that does not end is not text for a reader.
            literal.push(CODE);
            return literal;
        };
        let inner = &rest[2..2 + end];
        rest = rest[2 + end + 2..].trim_start_matches('}');
        if close == "}}" && inner.trim_start().starts_with("role ") {
            literal.push_str("\n\n");
        } else if close == "}}" && is_value(inner) {
            literal.push('…');
        } else if close != "#}" {
            literal.push(CODE);
        }
    }
    literal.push_str(rest);
    literal
}

/// Where a tag ends: at its closing mark, but not at one inside a quoted text. What looks like a
/// quote in a comment is an apostrophe.
fn tag_end(code: &str, close: &str) -> Option<usize> {
    let is_comment = close == "#}" || code.trim_start_matches('-').starts_with(['!', '/']);
    if is_comment {
        return code.find(close);
    }
    let mut from = 0;
    while let Some(found) = code[from..].find(['"', '\'', '}', '%', '{']) {
        let at = from + found;
        let rest = &code[at..];
        if rest.starts_with(close) {
            return Some(at);
        }
        // The next tag: something in this one is no quote.
        if rest.starts_with("{{") || rest.starts_with("{%") {
            break;
        }
        from = at + 1;
        if let quote @ (b'"' | b'\'') = code.as_bytes()[at] {
            from += quoted(&code[from..], quote).unwrap_or_default();
        }
    }
    code.find(close)
}

/// The length of a quoted text with its closing quote, if that is on the same line.
fn quoted(text: &str, quote: u8) -> Option<usize> {
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\n' => return None,
            b'\\' => drop(bytes.next()),
            byte if byte == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// True if the inside of `{{…}}` is a name, optionally with dots and filters.
fn is_value(inner: &str) -> bool {
    let inner = inner.trim_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '~' | '{'));
    let name = inner.split('|').next().unwrap_or_default().trim();
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@');
    !name.is_empty()
        && name.chars().all(is_word)
        && !matches!(name, "else" | "end" | "history" | "break" | "continue")
}

/// A paragraph split after each sentence.
fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    let is_end = |at: usize, c: char| {
        let next = paragraph[at + c.len_utf8()..].chars().next();
        let is_last = next.is_none_or(|next| next.is_whitespace() || next == CODE);
        matches!(c, '。' | '！' | '？') || (matches!(c, '.' | '!' | '?') && is_last)
    };
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = paragraph.get(start..).filter(|rest| !rest.is_empty())?;
        let mut places = rest.char_indices();
        let end = places.find(|(at, c)| is_end(start + at, *c));
        let end = end.map_or(rest.len(), |(at, c)| at + c.len_utf8());
        start += end;
        Some(&rest[..end])
    })
}

/// A sentence that contains no code and is not cut off by code.
fn whole(sentence: &str) -> Option<String> {
    let is_outside = |c: char| c == CODE || c.is_whitespace();
    let bare = sentence.trim_start_matches(is_outside).trim_end();
    let starts = bare.chars().next()?;
    let letters = bare.chars().filter(|c| c.is_alphabetic()).count();
    let is_text = !matches!(starts, '.' | ',' | ';' | ':' | ')' | '!' | '?');
    let is_whole = is_text && letters >= LETTERS && !bare.contains(CODE);
    is_whole.then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_does_not_end_inside_quotes() {
        for (text, expected) in [
            (
                r#"{{ x | default("a }} b") }} Review the code."#,
                "Review the code.",
            ),
            (
                r"{% if x == '%}' %}x{% endif %}Review the code.",
                "Review the code.",
            ),
            (r#"{{ "\" }}" }} Review the code."#, "Review the code."),
            // Apostrophes of comments, and a quote that is none.
            ("{{! it's }} Review the code.", "Review the code."),
            ("{{/* it's */}} Review 'the' code.", "Review 'the' code."),
            ("{{ x' }} Review {{ y }}.", "Review …."),
            (
                "{# it's #} Review the code's style.",
                "Review the code's style.",
            ),
        ] {
            // In a paragraph of its own, since code in a sentence decides about it.
            let text = text.replacen("Review", "\n\nReview", 1);
            let found = of_template(&text);
            assert!(
                found.as_deref().is_some_and(|it| it.ends_with(expected)),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn long_templates_take_linear_time() {
        let text = |count| "{{ \"}} \" {{ '\n".repeat(count);
        twig_testkit::assert_linear("tags", 2_000, text, |text: &String| {
            assert_eq!(of_template(text), None);
        });
    }
}
