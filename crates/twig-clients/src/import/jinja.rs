//! Templates that are Jinja already, or nearly: kept, except for variables that cannot be
//! arguments.
//!
//! Arguments are texts. A field of one (`customer.name`) becomes an argument of its own, and a list
//! that a loop iterates over takes one item per line.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::arguments::DraftArguments;
use super::words::EscapedWords;
use twig_core::template::{TagKind, TemplateToken, TokenKind, Tokens};

/// Converts a template; the error says what in it has no counterpart.
pub(super) fn convert(
    source: &str,
    arguments: &mut DraftArguments,
    changes: &mut Vec<String>,
) -> Result<EscapedWords, String> {
    let mut words = EscapedWords::default();
    if !["{{", "{%", "{#"].iter().any(|sign| source.contains(sign)) {
        words.text(source);
        return Ok(words);
    }
    let all = tags(source);
    let loops = object_loops(&all);
    let is_inside = |tag: &TagTokens<'_>| {
        let mut around = loops.iter();
        around.any(|found| found.range.contains(&tag.range.start))
    };
    let tags: Vec<&TagTokens<'_>> = all.iter().filter(|tag| !is_inside(tag)).collect();
    let mut reader = JinjaRewriter {
        bound: tags.iter().flat_map(|tag| bound(&tag.tokens)).collect(),
        lists: BTreeSet::new(),
        edits: Vec::new(),
        arguments,
        changes,
    };
    for tag in &tags {
        reader.tag(tag.tag, &tag.tokens)?;
    }
    for found in loops {
        reader.print_list(found)?;
    }
    let mut template = source.to_owned();
    let mut edits = reader.edits;
    edits.sort_by_key(|(range, _)| range.start);
    for (range, text) in edits.into_iter().rev() {
        template.replace_range(range, &text);
    }
    words.code(template);
    Ok(words)
}

/// A tag, its place and its tokens.
struct TagTokens<'s> {
    tag: TagKind,
    range: Range<usize>,
    tokens: Vec<TemplateToken<'s>>,
}

/// The tags of a template with their tokens.
fn tags(source: &str) -> Vec<TagTokens<'_>> {
    let mut tags: Vec<TagTokens<'_>> = Vec::new();
    for token in Tokens::new(source) {
        match (token.kind, tags.last_mut()) {
            (TokenKind::Open(tag), _) => tags.push(TagTokens {
                tag,
                range: token.range,
                tokens: Vec::new(),
            }),
            (TokenKind::Close, Some(last)) => last.range.end = token.range.end,
            (_, Some(last)) => last.tokens.push(token),
            (_, None) => {}
        }
    }
    tags
}

/// A loop that uses fields of its items: its first and last tag, and its list.
struct ObjectLoop {
    range: Range<usize>,
    list: String,
}

/// The end of each loop, by its start.
fn ends(tags: &[TagTokens<'_>]) -> BTreeMap<usize, usize> {
    let mut ends = BTreeMap::new();
    let mut open = Vec::new();
    for (at, tag) in tags.iter().enumerate() {
        match tag.tokens.first().map(|token| token.kind) {
            Some(TokenKind::Name("for")) if tag.tag == TagKind::Block => open.push(at),
            Some(TokenKind::Name("endfor")) if tag.tag == TagKind::Block => {
                ends.extend(open.pop().map(|start| (start, at)));
            }
            _ => {}
        }
    }
    ends
}

/// The outermost loops over lists of objects, which a text cannot hold.
fn object_loops(tags: &[TagTokens<'_>]) -> Vec<ObjectLoop> {
    let ends = ends(tags);
    let mut found: Vec<ObjectLoop> = Vec::new();
    for (at, tag) in tags.iter().enumerate() {
        let is_inside = found
            .last()
            .is_some_and(|it| it.range.contains(&tag.range.start));
        let kinds: Vec<TokenKind<'_>> = tag.tokens.iter().map(|token| token.kind).collect();
        let [
            TokenKind::Name("for"),
            TokenKind::Name(item),
            TokenKind::Name("in"),
            TokenKind::Name(list),
            rest @ ..,
        ] = kinds.as_slice()
        else {
            continue;
        };
        if is_inside || tag.tag != TagKind::Block {
            continue;
        }
        let mut path = vec![*list];
        let mut rest = rest;
        while let [TokenKind::Sign("."), TokenKind::Name(field), others @ ..] = rest {
            path.push(field);
            rest = others;
        }
        let Some(end) = ends.get(&at).copied().filter(|_| rest.is_empty()) else {
            continue;
        };
        let asks = tags[at + 1..end].iter().any(|tag| {
            tag.tokens.windows(2).any(|pair| {
                pair[0].kind == TokenKind::Name(item) && pair[1].kind == TokenKind::Sign(".")
            })
        });
        if asks {
            found.push(ObjectLoop {
                range: tag.range.start..tags[end].range.end,
                list: path.join("."),
            });
        }
    }
    found
}

/// Names that a block tag binds.
fn bound<'s>(tokens: &[TemplateToken<'s>]) -> Vec<&'s str> {
    let names = |tokens: &[TemplateToken<'s>]| -> Vec<&'s str> {
        let names = tokens.iter().filter_map(|token| match token.kind {
            TokenKind::Name(name) => Some(name),
            _ => None,
        });
        names.collect()
    };
    let until = |kind: TokenKind<'_>| tokens.iter().position(|token| token.kind == kind);
    match tokens.first().map(|token| token.kind) {
        Some(TokenKind::Name("for")) => {
            names(&tokens[1..until(TokenKind::Name("in")).unwrap_or(1).max(1)])
        }
        Some(TokenKind::Name("set")) => {
            names(&tokens[1..until(TokenKind::Sign("=")).unwrap_or(tokens.len()).max(1)])
        }
        Some(TokenKind::Name("macro" | "with" | "call")) => names(&tokens[1..]),
        _ => Vec::new(),
    }
}

