//! What the names of files and folders indicate, and the libraries derived from them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use twig_clients::clients::{formats, kind_of_commands, kind_of_file};
use twig_core::LibraryKind;

use super::super::DetectedLibrary;
use super::{COMMANDS, VisitedFolder};

/// The evidence for each kind.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// Kinds other than plain Markdown, each with the folders that hold its prompts.
    folders: BTreeMap<LibraryKind, BTreeSet<PathBuf>>,
    /// Folders of commands.
    commands: BTreeMap<PathBuf, Commands>,
    /// Folders that are a skill each: everything in them belongs to it.
    skills: BTreeSet<PathBuf>,
    /// Plain Markdown files.
    markdown: Vec<PathBuf>,
    /// Whether all Markdown files are notes about their folder.
    has_notes: bool,
    plugins: Vec<DetectedLibrary>,
}

/// How many files of a folder of commands belong to which client.
#[derive(Debug, Default)]
struct Commands {
    markdown: usize,
    toml: usize,
}

/// Kinds that are detected by their files, the most certain first.
const ORDER: [LibraryKind; 4] = [
    LibraryKind::Skills,
    FABRIC,
    formats::COPILOT.kind(),
    formats::MODELS.kind(),
];

const FABRIC: LibraryKind = formats::FABRIC.kind();

/// The usual name for a folder of prompts of a kind.
fn usual_name(kind: LibraryKind) -> &'static str {
    match kind {
        LibraryKind::Skills => "skills",
        FABRIC => "patterns",
        _ => "prompts",
    }
}

impl Signs {
    pub(super) fn file(&mut self, folder: &VisitedFolder, name: &str) {
        let in_subfolder = folder.depth > 0 && folder.commands.is_none();
        let kind = if let Some(kind) = kind_of_file(name, in_subfolder) {
            if kind == LibraryKind::Skills {
                self.skills.insert(folder.path.clone());
            }
            kind
        } else if name.eq_ignore_ascii_case("readme.md") {
            self.has_notes = true;
            return;
        } else {
            let lower = name.to_ascii_lowercase();
            let ends = |ending: &str| lower.len() > ending.len() && lower.ends_with(ending);
            let (is_markdown, is_toml) = (ends(".md"), ends(".toml"));
            if let Some(root) = folder.commands.as_ref().filter(|_| is_markdown || is_toml) {
                let commands = self.commands.entry(root.clone()).or_default();
                commands.markdown += usize::from(is_markdown);
                commands.toml += usize::from(is_toml);
            }
            if is_markdown {
                self.markdown.push(folder.path.join(name));
            }
            return;
        };
        // A skill or a pattern is the folder itself.
        let is_folder = matches!(kind, LibraryKind::Skills | FABRIC);
        let above = match folder.path.parent() {
            Some(above) if is_folder && folder.depth > 0 => above,
            _ => &folder.path,
        };
        let folders = self.folders.entry(kind).or_default();
        folders.insert(above.to_path_buf());
    }

    /// Adds a Claude Code plugin, whose commands and skills are libraries; returns whether the
    /// folder is one.
    pub(super) fn plugin(&mut self, folder: &VisitedFolder, inner: &[String]) -> bool {
        let parts = [
            (COMMANDS, formats::CLAUDE.kind(), ""),
            ("skills", LibraryKind::Skills, "_skills"),
        ];
        let has = |name: &str| inner.iter().any(|it| it == name);
        if !parts.iter().any(|(name, ..)| has(name))
            || !folder.path.join(".claude-plugin/plugin.json").exists()
        {
            return false;
        }
        let own = folder
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let spots = parts.iter().filter(|(name, ..)| has(name));
        self.plugins.extend(spots.map(|(name, kind, end)| {
            let root = folder.path.join(name);
            DetectedLibrary::new(root, *kind, Some(format!("{own}{end}")))
        }));
        true
    }

