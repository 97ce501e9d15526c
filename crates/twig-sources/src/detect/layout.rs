//! What a folder's layout says that it is: names of files and folders, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use twig_core::Kind;

use super::Spot;
use crate::listing::is_leftover;
use crate::stamp::{Seen, is_absence};

/// How deep, and how far, is looked.
const DEPTH: usize = 6;
const FOLDERS: usize = 2_000;
const NAMES: usize = 50_000;

/// What goes away may come back at once: some editors move a file away before they write it anew.
const QUIET: Duration = Duration::from_millis(8);

/// What was found beneath a folder, and the folders that would tell of a change.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// The libraries that it is, or holds.
    pub(crate) spots: Vec<Spot>,
    seen: Vec<(PathBuf, Seen)>,
}

impl Layout {
    /// What a folder is; what was known of it holds until one of its folders is touched.
    pub(crate) fn of(root: &Path, known: Option<Self>) -> Self {
        let Some(known) = known else {
            return Self::walk(root).unwrap_or_default();
        };
        let Some(touched) = known.touched() else {
            return known;
        };
        let mut next = Self::walk(root);
        if next.as_ref().is_ok_and(|next| next.spots != known.spots)
            && let Some(wait) = touched.stamp().and_then(|it| it.until_quiet(QUIET))
        {
            std::thread::sleep(wait);
            next = Self::walk(root);
        }
        match next {
            Ok(next) => next,
            Err(error) if is_absence(&error) => Self::default(),
            // What was known stays until the folder can be listed again.
            Err(_) => known,
        }
    }

    /// What is seen now of a folder that is not as it was.
    fn touched(&self) -> Option<Seen> {
        let now = self.seen.iter().map(|(path, seen)| (seen, Seen::at(path)));
        now.into_iter()
            .find_map(|(seen, now)| (!seen.holds(&now)).then_some(now))
            .or(self.seen.is_empty().then(Seen::never))
    }

    fn walk(root: &Path) -> io::Result<Self> {
        let mut signs = Signs::default();
        let in_commands = root.file_name().is_some_and(|name| name == "commands");
        let mut next = vec![Folder {
            path: root.to_path_buf(),
            depth: 0,
            in_commands,
        }];
        let mut seen = Vec::new();
        let mut names = 0;
        while let Some(folder) = next.pop() {
            if seen.len() == FOLDERS || names > NAMES {
                break;
            }
            seen.push((folder.path.clone(), Seen::at(&folder.path)));
            let entries = match fs::read_dir(&folder.path) {
                Ok(entries) => entries,
                Err(error) if folder.depth == 0 => return Err(error),
                // Whoever reads it will say so.
                Err(_) => continue,
            };
            let mut inner = Vec::new();
            for entry in entries.flatten().take(NAMES) {
                names += 1;
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                let is_folder = entry.file_type().is_ok_and(|kind: FileType| kind.is_dir());
                if is_leftover(&name) || name == "node_modules" {
                    continue;
                }
                if is_folder {
                    inner.push(name);
                } else {
                    signs.file(root, &folder, &name);
                }
            }
            inner.sort_unstable();
            if signs.plugin(&folder, &inner) || folder.depth == DEPTH {
                continue;
            }
            let inner = inner.into_iter().rev();
            next.extend(inner.map(|name| folder.inner(&name)));
        }
        let spots = signs.spots(root);
        Ok(Self { spots, seen })
    }
}

/// A folder on the way.
struct Folder {
    path: PathBuf,
    depth: usize,
    /// Whether it is named `commands`, or is in one that is.
    in_commands: bool,
}

impl Folder {
    fn inner(&self, name: &str) -> Self {
        Self {
            path: self.path.join(name),
            depth: self.depth + 1,
            in_commands: self.in_commands || name == "commands",
        }
    }
}

/// What speaks for a kind.
#[derive(Debug, Default)]
struct Signs {
    /// By the folder directly in the root; `""` for the root itself.
    kinds: BTreeMap<PathBuf, Kinds>,
    plugins: Vec<Spot>,
}

