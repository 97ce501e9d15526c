//! What a text has at the cursor: a name in a tag, or a quoted name of a template, document or file.

use std::ops::Range;

/// What is at the cursor, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CursorSpot {
    /// The name of an argument, as far as it is typed.
    Name(Range<usize>),
    /// The first word of `{% … %}`.
    Keyword(Range<usize>),
    /// The name of a template that is included, extended or imported.
    Template(Range<usize>),
    /// The URI of a document.
    Document(Range<usize>),
    /// The path of a file of the library, in its manifest.
    File(Range<usize>),
}

/// The tags that name a template.
const REFERENCES: [&str; 4] = ["include", "extends", "import", "from"];

/// Finds what is at a byte of a text.
pub(super) fn spot(text: &str, at: usize, is_manifest: bool) -> Option<CursorSpot> {
    let before = text.get(..at)?;
    if let Some(tag) = Tag::around(before) {
        return in_tag(text, at, tag);
    }
    if is_manifest && let Some(spot) = in_manifest(text, at) {
        return Some(spot);
    }
    let name = word(text, at);
    let is_mark = text[..name.start].ends_with('$');
    is_mark.then_some(CursorSpot::Name(name))
}

/// The tag that the cursor is in.
#[derive(Clone, Copy)]
struct Tag {
    /// Where its inside begins.
    inside: usize,
    is_block: bool,
}

impl Tag {
    fn around(before: &str) -> Option<Self> {
        let open = |mark: &str| before.rfind(mark).map(|at| at + 2);
        let closed = ["}}", "%}", "#}"]
            .iter()
            .filter_map(|mark| open(mark))
            .max();
        let found = [("{{", false), ("{%", true)]
            .into_iter()
            .filter_map(|(mark, is_block)| {
                let inside = open(mark)?;
                Some(Self { inside, is_block })
            })
            .max_by_key(|tag| tag.inside)?;
        let comment_end = open("#}");
        let in_comment = open("{#").is_some_and(|start| comment_end.is_none_or(|end| end < start));
        let is_open = closed.is_none_or(|end| end < found.inside);
        (is_open && !in_comment).then_some(found)
    }
}

fn in_tag(text: &str, at: usize, tag: Tag) -> Option<CursorSpot> {
    let inside = &text[tag.inside..at];
    let trimmed = inside.trim_start_matches(['-', '+']).trim_start();
    // `{{resource:URI}}` of definitions.
    if let Some(typed) = trimmed.strip_prefix("resource:") {
        let start = at - typed.len();
        let rest = text[at..].find(['}', '\n']).unwrap_or(text.len() - at);
        return Some(CursorSpot::Document(start..at + rest));
    }
    if let Some(quoted) = Quoted::around(text, tag.inside, at) {
        let head = text[tag.inside..quoted.range.start - 1].trim_end();
        if head.ends_with("resource(") {
            return Some(CursorSpot::Document(quoted.range));
        }
        let first = trimmed.split(|c: char| !c.is_alphanumeric()).next();
        let is_reference = tag.is_block && first.is_some_and(|word| REFERENCES.contains(&word));
        return is_reference.then_some(CursorSpot::Template(quoted.range));
    }
    let name = word(text, at);
    let head = text[tag.inside..name.start].trim_end();
    if tag.is_block && head.trim_start_matches(['-', '+']).is_empty() {
        return Some(CursorSpot::Keyword(name));
    }
    // After these come fields and filters.
    (!head.ends_with(['.', '|'])).then_some(CursorSpot::Name(name))
}

/// The path in `file = "…"`, or the URI in `resource = "…"`.
fn in_manifest(text: &str, at: usize) -> Option<CursorSpot> {
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].split('\n').next()?;
    let (key, _) = line.split_once('=')?;
    let quoted = Quoted::around(text, start, at)?;
    match key.trim() {
        "file" | "image" | "audio" => Some(CursorSpot::File(quoted.range)),
        "resource" | "resource_link" => Some(CursorSpot::Document(quoted.range)),
        _ => None,
    }
}

/// A quoted text; the range is without its quotes.
struct Quoted {
    range: Range<usize>,
}

impl Quoted {
    fn around(text: &str, from: usize, at: usize) -> Option<Self> {
        let mut open: Option<(usize, char)> = None;
        for (offset, c) in text[from..at].char_indices() {
            open = match (open, c) {
                (None, '"' | '\'') => Some((from + offset + 1, c)),
                (Some((_, quote)), c) if c == quote => None,
                (_, '\n') => None,
                (open, _) => open,
            };
        }
        let (start, quote) = open?;
        let rest = text[at..].find([quote, '\n']).unwrap_or(text.len() - at);
        Some(Self {
            range: start..at + rest,
        })
    }
}

/// The word around a byte, which may be empty.
fn word(text: &str, at: usize) -> Range<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let before = text[..at].trim_end_matches(is_part).len();
    let rest = &text[at..];
    let after = rest.len() - rest.trim_start_matches(is_part).len();
    before..at + after
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The spot at `^`, as its kind and its text.
    fn at(text: &str) -> String {
        let cursor = text.find('^').unwrap();
        let text = text.replace('^', "");
        let found = spot(&text, cursor, text.contains("[prompts"));
        let Some(found) = found else {
            return "nothing".to_owned();
        };
        let (kind, range) = match found {
            CursorSpot::Name(range) => ("name", range),
            CursorSpot::Keyword(range) => ("keyword", range),
            CursorSpot::Template(range) => ("template", range),
            CursorSpot::Document(range) => ("document", range),
            CursorSpot::File(range) => ("file", range),
        };
        format!("{kind} {}", &text[range])
    }

    #[test]
    fn spots_are_told_apart() {
        for (text, expected) in [
            ("Hello {{ na^me }}", "name name"),
            ("Hello {{ name }} ^", "nothing"),
            ("{{ ^", "name "),
            ("{{- x if lang^ == 'a' }}", "name lang"),
            ("{{ a.b^ }}", "nothing"),
            ("{{ a | up^ }}", "nothing"),
            ("{{ 'na^me' }}", "nothing"),
            ("{% inc^ %}", "keyword inc"),
            ("{%- ^", "keyword "),
            ("{% if na^", "name na"),
            ("{% include \"par^ts.md\" %}", "template parts.md"),
            ("{% from 'x^' import y %}", "template x"),
            ("{{ resource(\"arch^:x\") }}", "document arch:x"),
            ("{{ resource('^", "document "),
            ("{{resource:a://^b}}", "document a://b"),
            ("{# {{ na^me }} #}", "nothing"),
            ("a $na^me b", "name name"),
            ("a na^me b", "nothing"),
            ("[prompts.x]\nfile = \"pro^mpts/x.md\"", "file prompts/x.md"),
            ("[prompts.x]\nresource = 'a://^b'", "document a://b"),
            ("[prompts.x]\ntitle = \"a^b\"", "nothing"),
            ("[prompts.x]\ntext = \"{{ na^me }}\"", "name name"),
        ] {
            assert_eq!(at(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_spot_or_none(text in "[a$\"'{%}# .|(\n\u{e4}]{0,40}", at in 0_usize..80) {
            let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            for is_manifest in [false, true] {
                if let Some(found) = spot(&text, at.unwrap_or(0), is_manifest) {
                    let (CursorSpot::Name(range)
                    | CursorSpot::Keyword(range)
                    | CursorSpot::Template(range)
                    | CursorSpot::Document(range)
                    | CursorSpot::File(range)) = found;
                    prop_assert!(text.get(range).is_some());
                }
            }
        }
    }
}
