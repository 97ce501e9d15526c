//! From what a configuration asks for to files on this machine and an entry of the lock.

use twig_packages::{
    LockedLibrary, PackageFile, PackageSource, PackageTree, TreeDigest, declared_license,
};
use twig_sources::{
    FetchedPackage, PackageError, PackageFetcher, PackageSignatures, PackageStore, ReferenceKind,
    ResolvedReference, WantedPackage,
};

use super::seconds_now;

/// The largest file that is searched for a licence, in bytes.
const LICENSE_BYTES: u64 = 256 * 1024;

/// The most files that are searched for a licence.
const LICENSE_FILES: usize = 50;

/// How many packages are fetched at the same time.
const AT_ONCE: usize = 20;

/// A package that was fetched, and its entry of the lock.
#[derive(Debug)]
pub(super) struct ResolvedPackage {
    pub(super) locked: LockedLibrary,
    pub(super) fetched: FetchedPackage,
}

impl ResolvedPackage {
    /// `version` is `None` for an index, which has none.
    fn new(
        fetcher: &PackageFetcher,
        wanted: &WantedPackage,
        version: Option<&ResolvedReference>,
        package: FetchedPackage,
    ) -> Result<Self, PackageError> {
        let locked = LockedLibrary {
            name: wanted.name.clone(),
            source: wanted.source.clone(),
            reference: version.map(|it| it.reference.clone()),
            path: wanted.path.clone(),
            commit: version.map(|it| it.commit.clone()),
            tree: package.tree,
            files: package.files.files().len() as u64,
            license: license(&fetcher.store, &package),
            signed_by: verified_key(fetcher, &wanted.source, package.tree, &package.files)?,
        };
        Ok(Self {
            locked,
            fetched: package,
        })
    }
}

/// Fetches what a configuration asks for, as it is now.
pub(super) fn resolve(
    fetcher: &PackageFetcher,
    wanted: &WantedPackage,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<ResolvedPackage, PackageError> {
    if let PackageSource::Index { url } = &wanted.source {
        let package = fetcher.fetch_index(url, progress)?;
        return ResolvedPackage::new(fetcher, wanted, None, package);
    }
    let references = fetcher.references(&wanted.source, progress)?;
    let resolved = references.resolve(&wanted.source, wanted.reference.as_deref())?;
    fetch(fetcher, wanted, &resolved, progress)
}

/// Fetches a package at a reference.
pub(super) fn fetch(
    fetcher: &PackageFetcher,
    wanted: &WantedPackage,
    resolved: &ResolvedReference,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<ResolvedPackage, PackageError> {
    let full = match resolved.kind {
        ReferenceKind::Branch => format!("refs/heads/{}", resolved.reference),
        ReferenceKind::Tag => format!("refs/tags/{}", resolved.reference),
        ReferenceKind::Commit => resolved.commit.clone(),
    };
    let path = wanted.path.as_ref();
    let package = fetcher.fetch(
        &wanted.source,
        &resolved.commit,
        Some(&full),
        path,
        progress,
    )?;
    ResolvedPackage::new(fetcher, wanted, Some(resolved), package)
}

/// Fetches exactly what a lock says; the digest over the files has to be the same.
pub(super) fn fetch_locked(
    fetcher: &PackageFetcher,
    locked: &LockedLibrary,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<PackageTree, PackageError> {
    if let PackageSource::Index { url } = &locked.source {
        let package = fetcher.fetch_index(url, progress)?;
        if package.tree != locked.tree {
            return Err(PackageError::OtherSkills {
                source_text: url.clone(),
                expected: locked.tree.to_string(),
                found: package.tree.to_string(),
            });
        }
        return Ok(package.files);
    }
    let commit = locked.commit.as_deref().unwrap_or_default();
    let (reference, path) = (locked.reference.as_deref(), locked.path.as_ref());
    let package = fetcher.fetch(&locked.source, commit, reference, path, progress)?;
    if package.tree != locked.tree {
        return Err(PackageError::OtherFiles {
            source_text: locked.source.to_string(),
            commit: super::short(commit).to_owned(),
            expected: locked.tree.to_string(),
            found: package.tree.to_string(),
        });
    }
    verified_key(fetcher, &locked.source, package.tree, &package.files)?;
    Ok(package.files)
}

/// The pinned key that signed a package, or several with `, ` between them; `None` if no key is
/// pinned for its source. What cannot be verified with a pinned key is refused.
pub(super) fn verified_key(
    fetcher: &PackageFetcher,
    source: &PackageSource,
    tree: TreeDigest,
    files: &PackageTree,
) -> Result<Option<String>, PackageError> {
    let keys = fetcher.keys.for_source(source);
    if keys.is_empty() {
        return Ok(None);
    }
    let bytes = fetcher.store.signatures(tree, files)?;
    let signatures = PackageSignatures::check(files, &bytes, &keys, seconds_now());
    if let Some(refusal) = signatures.refusal(source) {
        return Err(refusal);
    }
    let keys: Vec<&str> = signatures.pinned_keys().into_iter().collect();
    Ok(Some(keys.join(", ")))
}

/// The licence that a package declares: for the whole of it, or else in its parts.
fn license(store: &PackageStore, package: &FetchedPackage) -> Option<String> {
    let root = store.root_of(package.tree);
    let candidates = package.files.files().iter();
    let candidates =
        candidates.filter(|file| file.size <= LICENSE_BYTES && may_declare(&file.path));
    let (whole, parts): (Vec<&PackageFile>, Vec<&PackageFile>) =
        candidates.partition(|file| is_of_whole(&file.path));
    let declared = |files: &[&PackageFile]| {
        let files = files.iter().take(LICENSE_FILES);
        let texts: Vec<(&str, String)> = files
            .filter_map(|file| {
                let text = std::fs::read_to_string(root.join(&file.path)).ok()?;
                Some((&*file.path, text))
            })
            .collect();
        declared_license(texts.iter().map(|(path, text)| (*path, &**text)))
    };
    declared(&whole).or_else(|| declared(&parts))
}

/// True for a file that may say which licence a package has.
fn may_declare(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let starts = ["license", "licence", "copying", "unlicense"];
    matches!(&*name, "skill.md" | "package.json" | "plugin.json")
        || starts.iter().any(|start| name.starts_with(start))
}

/// True if such a file is about the whole package: it is in its folder, or in that of a manifest.
fn is_of_whole(path: &str) -> bool {
    match path.split_once('/') {
        None => !path.eq_ignore_ascii_case("SKILL.md"),
        Some((folder, name)) => folder.ends_with("-plugin") && name == "plugin.json",
    }
}

/// Does the same with each of many, several at the same time; the results are in the same order.
pub(super) fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    twig_sources::side_by_side(items, AT_ONCE, work)
}
