//! Takes an entry out, with what only it needed: its comma, and objects that held nothing else.

use jsonc_parser::ast::{Object, ObjectProp};
use jsonc_parser::tokens::Token;

use super::source::{Source, property, text_of};
use super::{EditError, checked};

/// The file without the entry `name` below the keys. Of the objects that the keys lead through,
/// those after the first `kept` go as well once they are empty.
pub(crate) fn remove(
    text: &str,
    keys: &[&str],
    name: &str,
    kept: usize,
) -> Result<String, EditError> {
    let (mark, body) = text_of(text);
    let mut edited = body.to_owned();
    let mut has_any = false;
    while let Some(next) = without(&edited, keys, |object| property(object, name))? {
        edited = next;
        has_any = true;
    }
    for depth in (kept..keys.len()).rev() {
        let (key, above) = (keys[depth], &keys[..depth]);
        let is_empty = |object: &Object<'_>| object.properties.is_empty();
        let source = Source::parse(&edited)?;
        let (found, containers) = source.containers(&keys[..=depth])?;
        let inner = containers.last().filter(|_| found > depth);
        let goes = inner.is_some_and(|it| is_empty(it) && source.last_comment(it).is_none());
        if !has_any || !goes {
            break;
        }
        match without(&edited, above, |object| property(object, key))? {
            Some(next) => edited = next,
            None => break,
        }
    }
    checked(text, format!("{mark}{edited}"), keys, name)
}

/// The text without one property of the object that the keys lead to.
fn without(
    text: &str,
    keys: &[&str],
    pick: impl for<'o, 't> Fn(&'o Object<'t>) -> Option<&'o ObjectProp<'t>>,
) -> Result<Option<String>, EditError> {
    let source = Source::parse(text)?;
    let (found, containers) = source.containers(keys)?;
    let object = containers.last().filter(|_| found == keys.len());
    let Some((object, property)) = object.and_then(|object| Some((object, pick(object)?))) else {
        return Ok(None);
    };
    Ok(Some(cut(&source, object, property)))
}

fn cut(source: &Source<'_>, object: &Object<'_>, property: &ObjectProp<'_>) -> String {
    let text = source.text;
    let range = property.range;
    let comma = source.comma_after(range.end);
    let end = comma.map_or(range.end, |comma| comma.range.end);
    let before = source.before(range.start);
    let next = source.after(end).first();
    let shares_line = comma.is_some()
        && !source.ends_line(end)
        && next.is_some_and(|next| next.token != Token::CloseBrace);
    let in_comment = before.is_some_and(|it| matches!(it.token, Token::CommentLine(_)));
    let (start, end) = if shares_line {
        // What follows takes its place.
        (range.start, next.map_or(end, |next| next.range.start))
    } else if in_comment && !source.ends_line(end) {
        // The comment above must not swallow what follows.
        (range.start, end)
    } else {
        // The line that it began goes with it.
        (before.map_or(0, |it| it.range.end), end)
    };
    let earlier = source.comma_before(range.start).filter(|_| comma.is_none());
    let mut edited = match earlier {
        Some(earlier) => {
            let kept = &text[earlier.range.end..start.max(earlier.range.end)];
            format!("{}{kept}", &text[..earlier.range.start])
        }
        None => text[..start].to_owned(),
    };
    let close = object.range.end - 1;
    let is_only = object.properties.len() == 1;
    let has_comment = before.is_some_and(|it| it.range.start > object.range.start)
        || source.before(close).is_some_and(|it| it.range.start >= end);
    if is_only && !has_comment {
        // `{` and `}` close up again.
        edited += &text[close..];
    } else {
        edited += &text[end..];
    }
    edited
}
