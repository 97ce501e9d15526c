//! A package that a configuration asks for.

use twig_clients::clients::VOCABULARY;
use twig_core::parse::project::ProjectVocabulary;
use twig_core::{LibraryName, RelativePath};
use twig_packages::source::is_reference;
use twig_packages::{LockedLibrary, PackageSource, PackageSpec};

/// The words that a repository's configuration may use.
pub(crate) const REPOSITORY_WORDS: ProjectVocabulary = ProjectVocabulary {
    check_package: |source, reference| {
        let name = LibraryName::from_folder("package");
        WantedPackage::new(source, reference, None, Vec::new(), name).map(|_| ())
    },
    ..VOCABULARY
};

/// A package that a configuration asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedPackage {
    /// What its library is called, here and in the lock.
    pub name: LibraryName,
    /// Where it comes from.
    pub source: PackageSource,
    /// A branch, tag or commit; the newest version if `None`.
    pub reference: Option<String>,
    /// The folder in it; all of it if `None`.
    pub path: Option<RelativePath>,
    /// The names of what is served of it; everything if it is empty.
    pub only: Vec<Box<str>>,
}

impl WantedPackage {
    /// Checks what a configuration says; the error is a sentence about it.
    pub fn new(
        source: &str,
        reference: Option<&str>,
        path: Option<RelativePath>,
        only: Vec<Box<str>>,
        name: Option<LibraryName>,
    ) -> Result<Self, String> {
        let source = PackageSource::parse(source).map_err(|error| error.to_string())?;
        if let Some(reference) = reference.filter(|it| !is_reference(it)) {
            return Err(format!("`{reference}` is no branch, tag or commit"));
        }
        if let PackageSource::Index { url } = &source
            && (reference.is_some() || path.is_some())
        {
            return Err(format!(
                "{url} is a host with an index of skills, which has no `ref` and no `path`"
            ));
        }
        let spec = PackageSpec {
            source,
            reference: reference.map(ToOwned::to_owned),
            path,
        };
        let name = name.or_else(|| spec.library_name());
        let name = name.ok_or_else(|| "a `name` is missing for its library".to_owned())?;
        Ok(Self {
            name,
            source: spec.source,
            reference: spec.reference,
            path: spec.path,
            only,
        })
    }

    /// True if a lock's entry is for this: the same source and folder, and the reference that is asked
    /// for, if one is.
    pub fn is_locked_by(&self, locked: &LockedLibrary) -> bool {
        let is_reference = match &self.reference {
            Some(reference) => locked.reference.as_ref() == Some(reference),
            None => true,
        };
        self.is_of(locked) && is_reference
    }

    /// True if a lock's entry has the same source and folder.
    pub fn is_of(&self, locked: &LockedLibrary) -> bool {
        self.source == locked.source && self.path == locked.path
    }
}
