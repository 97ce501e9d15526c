//! Fetches the skills of a host that publishes an index of them.
//!
//! Each skill becomes a folder of one package. A skill that is not what the index says makes the whole
//! fetch fail: nothing of it is kept.

mod web_client;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use sha2::{Digest as _, Sha256};
use twig_packages::archive::MOST_BYTES;
use twig_packages::skills_index::{INDEX_PATH, IndexedKind, LONGEST_INDEX, OLD_INDEX_PATH};
use twig_packages::tree::{case_twins, hex, path_trouble};
use twig_packages::{
    ArchiveError, FileMode, IndexedSkill, SkillsIndex, SkillsIndexError, UnpackedFile, read_archive,
};

use self::web_client::{WebAnswer, WebClient};
use super::contents::StagedPackage;
use super::git_fetch::{FetchedPackage, LeftOutFile, PackageFetcher};
use super::git_program::FetchLimits;
use super::package_error::PackageError;
use super::side_by_side::side_by_side;

/// How many files of one host are fetched at the same time.
const AT_ONCE: usize = 6;

/// A file that an index leads to: one of a skill, or its archive.
struct IndexedFile<'i> {
    skill: &'i IndexedSkill,
    /// Its path in the skill; empty for an archive.
    path: String,
    url: String,
}

/// The package as far as it is written.
struct SkillWriter<'w> {
    client: &'w WebClient<'w>,
    limits: &'w FetchLimits,
    source: &'w str,
    staged: StagedPackage,
    left_out: Vec<LeftOutFile>,
    files: usize,
    bytes: u64,
}

