//! From the files of a documents folder to documents with URIs.

use super::library::Folder;
use crate::document::{Document, UriTemplate, is_text, mime_of};
use crate::name::RelativePath;
use crate::problem::{Problem, Severity, shorten};

/// Where a library keeps its documents and how their URIs begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The folder, from the library's own; its files' paths come after it.
    pub folder: RelativePath,
    /// What stands in front of a path: `architecture://`.
    pub prefix: Box<str>,
    /// Templates that clients may fill.
    pub templates: Vec<UriTemplate>,
}

/// A file that a source found in the documents folder.
#[derive(Debug, Clone)]
pub struct FoundDocument {
    /// From the library's folder.
    pub path: RelativePath,
    /// How it begins: enough for a heading.
    pub head: Box<[u8]>,
    /// Its length.
    pub size: u64,
    /// When it was last written, in seconds since 1970.
    pub modified: Option<i64>,
    /// Differs where the file does.
    pub version: u64,
}

/// The folders whose numbered files are decisions.
const DECISIONS: [&str; 3] = ["adr", "adrs", "decisions"];
/// Characters of a title.
const TITLE: usize = 200;

/// Makes documents of files, sorted by URI.
pub fn documents(
    folder: &Folder,
    layout: &Layout,
    found: &[FoundDocument],
    problems: &mut Vec<Problem>,
) -> Vec<Document> {
    let mut documents: Vec<Document> = found.iter().map(|found| document(layout, found)).collect();
    documents.sort_by(|one, two| one.uri.cmp(&two.uri));
    drop_doubles(folder, &mut documents, problems);
    documents
}

fn document(layout: &Layout, found: &FoundDocument) -> Document {
    let path = found.path.as_str();
    let below = path.strip_prefix(layout.folder.as_str()).unwrap_or(path);
    let below = below.trim_start_matches('/');
    let name = below.strip_suffix(".md").unwrap_or(below);
    let short = number_of(name);
    let mime = mime_of(found.path.file_name(), &found.head);
    Document {
        uri: format!("{}{name}", layout.prefix).into(),
        short_uri: short.map(|short| format!("{}{short}", layout.prefix).into()),
        title: title(mime, &found.head, name),
        name: name.into(),
        mime,
        is_text: is_text(&found.head),
        path: found.path.clone(),
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

/// The first heading of a Markdown file, else the file's name.
fn title(mime: &str, head: &[u8], name: &str) -> Box<str> {
    let text = String::from_utf8_lossy(head);
    let heading = match mime {
        "text/markdown" => heading(&text),
        _ => None,
    };
    let own = name.rsplit('/').next().unwrap_or(name);
    shorten(heading.unwrap_or(own), TITLE).into()
}

fn heading(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let mut is_fenced = false;
    // Front matter holds no headings: a `#` there is a comment.
    let mut in_front_matter = text.starts_with("---\n") || text.starts_with("---\r\n");
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if in_front_matter {
            in_front_matter = at == 0 || line != "---";
            continue;
        }
        if line.starts_with("```") || line.starts_with("~~~") {
            is_fenced = !is_fenced;
        }
        if is_fenced {
            continue;
        }
        let after = line.trim_start_matches('#');
        let level = line.len() - after.len();
        let title = after.trim_end_matches('#').trim();
        if (1..=6).contains(&level) && after.starts_with([' ', '\t']) && !title.is_empty() {
            return Some(title);
        }
    }
    None
}

/// Of two files with one URI (`a` and `a.md`) the first path is kept; a number that two decisions
/// have means neither.
fn drop_doubles(folder: &Folder, documents: &mut Vec<Document>, problems: &mut Vec<Problem>) {
    let mut warn = |code, path: &RelativePath, message: String, help: &str| {
        let path = format!("{}/{path}", folder.root);
        let problem = Problem::of_file(code, Severity::Warning, &path, message);
        problems.push(problem.with_help(help));
    };
    documents.dedup_by(|later, earlier| {
        let is_double = later.uri == earlier.uri;
        if is_double {
            let message = format!("`{}` is already the URI of {}", later.uri, earlier.path);
            warn(
                "duplicate-document",
                &later.path,
                message,
                "rename one of the two",
            );
        }
        is_double
    });
    let uris: Vec<Box<str>> = documents.iter().map(|known| known.uri.clone()).collect();
    for at in 0..documents.len() {
        let Some(short) = documents[at].short_uri.clone() else {
            continue;
        };
        let others = || {
            documents
                .iter()
                .filter(|other| other.short_uri.as_ref() == Some(&short))
        };
        if others().count() > 1 {
            let names: Vec<&str> = others().map(|other| &*other.name).collect();
            let message = format!("`{short}` could be any of: {}", names.join(", "));
            let path = documents[at].path.clone();
            warn(
                "ambiguous-number",
                &path,
                message,
                "give each decision a number of its own",
            );
            for other in documents.iter_mut() {
                if other.short_uri.as_ref() == Some(&short) {
                    other.short_uri = None;
                }
            }
        } else if uris.binary_search(&short).is_ok() {
            documents[at].short_uri = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_the_first_one_outside_code() {
        for (text, found) in [
            ("# One\n# Two", Some("One")),
            ("\u{feff}\n\n## Two ##\n", Some("Two")),
            ("---\n# comment\nname: x\n---\n# Three\n", Some("Three")),
            ("```\n# code\n```\n# Four", Some("Four")),
            ("#hashtag\ntext", None),
            ("####### seven", None),
            ("# \ntext", None),
            ("", None),
        ] {
            assert_eq!(heading(text), found, "{text:?}");
        }
    }

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
