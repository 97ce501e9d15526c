//! The clients that prompts are written for: where their files are and what they are called.

use twig_core::model::Kind;

/// Whose files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Client {
    /// Folders with a `SKILL.md`, which many clients read.
    Skills,
    /// Commands of Claude Code.
    Claude,
    /// Prompt files of VS Code.
    Copilot,
    /// Commands of Cursor.
    Cursor,
    /// Commands of opencode.
    Opencode,
    /// Workflows of Windsurf.
    Windsurf,
    /// Commands of the Gemini command line.
    Gemini,
}

impl Client {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Client; 7] = [
        Client::Skills,
        Client::Claude,
        Client::Copilot,
        Client::Cursor,
        Client::Opencode,
        Client::Windsurf,
        Client::Gemini,
    ];

    /// The word for it in flags and listings: that of the kind of library that its files make.
    pub fn as_str(self) -> &'static str {
        self.kind().as_str()
    }

    /// How its files are read.
    pub fn kind(self) -> Kind {
        match self {
            Self::Skills => Kind::Skills,
            Self::Claude => Kind::Claude,
            Self::Copilot => Kind::Copilot,
            Self::Cursor => Kind::Cursor,
            Self::Opencode => Kind::Opencode,
            Self::Windsurf => Kind::Windsurf,
            Self::Gemini => Kind::Gemini,
        }
    }

    /// The client whose files a kind of library is made of.
    pub(crate) fn of(kind: Kind) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.kind() == kind)
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Skills => "a skill",
            Self::Claude => "Claude Code",
            Self::Copilot => "VS Code",
            Self::Cursor => "Cursor",
            Self::Opencode => "opencode",
            Self::Windsurf => "Windsurf",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// Where a project keeps its files.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Skills => ".agents/skills",
            Self::Claude => ".claude/commands",
            Self::Copilot => ".github/prompts",
            Self::Cursor => ".cursor/commands",
            Self::Opencode => ".opencode/command",
            Self::Windsurf => ".windsurf/workflows",
            Self::Gemini => ".gemini/commands",
        }
    }

    /// What its files end in.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Skills => "/SKILL.md",
            Self::Copilot => ".prompt.md",
            Self::Gemini => ".toml",
            _ => ".md",
        }
    }

    /// The path of a prompt's file, from its folder.
    pub(crate) fn path(self, name: &str) -> String {
        format!("{name}{}", self.ending())
    }

    /// The most characters that one of its files may have.
    pub(crate) fn longest(self) -> Option<usize> {
        (self == Self::Windsurf).then_some(12_000)
    }
}
