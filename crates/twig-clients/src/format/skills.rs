//! Skills of a library: finds their files and lists the files of each.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::files::SKILL;
use super::markdown::folder_name;
use super::{SkillFileFound, SkillHead};
use twig_core::document::{Document, DocumentSource, TITLE};
use twig_core::limits::Limits;
use twig_core::model::{Library, Skill, SkillFile};
use twig_core::name::RelativePath;
use twig_core::parse::labels;
use twig_core::parse::library::LibraryRoot;
use twig_core::problem::{Problem, ProblemCode, Severity, shorten};
use twig_core::slug::digest;
use twig_core::uri::encode;

/// A `SKILL.md`, and its head if it can be served as a skill.
pub(super) type FoundSkill<'r> = (&'r RelativePath, Option<&'r SkillHead>);

/// Adds the skills and their files to a library. `missing` are files that could not be read.
pub(super) fn add(
    library: &mut Library,
    folder: &LibraryRoot,
    found: &[FoundSkill<'_>],
    bundled: &[SkillFileFound],
    missing: &[&RelativePath],
    limits: &Limits,
) {
    let mut bundled: Vec<&SkillFileFound> = bundled.iter().collect();
    bundled.sort_by(|one, two| one.path.cmp(&two.path));
    let mut documents: BTreeMap<Box<str>, Document> = BTreeMap::new();
    let mut skills = Vec::new();
    for (path, head) in found {
        let files = beneath(&bundled, path.folder());
        let name = head.map_or_else(|| folder_name(folder, path), |head| &head.name);
        let base = base(folder, path, name, files, &documents);
        let of_skill = files
            .iter()
            .filter(|file| is_beneath(&file.path, path.folder()));
        let mut listed = Vec::new();
        for file in of_skill {
            let head = head.filter(|_| file.path == **path);
            let document = document(&base, path, name, head, file);
            listed.push(SkillFile {
                uri: document.uri.clone(),
                digest: file.digest,
                size: file.size,
            });
            documents.insert(document.uri.clone(), document);
        }
        if head.is_none() {
            continue;
        }
        listed.sort_by(|one, two| one.uri.cmp(&two.uri));
        skills.push((*path, *head, uri(&base, path, path), listed));
    }
    library.documents = documents.into_values().collect();
    labels::clean_documents(&folder.root, &mut library.documents, &mut library.problems);
    for (path, head, uri, mut files) in skills {
        let Some(head) = head else { continue };
        let known = &library.documents;
        let find = |uri: &str| known.binary_search_by(|it| (*it.uri).cmp(uri)).is_ok();
        let all = files.len();
        files.retain(|file| find(&file.uri));
        // A list is complete or absent: hosts rely on it.
        let is_whole =
            files.len() == all && !missing.iter().any(|lost| is_beneath(lost, path.folder()));
        let is_unlisted =
            unlisted(folder, path, &files, limits, &mut library.problems) || !is_whole;
        if is_unlisted {
            files.clear();
        }
        library.skills.push(Arc::new(Skill {
            name: head.name.clone(),
            uri,
            front_matter: head.front_matter.clone(),
            files,
            is_unlisted,
        }));
    }
    library.skills.sort_by(|one, two| one.uri.cmp(&two.uri));
}

/// The files that may be beneath a folder: those whose paths start with it, in order.
fn beneath<'b, 'f>(bundled: &'b [&'f SkillFileFound], folder: &str) -> &'b [&'f SkillFileFound] {
    let start = bundled.partition_point(|file| file.path.as_str() < folder);
    let count = bundled[start..].partition_point(|file| file.path.as_str().starts_with(folder));
    &bundled[start..start + count]
}

fn is_beneath(path: &RelativePath, folder: &str) -> bool {
    let after = path.as_str().strip_prefix(folder);
    folder.is_empty() || after.is_some_and(|after| after.starts_with('/'))
}

