//! Turns the files of a documents folder into documents with URIs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::library::LibraryRoot;
use crate::document::{Document, DocumentSource, Head, TITLE, UriTemplate};
use crate::name::RelativePath;
use crate::problem::{Problem, ProblemCode, Severity, shorten};
use crate::uri::encode;

/// Where a library has its documents, and the prefix of their URIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentLayout {
    /// Folders, relative to the library's: the first that exists holds the documents.
    pub folders: Vec<RelativePath>,
    /// The prefix of a path: `architecture://`.
    pub prefix: Box<str>,
    /// Templates that clients may fill; if there are none, [`templates`] makes one.
    pub templates: Vec<UriTemplate>,
}

impl DocumentLayout {
    /// The folder of a project that is outside the project's own folder.
    pub fn beside(&self) -> Option<&RelativePath> {
        let mut folders = self.folders.iter();
        folders.find(|folder| folder.in_project().is_some())
    }
}

/// A file that a source found in the documents folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDocument {
    /// Relative to the library's folder.
    pub path: RelativePath,
    /// What its first bytes show.
    pub head: Head,
    /// Its length.
    pub size: u64,
    /// When it was last written, in seconds since 1970.
    pub modified: Option<i64>,
    /// Differs if the file differs.
    pub version: u64,
}

/// The folders whose numbered files are decisions.
const DECISIONS: [&str; 3] = ["adr", "adrs", "decisions"];

/// How many names a problem lists.
const NAMED: usize = 8;

/// Turns files into documents, sorted by URI. The files are those of `base`, in the order of their
/// paths.
pub fn documents<'f>(
    folder: &LibraryRoot,
    prefix: &str,
    base: &RelativePath,
    found: impl IntoIterator<Item = &'f FoundDocument>,
    problems: &mut Vec<Problem>,
) -> Vec<Document> {
    let found = found.into_iter();
    let mut documents: Vec<Document> = found.map(|found| document(prefix, base, found)).collect();
    documents.sort_by(|one, two| one.uri.cmp(&two.uri));
    drop_doubles(folder, &mut documents, problems);
    drop_unclear_numbers(folder, &mut documents, problems);
    documents
}

/// The templates of a library: those that it names, else one for documents in a folder and one for
/// those in none, if there are any.
pub fn templates(layout: &DocumentLayout, documents: &[Document]) -> Vec<UriTemplate> {
    if !layout.templates.is_empty() {
        return layout.templates.clone();
    }
    let usual = ["{category}/{name}", "{name}"];
    let usual = usual.map(|path| UriTemplate::parse(&format!("{}{path}", layout.prefix)));
    let fits = |template: &UriTemplate| {
        documents
            .iter()
            .any(|it| template.values(&it.uri).is_some())
    };
    usual.into_iter().flatten().filter(fits).collect()
}

fn document(prefix: &str, base: &RelativePath, found: &FoundDocument) -> Document {
    let path = found.path.as_str();
    let below = path.strip_prefix(base.as_str()).unwrap_or(path);
    let below = below.trim_start_matches('/');
    let name = below.strip_suffix(".md").unwrap_or(below);
    let own = name.rsplit('/').next().unwrap_or(name);
    let uri = |name: &str| format!("{prefix}{}", encode(name)).into();
    Document {
        uri: uri(name),
        short_uri: number_of(name).map(uri),
        title: Some(match &found.head.heading {
            Some(heading) => heading.clone(),
            None => shorten(own, TITLE).into(),
        }),
        name: name.into(),
        mime: Cow::Borrowed(found.head.mime),
        description: None,
        is_text: found.head.is_text,
        source: DocumentSource::File(found.path.clone()),
        size: found.size,
        modified: found.modified,
        version: found.version,
    }
}

/// `adr/001` of `adr/001-microservices`.
fn number_of(name: &str) -> Option<&str> {
    let (folder, file) = name.rsplit_once('/')?;
    let last = folder.rsplit('/').next().unwrap_or(folder);
    let digits = file.bytes().take_while(u8::is_ascii_digit).count();
    let is_decision = DECISIONS.contains(&last) && digits > 0;
    let has_more = file[digits..].starts_with(['-', '_']);
    (is_decision && has_more).then(|| &name[..=folder.len() + digits])
}

/// If two files have the same URI (`a` and `a.md`), the first path is served.
fn drop_doubles(folder: &LibraryRoot, documents: &mut Vec<Document>, problems: &mut Vec<Problem>) {
    documents.dedup_by(|later, earlier| {
        let is_double = later.uri == earlier.uri;
        if is_double {
            let message = format!("`{}` is already the URI of {}", later.uri, earlier.place());
            let path = folder.path_of(later.place());
            let problem = Problem::of_file(
                ProblemCode::DuplicateDocument,
                Severity::Warning,
                &path,
                message,
            );
            problems.push(problem.with_help("rename one of the two"));
        }
        is_double
    });
}

/// A number that two decisions share means neither of them, and a file with exactly that name has
/// priority.
fn drop_unclear_numbers(
    folder: &LibraryRoot,
    documents: &mut [Document],
    problems: &mut Vec<Problem>,
) {
    let mut by_number: BTreeMap<Box<str>, Vec<usize>> = BTreeMap::new();
    for (at, document) in documents.iter().enumerate() {
        if let Some(short) = &document.short_uri {
            by_number.entry(short.clone()).or_default().push(at);
        }
    }
    for (short, places) in by_number {
        if let [first, _, ..] = *places {
            let names = places.iter().map(|at| &*documents[*at].name);
            let names: Vec<&str> = names.take(NAMED).collect();
            let message = format!("`{short}` could be any of: {}", names.join(", "));
            let path = folder.path_of(documents[first].place());
            let problem = Problem::of_file(
                ProblemCode::AmbiguousNumber,
                Severity::Warning,
                &path,
                message,
            );
            problems.push(problem.with_help("give each decision a number of its own"));
        }
        let is_taken = documents.binary_search_by(|known| known.uri.cmp(&short));
        if places.len() > 1 || is_taken.is_ok() {
            for at in places {
                documents[at].short_uri = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_have_numbers() {
        for (name, number) in [
            ("adr/001-services", Some("adr/001")),
            ("team/decisions/12_x", Some("team/decisions/12")),
            ("adr/001", None),
            ("adr/x-1", None),
            ("patterns/001-x", None),
            ("001-x", None),
        ] {
            assert_eq!(number_of(name), number, "{name}");
        }
    }
}
