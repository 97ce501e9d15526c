//! The files of a commit, as `git ls-tree` lists them: which are taken, which are left out and why.

use std::collections::{BTreeMap, BTreeSet};

use twig_packages::FileMode;
use twig_packages::tree::{PathTrouble, case_twins, path_trouble};

use super::super::git_program::GitTask;
use super::super::package_error::PackageError;
use super::{LeftOutFile, mode};

/// Symlinks that lead to symlinks, at most.
const CHAIN: usize = 8;

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) path: String,
    pub(super) mode: FileMode,
    /// The id of its content.
    pub(super) object: String,
}

/// The files of a commit.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) files: Vec<TreeEntry>,
    /// Symlinks; the content of each is its target.
    pub(super) links: Vec<TreeEntry>,
    pub(super) left_out: Vec<LeftOutFile>,
}

impl Entries {
    /// Reads the listing: `MODE TYPE OBJECT [SIZE]`, a tab, the path, a zero byte.
    pub(super) fn read(task: &GitTask<'_>, listing: &[u8]) -> Result<Self, PackageError> {
        let mut entries = Self::default();
        let mut size = 0_u64;
        let lines = listing.split(|byte| *byte == 0);
        for (count, line) in lines.filter(|line| !line.is_empty()).enumerate() {
            if count == task.limits.files {
                return Err(PackageError::TooManyFiles {
                    source_text: task.source.to_owned(),
                    limit: task.limits.files,
                });
            }
            size += entries.add(task, line)?;
            if size > task.limits.bytes {
                return Err(task.too_large());
            }
        }
        entries.refuse_same_names(task)?;
        entries.leave_out_twins();
        Ok(entries)
    }

    /// Adds a line of the listing; returns the size in it.
    fn add(&mut self, task: &GitTask<'_>, line: &[u8]) -> Result<u64, PackageError> {
        let tab = line.iter().position(|byte| *byte == b'\t');
        let (head, path) = line.split_at(tab.unwrap_or(line.len()));
        let path = String::from_utf8_lossy(path.get(1..).unwrap_or_default()).into_owned();
        let head = String::from_utf8_lossy(head);
        let mut words = head.split_whitespace();
        let (Some(bits), Some(kind), Some(object)) = (words.next(), words.next(), words.next())
        else {
            return Err(PackageError::Garbage {
                source_text: task.source.to_owned(),
                detail: "git's listing cannot be read".to_owned(),
            });
        };
        let size = words.next().and_then(|size| size.parse().ok()).unwrap_or(0);
        let is_text = !path.contains('\u{fffd}');
        let trouble = if is_text {
            path_trouble(&path)
        } else {
            Some(PathTrouble::Characters)
        };
        match trouble {
            Some(why) if why.is_attack() => {
                let source_text = task.source.to_owned();
                let path = path.escape_debug().to_string();
                return Err(PackageError::Hostile {
                    source_text,
                    path,
                    why,
                });
            }
            Some(why) => {
                self.leave_out(&path.escape_debug().to_string(), why.to_string());
                return Ok(0);
            }
            None => {}
        }
        let entry = TreeEntry {
            path,
            mode: mode(bits),
            object: object.to_owned(),
        };
        match (bits, kind) {
            ("120000", "blob") => self.links.push(entry),
            (_, "blob") => self.files.push(entry),
            (_, "commit") => {
                self.leave_out(
                    &entry.path,
                    "it is a submodule, which is not fetched".to_owned(),
                );
            }
            _ => {}
        }
        Ok(size)
    }

    fn leave_out(&mut self, path: &str, why: String) {
        self.left_out.push(LeftOutFile {
            path: path.to_owned(),
            why,
        });
    }

    /// Refuses a listing with two entries of one name, which git itself never writes.
    fn refuse_same_names(&self, task: &GitTask<'_>) -> Result<(), PackageError> {
        let all = || self.files.iter().chain(&self.links);
        let mut names = BTreeSet::new();
        let again = all().find(|entry| !names.insert(&*entry.path));
        let is_folder = |entry: &&TreeEntry| {
            let mut above = entry.path.match_indices('/').map(|(end, _)| end);
            above.any(|end| names.contains(&entry.path[..end]))
        };
        match again.or_else(|| all().find(is_folder)) {
            None => Ok(()),
            Some(entry) => Err(PackageError::Hostile {
                source_text: task.source.to_owned(),
                path: entry.path.clone(),
                why: PathTrouble::Twice,
            }),
        }
    }

