//! Splits a Go template into text and actions, and removes the whitespace that actions trim.

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GoToken<'t> {
    /// Text as it is.
    Text(&'t str),
    /// A comment, without its signs.
    Comment(&'t str),
    /// An action: its inside, and all of it.
    Tag(&'t str, &'t str),
}

/// Splits a template. An unterminated action is text, and so is everything after it.
pub(super) fn tokens(source: &str) -> Vec<GoToken<'_>> {
    places(source).into_iter().map(|(token, _)| token).collect()
}

/// The same with the start and end of each action.
fn places(source: &str) -> Vec<(GoToken<'_>, (usize, usize))> {
    let mut tokens = Vec::new();
    let mut text = 0;
    while let Some(found) = source[text..].find("{{") {
        let start = text + found;
        let Some((inner, end)) = action(&source[start..]) else {
            break;
        };
        let end = start + end;
        let mut before = &source[text..start];
        let (inner, trims) = trimmed(inner);
        if trims.0 {
            before = before.trim_end();
        }
        tokens.push((GoToken::Text(before), (text, start)));
        let token = match inner
            .strip_prefix("/*")
            .and_then(|it| it.strip_suffix("*/"))
        {
            Some(comment) => GoToken::Comment(comment),
            None => GoToken::Tag(inner, &source[start..end]),
        };
        tokens.push((token, (start, end)));
        text = if trims.1 {
            source.len() - source[end..].trim_start().len()
        } else {
            end
        };
    }
    tokens.push((GoToken::Text(&source[text..]), (text, source.len())));
    tokens.retain(|(token, _)| *token != GoToken::Text(""));
    tokens
}

/// The inside of the action that a text starts with, and its end.
fn action(text: &str) -> Option<(&str, usize)> {
    let body = &text[2..];
    let bare = body.strip_prefix('-').unwrap_or(body).trim_start();
    if bare.starts_with("/*") {
        let comment = body.len() - bare.len();
        let end = comment + bare.find("*/")? + 2;
        let close = end + body[end..].find("}}")?;
        return Some((&body[..close], close + 4));
    }
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in body.char_indices() {
        match (c, quote) {
            (_, Some('"' | '\'')) if is_escaped => is_escaped = false,
            ('\\', Some('"' | '\'')) => is_escaped = true,
            (c, Some(open)) if c == open => quote = None,
            ('"' | '`' | '\'', None) => quote = Some(c),
            ('}', None) if body[at..].starts_with("}}") => return Some((&body[..at], at + 4)),
            _ => {}
        }
    }
    None
}

/// The inside without its trim markers, and which of them were there.
fn trimmed(inner: &str) -> (&str, (bool, bool)) {
    let is_blank = |c: char| c.is_whitespace();
    let first = inner
        .strip_prefix('-')
        .filter(|rest| rest.starts_with(is_blank) || rest.starts_with("/*"));
    let inner_rest = first.unwrap_or(inner);
    let last = inner_rest
        .strip_suffix('-')
        .filter(|rest| rest.ends_with(is_blank) || rest.ends_with("*/"));
    let trims = (first.is_some(), last.is_some());
    (last.unwrap_or(inner_rest).trim(), trims)
}

/// The text between `{{define "name"}}` and its end.
pub(super) fn defined(source: &str, name: &str) -> Option<String> {
    let mut depth = 0_usize;
    let mut found: Option<(usize, usize)> = None;
    for (token, (start, end)) in places(source) {
        let GoToken::Tag(inner, _) = token else {
            continue;
        };
        let (keyword, rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        match keyword {
            "define" | "block" | "if" | "with" | "range" => {
                depth += 1;
                let own = super::expression::unquoted(rest.trim());
                if keyword == "define" && found.is_none() && own.as_deref() == Some(name) {
                    let trims = source[..end].ends_with("-}}");
                    let from = if trims {
                        source.len() - source[end..].trim_start().len()
                    } else {
                        end
                    };
                    found = Some((from, depth));
                }
            }
            "end" => {
                if let Some((from, opened)) = found
                    && opened == depth
                {
                    let body = source.get(from..start).unwrap_or_default();
                    let trims = source[start..].starts_with("{{-");
                    let body = if trims { body.trim_end() } else { body };
                    return Some(body.to_owned());
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    None
}
