//! The formats of prompt files. Several clients may share one.

use twig_core::{ClientFiles, FileForm};

use super::{MarkRule, NameRule, PromptFormat};

/// Markdown files named by their path, without marks; the others differ from this.
const PLAIN: PromptFormat = PromptFormat {
    files: ClientFiles {
        id: "markdown",
        form: FileForm::Markdown,
    },
    endings: &[".md"],
    names: NameRule::Path,
    marks: MarkRule::Nothing,
    subfolders: None,
};

const fn files(id: &'static str, form: FileForm) -> ClientFiles {
    ClientFiles { id, form }
}

/// Plain Markdown files, which belong to no client.
pub(crate) static MARKDOWN: PromptFormat = PromptFormat {
    marks: MarkRule::Dollars,
    ..PLAIN
};

/// Folders with a `SKILL.md`, which many clients read.
pub(crate) static SKILLS: PromptFormat = PromptFormat {
    names: NameRule::Folder,
    marks: MarkRule::HintedDollars,
    ..PLAIN
};

/// Commands of Claude Code: `.claude/commands`.
pub static CLAUDE: PromptFormat = PromptFormat {
    files: files("claude", FileForm::Markdown),
    names: NameRule::PathWithColons,
    marks: MarkRule::Dollars,
    ..PLAIN
};

/// Prompt files of VS Code: `.github/prompts/*.prompt.md`.
pub static COPILOT: PromptFormat = PromptFormat {
    files: files("copilot", FileForm::Markdown),
    endings: &[".prompt.md"],
    names: NameRule::NameOrFile,
    marks: MarkRule::Inputs,
    ..PLAIN
};

/// Prompts of the Codex command line: `~/.codex/prompts`.
pub static CODEX: PromptFormat = PromptFormat {
    files: files("codex", FileForm::Markdown),
    marks: MarkRule::Capitals,
    subfolders: Some("is in a subfolder, where Codex has no prompts"),
    ..PLAIN
};

/// Commands of the Gemini command line: `.gemini/commands`.
pub static GEMINI: PromptFormat = PromptFormat {
    files: files("gemini", FileForm::Toml),
    endings: &[".toml"],
    names: NameRule::PathWithColons,
    ..PLAIN
};

/// Commands of Cursor: `.cursor/commands`.
pub static CURSOR: PromptFormat = PromptFormat {
    files: files("cursor", FileForm::Markdown),
    ..PLAIN
};

/// Commands of opencode: `.opencode/command`.
pub static OPENCODE: PromptFormat = PromptFormat {
    files: files("opencode", FileForm::Markdown),
    names: NameRule::NameOrPath,
    marks: MarkRule::GreedyDollars,
    ..PLAIN
};

/// Workflows of Windsurf: `.windsurf/workflows`.
pub static WINDSURF: PromptFormat = PromptFormat {
    files: files("windsurf", FileForm::Markdown),
    ..PLAIN
};

/// Patterns of Fabric: a folder each, with a `system.md`.
pub static FABRIC: PromptFormat = PromptFormat {
    files: files("fabric", FileForm::Whole),
    names: NameRule::Folder,
    ..PLAIN
};

/// Prompts of GitHub Models: `*.prompt.yml`.
pub static MODELS: PromptFormat = PromptFormat {
    files: files("models", FileForm::Yaml),
    endings: &[".prompt.yaml", ".prompt.yml"],
    names: NameRule::PathWithColons,
    ..PLAIN
};
