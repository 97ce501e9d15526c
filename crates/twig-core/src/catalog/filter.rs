//! Which libraries and prompts a catalog offers.

use std::path::Path;

use crate::model::{Library, Prompt};
use crate::name::LibraryName;

/// Which libraries and prompts a catalog offers: all of them, unless something is named.
///
/// What is not offered can still be included and embedded by what is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogFilter {
    /// Names of libraries and projects.
    libraries: Vec<Box<str>>,
    /// Names of prompts, each with the library in front.
    prompts: Vec<Box<str>>,
    /// Folders: the libraries that are there or below.
    roots: Vec<Box<Path>>,
    /// Files: the prompts that are in one.
    files: Vec<Box<Path>>,
    /// True if all projects of the store are offered, whatever is named.
    all_projects: bool,
}

/// How much of a library is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfferedPart {
    Whole,
    /// The prompts that are named, and the files of skills among them.
    SomePrompts,
    Nothing,
}

impl CatalogFilter {
    /// Adds a name, in which `*` stands for any characters: with a `:` of prompts, else of libraries
    /// and projects.
    pub fn add_name(&mut self, name: &str) {
        if name.contains(':') {
            self.prompts.push(name.into());
        } else {
            self.libraries.push(name.into());
        }
    }

    /// Adds a folder: all libraries there or below.
    pub fn add_root(&mut self, root: &Path) {
        self.roots.push(root.into());
    }

    /// Adds a file: the prompts that are in it.
    pub fn add_file(&mut self, file: &Path) {
        self.files.push(file.into());
    }

    /// The same, which offers all projects of the store besides.
    #[must_use]
    pub fn with_all_projects(mut self) -> Self {
        self.all_projects = true;
        self
    }

    /// True if everything is offered.
    pub fn is_empty(&self) -> bool {
        self.libraries.is_empty()
            && self.prompts.is_empty()
            && self.roots.is_empty()
            && self.files.is_empty()
    }

    /// Every name that was added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.libraries.iter().chain(&self.prompts).map(|it| &**it)
    }

    /// True if a prompt with this full name would be offered, as far as the name alone shows.
    pub fn has_name(&self, full_name: &str, separator: &str) -> bool {
        let library = full_name.split_once(separator).map(|(library, _)| library);
        let in_library = |name: &str| {
            let mut patterns = self.libraries.iter();
            patterns.any(|pattern| is_match(pattern, name))
        };
        self.is_empty()
            || library.is_some_and(in_library)
            || self.prompts.iter().any(|it| is_match(it, full_name))
    }

    /// True if a project of the store is offered as a whole.
    pub fn has_project(&self, project: &str) -> bool {
        let mut patterns = self.libraries.iter();
        self.is_empty() || patterns.any(|pattern| is_match(pattern, project))
    }

    pub(super) fn part(&self, library: &Library) -> OfferedPart {
        let is_there = |root: &Path| Path::new(&*library.root).starts_with(root);
        if self.is_empty()
            || (self.all_projects && library.stored().is_some())
            || self.roots.iter().any(|root| is_there(root))
            || self.libraries.iter().any(|name| is_called(library, name))
        {
            return OfferedPart::Whole;
        }
        if self.names_prompt_of(library) {
            OfferedPart::SomePrompts
        } else {
            OfferedPart::Nothing
        }
    }

    /// True if it names a prompt of this library.
    pub fn names_prompt_of(&self, library: &Library) -> bool {
        let mut prompts = library.prompts.iter();
        prompts.any(|prompt| self.names_prompt(library, prompt))
    }

    /// True if one of the prompt names is this one's, or one of the files.
    pub(super) fn names_prompt(&self, library: &Library, prompt: &Prompt) -> bool {
        let mut patterns = self.prompts.iter();
        patterns.any(|pattern| is_named(library, prompt, pattern))
            || (!self.files.is_empty() && self.has_file_of(library, prompt))
    }

    fn has_file_of(&self, library: &Library, prompt: &Prompt) -> bool {
        let contents = prompt.messages.iter().map(|message| &message.content);
        let mut paths = contents.filter_map(|content| Some(library.path_of(content.file()?)));
        paths.any(|path| self.files.iter().any(|file| **file == *Path::new(&path)))
    }

    /// True if a path is in a folder that is named, or in one with the name of a library that is.
    pub(super) fn has_path(&self, path: &str) -> bool {
        let path = Path::new(path);
        let folders = || path.iter().filter_map(|part| part.to_str());
        let is_called = |pattern: &str| {
            let mut names = folders().filter_map(LibraryName::from_folder);
            names.any(|name| is_match(pattern, name.as_str()))
        };
        self.is_empty()
            || self.roots.iter().any(|root| path.starts_with(root))
            || self.files.iter().any(|file| **file == *path)
            || self.libraries.iter().any(|pattern| is_called(pattern))
    }
}

/// True if a pattern of [`CatalogFilter::add_name`] matches a library or one of its prompts.
pub(super) fn matches_library(library: &Library, pattern: &str) -> bool {
    if !pattern.contains(':') {
        return is_called(library, pattern);
    }
    let mut prompts = library.prompts.iter();
    prompts.any(|prompt| is_named(library, prompt, pattern))
}

/// True if a library or project has a name: as it is listed, or as its folder is spelled.
pub(super) fn is_called(library: &Library, pattern: &str) -> bool {
    is_match(pattern, library.name.as_str())
        || library
            .stored()
            .is_some_and(|(_, project)| is_match(pattern, project))
        || LibraryName::from_folder(pattern).is_some_and(|name| name == library.name)
}

/// True if a prompt has a name: its full name, or its own after that of its library.
pub(super) fn is_named(library: &Library, prompt: &Prompt, pattern: &str) -> bool {
    is_match(pattern, &prompt.full_name)
        || pattern.split_once(':').is_some_and(|(before, own)| {
            is_called(library, before)
                && (is_match(own, prompt.name.as_str())
                    || library.old_names.get(own) == Some(&prompt.name))
        })
}

/// True if a name matches a pattern in which `*` stands for any characters.
pub fn is_match(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in between.split('*').filter(|part| !part.is_empty()) {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_letters() {
        let fits = [
            ("a", "a"),
            ("*", ""),
            ("*", "review:x"),
            ("review:*", "review:x"),
            ("*:x", "review:x"),
            ("r*:*x", "review:abx"),
            ("a*a", "aa"),
            ("**", "q"),
            ("*a**b*c", "xaybzc"),
        ];
        for (pattern, name) in fits {
            assert!(is_match(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("a", "ab"),
            ("a*a", "a"),
            ("review:*", "reviews"),
            ("*b*", "c"),
            ("*ab*b", "ab"),
            ("*a*b*", "ba"),
        ] {
            assert!(!is_match(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn names_alone_tell_what_would_be_offered() {
        let mut filter = CatalogFilter::default();
        assert!(filter.has_name("anything", ":"));
        filter.add_name("team");
        filter.add_name("own:re*");
        assert!(filter.has_name("team:hello", ":"));
        assert!(filter.has_name("own:review", ":"));
        assert!(!filter.has_name("own:hello", ":"));
        assert!(!filter.has_name("hello", ":"));
    }
}
