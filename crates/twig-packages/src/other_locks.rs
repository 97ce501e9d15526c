//! The lock files of other installers, and what `twig add --from FILE` takes over from them.
//!
//! A file is recognised by its name, and else by its content. One entry that cannot be taken over
//! is refused with its reason; the others are taken.

mod apm;
mod gh_skill;
mod rulesync;
mod vercel;

use std::fmt;

use twig_core::RelativePath;
use twig_core::front_matter::FrontMatterValue;

pub use self::gh_skill::{GhSkillOrigin, gh_skill_origin, same_skill, without_gh_metadata};
pub use self::vercel::vercel_hash;
use crate::other_files::{LONGEST, json, shown, yaml};
use crate::source::{PackageSource, is_commit, is_reference};

/// The most entries of a file.
const MOST: usize = 10_000;

/// A tool whose files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherTool {
    /// `skills-lock.json` of vercel-labs/skills; its hashes are [`vercel_hash`]es.
    SkillsProject,
    /// `~/.agents/.skill-lock.json` of vercel-labs/skills and `gh skill`; its hashes are git's ids
    /// of folders.
    SkillsGlobal,
    /// `apm.yml`, which has no hashes.
    ApmManifest,
    /// `apm.lock.yaml`; its hashes are APM's own, `sha256:…`.
    ApmLock,
    /// `rulesync.lock`; its hashes are rulesync's own, `sha256-…`.
    Rulesync,
}

impl OtherTool {
    /// The usual name of its file.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::SkillsProject => "skills-lock.json",
            Self::SkillsGlobal => ".skill-lock.json",
            Self::ApmManifest => "apm.yml",
            Self::ApmLock => "apm.lock.yaml",
            Self::Rulesync => "rulesync.lock",
        }
    }

    /// The name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::SkillsProject | Self::SkillsGlobal => "skills",
            Self::ApmManifest | Self::ApmLock => "APM",
            Self::Rulesync => "rulesync",
        }
    }
}

impl fmt::Display for OtherTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What another tool installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherLock {
    /// The tool.
    pub tool: OtherTool,
    /// What can be taken over, sorted by source.
    pub wants: Vec<TakenOver>,
    /// What cannot: the name, and why.
    pub refused: Vec<(String, String)>,
}

/// One library that takes over skills of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenOver {
    /// Where it comes from.
    pub source: PackageSource,
    /// The branch, tag or commit that was asked for.
    pub reference: Option<String>,
    /// The commit that was installed, where the tool keeps it.
    pub commit: Option<String>,
    /// The folder in the repository.
    pub path: Option<RelativePath>,
    /// The names of its skills, sorted; all of them if empty.
    pub only: Vec<String>,
    /// The tool's own hashes, by name; see [`OtherTool`].
    pub content_hashes: Vec<(String, String)>,
}

