//! `apm.yml` and `apm.lock.yaml` of APM: packages, which may be one folder of a repository.

use twig_core::front_matter::FrontMatterValue;

use super::{
    LOCAL, OtherLockError, TakenOver, Taking, check_version, checked_folder, checked_reference,
    checked_skill, commit_of, wrong,
};
use crate::other_files::{git_spec, shown, text_at};
use crate::source::{PackageSpec, is_commit};

/// Ends of files that APM installs one by one, and that are no prompts.
const NOT_PROMPTS: [&str; 4] = [
    ".instructions.md",
    ".agent.md",
    ".chatmode.md",
    ".context.md",
];

pub(super) fn read_manifest(
    value: &FrontMatterValue,
    taking: &mut Taking,
) -> Result<(), OtherLockError> {
    let tool = taking.lock.tool;
    let Some(dependencies) = value.get("dependencies") else {
        return Err(wrong(tool, "it has no `dependencies`"));
    };
    let of_kind = |kind: &str| {
        dependencies
            .get(kind)
            .map_or(&[][..], FrontMatterValue::items)
    };
    let (packages, servers) = (of_kind("apm"), of_kind("mcp"));
    taking.check_count(packages.len() + servers.len())?;
    for item in packages {
        let (name, want) = read_dependency(item);
        taking.add(&name, want);
    }
    for item in servers {
        let name = item.word().or_else(|| item.word_at("name"));
        let name = name.unwrap_or_else(|| "an MCP server".to_owned());
        taking.refuse(
            &name,
            "it is an MCP server, and Twig takes over prompts and skills only",
        );
    }
    Ok(())
}

fn read_dependency(item: &FrontMatterValue) -> (String, Result<TakenOver, String>) {
    match item {
        FrontMatterValue::Text(text) => (text.to_string(), read_short(text)),
        FrontMatterValue::Map(_) => {
            let name = ["alias", "git", "id", "path"];
            let name = name.iter().find_map(|key| text_at(item, key));
            (name.unwrap_or("a dependency").to_owned(), read_long(item))
        }
        _ => {
            let reason = "it is neither a text nor a map";
            ("a dependency".to_owned(), Err(reason.to_owned()))
        }
    }
}

/// `[host/]owner/repo[/path][#ref]`
fn read_short(text: &str) -> Result<TakenOver, String> {
    if PackageSpec::is_folder(text) {
        return Err(LOCAL.to_owned());
    }
    let (place, reference) = match text.split_once('#') {
        Some((place, reference)) => (place, Some(reference)),
        None => (text, None),
    };
    taken_over(place, reference, None)
}

fn read_long(item: &FrontMatterValue) -> Result<TakenOver, String> {
    let place = text_at(item, "git").or_else(|| text_at(item, "id"));
    let Some(place) = place else {
        return Err(match text_at(item, "path") {
            Some(_) => LOCAL.to_owned(),
            None => "it has neither `git` nor `id`".to_owned(),
        });
    };
    if PackageSpec::is_folder(place) {
        return Err(LOCAL.to_owned());
    }
    let reference = item.word_at("ref");
    let mut want = taken_over(place, reference.as_deref(), text_at(item, "path"))?;
    for skill in item.get("skills").map_or(&[][..], FrontMatterValue::items) {
        let skill = skill.word().unwrap_or_default();
        want.only.push(checked_skill(&skill)?);
    }
    Ok(want)
}

pub(super) fn read_lock(
    value: &FrontMatterValue,
    taking: &mut Taking,
) -> Result<(), OtherLockError> {
    let tool = taking.lock.tool;
    check_version(tool, value.get("lockfile_version"), 2)?;
    let items = match value.get("dependencies") {
        Some(FrontMatterValue::List(items)) => &items[..],
        None => &[],
        Some(_) => return Err(wrong(tool, "`dependencies` is no list")),
    };
    taking.check_count(items.len())?;
    for item in items {
        let name = text_at(item, "virtual_path").or_else(|| text_at(item, "repo_url"));
        let name = name.unwrap_or("a dependency").to_owned();
        taking.add(&name, read_locked(item));
    }
    Ok(())
}

