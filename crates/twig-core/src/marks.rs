//! Finds the marks that stand for arguments, by each client's own rules.

pub mod curly;
pub mod scan;
pub mod words;

use self::scan::{DollarContext, dollars};
pub use crate::argument::ALL;
use crate::argument::Argument;
use crate::model::{AppendedForm, Marks};

/// The longest name of an argument.
pub const NAME: usize = 64;

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkedPiece<'t> {
    /// Text that stays.
    Text(&'t str),
    /// The place of an argument.
    Argument {
        /// Which of the prompt's arguments.
        at: usize,
        /// The mark itself.
        mark: &'t str,
    },
    /// The place of all arguments, as they were typed: one space between two.
    All {
        /// The mark itself.
        mark: &'t str,
    },
}

/// Splits a text at its marks. The pieces add up to the text, except for backslashes that escape a
/// mark.
pub fn pieces<'t>(marks: Marks, arguments: &[Argument], text: &'t str) -> Vec<MarkedPiece<'t>> {
    match marks {
        Marks::Named => cut(text, MarkEscapes::Everywhere, |_, rest, _| {
            match word(rest)? {
                Word::All { length } => name(rest, arguments).or(Some((length, MarkTarget::All))),
                // A text with this always means an argument.
                Word::Place { length, number } => {
                    Some((length, MarkTarget::One(index(number, 0, arguments)?)))
                }
                Word::Number { .. } => None,
                Word::Other => name(rest, arguments),
            }
        }),
        Marks::Dollar { first, is_greedy } => {
            let escapes = if is_greedy {
                MarkEscapes::None
            } else {
                MarkEscapes::Everywhere
            };
            cut(text, escapes, |place, rest, before| match word(rest)? {
                Word::All { length } => Some((length, MarkTarget::All)),
                Word::Place { length, number } => {
                    Some((length, MarkTarget::One(index(number, first, arguments)?)))
                }
                Word::Number { length, number } => {
                    let at = index(number, first, arguments)?;
                    is_number_mark(place, before).then_some((length, MarkTarget::One(at)))
                }
                Word::Other => None,
            })
        }
        Marks::Capitals => cut(text, MarkEscapes::None, |_, rest, before| {
            let name = capitals(rest, before)?;
            let at = arguments.iter().position(|it| *it.name == *name)?;
            Some((1 + name.len(), MarkTarget::One(at)))
        }),
        Marks::Inputs => cut(text, MarkEscapes::None, |_, rest, _| {
            let input = input(rest)?;
            let at = arguments.iter().position(|it| *it.name == *input.name)?;
            Some((input.length, MarkTarget::One(at)))
        }),
        Marks::Args | Marks::Patterns => curly::exact(arguments, text),
        Marks::Variables => curly::variables(arguments, text),
        // Claude Code's files have escapes, although nothing is replaced.
        Marks::Appended {
            form: AppendedForm::Labelled,
            ..
        } => cut(text, MarkEscapes::InProse, |place, rest, before| {
            if place != DollarContext::Prose || !is_escaped(before) {
                return None;
            }
            match word(rest)? {
                Word::All { length } | Word::Place { length, .. } => {
                    Some((length, MarkTarget::All))
                }
                Word::Number { .. } | Word::Other => None,
            }
        }),
        Marks::None | Marks::Appended { .. } => vec![MarkedPiece::Text(text)],
    }
}

/// True if the words that are typed after a command are values in order, one each.
pub fn takes_words(marks: Marks, arguments: &[Argument]) -> bool {
    match marks {
        Marks::Dollar { .. } => true,
        // The argument for the whole line is one value, quotes included.
        Marks::Named => !matches!(arguments, [only] if *only.name == *ALL),
        _ => false,
    }
}

/// The arguments that a mark stands for.
enum MarkTarget {
    One(usize),
    All,
}

/// Where a backslash before a mark is an escape, and is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkEscapes {
    None,
    /// Not in code: without marks, a backslash there belongs to the code.
    InProse,
    Everywhere,
}

/// Splits a text wherever `find` sees a mark: it gets the text from the `$` on, and the text before
/// it.
fn cut<'t>(
    text: &'t str,
    escapes: MarkEscapes,
    find: impl Fn(DollarContext, &'t str, &'t str) -> Option<(usize, MarkTarget)>,
) -> Vec<MarkedPiece<'t>> {
    let mut pieces = Vec::new();
    let mut done = 0;
    let push = |pieces: &mut Vec<MarkedPiece<'t>>, part: &'t str| {
        if !part.is_empty() {
            pieces.push(MarkedPiece::Text(part));
        }
    };
    for (at, place) in dollars(text) {
        if at < done {
            continue;
        }
        let has_escapes = match escapes {
            MarkEscapes::None => false,
            MarkEscapes::InProse => place == DollarContext::Prose,
            MarkEscapes::Everywhere => true,
        };
        let is_escaped = has_escapes && is_escaped(&text[..at]);
        let found = find(place, &text[at..], &text[..at]);
        // Any escaped number loses its backslash, as in the client.
        let number = || (is_escaped && starts_number(&text[at..])).then_some((1, MarkTarget::All));
        let Some((length, target)) = found.or_else(number) else {
            continue;
        };
        if is_escaped {
            push(&mut pieces, &text[done..at - 1]);
            push(&mut pieces, &text[at..at + length]);
            done = at + length;
            continue;
        }
        push(&mut pieces, &text[done..at]);
        let mark = &text[at..at + length];
        pieces.push(match target {
            MarkTarget::One(at) => MarkedPiece::Argument { at, mark },
            MarkTarget::All => MarkedPiece::All { mark },
        });
        done = at + length;
    }
    push(&mut pieces, &text[done..]);
    pieces
}