/// Why a file is no lock of another tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtherLockError {
    /// No tool writes such a file.
    #[error(
        "`{file_name}` is no file that Twig can take over: skills-lock.json, .skill-lock.json, apm.yml, apm.lock.yaml and rulesync.lock are"
    )]
    Unknown {
        /// The name of the file.
        file_name: String,
    },
    /// A later version of the tool wrote it.
    #[error("{tool} wrote it in version {version} of its format, and Twig knows version {known}")]
    Newer {
        /// The tool.
        tool: OtherTool,
        /// The version of the file.
        version: String,
        /// The newest version that is read.
        known: u64,
    },
    /// It cannot be read.
    #[error("it is no {file_name}: {reason}")]
    Wrong {
        /// The usual name of such a file.
        file_name: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// Reads a file of another tool, by its name first and its content second.
pub fn read_other_lock(file_name: &str, text: &str) -> Result<OtherLock, OtherLockError> {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
    let by_name = match name {
        "skills-lock.json" => Some(OtherTool::SkillsProject),
        ".skill-lock.json" => Some(OtherTool::SkillsGlobal),
        "apm.yml" | "apm.yaml" => Some(OtherTool::ApmManifest),
        "apm.lock.yaml" | "apm.lock" => Some(OtherTool::ApmLock),
        "rulesync.lock" => Some(OtherTool::Rulesync),
        _ => None,
    };
    let (tool, value) = match by_name {
        Some(tool) => (tool, read_value(tool, text)?),
        None => recognised(text).ok_or_else(|| OtherLockError::Unknown {
            file_name: shown(name),
        })?,
    };
    let mut taking = Taking::new(tool);
    match tool {
        OtherTool::SkillsProject | OtherTool::SkillsGlobal => vercel::read(&value, &mut taking)?,
        OtherTool::ApmManifest => apm::read_manifest(&value, &mut taking)?,
        OtherTool::ApmLock => apm::read_lock(&value, &mut taking)?,
        OtherTool::Rulesync => rulesync::read(&value, &mut taking)?,
    }
    Ok(taking.finish())
}

fn read_value(tool: OtherTool, text: &str) -> Result<FrontMatterValue, OtherLockError> {
    let value = match tool {
        OtherTool::ApmManifest | OtherTool::ApmLock => yaml(text, LONGEST),
        _ => json(text, LONGEST),
    };
    value.map_err(|reason| wrong(tool, reason))
}

/// The tool that writes files with such content.
fn recognised(text: &str) -> Option<(OtherTool, FrontMatterValue)> {
    if let Ok(value) = json(text, LONGEST) {
        let has = |key: &str| value.get(key).is_some_and(|it| it.entries().is_some());
        let is_global = |value: &FrontMatterValue| {
            let skills = value.get("skills").and_then(FrontMatterValue::entries);
            let mut skills = skills.unwrap_or_default().iter();
            skills.any(|(_, skill)| skill.get("skillFolderHash").is_some())
        };
        let tool = match () {
            () if has("sources") => OtherTool::Rulesync,
            () if has("skills") && is_global(&value) => OtherTool::SkillsGlobal,
            () if has("skills") => OtherTool::SkillsProject,
            () => return None,
        };
        return Some((tool, value));
    }
    let value = yaml(text, LONGEST).ok()?;
    let dependencies = value.get("dependencies")?;
    let tool = match value.get("lockfile_version") {
        Some(_) => OtherTool::ApmLock,
        None if dependencies.get("apm").is_some() => OtherTool::ApmManifest,
        None => return None,
    };
    Some((tool, value))
}

fn wrong(tool: OtherTool, reason: impl Into<String>) -> OtherLockError {
    OtherLockError::Wrong {
        file_name: tool.file_name(),
        reason: reason.into(),
    }
}

/// Refuses a file of a later version. A file without a version is read as the newest known one.
fn check_version(
    tool: OtherTool,
    version: Option<&FrontMatterValue>,
    known: u64,
) -> Result<(), OtherLockError> {
    let Some(version) = version.and_then(FrontMatterValue::word) else {
        return Ok(());
    };
    match version.parse::<u64>() {
        Ok(number) if (1..=known).contains(&number) => Ok(()),
        Ok(0) | Err(_) => Err(wrong(tool, format!("`{}` is no version", shown(&version)))),
        Ok(_) => Err(OtherLockError::Newer {
            tool,
            version,
            known,
        }),
    }
}

/// What was taken over so far.
struct Taking {
    lock: OtherLock,
}

impl Taking {
    fn new(tool: OtherTool) -> Self {
        Self {
            lock: OtherLock {
                tool,
                wants: Vec::new(),
                refused: Vec::new(),
            },
        }
    }

    fn refuse(&mut self, name: &str, reason: impl Into<String>) {
        self.lock.refused.push((shown(name), reason.into()));
    }

    fn add(&mut self, name: &str, want: Result<TakenOver, String>) {
        match want {
            Ok(want) if want.source.is_local() => self.refuse(name, LOCAL),
            Ok(want) => self.lock.wants.push(want),
            Err(reason) => self.refuse(name, reason),
        }
    }

    fn check_count(&self, count: usize) -> Result<(), OtherLockError> {
        if count > MOST {
            return Err(wrong(self.lock.tool, "it has more than 10,000 entries"));
        }
        Ok(())
    }

    /// Merges the wants of one folder at one version into one.
    fn finish(self) -> OtherLock {
        let mut lock = self.lock;
        let mut wants = std::mem::take(&mut lock.wants);
        let key = |want: &TakenOver| {
            let TakenOver {
                source,
                reference,
                commit,
                path,
                ..
            } = want.clone();
            (source, reference, commit, path)
        };
        wants.sort_by_cached_key(key);
        for want in wants {
            match lock.wants.last_mut() {
                Some(last) if key(last) == key(&want) => {
                    // Who takes everything needs no names.
                    if last.only.is_empty() || want.only.is_empty() {
                        last.only.clear();
                    } else {
                        last.only.extend(want.only);
                    }
                    last.content_hashes.extend(want.content_hashes);
                }
                _ => lock.wants.push(want),
            }
        }
        for want in &mut lock.wants {
            want.only.sort();
            want.only.dedup();
            want.content_hashes.sort();
            want.content_hashes.dedup();
        }
        lock
    }
}

/// Why folders of this machine are not taken over.
const LOCAL: &str = "it comes from a folder of this machine: add that folder with `twig add`";

/// Why packages of npm are not taken over.
const NPM: &str = "it comes from npm, and Twig fetches from git and well-known indexes only";

/// A skill's name that `only` takes as it is: nothing in it is a pattern.
fn checked_skill(name: &str) -> Result<String, String> {
    let is_good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | ' ');
    if name.is_empty() || name.len() > 128 || !name.chars().all(is_good) {
        return Err("its name is no name of a skill".to_owned());
    }
    Ok(name.to_owned())
}

/// A branch, tag or commit, without the `refs/heads/` that some tools write.
fn checked_reference(text: &str) -> Result<String, String> {
    let heads = ["refs/heads/", "refs/tags/"];
    let short = heads.iter().find_map(|start| text.strip_prefix(start));
    let short = short.unwrap_or(text);
    if !is_reference(short) {
        return Err(format!("`{}` is no branch, tag or commit", shown(text)));
    }
    Ok(short.to_owned())
}

/// The commit that a reference is.
fn commit_of(reference: Option<&str>) -> Option<String> {
    reference.filter(|it| is_commit(it)).map(ToOwned::to_owned)
}

/// A folder in a repository; `None` for all of it.
fn checked_folder(text: &str) -> Result<Option<RelativePath>, String> {
    let text = text.replace('\\', "/");
    let text = text.trim_end_matches('/');
    if matches!(text, "" | ".") {
        return Ok(None);
    }
    let path = RelativePath::parse(text);
    let path = path.map_err(|error| format!("its path `{}` {error}", shown(text)))?;
    Ok(Some(path))
}
