//! Marks in double braces: `{{args}}` of commands, `{{name}}` of patterns and of other prompts.
//!
//! Braces mean many things in prompts (workflows, Helm, JSX, Vue), so each format's own rule is
//! followed to the letter and everything else is text.

use super::MarkedPiece;
use crate::argument::Argument;

/// The argument of a command: everything typed after it.
pub const ARGS: &str = "args";
/// The argument of every Fabric pattern: the text that it is applied to.
pub const INPUT: &str = "input";

/// The names in double braces that are variables of a Fabric pattern, each once, in the order of
/// the text, without `input`.
///
/// `None` if any pair of braces holds something else than a name: such a text was not written for
/// Fabric's engine, which would refuse it, and every brace is text. Calls of plugins are always
/// text.
///
/// At most `most` names are returned.
pub fn pattern_names(text: &str, most: usize) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for CurlyPair { inside, .. } in pairs(text) {
        if inside == INPUT || inside.starts_with("plugin:") || inside.starts_with("ext:") {
            continue;
        }
        if !is_name(inside) {
            return None;
        }
        if names.len() < most && !names.contains(&inside) {
            names.push(inside);
        }
    }
    Some(names)
}

/// Adds the variables of a GitHub Models prompt, each once, in the order of the text, until there
/// are `most`.
pub fn variable_names<'t>(text: &'t str, most: usize, names: &mut Vec<&'t str>) {
    for name in pairs(text).filter_map(variable) {
        if names.len() == most {
            return;
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

/// Splits a text at `{{name}}`, exactly the name of an argument without spaces.
pub fn exact<'t>(arguments: &[Argument], text: &'t str) -> Vec<MarkedPiece<'t>> {
    cut(arguments, text, |pair| Some(pair.inside))
}

/// Splits a text at `{{ name }}`, with or without spaces, but not at `${{ name }}`.
pub fn variables<'t>(arguments: &[Argument], text: &'t str) -> Vec<MarkedPiece<'t>> {
    cut(arguments, text, variable)
}

fn cut<'t>(
    arguments: &[Argument],
    text: &'t str,
    name: impl Fn(CurlyPair<'t>) -> Option<&'t str>,
) -> Vec<MarkedPiece<'t>> {
    let mut pieces = Vec::new();
    let mut done = 0;
    for pair in pairs(text) {
        let is_meant = |argument: &Argument| Some(&*argument.name) == name(pair);
        let Some(at) = arguments.iter().position(is_meant) else {
            continue;
        };
        if done < pair.start {
            pieces.push(MarkedPiece::Text(&text[done..pair.start]));
        }
        done = pair.start + pair.inside.len() + 4;
        let mark = &text[pair.start..done];
        pieces.push(MarkedPiece::Argument { at, mark });
    }
    if done < text.len() {
        pieces.push(MarkedPiece::Text(&text[done..]));
    }
    pieces
}

/// `{{inside}}`, with no brace in it.
#[derive(Clone, Copy)]
struct CurlyPair<'t> {
    start: usize,
    inside: &'t str,
    /// True if a `$` comes before it, as in workflows.
    is_expression: bool,
}

/// Every pair of double braces, the innermost if they nest, in one pass.
fn pairs(text: &str) -> impl Iterator<Item = CurlyPair<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let close = from + text[from..].find("}}")?;
            let open = text[from..close].rfind("{{").map(|at| from + at);
            let before = from;
            from = close + 2;
            let Some(start) = open.filter(|start| *start >= before) else {
                continue;
            };
            let inside = &text[start + 2..close];
            if !inside.contains(['{', '}']) {
                return Some(CurlyPair {
                    start,
                    inside,
                    is_expression: text[..start].ends_with('$'),
                });
            }
        }
    })
}

fn variable(pair: CurlyPair<'_>) -> Option<&str> {
    let name = pair.inside.trim_matches(' ');
    (!pair.is_expression && is_name(name)).then_some(name)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.len() <= 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arguments(names: &[&str]) -> Vec<Argument> {
        let argument = |name: &&str| Argument {
            name: (*name).into(),
            ..Argument::default()
        };
        names.iter().map(argument).collect()
    }

    fn whole(pieces: &[MarkedPiece<'_>]) -> String {
        let part = |piece: &MarkedPiece<'_>| match *piece {
            MarkedPiece::Text(text) => text.to_owned(),
            MarkedPiece::Argument { mark, .. } | MarkedPiece::All { mark } => mark.to_owned(),
        };
        pieces.iter().map(part).collect()
    }

    #[test]
    fn a_pattern_has_the_names_in_its_braces() {
        for (text, names) in [
            (
                "to {{lang_code}}, {{lang_code}} {{input}}",
                &["lang_code"][..],
            ),
            ("{{a}} {{plugin:text:upper:x}} {{ext:x}}", &["a"]),
            // None of these was written for Fabric.
            ("{{Host}} {{interactsh-url}}", &[]),
            ("{{a}} {{}}", &[]),
            ("{{a}} {{ b }}", &[]),
            ("{{a}} {{f(x)}}", &[]),
            ("{a} {{a}", &[]),
        ] {
            assert_eq!(pattern_names(text, 9).unwrap_or_default(), names, "{text}");
        }
    }

    #[test]
    fn variables_may_have_blanks_but_no_dollar() {
        let text = "{{a}} {{ b }} ${{ secrets.X }} ${{ c }} {{.Names}} {{#if x}} {{{d}}}";
        let mut names = Vec::new();
        variable_names(text, 9, &mut names);
        assert_eq!(names, ["a", "b", "d"]);
    }

    #[test]
    fn pieces_are_where_the_names_are() {
        let known = arguments(&["x"]);
        let text = "a {{x}} {{y}} {{ x }}";
        assert_eq!(
            exact(&known, text),
            [
                MarkedPiece::Text("a "),
                MarkedPiece::Argument {
                    at: 0,
                    mark: "{{x}}"
                },
                MarkedPiece::Text(" {{y}} {{ x }}"),
            ]
        );
        assert_eq!(variables(&known, "{{ x }}").len(), 1);
        assert_eq!(
            variables(&known, "${{ x }}"),
            [MarkedPiece::Text("${{ x }}")]
        );
    }

    proptest! {
        #[test]
        fn pieces_are_the_text(text in "[{}$xy \n]{0,60}") {
            let known = arguments(&["x", "y"]);
            prop_assert_eq!(whole(&exact(&known, &text)), text.as_str());
            prop_assert_eq!(whole(&variables(&known, &text)), text.as_str());
        }
    }
}
