//! Who may have put a prompt or skill into a client's folder: other installers by their locks and by
//! what they write, Twig by its exports and packages.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use twig_clients::clients::ExportFormat;
use twig_clients::export::{bundled_of, marker_of};
use twig_packages::other_locks::{GhSkillOrigin, gh_skill_origin};
use twig_packages::{LockedLibrary, OtherTool, PackageTree, read_other_lock};
use twig_sources::{CopiedFiles, PackageStore, PackagedCopy, packaged_copies};

use super::found_items::FoundItem;
use crate::command_error::CommandError;
use crate::commands::library::bases;
use crate::commands::packages::scope::PackageScope;
use crate::commands::packages::{store, version_of};
use crate::places::Places;

/// The longest lock of another tool, in bytes.
const LONGEST_LOCK: u64 = 4 * 1024 * 1024;

/// Who put something there, from where, and whether it was changed since.
#[derive(Debug, Default, Serialize)]
pub(super) struct ItemOwner {
    /// `gh skill`, `skills`, `twig export`, `package` or `hand`.
    pub(super) by: &'static str,
    /// Where it comes from; the prompt's name if Twig exported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<String>,
    /// The package on this machine that has the same content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) package: Option<String>,
    /// `unchanged`, `changed` or `unknown`.
    pub(super) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

/// What a lock of another tool says about a skill.
#[derive(Debug, Default)]
struct LockedSkill {
    source: Option<String>,
    reference: Option<String>,
    hash: Option<String>,
}

/// A lock of another tool.
#[derive(Debug)]
struct SkillsLock {
    tool: OtherTool,
    skills: BTreeMap<String, LockedSkill>,
}

/// A package that is on this machine.
#[derive(Debug)]
struct PackageHere {
    locked: LockedLibrary,
    root: PathBuf,
    list: PackageTree,
    copies: Vec<PackagedCopy>,
}

/// Everybody who is known.
#[derive(Debug, Default)]
pub(super) struct KnownOwners {
    /// By the folder whose clients they are for.
    locks: HashMap<PathBuf, SkillsLock>,
    packages: Vec<PackageHere>,
    /// The first package with some content, by its digest.
    contents: HashMap<String, usize>,
}

impl KnownOwners {
    /// Reads the locks; a warning says which cannot be read.
    pub(super) fn load(places: &Places) -> (Self, Vec<String>) {
        let mut owners = Self::default();
        let mut warnings = Vec::new();
        for base in bases(places) {
            let path = if places.home.as_deref() == Some(&*base) {
                base.join(".agents/.skill-lock.json")
            } else {
                base.join("skills-lock.json")
            };
            match read_skills_lock(&path) {
                Ok(Some(lock)) => {
                    owners.locks.insert(base, lock);
                }
                Ok(None) => {}
                Err(why) => warnings.push(format!("{} is ignored: {why}", places.shown(&path))),
            }
        }
        match packages_here(places) {
            Ok(packages) => owners.packages = packages,
            Err(error) => warnings.push(format!("packages are not compared: {}", error.message)),
        }
        for (at, package) in owners.packages.iter().enumerate() {
            for copy in &package.copies {
                owners.contents.entry(copy.digest.clone()).or_insert(at);
            }
        }
        (owners, warnings)
    }

    /// Who put a prompt or skill there. `copy` is its files, or why they cannot be compared.
    pub(super) fn owner_of(
        &self,
        item: &FoundItem,
        copy: Result<&CopiedFiles, &String>,
    ) -> ItemOwner {
        let Ok(copy) = copy else {
            let mut owner = self.locked(item, None).unwrap_or(ItemOwner {
                by: "hand",
                state: "unknown",
                ..ItemOwner::default()
            });
            owner.note = copy.err().cloned();
            return owner;
        };
        let package = self.contents.get(&copy.digest());
        let package = package.map(|at| &self.packages[*at]);
        let text = copy.text().unwrap_or_default();
        let origin = gh_skill_origin(text).filter(|_| item.is_skill);
        let mut owner = exported(item, text, copy)
            .or_else(|| Some(self.installed_by_gh(item, &origin?, copy)))
            .or_else(|| self.locked(item, Some(copy)))
            .unwrap_or_else(|| match package {
                Some(package) => ItemOwner {
                    by: "package",
                    source: Some(package.locked.source.to_string()),
                    reference: package.locked.reference.clone(),
                    state: "unchanged",
                    ..ItemOwner::default()
                },
                None => ItemOwner {
                    by: "hand",
                    state: "unknown",
                    ..ItemOwner::default()
                },
            });
        if let Some(package) = package {
            owner.package = Some(package.locked.name.to_string());
        }
        if let (Some(package), "unknown") = (package, owner.state)
            && owner.source == Some(package.locked.source.to_string())
        {
            owner.state = "unchanged";
        }
        owner
    }