fn read_locked(item: &FrontMatterValue) -> Result<TakenOver, String> {
    let place = text_at(item, "repo_url").unwrap_or_default();
    let source = text_at(item, "source").unwrap_or("git");
    if source == "local" || text_at(item, "local_path").is_some() || PackageSpec::is_folder(place) {
        return Err(LOCAL.to_owned());
    }
    if !matches!(source, "git" | "github") {
        return Err(format!(
            "Twig does not know the kind of source `{}`",
            shown(source)
        ));
    }
    let place = match text_at(item, "host") {
        Some(host) if !place.contains(':') && !place.starts_with(host) => format!("{host}/{place}"),
        _ => place.to_owned(),
    };
    let path = text_at(item, "virtual_path");
    let reference = item.word_at("resolved_ref");
    let mut want = taken_over(&place, reference.as_deref(), path)?;
    let commit = text_at(item, "resolved_commit").filter(|it| is_commit(it));
    want.commit = commit.map(ToOwned::to_owned).or(want.commit);
    // A short commit id names nothing that can be fetched.
    let is_short = |it: &String| {
        want.commit
            .as_ref()
            .is_some_and(|commit| commit.starts_with(it))
    };
    if want.reference.as_ref().is_some_and(is_short) {
        want.reference.clone_from(&want.commit);
    }
    let mut name = place;
    if let Some(path) = want.path.take() {
        if text_at(item, "package_type") == Some("claude_skill") {
            // Skills of one folder become one library.
            let skill = checked_skill(path.file_name())?;
            want.path = checked_folder(path.folder())?;
            want.only = vec![skill];
        } else {
            want.path = Some(path.clone());
        }
        path.file_name().clone_into(&mut name);
    }
    if let Some(hash) = text_at(item, "content_hash") {
        want.content_hashes.push((shown(&name), shown(hash)));
    }
    Ok(want)
}

fn taken_over(
    place: &str,
    reference: Option<&str>,
    path: Option<&str>,
) -> Result<TakenOver, String> {
    let spec = read_place(place)?;
    let reference = match reference {
        Some(range) if is_range(range) => {
            let range = shown(range);
            return Err(format!(
                "`{range}` is a range of versions: name one tag, or none"
            ));
        }
        Some(reference) => Some(checked_reference(reference)?),
        None => spec.reference,
    };
    let path = match path {
        Some(path) => checked_folder(path)?,
        None => spec.path,
    };
    let mut want = TakenOver {
        source: spec.source,
        commit: commit_of(reference.as_deref()),
        reference,
        path,
        only: Vec::new(),
        content_hashes: Vec::new(),
    };
    if let Some(path) = &want.path {
        let file = path.file_name();
        if NOT_PROMPTS.iter().any(|end| file.ends_with(end)) {
            return Err(format!("`{}` is neither a prompt nor a skill", shown(file)));
        }
        if let Some(prompt) = file.strip_suffix(".prompt.md") {
            want.only = vec![checked_skill(prompt)?];
            want.path = checked_folder(path.folder())?;
        }
    }
    Ok(want)
}

/// An address, or `[host/]owner/repo[/path]`.
fn read_place(place: &str) -> Result<PackageSpec, String> {
    let in_words = |error: crate::source::SourceError| error.to_string();
    if place.contains(':') {
        return git_spec(place).map_err(in_words);
    }
    let first = place.split('/').next().unwrap_or_default();
    if !first.contains('.') || first == "github.com" {
        let short = place.strip_prefix("github.com/").unwrap_or(place);
        return git_spec(short).map_err(in_words);
    }
    // Azure has a project and `_git` between the owner and the repository.
    let parts: Vec<&str> = place.split('/').collect();
    let repository = match parts.iter().position(|part| *part == "_git") {
        Some(at) => at + 2,
        None => 3,
    };
    if parts.len() < repository {
        return Err(format!("`{}` names no repository", shown(place)));
    }
    let (repository, path) = parts.split_at(repository);
    let mut spec = git_spec(&format!("git+https://{}", repository.join("/"))).map_err(in_words)?;
    spec.path = checked_folder(&path.join("/"))?;
    Ok(spec)
}

fn is_range(text: &str) -> bool {
    text.starts_with(['^', '~', '<', '>', '='])
        || text.contains(['*', '|', ' '])
        || text.split('.').next_back() == Some("x")
}