/// True if exactly one backslash comes before a mark.
pub fn is_escaped(before: &str) -> bool {
    before.ends_with('\\') && !before.ends_with("\\\\")
}

fn starts_number(rest: &str) -> bool {
    rest[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// A word that starts with a `$`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// `$ARGUMENTS`.
    All {
        /// Bytes of it.
        length: usize,
    },
    /// `$ARGUMENTS[2]`.
    Place {
        /// Bytes of it.
        length: usize,
        /// Which argument.
        number: usize,
    },
    /// `$2`, if it is not a price.
    Number {
        /// Bytes of it.
        length: usize,
        /// Which argument.
        number: usize,
    },
    /// Something else.
    Other,
}

/// Reads a `$` and what follows; `None` if it is no mark.
pub fn word(rest: &str) -> Option<Word> {
    let after = rest.strip_prefix('$')?;
    if let Some(more) = after.strip_prefix("ARGUMENTS") {
        let place = more.strip_prefix('[').and_then(|inside| {
            let count = inside.bytes().take_while(u8::is_ascii_digit).count();
            let number = small(&inside[..count])?;
            let length = "$ARGUMENTS[]".len() + count;
            let is_closed = inside[count..].starts_with(']');
            is_closed.then_some(Word::Place { length, number })
        });
        // Clients replace these letters even in a longer word.
        let length = "$ARGUMENTS".len();
        return Some(place.unwrap_or(Word::All { length }));
    }
    let count = after.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 {
        return Some(Word::Other);
    }
    let (digits, more) = after.split_at(count);
    let is_price = more
        .strip_prefix(['.', ','])
        .is_some_and(|more| more.starts_with(|c: char| c.is_ascii_digit()));
    let is_mark = !is_price && !goes_on(more);
    let number = small(digits).filter(|_| is_mark)?;
    Some(Word::Number {
        length: 1 + count,
        number,
    })
}

/// True if a number at this place means an argument: not `US$5`, not `$$1`, not awk's.
pub fn is_number_mark(place: DollarContext, before: &str) -> bool {
    let is_joined = before.ends_with(|c: char| c == '$' || c.is_ascii_uppercase());
    place != DollarContext::Quoted && !is_joined
}

/// The name of a mark in capitals, without another `$` before it.
pub fn capitals<'t>(rest: &'t str, before: &str) -> Option<&'t str> {
    let after = rest.strip_prefix('$')?;
    let is_inner = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let length = after.bytes().take_while(is_inner).count();
    let (name, more) = after.split_at(length);
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name != "ARGUMENTS"
        && !goes_on(more)
        && !before.ends_with('$');
    is_name.then_some(name)
}

/// A mark `${input:…}`.
#[derive(Debug, PartialEq, Eq)]
pub struct InputMark<'t> {
    /// Its name, with `_` for spaces.
    pub name: String,
    /// What to put there.
    pub placeholder: Option<&'t str>,
    /// Bytes of it.
    pub length: usize,
}

/// The longest of these.
const INPUT: usize = 512;

/// Reads `${input:name}` or `${input:name:what to put there}`.
pub fn input(rest: &str) -> Option<InputMark<'_>> {
    let inside = rest.strip_prefix("${input:")?;
    let inside = &inside[..input_end(inside)?];
    let (name, placeholder) = match inside.split_once([':', '|']) {
        Some((name, placeholder)) => (name, Some(placeholder.trim())),
        None => (inside, None),
    };
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let words: Vec<&str> = name.split_whitespace().collect();
    let name = words.join("_");
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= NAME
        && name.chars().all(is_inner);
    is_name.then(|| InputMark {
        name,
        placeholder: placeholder.filter(|text| !text.is_empty()),
        length: "${input:}".len() + inside.len(),
    })
}

/// Where the brace is that closes a mark: that of a `${…}` in it is another.
fn input_end(inside: &str) -> Option<usize> {
    let bytes = &inside.as_bytes()[..inside.len().min(INPUT)];
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' if at > 0 && bytes[at - 1] == b'$' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    // A brace inside that nothing closes is text.
    bytes.iter().position(|byte| *byte == b'}')
}

/// The longest declared name after a `$`; the one argument that no author named has no mark.
fn name(rest: &str, arguments: &[Argument]) -> Option<(usize, MarkTarget)> {
    let after = rest.strip_prefix('$')?;
    let found = arguments.iter().enumerate().filter(|(_, argument)| {
        let more = after.strip_prefix(&*argument.name);
        *argument.name != *ALL && more.is_some_and(|more| !goes_on(more))
    });
    let (at, argument) = found.max_by_key(|(_, argument)| argument.name.len())?;
    Some((1 + argument.name.len(), MarkTarget::One(at)))
}

fn index(number: usize, first: u8, arguments: &[Argument]) -> Option<usize> {
    let at = number.checked_sub(usize::from(first))?;
    (at < arguments.len()).then_some(at)
}

fn small(digits: &str) -> Option<usize> {
    let is_small = (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    is_small.then(|| digits.parse().ok())?
}

/// True if a word continues.
fn goes_on(more: &str) -> bool {
    more.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}