    /// One library, or several if there are several kinds; and the files that are in none of them.
    pub(super) fn weigh(mut self, root: &Path) -> (Vec<DetectedLibrary>, Option<(usize, PathBuf)>) {
        let skills = &self.skills;
        let is_of_skill = |path: &Path| path.ancestors().any(|it| skills.contains(it));
        self.commands.retain(|folder, _| !is_of_skill(folder));
        for (kind, folders) in &mut self.folders {
            folders.retain(|folder| *kind == LibraryKind::Skills || !is_of_skill(folder));
        }
        self.folders.retain(|_, folders| !folders.is_empty());
        let is_one = self.plugins.is_empty() && self.commands.is_empty() && self.folders.len() < 2;
        let spots = if is_one {
            self.one(root).into_iter().collect()
        } else {
            self.several(root)
        };
        let is_read = |path: &Path| spots.iter().any(|spot| path.starts_with(&spot.root));
        let left_out: Vec<&PathBuf> = self.markdown.iter().filter(|it| !is_read(it)).collect();
        let first = left_out.iter().min().map(|first| (*first).clone());
        let left_out = first.map(|first| (left_out.len(), first));
        (spots, left_out)
    }

    fn one(&self, root: &Path) -> Option<DetectedLibrary> {
        let has_markdown = self.has_notes || !self.markdown.is_empty();
        let Some((kind, folders)) = self.folders.first_key_value() else {
            return has_markdown
                .then(|| DetectedLibrary::new(root.to_path_buf(), LibraryKind::Markdown, None));
        };
        // Patterns are named after their folders, so their common parent is the library.
        let root = match folders.first() {
            Some(patterns) if *kind == FABRIC && folders.len() == 1 => patterns,
            _ => root,
        };
        Some(DetectedLibrary::new(root.to_path_buf(), *kind, None))
    }

    /// A library for each plugin, each folder of commands, and each folder that groups prompts of
    /// one kind.
    fn several(&mut self, root: &Path) -> Vec<DetectedLibrary> {
        let mut spots = std::mem::take(&mut self.plugins);
        for (folder, commands) in &self.commands {
            let kind = kind_of_commands(commands.toml, commands.markdown);
            let above = folder.parent().filter(|_| folder != root);
            let above = above.and_then(Path::file_name);
            let name = above.map(|name| name.to_string_lossy().into_owned());
            spots.push(DetectedLibrary::new(folder.clone(), kind, name));
        }
        for kind in ORDER {
            let folders = self.folders.get(&kind).into_iter().flatten();
            let together: BTreeSet<PathBuf> =
                folders.map(|folder| together(root, kind, folder)).collect();
            let is_outermost = |path: &&PathBuf| {
                let mut above = path.ancestors().skip(1);
                !above.any(|above| together.contains(above))
            };
            for path in together.iter().filter(is_outermost) {
                if !spots.iter().any(|spot| spot.root == *path) {
                    let is_taken = self.commands.contains_key(&path.join(COMMANDS));
                    let name = name_of(root, kind, path, is_taken);
                    spots.push(DetectedLibrary::new(path.clone(), kind, name));
                }
            }
        }
        spots.sort_by(|one, two| one.root.cmp(&two.root));
        let roots: Vec<PathBuf> = spots.iter().map(|spot| spot.root.clone()).collect();
        for spot in &mut spots {
            let inner = roots.iter().filter(|it| **it != spot.root);
            let inner = inner.filter(|it| it.starts_with(&spot.root));
            spot.inner = inner.cloned().collect();
        }
        spots
    }
}

/// The library that contains a folder with prompts of a kind: the outermost folder with the usual
/// name, else the one directly in the root.
fn together(root: &Path, kind: LibraryKind, folder: &Path) -> PathBuf {
    let below = folder.strip_prefix(root).unwrap_or(Path::new(""));
    let usual = usual_name(kind);
    let called = below.components().position(|it| it.as_os_str() == usual);
    let parts = called.unwrap_or(0) + 1;
    root.components()
        .chain(below.components().take(parts))
        .collect()
}

/// `git_skills` for the skills next to the commands of `git`; `None` if the folder's own name is
/// used.
fn name_of(root: &Path, kind: LibraryKind, path: &Path, is_taken: bool) -> Option<String> {
    let usual = usual_name(kind);
    let is_usual = path != root && path.file_name()? == usual;
    let unit = if is_taken {
        path
    } else {
        path.parent().filter(|above| is_usual && *above != root)?
    };
    let unit = unit.file_name()?.to_string_lossy();
    Some(format!("{unit}_{usual}"))
}
