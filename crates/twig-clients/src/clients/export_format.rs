//! The formats that prompts are exported to; the table of clients says which client reads them
//! where.

use twig_core::model::LibraryKind;

use super::{CLIENTS, ExportRules, KnownClient, PromptFormat};

/// The format of exported files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExportFormat {
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

impl ExportFormat {
    /// All of them, in the order in which they are offered.
    pub const ALL: [ExportFormat; 7] = [
        ExportFormat::Skills,
        ExportFormat::Claude,
        ExportFormat::Copilot,
        ExportFormat::Cursor,
        ExportFormat::Opencode,
        ExportFormat::Windsurf,
        ExportFormat::Gemini,
    ];

    /// The client, and how its files are written.
    #[expect(clippy::expect_used, reason = "a test holds each against the table")]
    fn row(self) -> (&'static KnownClient, &'static ExportRules) {
        let mut written = CLIENTS
            .iter()
            .filter_map(|client| Some((*client, client.writes.as_ref()?)));
        let row = written.find(|(_, rules)| rules.format == self);
        row.expect("every format is one client's")
    }

    /// The client that they belong to.
    pub fn client(self) -> &'static KnownClient {
        self.row().0
    }

    /// The client's name for people.
    pub fn title(self) -> &'static str {
        self.client().title
    }

    /// Where they are, and their special rules.
    pub fn rules(self) -> &'static ExportRules {
        self.row().1
    }

    /// The word for it in flags and listings: that of the kind of library that its files form.
    pub fn as_str(self) -> &'static str {
        self.kind().as_str()
    }

    /// How its files are read.
    pub fn kind(self) -> LibraryKind {
        self.client()
            .reads
            .map_or(LibraryKind::Skills, PromptFormat::kind)
    }

    /// The format of the files of a kind of library.
    pub(crate) fn of(kind: LibraryKind) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.kind() == kind)
    }

    /// The path of a prompt's file, from its folder.
    pub(crate) fn path(self, name: &str) -> String {
        format!("{name}{}", self.ending())
    }

    /// The ending of its files' names.
    pub fn ending(self) -> &'static str {
        match self.client().reads {
            Some(format) => format.endings[0],
            None => "/SKILL.md",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_one_clients() {
        for format in ExportFormat::ALL {
            let rows = CLIENTS.iter().filter_map(|client| client.writes.as_ref());
            assert_eq!(rows.filter(|rules| rules.format == format).count(), 1);
        }
    }
}