impl PackageFetcher {
    /// Fetches all skills of the index of a host, as they are now, and keeps them as one package.
    pub fn fetch_index(
        &self,
        host: &str,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<FetchedPackage, PackageError> {
        let client = WebClient::new(host, &self.limits, &self.environment)?;
        let (index, index_url) = read_index(&client, host)?;
        let (files, left_out) = listed_files(&index, &index_url);
        if files.is_empty() {
            let first = left_out.first();
            return Err(PackageError::NoSkills {
                source_text: host.to_owned(),
                detail: first
                    .map_or_else(String::new, |it| format!(" (`{}`: {})", it.path, it.why)),
            });
        }
        if files.len() > self.limits.files {
            return Err(too_many(host, &self.limits));
        }
        let writer = SkillWriter {
            client: &client,
            limits: &self.limits,
            source: host,
            staged: self.store.stage(&self.hold)?,
            left_out,
            files: 0,
            bytes: 0,
        };
        let writer = fetch_files(&client, host, &files, writer, progress)?;
        let mut left_out = writer.left_out;
        left_out.sort_by(|one, two| one.path.cmp(&two.path));
        let files = self.store.keep(writer.staged)?;
        Ok(FetchedPackage {
            tree: files.digest(),
            files,
            left_out,
        })
    }
}

/// Fetches files side by side, and writes each as soon as it is there. The first failure ends all.
fn fetch_files<'w>(
    client: &WebClient<'_>,
    host: &str,
    files: &[IndexedFile<'_>],
    writer: SkillWriter<'w>,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<SkillWriter<'w>, PackageError> {
    let writer = Mutex::new(writer);
    let failure: OnceLock<PackageError> = OnceLock::new();
    let done = AtomicUsize::new(0);
    let fetch = |file: &IndexedFile<'_>| -> Result<(), PackageError> {
        let bytes = fetch_file(client, host, file)?;
        // Archives are unpacked one by one, so that only one of them takes memory.
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.add(file, bytes)
    };
    side_by_side(files, AT_ONCE, |file| {
        if failure.get().is_some() {
            return;
        }
        match fetch(file) {
            Ok(()) => {
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                progress(&format!("{done} of {} files", files.len()));
            }
            // Those that the end of this one interrupts come later.
            Err(error) => {
                if failure.set(error).is_ok() {
                    client.stop();
                }
            }
        }
    });
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok(writer.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// The index of a host, and where it was found.
fn read_index(client: &WebClient<'_>, host: &str) -> Result<(SkillsIndex, String), PackageError> {
    let bad = |error| PackageError::BadIndex {
        source_text: host.to_owned(),
        error,
    };
    for path in [INDEX_PATH, OLD_INDEX_PATH] {
        let url = format!("{host}{path}");
        let longest = LONGEST_INDEX as u64 + 1;
        let WebAnswer { url, bytes } = match client.get("the index of skills", &url, longest) {
            Err(PackageError::Status {
                status: 404 | 410, ..
            }) => continue,
            answer => answer?,
        };
        let text = String::from_utf8(bytes).map_err(|_| {
            bad(SkillsIndexError::Wrong {
                reason: "it is no text".to_owned(),
            })
        })?;
        return Ok((SkillsIndex::parse(&text).map_err(bad)?, url));
    }
    Err(PackageError::NoIndex {
        source_text: host.to_owned(),
    })
}

/// The files that an index leads to, and what is left out of the package.
fn listed_files<'i>(
    index: &'i SkillsIndex,
    index_url: &str,
) -> (Vec<IndexedFile<'i>>, Vec<LeftOutFile>) {
    let refused = index.refused.iter();
    let mut left_out: Vec<LeftOutFile> = refused
        .map(|(name, why)| left_out_file(name.clone(), why.clone()))
        .collect();
    let mut files = Vec::new();
    for skill in &index.skills {
        if let Some(trouble) = path_trouble(&skill.name) {
            left_out.push(left_out_file(skill.name.clone(), trouble.to_string()));
            continue;
        }
        let urls = match skill.urls(index_url) {
            Ok(urls) => urls,
            Err(error) => {
                left_out.push(left_out_file(skill.name.clone(), error.to_string()));
                continue;
            }
        };
        let paths = urls.iter().map(|(path, _)| &**path);
        let refused = refused_paths(&skill.name, paths);
        let bad: BTreeSet<&str> = refused.iter().map(|it| &*it.path).collect();
        for (path, url) in urls {
            if !bad.contains(&*in_package(skill, &path)) {
                files.push(IndexedFile { skill, path, url });
            }
        }
        left_out.extend(refused);
    }
    (files, left_out)
}

/// The paths of a skill that no package may have, and why.
fn refused_paths<'p>(name: &str, paths: impl Iterator<Item = &'p str>) -> Vec<LeftOutFile> {
    let mut paths: Vec<&str> = paths.filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    let mut refused = Vec::new();
    let mut kept = BTreeSet::new();
    for path in &paths {
        let full = format!("{name}/{path}");
        let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        if let Some(trouble) = path_trouble(&full) {
            refused.push(left_out_file(full, trouble.to_string()));
        } else if let Some(file) = folders.find(|folder| kept.contains(folder)) {
            refused.push(left_out_file(full, format!("`{file}` is a file, too")));
        } else {
            kept.insert(*path);
        }
    }
    for (twin, first) in case_twins(kept) {
        let why = format!("it differs from `{first}` only in the case of letters");
        refused.push(left_out_file(format!("{name}/{twin}"), why));
    }
    refused
}

fn left_out_file(path: String, why: String) -> LeftOutFile {
    LeftOutFile { path, why }
}

fn in_package(skill: &IndexedSkill, path: &str) -> String {
    format!("{}/{path}", skill.name)
}

/// Receives a file and compares it with the digest of the index.
fn fetch_file(
    client: &WebClient<'_>,
    host: &str,
    file: &IndexedFile<'_>,
) -> Result<Vec<u8>, PackageError> {
    let skill = file.skill;
    let (what, longest) = match skill.kind {
        IndexedKind::Files(_) => {
            let what = format!("`{}` of the skill `{}`", file.path, skill.name);
            (what, u64::MAX)
        }
        IndexedKind::SkillMd => (format!("the skill `{}`", skill.name), u64::MAX),
        IndexedKind::Archive => (format!("the skill `{}`", skill.name), MOST_BYTES + 1),
    };
    let bytes = client.get(&what, &file.url, longest)?.bytes;
    if skill.kind == IndexedKind::Archive && bytes.len() as u64 > MOST_BYTES {
        return Err(bad_archive(host, skill, ArchiveError::TooLarge));
    }
    match skill.digest {
        // The digest of a list of files is that of no file in it.
        Some(expected) if !matches!(skill.kind, IndexedKind::Files(_)) => {
            let found: [u8; 32] = Sha256::digest(&bytes).into();
            if found != expected {
                return Err(PackageError::SkillDigest {
                    source_text: host.to_owned(),
                    skill: skill.name.clone(),
                    expected: format!("sha256:{}", hex(&expected)),
                    found: format!("sha256:{}", hex(&found)),
                });
            }
            Ok(bytes)
        }
        _ => Ok(bytes),
    }
}

fn bad_archive(host: &str, skill: &IndexedSkill, error: ArchiveError) -> PackageError {
    PackageError::SkillArchive {
        source_text: host.to_owned(),
        skill: skill.name.clone(),
        error,
    }
}

fn too_many(host: &str, limits: &FetchLimits) -> PackageError {
    PackageError::TooManyFiles {
        source_text: host.to_owned(),
        limit: limits.files,
    }
}

impl SkillWriter<'_> {
    /// Adds what was received: a file, or all files of an archive.
    fn add(&mut self, file: &IndexedFile<'_>, bytes: Vec<u8>) -> Result<(), PackageError> {
        let skill = file.skill;
        if skill.kind != IndexedKind::Archive {
            return self.write(&in_package(skill, &file.path), FileMode::Plain, bytes);
        }
        let unpacked = read_archive(&bytes);
        let unpacked = unpacked.map_err(|error| bad_archive(self.source, skill, error))?;
        drop(bytes);
        let refused = refused_paths(&skill.name, unpacked.iter().map(|it| &*it.path));
        let paths: BTreeSet<&str> = refused.iter().map(|it| &*it.path).collect();
        for UnpackedFile { path, mode, bytes } in unpacked {
            let path = in_package(skill, &path);
            if !paths.contains(&*path) {
                self.write(&path, mode, bytes)?;
            }
        }
        self.left_out.extend(refused);
        Ok(())
    }

    fn write(&mut self, path: &str, mode: FileMode, bytes: Vec<u8>) -> Result<(), PackageError> {
        self.files += 1;
        self.bytes += bytes.len() as u64;
        if self.files > self.limits.files {
            return Err(too_many(self.source, self.limits));
        }
        if self.bytes > self.limits.bytes {
            return Err(self.client.too_large());
        }
        let mut bytes = Some(bytes);
        let written = self.staged.write(path, mode, || Ok(bytes.take()));
        written.map_err(PackageError::disk(format!("`{path}` cannot be written")))
    }
}
