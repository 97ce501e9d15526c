//! Values on the command line: given as text, or read from a file or standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use twig_core::Limits;
use twig_core::document::{mime_of, mime_of_name};
use twig_core::store::{GivenContent, ItemKind};

use crate::command_error::{CommandError, reason};
use crate::places;

/// How many bytes of a content are used to guess its type.
const HEAD: usize = 4096;

/// A value as written on the command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Spelled<'a> {
    /// The value itself.
    Text(&'a str),
    /// `@FILE`: the file's content.
    File(&'a str),
    /// `-` or `@-`: standard input.
    Stdin,
}

/// `TEXT`, `@FILE`, `-` for standard input, or `@@TEXT` for a text that starts with an @.
pub(super) fn spelled(value: &str) -> Spelled<'_> {
    match value.strip_prefix('@') {
        None if value == "-" => Spelled::Stdin,
        None => Spelled::Text(value),
        Some("-") => Spelled::Stdin,
        Some(text) if text.starts_with('@') => Spelled::Text(text),
        Some(path) => Spelled::File(path),
    }
}

/// Reads a file, whose path may start with `~/`, to its end or to one byte past the limit.
pub(super) fn read_file(path: &str, limit: usize) -> io::Result<Vec<u8>> {
    read(File::open(places::expanded(path))?, limit)
}

/// Reads standard input to its end or to one byte past the limit.
pub(super) fn read_stdin(limit: usize) -> io::Result<Vec<u8>> {
    read(io::stdin().lock(), limit)
}

/// Reads the content that a value names; `-` is standard input. Never reads more than the limit.
pub(super) fn content(
    kind: ItemKind,
    value: &str,
    limits: &Limits,
) -> Result<GivenContent, CommandError> {
    let limit = match kind {
        ItemKind::Prompt => limits.verbatim,
        ItemKind::Resource => limits.document,
    };
    let (what, bytes) = match spelled(value) {
        Spelled::Stdin => ("standard input".to_owned(), read_stdin(limit)),
        Spelled::Text(text) => return Ok(GivenContent::Text(text.to_owned())),
        Spelled::File(path) => (format!("the file `{path}`"), read_file(path, limit)),
    };
    let bytes = bytes.map_err(|error| {
        let why = reason(&error);
        let error = CommandError::fixable(format!("{what} cannot be read: {why}"));
        error.hint("write @@… for a content that starts with an @")
    })?;
    if bytes.len() > limit {
        let message = format!("{what} holds more than {limit} bytes, which is the limit");
        return Err(CommandError::fixable(message));
    }
    if kind == ItemKind::Prompt
        && let Err(error) = std::str::from_utf8(&bytes)
    {
        let message = format!("{what} is not UTF-8 text (byte {})", error.valid_up_to());
        let error = CommandError::fixable(message);
        return Err(error.hint("a prompt is text; `twig resource add` takes bytes"));
    }
    Ok(GivenContent::Bytes(bytes))
}

/// The default MIME type: guessed from the names of the file and the URI, else from the content's
/// first bytes.
pub(super) fn guess(value: &str, uri: &str, given: &GivenContent) -> &'static str {
    let file = match spelled(value) {
        Spelled::File(path) => Path::new(path).file_name().and_then(|name| name.to_str()),
        Spelled::Text(_) | Spelled::Stdin => None,
    };
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let last = path.rsplit(['/', ':']).next().unwrap_or_default();
    let by_name = file.and_then(mime_of_name).or_else(|| mime_of_name(last));
    by_name.unwrap_or_else(|| match given {
        GivenContent::Text(_) => "text/plain",
        GivenContent::Bytes(bytes) => mime_of("", &bytes[..bytes.len().min(HEAD)]),
    })
}

/// Reads to the end, or to one byte past the limit.
fn read(from: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = (limit as u64).saturating_add(1);
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_at_sign_means_a_file_and_two_mean_themselves() {
        assert_eq!(spelled("text"), Spelled::Text("text"));
        assert_eq!(spelled("@file"), Spelled::File("file"));
        assert_eq!(spelled("@@text"), Spelled::Text("@text"));
        assert_eq!(spelled("a@b"), Spelled::Text("a@b"));
        assert_eq!(spelled("-"), Spelled::Stdin);
        assert_eq!(spelled("@-"), Spelled::Stdin);
        assert_eq!(spelled("--"), Spelled::Text("--"));
        assert_eq!(spelled("@@-"), Spelled::Text("@-"));
    }

    #[test]
    fn names_tell_what_a_content_is_before_its_beginning_does() {
        let png = GivenContent::Bytes(b"\x89PNG\r\n\x1a\n".to_vec());
        let text = GivenContent::Text("x".to_owned());
        for (value, uri, given, mime) in [
            ("@a/b.md", "file:///x.sql", &png, "text/markdown"),
            ("@b", "file:///x.sql?v=1.md#2", &png, "application/sql"),
            ("-", "file:///x", &png, "image/png"),
            ("x", "file:///x", &text, "text/plain"),
            ("x", "note:a.json", &text, "application/json"),
        ] {
            assert_eq!(guess(value, uri, given), mime, "{value} {uri}");
        }
    }
}
