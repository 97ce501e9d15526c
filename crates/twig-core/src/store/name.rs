//! Names of workspaces, projects, prompts and resources.

use std::fmt;

use super::error::StoreError;

/// The longest name, in bytes.
const LONGEST: usize = 255;

/// What a name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    /// A workspace.
    Workspace,
    /// A project.
    Project,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Workspace => "Workspace",
            Self::Project => "Project",
            Self::Prompt => "Prompt",
            Self::Resource => "Resource",
        })
    }
}

/// The kinds of items in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// Text that is served verbatim.
    Prompt,
    /// Text or bytes with a URI.
    Resource,
}

impl ItemKind {
    /// The word for it in files and sentences.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }

    /// The same at the start of a sentence.
    pub fn noun(self) -> Noun {
        match self {
            Self::Prompt => Noun::Prompt,
            Self::Resource => Noun::Resource,
        }
    }
}

/// Why a name was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameProblem {
    /// An empty name.
    Empty,
    /// Longer than 255.
    TooLong,
    /// `.` and `..`, which are folders.
    Dots,
    /// Anything but letters a to z, digits, `-`, `_` and `.`.
    Characters,
}

/// A name that was checked: a key, never a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreName(Box<str>);

impl StoreName {
    /// Checks a name of something.
    pub fn parse(noun: Noun, text: &str) -> Result<Self, StoreError> {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let problem = if text.is_empty() {
            NameProblem::Empty
        } else if !text.bytes().all(is_good) {
            NameProblem::Characters
        } else if text.len() > LONGEST {
            NameProblem::TooLong
        } else if matches!(text, "." | "..") {
            NameProblem::Dots
        } else {
            return Ok(Self(text.into()));
        };
        Err(StoreError::Name {
            noun,
            name: text.into(),
            problem,
        })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
