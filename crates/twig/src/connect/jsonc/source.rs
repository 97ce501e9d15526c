//! A parsed file, and what can be asked about its text.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use twig_core::depth;

use super::EditError;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A byte order mark, if there is one, and the text after it.
pub(super) fn text_of(text: &str) -> (&str, &str) {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    text.split_at(text.len() - body.len())
}

/// JSON with comments and trailing commas, and nothing more.
pub(super) const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) struct Source<'t> {
    pub(super) text: &'t str,
    /// Nothing where the file has no value.
    pub(super) root: Option<Object<'t>>,
    /// Everything that is not white space, comments too.
    tokens: Vec<TokenAndRange<'t>>,
}

impl<'t> Source<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, EditError> {
        depth::json(text).map_err(|error| EditError::at(text, error.at, error.to_string()))?;
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed = parse_to_ast(text, &collect, &OPTIONS).map_err(|error| EditError {
            message: lower_first(&error.kind().to_string()),
            line: error.line_display(),
            column: error.column_display(),
            advice: None,
        })?;
        let root = match parsed.value {
            None => None,
            Some(Value::Object(root)) => Some(root),
            Some(other) => {
                let message = "the file has to hold an object, `{ … }`";
                let error = EditError::at(text, other.start(), message);
                return Err(error.advise("make it an object"));
            }
        };
        Ok(Self {
            text,
            root,
            tokens: parsed.tokens.unwrap_or_default(),
        })
    }

    /// The objects that the keys lead through, beginning with the root, and how many of the keys
    /// are there.
    pub(super) fn containers(&self, keys: &[&str]) -> Result<(usize, Vec<&Object<'t>>), EditError> {
        let mut objects: Vec<&Object<'t>> = self.root.iter().collect();
        for (at, key) in keys.iter().enumerate() {
            let Some(object) = objects.last() else {
                return Ok((0, objects));
            };
            match property(object, key).map(|property| &property.value) {
                Some(Value::Object(inner)) => objects.push(inner),
                Some(other) => {
                    let message = format!("`{key}` has to be an object, `{{ … }}`");
                    let error = EditError::at(self.text, other.start(), message);
                    return Err(error.advise(format!("make `{key}` an object")));
                }
                None => return Ok((at, objects)),
            }
        }
        Ok((keys.len(), objects))
    }

    /// The token that ends at or before a place.
    pub(super) fn before(&self, place: usize) -> Option<&TokenAndRange<'t>> {
        let after = self.tokens.partition_point(|it| it.range.end <= place);
        self.tokens.get(after.checked_sub(1)?)
    }

    /// The tokens that begin at or after a place.
    pub(super) fn after(&self, place: usize) -> &[TokenAndRange<'t>] {
        let first = self.tokens.partition_point(|it| it.range.start < place);
        self.tokens.get(first..).unwrap_or_default()
    }

    /// The comma that follows a place, if one does.
    pub(super) fn comma_after(&self, place: usize) -> Option<&TokenAndRange<'t>> {
        let mut meaningful = self.after(place).iter().filter(|it| !is_comment(&it.token));
        meaningful.next().filter(|it| it.token == Token::Comma)
    }

    /// The comma before a place, if one is.
    pub(super) fn comma_before(&self, place: usize) -> Option<&TokenAndRange<'t>> {
        let after = self.tokens.partition_point(|it| it.range.end <= place);
        let earlier = self.tokens.get(..after).unwrap_or_default().iter().rev();
        let mut meaningful = earlier.filter(|it| !is_comment(&it.token));
        meaningful.next().filter(|it| it.token == Token::Comma)
    }

    /// The last comment directly inside an object that has no properties.
    pub(super) fn last_comment(&self, object: &Object<'t>) -> Option<&TokenAndRange<'t>> {
        let inside = self.before(object.range.end - 1)?;
        is_comment(&inside.token).then_some(inside)
    }

    /// The white space that a place's line begins with.
    pub(super) fn line_indent(&self, place: usize) -> &'t str {
        let start = self.text[..place].rfind('\n').map_or(0, |at| at + 1);
        let line = &self.text[start..];
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        &line[..blank]
    }

    /// Whether nothing but white space is before a place in its line, and it has a line before.
    pub(super) fn begins_line(&self, place: usize) -> bool {
        let indent = self.line_indent(place);
        self.text[..place].ends_with(&format!("\n{indent}"))
    }

    /// Whether the rest of a place's line is white space.
    pub(super) fn ends_line(&self, place: usize) -> bool {
        let rest = &self.text[place..];
        rest.split('\n')
            .next()
            .unwrap_or_default()
            .trim()
            .is_empty()
    }
}

/// Clients that read a key twice take what comes last.
pub(super) fn property<'o, 't>(object: &'o Object<'t>, key: &str) -> Option<&'o ObjectProp<'t>> {
    let mut named = object.properties.iter().rev();
    named.find(|property| property.name.as_str() == key)
}

pub(super) fn is_comment(token: &Token<'_>) -> bool {
    matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}