struct JinjaRewriter<'s, 'r> {
    bound: BTreeSet<&'s str>,
    lists: BTreeSet<String>,
    edits: Vec<(Range<usize>, String)>,
    arguments: &'r mut DraftArguments,
    changes: &'r mut Vec<String>,
}

impl<'s> JinjaRewriter<'s, '_> {
    /// Replaces a loop by the text that is given for its list.
    fn print_list(&mut self, found: ObjectLoop) -> Result<(), String> {
        let ObjectLoop { range, list } = found;
        if self
            .bound
            .contains(list.split('.').next().unwrap_or_default())
        {
            return Err(format!(
                "`{list}` is a field of a value that a text cannot hold"
            ));
        }
        let own = self.arguments.used(&list);
        let own = own.ok_or("it has too many placeholders")?;
        self.changes.push(format!(
            "the loop over `{list}` prints it as one text, since its items have fields"
        ));
        self.edits.push((range, format!("{{{{ {own} }}}}")));
        Ok(())
    }

    fn tag(&mut self, tag: TagKind, tokens: &[TemplateToken<'s>]) -> Result<(), String> {
        let mut rest = tokens;
        let mut is_loop = false;
        if tag == TagKind::Block {
            let Some((first, others)) = tokens.split_first() else {
                return Ok(());
            };
            rest = others;
            match first.kind {
                TokenKind::Name("include" | "import" | "from" | "extends") => {
                    return Err("it brings in other files".to_owned());
                }
                TokenKind::Name("for") => {
                    is_loop = true;
                    let is_in = |token: &TemplateToken<'_>| token.kind == TokenKind::Name("in");
                    rest = rest
                        .iter()
                        .position(is_in)
                        .map_or(rest, |at| &rest[at + 1..]);
                }
                TokenKind::Name("block" | "endblock" | "endfor" | "endif" | "else" | "macro") => {
                    return Ok(());
                }
                _ => {}
            }
        }
        let mut at = 0;
        while at < rest.len() {
            at = self.token(rest, at, is_loop && at == 0)?;
        }
        Ok(())
    }

    /// Handles one token; returns the index of the next.
    fn token(
        &mut self,
        tokens: &[TemplateToken<'s>],
        at: usize,
        is_list: bool,
    ) -> Result<usize, String> {
        let sign = |at: usize, sign: &str| {
            let token = tokens.get(at);
            token.is_some_and(|token| matches!(token.kind, TokenKind::Sign(own) if own == sign))
        };
        let before = at.checked_sub(1);
        let is_part = before.is_some_and(|at| {
            sign(at, ".") || sign(at, "|") || tokens[at].kind == TokenKind::Name("is")
        }) || (before.is_some_and(|at| tokens[at].kind == TokenKind::Name("not"))
            && at >= 2
            && tokens[at - 2].kind == TokenKind::Name("is"));
        let TokenKind::Name(name) = tokens[at].kind else {
            return Ok(at + 1);
        };
        // A filter, test, method, keyword argument or call is no variable.
        let is_key = sign(at + 1, "=");
        if is_part || is_key || sign(at + 1, "(") || is_word(name) {
            return Ok(at + 1);
        }
        let mut path = vec![name];
        let mut end = at + 1;
        while sign(end, ".") {
            let Some(TokenKind::Name(field)) = tokens.get(end + 1).map(|token| token.kind) else {
                break;
            };
            if sign(end + 2, "(") {
                break;
            }
            path.push(field);
            end += 2;
        }
        if self.bound.contains(name) {
            if path.len() > 1 {
                return Err(format!(
                    "`{}` is a field of a value that a text cannot hold",
                    path.join(".")
                ));
            }
            return Ok(end);
        }
        let written = path.join(".");
        let own = self.arguments.used(&written);
        let own = own.ok_or("it has too many placeholders")?;
        let range = tokens[at].range.start..tokens[end - 1].range.end;
        let is_whole = end == tokens.len();
        if is_list && is_whole {
            if self.lists.insert(written.clone()) {
                let change = format!("`{written}` is a list: it takes one item per line");
                self.changes.push(change);
                self.arguments.describe(&written, "One item a line");
            }
            self.edits.push((range, format!("{own}.splitlines()")));
        } else if *own != *written {
            self.edits.push((range, own));
        }
        Ok(end)
    }
}

/// Keywords of the language.
fn is_word(name: &str) -> bool {
    matches!(
        name,
        "and"
            | "or"
            | "not"
            | "in"
            | "is"
            | "if"
            | "else"
            | "true"
            | "false"
            | "none"
            | "True"
            | "False"
            | "None"
            | "loop"
            | "recursive"
            | "self"
            | "caller"
    )
}
