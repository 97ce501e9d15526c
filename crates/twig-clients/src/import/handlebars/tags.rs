//! Splits a Handlebars template into text and tags, and removes the whitespace that tags trim.

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HandlebarsToken<'t> {
    /// Text as it is.
    Text(&'t str),
    /// A tag: its kind, its inside after its sign, and all of it.
    Tag(HandlebarsTag, &'t str, &'t str),
}

/// What a tag does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandlebarsTag {
    Print,
    Comment,
    Partial,
    Open,
    Inverse,
    Else,
    Close,
}

/// The longest tag that is no comment, in characters.
const LONGEST: usize = 1024;

/// Splits a template; the error says what is malformed.
pub(super) fn tokens(source: &str) -> Result<Vec<HandlebarsToken<'_>>, String> {
    let mut tokens = Vec::new();
    let mut at = 0;
    // Where text starts, after the whitespace that the tag before it trims.
    let mut text = 0;
    // Found once, so that a missing end of a comment is not searched for again and again.
    let last_comment = source.rfind("--}}").max(source.rfind("--~}}"));
    while let Some(found) = source[at..].find("{{") {
        let start = at + found;
        let Some(found) = tag(source, start, last_comment) else {
            // It is not terminated, so it is text, and scanning continues after its braces.
            at = start + 2;
            continue;
        };
        if found.is_raw {
            return Err("it has raw blocks".to_owned());
        }
        let before = &source[text..start];
        if found.is_escaped {
            // `\{{name}}` is the text `{{name}}`.
            tokens.push(HandlebarsToken::Text(
                before.strip_suffix('\\').unwrap_or(before),
            ));
            tokens.push(HandlebarsToken::Text(&source[start..found.end]));
            (at, text) = (found.end, found.end);
            continue;
        }
        let mut before_end = start;
        let mut after = found.end;
        if found.kind != HandlebarsTag::Print
            && let Some((line, next)) = own_line(source, start, found.end)
        {
            before_end = line.max(text);
            after = next;
        }
        if found.trims.0 {
            before_end = text + source[text..start].trim_end().len();
        }
        if found.trims.1 {
            after = source.len() - source[found.end..].trim_start().len();
        }
        tokens.push(HandlebarsToken::Text(&source[text..before_end.max(text)]));
        tokens.push(HandlebarsToken::Tag(
            found.kind,
            found.inner,
            &source[start..found.end],
        ));
        (at, text) = (after, after);
    }
    tokens.push(HandlebarsToken::Text(&source[text..]));
    tokens.retain(|token| !matches!(token, HandlebarsToken::Text("")));
    Ok(tokens)
}

struct FoundTag<'t> {
    kind: HandlebarsTag,
    inner: &'t str,
    end: usize,
    /// Whether it trims the whitespace before and after it.
    trims: (bool, bool),
    is_escaped: bool,
    is_raw: bool,
}

/// The tag that starts at a place; `None` if it does not end.
fn tag(source: &str, start: usize, last_comment: Option<usize>) -> Option<FoundTag<'_>> {
    let rest = &source[start..];
    let is_escaped = source[..start].ends_with(['\\', '$']);
    let is_raw = rest.starts_with("{{{{");
    let body = rest.get(2..)?;
    let (first_trim, body) = strip(body, '~');
    let comment = body.strip_prefix("!--");
    let (inner_end, close) = if comment.is_some() {
        last_comment.filter(|last| *last > start)?;
        let end = body.find("--}}").map(|at| (at, 4));
        end.or_else(|| body.find("--~}}").map(|at| (at, 5)))?
    } else if body.starts_with('{') {
        (unquoted_find(body, "}}}")?, 3)
    } else {
        (unquoted_find(body, "}}")?, 2)
    };
    let offset = rest.len() - body.len();
    let end = start + offset + inner_end + close;
    let inner = &body[..inner_end];
    let last_trim = if comment.is_some() {
        close == 5
    } else {
        inner.ends_with('~')
    };
    let inner = inner.strip_suffix('~').unwrap_or(inner);
    let inner = inner.strip_prefix('{').unwrap_or(inner).trim();
    let (kind, inner) = kind(inner);
    Some(FoundTag {
        kind,
        inner,
        end,
        trims: (first_trim, last_trim),
        is_escaped,
        is_raw,
    })
}

fn kind(inner: &str) -> (HandlebarsTag, &str) {
    let rest = |sign: usize| inner[sign..].trim();
    match inner.as_bytes().first() {
        Some(b'!') => (HandlebarsTag::Comment, ""),
        Some(b'>') => (HandlebarsTag::Partial, rest(1)),
        Some(b'#') => (HandlebarsTag::Open, rest(1)),
        Some(b'/') => (HandlebarsTag::Close, rest(1)),
        Some(b'&') => (HandlebarsTag::Print, rest(1)),
        Some(b'^') if inner.len() == 1 => (HandlebarsTag::Else, ""),
        Some(b'^') => (HandlebarsTag::Inverse, rest(1)),
        _ => match inner.strip_prefix("else") {
            Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => {
                (HandlebarsTag::Else, rest.trim())
            }
            _ => (HandlebarsTag::Print, inner),
        },
    }
}

fn strip(text: &str, sign: char) -> (bool, &str) {
    match text.strip_prefix(sign) {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

/// Finds an end that is not in quotes.
fn unquoted_find(text: &str, end: &str) -> Option<usize> {
    let window = text.char_indices().nth(LONGEST);
    let text = window.map_or(text, |(end, _)| &text[..end]);
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (_, None) if text[at..].starts_with(end) => return Some(at),
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            _ => {}
        }
    }
    // The quote was only an apostrophe.
    text.find(end)
}

/// A tag alone on its line removes the line: the start of the line and of the next.
fn own_line(source: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let blank = [' ', '\t'];
    let before = source[..start].trim_end_matches(blank);
    if !before.is_empty() && !before.ends_with('\n') {
        return None;
    }
    let after = source[end..].trim_start_matches(blank);
    let next = match after.strip_prefix("\r\n").or(after.strip_prefix('\n')) {
        Some(rest) => rest,
        None if after.is_empty() => after,
        None => return None,
    };
    Some((before.len(), source.len() - next.len()))
}
