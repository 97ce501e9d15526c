//! The signatures of a package: one for each folder that has a `skill.oms.sig`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};

use twig_core::model::SKILL_FILE;
use twig_packages::signature::SIGNATURE_FILE;
use twig_packages::{
    PackageFile, PackageSource, PackageTree, PinnedKey, SignatureComparison, SignatureError,
    SignatureVerifier, SignedFiles, TreeDigest, VerifiedSignature,
};

use super::contents::PackageStore;
use super::package_error::PackageError;
use super::side_by_side::side_by_side;

/// The most bytes of a signature that are read.
const LARGE: u64 = 4 * 1024 * 1024;

/// Signatures that are verified at a time.
const PART: usize = 8;

/// What the signatures of a package say.
#[derive(Debug, Clone, Default)]
pub struct PackageSignatures {
    /// The signatures, sorted by path.
    pub found: Vec<SkillSignature>,
    /// The paths of skills that no signature covers, sorted.
    pub unsigned: Vec<String>,
    /// How many files no signature covers.
    pub uncovered: usize,
}

/// One signature.
#[derive(Debug, Clone)]
pub struct SkillSignature {
    /// The path of its file.
    pub path: String,
    /// Whether a pinned key made it over these files.
    pub verdict: Result<VerifiedSignature, SignatureError>,
    /// How the files differ from its list, if it can be read.
    pub comparison: Option<SignatureComparison>,
}

impl PackageStore {
    /// The bytes of a package's signatures, by path.
    pub fn signatures(
        &self,
        tree: TreeDigest,
        files: &PackageTree,
    ) -> Result<BTreeMap<String, Vec<u8>>, PackageError> {
        let root = self.root_of(tree);
        let signatures = files.files().iter().filter(|it| is_signature(&it.path));
        let signatures = signatures.map(|file| {
            // One that is longer is no signature, whatever follows.
            let opened = File::open(root.join(&file.path));
            let mut bytes = Vec::new();
            opened.and_then(|it| it.take(LARGE).read_to_end(&mut bytes))?;
            Ok((file.path.clone(), bytes))
        });
        let signatures: io::Result<_> = signatures.collect();
        signatures.map_err(PackageError::disk("a signature cannot be read"))
    }
}

impl PackageSignatures {
    /// Verifies the signatures of a package. `bytes` are those of the signature files; one that is
    /// missing there is left out. `now` is the time in seconds since 1970.
    pub fn check(
        files: &PackageTree,
        bytes: &BTreeMap<String, Vec<u8>>,
        keys: &[PinnedKey],
        now: Option<u64>,
    ) -> Self {
        let signatures: Vec<(&String, &Vec<u8>)> = bytes.iter().collect();
        let parts: Vec<_> = signatures.chunks(PART).collect();
        let found = on_all_processors(&parts, |part| {
            // Certificates that signatures share are checked once.
            let mut verifier = SignatureVerifier::new(keys, now);
            let part = part.iter();
            part.map(|(path, bytes)| SkillSignature::check(files, path, bytes, &mut verifier))
                .collect::<Vec<_>>()
        });
        let all = files.files().iter();
        let folders: BTreeSet<&str> = all
            .clone()
            .filter(|file| is_signature(&file.path))
            .map(|file| folder_of(&file.path))
            .collect();
        let uncovered = all.filter(|file| !is_covered(&file.path, &folders));
        let is_skill = |file: &&PackageFile| {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            name.eq_ignore_ascii_case(SKILL_FILE)
        };
        Self {
            found: found.into_iter().flatten().collect(),
            unsigned: uncovered
                .clone()
                .filter(is_skill)
                .map(|file| file.path.clone())
                .collect(),
            uncovered: uncovered.count(),
        }
    }

    /// Why a package with these signatures is refused if a key is pinned for its source: every
    /// signature has to be verified, and every skill signed. Otherwise somebody who changes a skill
    /// would only have to remove its signature.
    pub fn refusal(&self, source: &PackageSource) -> Option<PackageError> {
        let source_text = || source.to_string();
        for signature in &self.found {
            if let Err(why) = &signature.verdict {
                return Some(PackageError::Signature {
                    source_text: source_text(),
                    path: signature.path.clone(),
                    why: Box::new(why.clone()),
                });
            }
        }
        let what = match self.unsigned.first() {
            Some(path) => format!("`{path}`"),
            None if self.found.is_empty() => "it".to_owned(),
            None => return None,
        };
        Some(PackageError::Unsigned {
            source_text: source_text(),
            what,
        })
    }

    /// The fingerprints of the pinned keys that made signatures, each once.
    pub fn pinned_keys(&self) -> BTreeSet<&str> {
        let verified = self.found.iter().filter_map(|it| it.verdict.as_ref().ok());
        verified.map(|it| &*it.pinned_key).collect()
    }
}

impl SkillSignature {
    fn check(
        files: &PackageTree,
        path: &str,
        bytes: &[u8],
        verifier: &mut SignatureVerifier<'_>,
    ) -> Self {
        let signed = SignedFiles::parse(bytes);
        let covered = || covered_files(files, folder_of(path));
        let comparison = signed.as_ref().ok().map(|signed| signed.compare(covered()));
        Self {
            path: path.to_owned(),
            verdict: signed.and_then(|signed| verifier.verify(&signed, covered())),
            comparison,
        }
    }
}

/// True for the path of a signature.
pub(super) fn is_signature(path: &str) -> bool {
    path.rsplit('/').next() == Some(SIGNATURE_FILE)
}

/// The folder of a file with `/` at its end; empty for the package's own.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |end| &path[..=end])
}

/// True if one of the folders holds the file.
fn is_covered(path: &str, folders: &BTreeSet<&str>) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at + 1);
    [0].into_iter()
        .chain(ends)
        .any(|end| folders.contains(&path[..end]))
}

/// The files below a folder, by their paths from there.
fn covered_files<'t>(
    files: &'t PackageTree,
    folder: &'t str,
) -> impl Iterator<Item = (&'t str, [u8; 32])> {
    let files = files.files();
    // They are sorted, so those below a folder are side by side.
    let start = files.partition_point(|file| file.path.as_bytes() < folder.as_bytes());
    let below = files[start..].iter();
    below.map_while(move |file| Some((file.path.strip_prefix(folder)?, file.digest)))
}

/// Does the same with each of many on all processors; the results are in the same order.
pub(super) fn on_all_processors<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let threads = match items.len() {
        0 | 1 => 1,
        _ => std::thread::available_parallelism().map_or(1, |threads| threads.get().min(8)),
    };
    side_by_side(items, threads, work)
}
