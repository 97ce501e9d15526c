//! `skills-lock.json` and `~/.agents/.skill-lock.json`: an entry for each skill, by its name.

use sha2::{Digest as _, Sha256};
use twig_core::front_matter::FrontMatterValue;

use super::{
    LOCAL, NPM, OtherLockError, OtherTool, TakenOver, Taking, check_version, checked_folder,
    checked_reference, checked_skill, commit_of, wrong,
};
use crate::other_files::{git_spec, shown, sorted_entries, text_at};
use crate::source::{PackageSource, PackageSpec};
use crate::tree::hex;

/// The `computedHash` of `skills-lock.json`: SHA-256 over the path and the bytes of each file, in
/// the order of their lower-case paths. Nothing is between them, so different files can have the
/// same hash: it tells what another tool installed, and proves nothing.
pub fn vercel_hash(files: &[(&str, &[u8])]) -> String {
    let is_left_out = |path: &str| {
        path.split('/')
            .any(|it| matches!(it, ".git" | "node_modules"))
    };
    let kept = files.iter().filter(|(path, _)| !is_left_out(path));
    let mut files: Vec<_> = kept.collect();
    files.sort_by_cached_key(|(path, _)| (path.to_lowercase(), *path));
    let mut digest = Sha256::new();
    for (path, bytes) in files {
        digest.update(path.as_bytes());
        digest.update(bytes);
    }
    hex(&digest.finalize())
}

pub(super) fn read(value: &FrontMatterValue, taking: &mut Taking) -> Result<(), OtherLockError> {
    let tool = taking.lock.tool;
    let known = match tool {
        OtherTool::SkillsProject => 1,
        _ => 3,
    };
    check_version(tool, value.get("version"), known)?;
    let skills = value.get("skills").filter(|it| it.entries().is_some());
    let skills = skills.ok_or_else(|| wrong(tool, "it has no `skills`"))?;
    let skills = sorted_entries(skills);
    taking.check_count(skills.len())?;
    for (name, entry) in skills {
        taking.add(name, read_skill(name, entry));
    }
    Ok(())
}

fn read_skill(name: &str, entry: &FrontMatterValue) -> Result<TakenOver, String> {
    let skill = checked_skill(name)?;
    let spec = read_source(entry)?;
    let reference = text_at(entry, "pinnedRef").or_else(|| text_at(entry, "ref"));
    let reference = match reference {
        Some(reference) => Some(checked_reference(reference)?),
        None => spec.reference,
    };
    let is_index = matches!(spec.source, PackageSource::Index { .. });
    let path = match text_at(entry, "skillPath") {
        Some(_) if is_index => None,
        Some(path) => checked_folder(parent_of_skill(path))?,
        None => spec.path,
    };
    let hash = ["computedHash", "skillFolderHash", "wellKnownDigest"];
    let hash = hash.iter().find_map(|key| text_at(entry, key));
    Ok(TakenOver {
        source: spec.source,
        commit: commit_of(reference.as_deref()),
        reference,
        path,
        content_hashes: hash.iter().map(|it| (skill.clone(), shown(it))).collect(),
        only: vec![skill],
    })
}

/// The folder that holds the folder of a skill: `skills` of `skills/pdf/SKILL.md`.
fn parent_of_skill(path: &str) -> &str {
    let is_separator = ['/', '\\'];
    let folder = match path.rsplit_once(is_separator) {
        Some((folder, "SKILL.md" | "skill.md")) => folder,
        None if path.eq_ignore_ascii_case("SKILL.md") => "",
        _ => path,
    };
    folder
        .rsplit_once(is_separator)
        .map_or("", |(parent, _)| parent)
}

fn read_source(entry: &FrontMatterValue) -> Result<PackageSpec, String> {
    let url = text_at(entry, "sourceUrl");
    let source = text_at(entry, "source");
    let Some(any) = source.or(url) else {
        return Err("it has no source".to_owned());
    };
    let in_words = |error: crate::source::SourceError| error.to_string();
    match text_at(entry, "sourceType").unwrap_or("github") {
        "local" | "path" | "directory" => Err(LOCAL.to_owned()),
        "npm" | "node_modules" | "node-modules" => Err(NPM.to_owned()),
        "well-known" | "wellknown" => {
            let address = match url.or(source) {
                Some(url) if url.contains("://") => url.to_owned(),
                _ => format!("https://{any}"),
            };
            let spec = PackageSpec::parse(&address).map_err(in_words)?;
            match spec.source {
                PackageSource::Index { .. } => Ok(spec),
                _ => Err(format!("`{}` is no address of an index", shown(any))),
            }
        }
        _ if PackageSpec::is_folder(any) => Err(LOCAL.to_owned()),
        "github" => match url.filter(|it| is_elsewhere(it)) {
            // GitHub Enterprise: the short name alone would mean another host.
            Some(url) => git_spec(url).map_err(in_words),
            None => git_spec(any).map_err(in_words),
        },
        "gitlab" if url.is_none() && !any.contains([':', '@']) => {
            git_spec(&format!("https://gitlab.com/{any}")).map_err(in_words)
        }
        "git" | "gitlab" | "bitbucket" => git_spec(url.unwrap_or(any)).map_err(in_words),
        other => Err(format!(
            "Twig does not know the kind of source `{}`",
            shown(other)
        )),
    }
}

/// True for an address on another host than github.com.
fn is_elsewhere(url: &str) -> bool {
    let host = match url.split_once("://") {
        Some((_, rest)) => rest.split('/').next().unwrap_or_default(),
        None => url.split(':').next().unwrap_or_default(),
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    !matches!(host, "github.com" | "www.github.com")
}