    /// What `gh skill` says about a skill, compared with a package of the same source.
    fn installed_by_gh(
        &self,
        item: &FoundItem,
        origin: &GhSkillOrigin,
        copy: &CopiedFiles,
    ) -> ItemOwner {
        let spec = origin.package_spec();
        let mut owner = ItemOwner {
            by: "gh skill",
            source: Some(match &spec {
                Some(spec) => spec.source.to_string(),
                None => origin.repo.clone(),
            }),
            reference: spec.as_ref().and_then(|spec| spec.reference.clone()),
            state: "unknown",
            ..ItemOwner::default()
        };
        let Some(spec) = spec else {
            return owner;
        };
        let own = item.path.file_name().and_then(|name| name.to_str());
        let own = own.unwrap_or(&item.name);
        for package in &self.packages {
            if package.locked.source != spec.source {
                continue;
            }
            let is_it = |copy: &&PackagedCopy| {
                let name = copy.path.rsplit('/').next().unwrap_or_default();
                copy.is_skill && (name == own || name == item.name)
            };
            let Some(skill) = package.copies.iter().find(is_it) else {
                continue;
            };
            let name = &package.locked.name;
            if copy.is_skill_of(&package.root, &package.list, &skill.path) {
                owner.state = "unchanged";
                owner.package = Some(name.to_string());
                owner.note = None;
                return owner;
            }
            let version = version_of(&package.locked);
            owner.note = Some(format!("differs from the package `{name}` at {version}"));
            // Another version may differ without any change here.
            if spec.reference.is_some() && spec.reference == package.locked.reference {
                owner.state = "changed";
            }
        }
        owner
    }

    /// What the lock of the `skills` tool says about a skill.
    fn locked(&self, item: &FoundItem, copy: Option<&CopiedFiles>) -> Option<ItemOwner> {
        let lock = self.locks.get(&item.base).filter(|_| item.is_skill)?;
        let folder = item.path.file_name().and_then(|name| name.to_str());
        let skill = lock.skills.get(&item.name);
        let skill = skill.or_else(|| lock.skills.get(folder?))?;
        let state = match (&skill.hash, copy, lock.tool) {
            (Some(hash), Some(copy), OtherTool::SkillsProject) => {
                if *hash == copy.vercel_hash() {
                    "unchanged"
                } else {
                    "changed"
                }
            }
            _ => "unknown",
        };
        Some(ItemOwner {
            by: "skills",
            source: skill.source.clone(),
            reference: skill.reference.clone(),
            state,
            ..ItemOwner::default()
        })
    }
}

/// What the marker of an export says.
fn exported(item: &FoundItem, text: &str, copy: &CopiedFiles) -> Option<ItemOwner> {
    let format = item.format?;
    let bundled = match format {
        ExportFormat::Skills => bundled_of(text),
        _ => Vec::new(),
    };
    let digests = bundled.iter().map(|file| {
        let digest = copy.digest_of(file.as_str());
        (file.as_str(), digest.unwrap_or_default())
    });
    let digests: Vec<(&str, [u8; 32])> = digests.collect();
    let marker = marker_of(format, text, digests)?;
    Some(ItemOwner {
        by: "twig export",
        source: Some(marker.prompt.to_owned()),
        state: if marker.is_intact {
            "unchanged"
        } else {
            "changed"
        },
        ..ItemOwner::default()
    })
}

/// Reads a lock of the `skills` tool; the error is a sentence.
fn read_skills_lock(path: &Path) -> Result<Option<SkillsLock>, String> {
    let Ok(metadata) = path.metadata() else {
        return Ok(None);
    };
    if !metadata.is_file() || metadata.len() > LONGEST_LOCK {
        return Err("it is no file, or too large".to_owned());
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let name = path.file_name().and_then(|name| name.to_str());
    let lock = read_other_lock(name.unwrap_or_default(), &text);
    let lock = lock.map_err(|error| error.to_string())?;
    let mut skills: BTreeMap<String, LockedSkill> = BTreeMap::new();
    for want in &lock.wants {
        for name in &want.only {
            let mut hashes = want.content_hashes.iter();
            let hash = hashes.find(|(skill, _)| skill == name);
            let skill = LockedSkill {
                source: Some(want.source.to_string()),
                reference: want.reference.clone(),
                hash: hash.map(|(_, hash)| hash.clone()),
            };
            skills.insert(name.clone(), skill);
        }
    }
    for (name, _) in lock.refused {
        skills.entry(name).or_default();
    }
    Ok(Some(SkillsLock {
        tool: lock.tool,
        skills,
    }))
}

/// The packages of the user and of the repository that are on this machine.
fn packages_here(places: &Places) -> Result<Vec<PackageHere>, CommandError> {
    let store: PackageStore = store(places)?;
    let mut packages: Vec<PackageHere> = Vec::new();
    for scope in PackageScope::all(places)? {
        for locked in scope.read_lock(places)?.libraries() {
            let is_known = packages.iter().any(|it| it.locked == *locked);
            // A package that is not whole has nothing to compare with.
            let Ok(list) = store.files_of(locked.tree) else {
                continue;
            };
            if !is_known && store.has(locked.tree) {
                packages.push(PackageHere {
                    locked: locked.clone(),
                    root: store.root_of(locked.tree),
                    copies: packaged_copies(&list),
                    list,
                });
            }
        }
    }
    Ok(packages)
}
