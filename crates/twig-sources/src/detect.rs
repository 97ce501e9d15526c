//! What a folder is, told by where it lies and how it is laid out, never by what its files say.

mod layout;

use std::path::{Path, PathBuf};

use twig_core::Kind;

pub(crate) use self::layout::Layout;
use crate::stamp::is_absence;

/// A folder that a client reads, from a project's folder or from the person's home.
#[derive(Debug)]
pub(crate) struct WellKnown {
    path: &'static str,
    pub(crate) kind: Kind,
    /// What a library there is called.
    pub(crate) name: &'static str,
}

/// A library, and what it is called unless its folder's name will do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) root: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) name: Option<String>,
    /// Folders in it that are libraries themselves.
    pub(crate) inner: Vec<PathBuf>,
}

impl Spot {
    fn new(root: PathBuf, kind: Kind, name: Option<String>) -> Self {
        Self {
            root,
            kind,
            name,
            inner: Vec::new(),
        }
    }
}

/// Every such folder, in the order in which libraries of one project come. Of two that are links to
/// one folder the first is read.
const WELL_KNOWN: &[WellKnown] = &[
    well_known(".claude/commands", Kind::Claude, "claude"),
    well_known(".agents/skills", Kind::Skills, "skills"),
    well_known(".claude/skills", Kind::Skills, "claude_skills"),
    well_known(".github/prompts", Kind::Copilot, "copilot"),
    well_known(".config/Code/User/prompts", Kind::Copilot, "copilot"),
    well_known(
        "Library/Application Support/Code/User/prompts",
        Kind::Copilot,
        "copilot",
    ),
    well_known(".github/skills", Kind::Skills, "copilot_skills"),
    well_known(".copilot/skills", Kind::Skills, "copilot_skills"),
    well_known(".codex/prompts", Kind::Codex, "codex"),
    well_known(".codex/skills", Kind::Skills, "codex_skills"),
    well_known(".gemini/commands", Kind::Gemini, "gemini"),
    well_known(".gemini/skills", Kind::Skills, "gemini_skills"),
    well_known(".cursor/commands", Kind::Cursor, "cursor"),
    well_known(".cursor/skills", Kind::Skills, "cursor_skills"),
    well_known(".opencode/command", Kind::Opencode, "opencode"),
    well_known(".opencode/commands", Kind::Opencode, "opencode"),
    well_known(".opencode/skills", Kind::Skills, "opencode_skills"),
    well_known(".config/opencode/command", Kind::Opencode, "opencode"),
    well_known(".config/opencode/commands", Kind::Opencode, "opencode"),
    well_known(".config/opencode/skills", Kind::Skills, "opencode_skills"),
    well_known(".windsurf/workflows", Kind::Windsurf, "windsurf"),
    well_known(".windsurf/skills", Kind::Skills, "windsurf_skills"),
    well_known(
        ".codeium/windsurf/global_workflows",
        Kind::Windsurf,
        "windsurf",
    ),
    well_known(".codeium/windsurf/skills", Kind::Skills, "windsurf_skills"),
    well_known(".kiro/skills", Kind::Skills, "kiro_skills"),
    well_known(".clinerules/workflows", Kind::Windsurf, "cline"),
    well_known(".cline/skills", Kind::Skills, "cline_skills"),
    well_known(".config/fabric/patterns", Kind::Fabric, "fabric"),
    well_known("data/patterns", Kind::Fabric, "fabric"),
    well_known(".continue/prompts", Kind::Markdown, "continue"),
];

const fn well_known(path: &'static str, kind: Kind, name: &'static str) -> WellKnown {
    WellKnown { path, kind, name }
}

/// The well-known folder that a path is, told by its end.
pub(crate) fn at(path: &Path) -> Option<&'static WellKnown> {
    WELL_KNOWN.iter().find(|known| path.ends_with(known.path))
}

/// The folder of the project, or the home, that a library's folder is of.
pub(crate) fn project_of(root: &Path) -> Option<&Path> {
    let parts = at(root).map_or(1, |known| known.path.split('/').count());
    root.ancestors().nth(parts)
}

/// The well-known folders of a project or home; one that cannot be looked at counts where `was` says
/// that it was there.
pub(crate) fn inside(
    project: &Path,
    was: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = (PathBuf, &'static WellKnown)> {
    let all = WELL_KNOWN
        .iter()
        .map(move |known| (project.join(known.path), known));
    all.filter(move |(path, _)| match path.metadata() {
        Ok(metadata) => metadata.is_dir(),
        Err(error) => !is_absence(&error) && was(path),
    })
}

/// The folders of a project, or of a home, that clients read.
pub fn well_known_folders(project: &Path) -> Vec<PathBuf> {
    inside(project, |_| false).map(|(path, _)| path).collect()
}

/// Whether a path is that of a folder that a client reads, told by its end.
pub fn is_well_known(path: &Path) -> bool {
    at(path).is_some()
}

impl WellKnown {
    pub(crate) fn spot(&self, root: PathBuf, kind: Option<Kind>) -> Spot {
        let kind = kind.unwrap_or(self.kind);
        Spot::new(root, kind, Some(self.name.to_owned()))
    }
}