/// Kinds that something speaks for.
#[derive(Debug, Clone, Default)]
struct Kinds {
    kinds: BTreeSet<Kind>,
    /// Where folders of patterns lie.
    patterns: BTreeSet<PathBuf>,
}

/// Kinds that are told by their files, what is told best first.
const ORDER: [Kind; 6] = [
    Kind::Skills,
    Kind::Fabric,
    Kind::Copilot,
    Kind::Models,
    Kind::Gemini,
    Kind::Markdown,
];

impl Signs {
    fn file(&mut self, root: &Path, folder: &Folder, name: &str) {
        let name = name.to_ascii_lowercase();
        let ends = |ending: &str| name.len() > ending.len() && name.ends_with(ending);
        let kind = if name == "skill.md" {
            Kind::Skills
        } else if name == "system.md" && folder.depth > 0 {
            Kind::Fabric
        } else if ends(".prompt.md") {
            Kind::Copilot
        } else if ends(".prompt.yml") || ends(".prompt.yaml") {
            Kind::Models
        } else if ends(".toml") && folder.in_commands {
            Kind::Gemini
        } else if ends(".md") {
            Kind::Markdown
        } else {
            return;
        };
        // What is a skill or a pattern is the folder.
        let is_folder = matches!(kind, Kind::Skills | Kind::Fabric);
        let above = match folder.path.parent() {
            Some(above) if is_folder && folder.depth > 0 => above,
            _ => &folder.path,
        };
        let below = above.strip_prefix(root).unwrap_or(Path::new(""));
        let first: PathBuf = below.components().take(1).collect();
        let kinds = self.kinds.entry(first).or_default();
        kinds.kinds.insert(kind);
        if kind == Kind::Fabric {
            kinds.patterns.insert(above.to_path_buf());
        }
    }

    /// Takes in a plugin of Claude Code, whose commands and skills are libraries; says whether the
    /// folder is one.
    fn plugin(&mut self, folder: &Folder, inner: &[String]) -> bool {
        let parts = [
            ("commands", Kind::Claude, ""),
            ("skills", Kind::Skills, "_skills"),
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
        self.plugins.extend(spots.map(|(name, kind, end)| Spot {
            root: folder.path.join(name),
            kind: *kind,
            name: Some(format!("{own}{end}")),
        }));
        true
    }

    /// One library, or several where folders of several kinds lie side by side.
    fn spots(self, root: &Path) -> Vec<Spot> {
        if !self.plugins.is_empty() {
            return self.plugins;
        }
        let told = self.kinds.values().filter_map(Kinds::best);
        let told: BTreeSet<Kind> = told.filter(|kind| *kind != Kind::Markdown).collect();
        let own = self.kinds.get(Path::new("")).and_then(Kinds::best);
        if told.len() > 1 && matches!(own, None | Some(Kind::Markdown)) {
            let apart = self
                .kinds
                .iter()
                .filter(|(first, _)| !first.as_os_str().is_empty());
            let spots = apart.filter_map(|(first, kinds)| kinds.spot(&root.join(first)));
            return spots.filter(|spot| spot.kind != Kind::Markdown).collect();
        }
        let mut all = Kinds::default();
        for kinds in self.kinds.into_values() {
            all.kinds.extend(kinds.kinds);
            all.patterns.extend(kinds.patterns);
        }
        all.spot(root).into_iter().collect()
    }
}

impl Kinds {
    fn best(&self) -> Option<Kind> {
        ORDER.into_iter().find(|kind| self.kinds.contains(kind))
    }

    fn spot(&self, root: &Path) -> Option<Spot> {
        let kind = self.best()?;
        // Patterns are named by their folders, wherever these lie together.
        let root = match self.patterns.first() {
            Some(patterns) if kind == Kind::Fabric && self.patterns.len() == 1 => patterns,
            _ => root,
        };
        Some(Spot {
            root: root.to_path_buf(),
            kind,
            name: None,
        })
    }
}