/// The prefix of a skill's URIs, whose last segment is its name. If it is taken, the name of the
/// skill's own folder is put before it.
fn base(
    folder: &LibraryRoot,
    path: &RelativePath,
    name: &str,
    files: &[&SkillFileFound],
    documents: &BTreeMap<Box<str>, Document>,
) -> String {
    let inside = path.folder();
    let above = inside.rsplit_once('/').map_or("", |(above, _)| above);
    let start = match above {
        "" => format!("skill://{}", encode(folder.name.as_str())),
        above => format!("skill://{}/{}", encode(folder.name.as_str()), encode(above)),
    };
    let name = segment(name);
    let own = segment(folder_name(folder, path));
    let is_free = |base: &str| {
        let mut files = files.iter().filter(|file| is_beneath(&file.path, inside));
        files.all(|file| {
            let known = documents.get(&*uri(base, path, &file.path));
            known.is_none_or(|known| known.file() == Some(&file.path))
        })
    };
    let wished = [
        format!("{start}/{name}"),
        format!("{start}/{own}/{name}"),
        format!("{start}/{own}-{}/{name}", digest(path.as_str(), 4)),
    ];
    let [.., last] = &wished;
    let free = wished.iter().find(|base| is_free(base));
    free.unwrap_or(last).clone()
}

/// One part of a URI's path.
fn segment(text: &str) -> String {
    encode(text).replace('/', "%2F")
}

/// The URI of a file of the skill whose `SKILL.md` is at `skill`.
fn uri(base: &str, skill: &RelativePath, file: &RelativePath) -> Box<str> {
    if file == skill {
        return format!("{base}/{SKILL}").into();
    }
    let inside = file.as_str().strip_prefix(skill.folder());
    let inside = inside.unwrap_or(file.as_str()).trim_start_matches('/');
    format!("{base}/{}", encode(inside)).into()
}

fn document(
    base: &str,
    skill: &RelativePath,
    name: &str,
    head: Option<&SkillHead>,
    file: &SkillFileFound,
) -> Document {
    let inside = file.path.as_str().strip_prefix(skill.folder());
    let inside = inside.unwrap_or_default().trim_start_matches('/');
    let is_skill = file.path == *skill;
    Document {
        uri: uri(base, skill, &file.path),
        short_uri: None,
        name: if is_skill {
            name.into()
        } else {
            format!("{name}/{inside}").into()
        },
        title: Some(match &file.head.heading {
            Some(heading) => heading.clone(),
            None => shorten(file.path.file_name(), TITLE).into(),
        }),
        description: head.map(|head| head.description.clone()),
        mime: Cow::Borrowed(if is_skill {
            "text/markdown"
        } else {
            file.head.mime
        }),
        is_text: file.head.is_text,
        source: DocumentSource::File(file.path.clone()),
        size: file.size,
        modified: file.modified,
        version: file.version,
    }
}

/// True if a skill has more files than a list may have.
fn unlisted(
    folder: &LibraryRoot,
    path: &RelativePath,
    files: &[SkillFile],
    limits: &Limits,
    problems: &mut Vec<Problem>,
) -> bool {
    let bytes: u64 = files.iter().map(|file| file.size).sum();
    let most = u64::try_from(limits.skill_bytes).unwrap_or(u64::MAX);
    let message = if files.len() > limits.skill_files {
        let (count, limit) = (files.len(), limits.skill_files);
        format!("the skill has {count} files, too many for a list of them; the limit is {limit}")
    } else if bytes > most {
        format!(
            "the skill's files hold {bytes} bytes, too many for a list of them; the limit is {most}"
        )
    } else {
        return false;
    };
    let file = folder.path_of(path);
    let problem = Problem::of_file(
        ProblemCode::SkillTooLarge,
        Severity::Warning,
        &file,
        message,
    );
    problems.push(problem.with_help("it is served without the list; remove what it does not need"));
    true
}
