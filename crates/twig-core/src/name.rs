//! Names and paths that are checked once, when they are made.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::UnicodeNormalization;

use crate::hidden::is_letter;

/// The longest name of a library, prompt or argument, in bytes.
pub const NAME_LIMIT: usize = 128;

/// A library's name: the name of its folder, made safe for every client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryName(Box<str>);

impl LibraryName {
    /// Makes a library name from a folder's name; `None` if nothing remains.
    ///
    /// Lowercased and composed (NFC); characters other than letters, digits and `_` become `_`, and
    /// `_` is trimmed at both ends; runs stay as they are.
    pub fn from_folder(folder: &str) -> Option<Self> {
        let lowered: String = folder.nfc().flat_map(char::to_lowercase).collect();
        let mapped: String = lowered
            .nfc()
            .map(|c| if is_letter(c) { c } else { '_' })
            .collect();
        let name = mapped.trim_matches('_');
        (!name.is_empty() && name.len() <= NAME_LIMIT).then(|| Self(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LibraryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a name or path was refused; the message follows "`…` ".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing there.
    #[error("is empty")]
    Empty,
    /// Longer than [`NAME_LIMIT`].
    #[error("is longer than 128 bytes")]
    TooLong,
    /// A path longer than file systems allow.
    #[error("is longer than 1024 bytes")]
    PathTooLong,
    /// A character that names must not have.
    #[error("may contain letters, digits, `_`, `-` and `.`, and must not start with `-` or `.`")]
    Character,
    /// A character that names of definitions must not have.
    #[error("has other characters")]
    DefinitionCharacter,
    /// Names that a template cannot refer to.
    #[error("may contain the letters a to z, digits and `_`, and must not start with a digit")]
    NotAnIdentifier,
    /// Names with another meaning in a template.
    #[error("is a word of the template language; choose another")]
    Reserved,
    /// `/etc/passwd`, `C:\x`.
    #[error("is an absolute path; use one inside the library's folder")]
    Absolute,
    /// `../x`.
    #[error("has a `..`; paths stay inside the library's folder")]
    Outside,
    /// `..` where one more folder is needed.
    #[error("is the project's own folder; name a folder inside it")]
    ProjectItself,
    /// `../../x`.
    #[error("has more than one `..`; the folder has to be inside the project")]
    OutsideProject,
    /// `../.git`.
    #[error(
        "is in a hidden folder: documents are not read from folders whose names start with `.`"
    )]
    HiddenFolder,
    /// Control characters and backslashes in paths.
    #[error("has a control character or a backslash")]
    PathCharacter,
}

/// A prompt's own name, without its library's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PromptName(Box<str>);

impl PromptName {
    /// Checks a prompt's name: letters, digits, `_`, `-` and `.`, a letter, digit or `_` first.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > NAME_LIMIT {
            return Err(NameError::TooLong);
        }
        let inner = |c: char| is_letter(c) || matches!(c, '_' | '-' | '.');
        let first = |c: char| is_letter(c) || c == '_';
        if !text.starts_with(first) || !text.chars().all(inner) || text.ends_with('.') {
            return Err(NameError::Character);
        }
        Ok(Self(text.into()))
    }

    /// Checks a name by the stricter rule of definitions: letters a to z, digits and `-`.
    pub fn of_definition(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > NAME_LIMIT {
            return Err(NameError::TooLong);
        }
        let is_good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !text.bytes().all(is_good) {
            return Err(NameError::DefinitionCharacter);
        }
        Ok(Self(text.into()))
    }

    /// A name made from the name of a prompt in another client.
    pub fn of_format(id: &str) -> Self {
        Self(crate::slug::native_slug(id).into())
    }

    /// The name of a project's prompt, which the store has checked.
    pub(crate) fn of_store(name: &str) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PromptName {
    /// The name as a key in a manifest: bare if TOML allows it. Names contain nothing that needs
    /// escaping.
    pub fn as_toml_key(&self) -> Cow<'_, str> {
        let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if self.0.chars().all(is_bare) {
            Cow::Borrowed(&self.0)
        } else {
            Cow::Owned(format!("\"{}\"", self.0))
        }
    }
}

