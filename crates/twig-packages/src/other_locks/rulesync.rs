//! `rulesync.lock`: an entry for each source, with the commit and the names of its skills.

use twig_core::front_matter::FrontMatterValue;

use super::{
    LOCAL, NPM, OtherLockError, TakenOver, Taking, check_version, checked_folder,
    checked_reference, checked_skill, commit_of, wrong,
};
use crate::other_files::{git_spec, shown, sorted_entries, text_at};
use crate::source::{PackageSpec, is_commit};

pub(super) fn read(value: &FrontMatterValue, taking: &mut Taking) -> Result<(), OtherLockError> {
    let tool = taking.lock.tool;
    check_version(tool, value.get("lockfileVersion"), 1)?;
    let sources = value.get("sources").filter(|it| it.entries().is_some());
    let sources = sources.ok_or_else(|| wrong(tool, "it has no `sources`"))?;
    let sources = sorted_entries(sources);
    let skills = sources.iter().map(|(_, entry)| {
        let skills = entry.get("skills").and_then(FrontMatterValue::entries);
        skills.map_or(1, <[_]>::len)
    });
    taking.check_count(sources.len() + skills.sum::<usize>())?;
    for (name, entry) in sources {
        taking.add(name, read_entry(name, entry));
    }
    Ok(())
}

fn read_entry(name: &str, entry: &FrontMatterValue) -> Result<TakenOver, String> {
    let spec = read_name(name)?;
    let reference = match text_at(entry, "requestedRef") {
        Some(reference) => Some(checked_reference(reference)?),
        None => spec.reference,
    };
    let commit = text_at(entry, "resolvedRef").filter(|it| is_commit(it));
    let commit = commit.map(ToOwned::to_owned);
    let mut want = TakenOver {
        source: spec.source,
        commit: commit.or_else(|| commit_of(reference.as_deref())),
        reference,
        path: spec.path,
        only: Vec::new(),
        content_hashes: Vec::new(),
    };
    for (skill, value) in entry.get("skills").map(sorted_entries).unwrap_or_default() {
        let skill = checked_skill(skill)
            .map_err(|_| format!("`{}` is no name of a skill", shown(skill)))?;
        if let Some(hash) = text_at(value, "integrity") {
            want.content_hashes.push((skill.clone(), shown(hash)));
        }
        want.only.push(skill);
    }
    Ok(want)
}

/// `owner/repo[@ref][:path]`, with `github:` or `gitlab:` before it, or an address.
fn read_name(name: &str) -> Result<PackageSpec, String> {
    let in_words = |error: crate::source::SourceError| error.to_string();
    if name.starts_with("npm:") || name.starts_with('@') {
        return Err(NPM.to_owned());
    }
    if PackageSpec::is_folder(name) {
        return Err(LOCAL.to_owned());
    }
    if name.contains("://") || name.starts_with("git@") {
        return git_spec(name).map_err(in_words);
    }
    let (host, rest) = match name.strip_prefix("gitlab:") {
        Some(rest) => ("https://gitlab.com/", rest),
        None => ("", name.strip_prefix("github:").unwrap_or(name)),
    };
    let (place, path) = match rest.split_once(':') {
        Some((place, path)) => (place, checked_folder(path)?),
        None => (rest, None),
    };
    let (place, reference) = match place.split_once('@') {
        Some((place, reference)) => (place, Some(checked_reference(reference)?)),
        None => (place, None),
    };
    let mut spec = git_spec(&format!("{host}{place}")).map_err(in_words)?;
    spec.reference = reference.or(spec.reference);
    spec.path = path.or(spec.path);
    Ok(spec)
}