    /// Leaves out files that are the same file where the case of letters does not count.
    fn leave_out_twins(&mut self) {
        let all = self.files.iter().chain(&self.links);
        let mut paths: Vec<&str> = all.map(|entry| &*entry.path).collect();
        paths.sort_unstable();
        let twins: BTreeMap<String, String> = case_twins(paths)
            .into_iter()
            .map(|(twin, first)| (twin.to_owned(), first.to_owned()))
            .collect();
        self.files.retain(|entry| !twins.contains_key(&entry.path));
        self.links.retain(|entry| !twins.contains_key(&entry.path));
        for (twin, first) in twins {
            let why = format!("it differs from `{first}` only in the case of letters");
            self.leave_out(&twin, why);
        }
    }

    /// Replaces symlinks that stay inside by the files that they lead to.
    pub(super) fn with_links(
        mut self,
        task: &GitTask<'_>,
        mut target: impl FnMut(&str) -> Result<Vec<u8>, PackageError>,
    ) -> Result<Self, PackageError> {
        if self.links.is_empty() {
            return Ok(self);
        }
        let mut links: BTreeMap<String, Option<String>> = BTreeMap::new();
        for link in &self.links {
            let text = String::from_utf8(target(&link.object)?).ok();
            let leads_to = text.and_then(|text| joined(&link.path, &text));
            links.insert(link.path.clone(), leads_to);
        }
        let files: BTreeMap<String, TreeEntry> = self
            .files
            .iter()
            .map(|entry| (entry.path.clone(), entry.clone()))
            .collect();
        let mut taken: BTreeSet<String> = files.keys().cloned().collect();
        for link in std::mem::take(&mut self.links) {
            if let Some(target) = followed(&link.path, &links) {
                self.add_linked(&link.path, &target, &files, &mut taken);
            } else {
                let why = "it is a symlink out of the package, or to another one without end";
                self.leave_out(&link.path, why.to_owned());
            }
            if self.files.len() > task.limits.files {
                return Err(PackageError::TooManyFiles {
                    source_text: task.source.to_owned(),
                    limit: task.limits.files,
                });
            }
        }
        Ok(self)
    }

    /// Adds the file, or the folder's files, that a symlink leads to.
    fn add_linked(
        &mut self,
        link: &str,
        target: &str,
        files: &BTreeMap<String, TreeEntry>,
        taken: &mut BTreeSet<String>,
    ) {
        if let Some(file) = files.get(target) {
            if taken.insert(link.to_owned()) {
                self.files.push(TreeEntry {
                    path: link.to_owned(),
                    ..file.clone()
                });
            }
            return;
        }
        let folder = format!("{target}/");
        let inside: Vec<&TreeEntry> = files
            .range(folder.clone()..)
            .map(|(_, entry)| entry)
            .take_while(|entry| entry.path.starts_with(&folder))
            .collect();
        if inside.is_empty() {
            self.leave_out(
                link,
                "it is a symlink to a file that is not there".to_owned(),
            );
            return;
        }
        // Only what belongs to a skill needs the folder at both places.
        let mut above = link.match_indices('/').map(|(end, _)| &link[..end]);
        let is_of_skill = above.any(|folder| files.contains_key(&format!("{folder}/SKILL.md")));
        if !is_of_skill || link.starts_with(&folder) {
            let why =
                format!("it is a symlink to the folder `{target}`, which is served where it is");
            self.leave_out(link, why);
            return;
        }
        for entry in inside {
            let path = format!("{link}/{}", &entry.path[folder.len()..]);
            if path_trouble(&path).is_none() && taken.insert(path.clone()) {
                self.files.push(TreeEntry {
                    path,
                    ..entry.clone()
                });
            }
        }
    }
}

/// Where a symlink leads, from the package's folder; `None` if out of it.
fn joined(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') || target.is_empty() || target.len() > 1024 {
        return None;
    }
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The file or folder at the end of a chain of symlinks.
fn followed(link: &str, links: &BTreeMap<String, Option<String>>) -> Option<String> {
    let mut at = link.to_owned();
    for _ in 0..CHAIN {
        // A folder above it may be a symlink, too.
        let ends = at.match_indices('/').map(|(end, _)| end);
        let mut ends: Vec<usize> = ends.chain([at.len()]).collect();
        ends.sort_unstable();
        let found = ends.into_iter().find_map(|end| {
            let target = links.get(&at[..end])?;
            Some((end, target.clone()))
        });
        match found {
            None => return Some(at),
            Some((_, None)) => return None,
            Some((end, Some(target))) => at = format!("{target}{}", &at[end..]),
        }
    }
    None
}