impl fmt::Display for PromptName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Words that a template never looks up as a variable.
const RESERVED: [&str; 15] = [
    "True", "False", "None", "true", "false", "none", "and", "or", "not", "in", "is", "if", "else",
    "loop", "self",
];

/// Checks that a template can refer to an argument by this name.
pub fn check_argument_name(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > NAME_LIMIT {
        return Err(NameError::TooLong);
    }
    let mut bytes = text.bytes();
    let first = bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if !first || !bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err(NameError::NotAnIdentifier);
    }
    if RESERVED.contains(&text) {
        return Err(NameError::Reserved);
    }
    Ok(())
}

/// Two names with the same key collide on some file systems: case folded and composed.
pub fn twin_key(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.nfc().flat_map(char::to_lowercase).nfc().collect()
}

/// The name in clients that map everything outside `[A-Za-z0-9_-]` to `_`.
pub fn client_key(name: &str) -> String {
    client_chars(name).collect()
}

pub(crate) fn client_chars(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().map(|c| {
        let is_kept = c.is_ascii_alphanumeric() || c == '-';
        if is_kept { c } else { '_' }
    })
}

/// A path that is lexically inside a library's folder: no root, no `..`, `/` between its parts.
///
/// There is one exception, for documents: a path that [`RelativePath::beside`] made starts with `../`
/// and is lexically inside the folder that holds a project's own. Code that opens a path has to
/// check symlinks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(Box<str>);

impl RelativePath {
    /// Checks a path as an author wrote it and drops its `.` and empty parts.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > 1024 {
            return Err(NameError::PathTooLong);
        }
        if text.starts_with('/') {
            return Err(NameError::Absolute);
        }
        if text.chars().any(|c| c.is_control() || c == '\\') {
            return Err(NameError::PathCharacter);
        }
        // Nearly every path is already normalised.
        let is_odd = |part: &str| matches!(part, "" | "." | "..");
        if !text.split('/').any(is_odd) && !text.starts_with('~') && !is_drive(text) {
            return Ok(Self(text.into()));
        }
        let mut parts = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(NameError::Outside),
                part => parts.push(part),
            }
        }
        let Some(first) = parts.first() else {
            return Err(NameError::Empty);
        };
        if first.starts_with('~') || is_drive(first) {
            return Err(NameError::Absolute);
        }
        Ok(Self(parts.join("/").into()))
    }

    /// Checks a path that leads out of a project's own folder into the project: `../docs/adr`.
    ///
    /// It names neither the project itself nor anything in a hidden folder. `None` if the path does
    /// not start with `..`.
    pub fn beside(text: &str) -> Option<Result<Self, NameError>> {
        let mut parts = text.split('/').filter(|part| !matches!(*part, "" | "."));
        if text.starts_with('/') || parts.next() != Some("..") {
            return None;
        }
        let below: Vec<&str> = parts.collect();
        Some(match Self::parse(&below.join("/")) {
            Ok(below) if below.0.split('/').any(|part| part.starts_with('.')) => {
                Err(NameError::HiddenFolder)
            }
            Ok(below) => Ok(Self(format!("../{below}").into())),
            Err(NameError::Empty) => Err(NameError::ProjectItself),
            Err(NameError::Outside) => Err(NameError::OutsideProject),
            Err(error) => Err(error),
        })
    }

    /// The path in the project, if it leads out of the project's own folder.
    pub fn in_project(&self) -> Option<&str> {
        self.0.strip_prefix("../")
    }

    /// The path as text, `/` between its parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder that holds it, `""` for the library's own.
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Its last part.
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, file)| file)
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The full path of a library's file, from the library's folder and the file's path in it: the only
/// way from `../docs` of a project's own folder to the project's `docs`.
pub fn full_path(root: &str, file: impl fmt::Display) -> String {
    let path = format!("{root}/{file}");
    let beside = path[root.len()..].strip_prefix("/../");
    let project = root.trim_end_matches('/').rfind('/');
    match (beside, project) {
        (Some(beside), Some(end)) => format!("{}/{beside}", &root[..end]),
        _ => path,
    }
}

/// True if a path starts with a Windows drive; elsewhere, `a:b.md` is an ordinary name.
fn is_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_named = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    let ends = || matches!(bytes.get(2), None | Some(b'/' | b'\\'));
    is_named && (cfg!(windows) || ends())
}
