//! Plugins that a marketplace fetches from elsewhere.

use twig_core::RelativePath;
use twig_core::front_matter::FrontMatterValue;

use super::RemotePlugin;
use crate::other_files::{git_spec, shown, text_at};
use crate::source::{PackageSpec, is_commit, is_reference};

/// Reads the source of a plugin that is not in the package.
pub(super) fn read(name: &str, source: &FrontMatterValue) -> RemotePlugin {
    let commit = ["sha", "commit"];
    let commit = commit.iter().find_map(|key| text_at(source, key));
    let spec = match commit {
        Some(commit) if !is_commit(commit) => {
            Err(format!("`{}` is not a full commit id", shown(commit)))
        }
        _ => read_spec(source, commit),
    };
    RemotePlugin {
        name: name.to_owned(),
        commit: commit.filter(|it| is_commit(it)).map(ToOwned::to_owned),
        source: spec,
    }
}

fn read_spec(source: &FrontMatterValue, commit: Option<&str>) -> Result<PackageSpec, String> {
    let in_words = |error: crate::source::SourceError| error.to_string();
    if let FrontMatterValue::Text(address) = source {
        return checked(git_spec(address).map_err(in_words)?);
    }
    let needed =
        |key: &str| text_at(source, key).ok_or_else(|| format!("its source has no `{key}`"));
    let address = match text_at(source, "source").unwrap_or_default() {
        "github" => needed("repo")?,
        "url" | "git" | "git-subdir" => needed("url")?,
        "npm" | "pip" => {
            return Err(
                "it is fetched from a package registry, and Twig fetches plugins from git only"
                    .to_owned(),
            );
        }
        "archive" => {
            return Err(
                "it is fetched as an archive, and Twig fetches plugins from git only".to_owned(),
            );
        }
        "command" => {
            return Err("a command fetches it, and Twig runs nothing of a package".to_owned());
        }
        other => {
            return Err(format!(
                "Twig does not know the kind of source `{}`",
                shown(other)
            ));
        }
    };
    let mut spec = git_spec(address).map_err(in_words)?;
    if let Some(reference) = text_at(source, "ref").or(commit) {
        if !is_reference(reference) {
            return Err(format!(
                "`{}` is no branch, tag or commit",
                shown(reference)
            ));
        }
        spec.reference = Some(reference.to_owned());
    }
    if let Some(path) = text_at(source, "path").map(|it| it.trim_end_matches('/'))
        && !matches!(path, "" | ".")
    {
        let path = RelativePath::parse(path).map_err(|error| format!("its path {error}"))?;
        spec.path = Some(path);
    }
    checked(spec)
}

/// Refuses repositories of this machine: a marketplace comes from elsewhere.
fn checked(spec: PackageSpec) -> Result<PackageSpec, String> {
    if spec.source.is_local() {
        return Err("it is a folder of this machine".to_owned());
    }
    Ok(spec)
}
