//! What `gh skill` writes into the front matter of the skills that it installs.
//!
//! It adds `metadata.github-*`, sorts the keys and removes blank lines before the body, so every
//! digest of the file changes.

use serde_json::Value;
use twig_core::Limits;
use twig_core::front_matter::{FrontMatterValue, read_yaml, split};

use crate::other_files::git_spec;
use crate::source::{PackageSpec, is_reference};

/// The start of its keys.
const PREFIX: &str = "github-";

/// Where `gh skill` says that a skill comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GhSkillOrigin {
    /// The address of the repository.
    pub repo: String,
    /// The folder of the skill in it.
    pub path: Option<String>,
    /// The branch or tag, such as `refs/heads/main`.
    pub reference: Option<String>,
    /// git's id of the folder.
    pub tree_sha: Option<String>,
    /// The version that it was pinned to.
    pub pinned: Option<String>,
}

impl GhSkillOrigin {
    /// The same as a source; `None` if it names none.
    pub fn package_spec(&self) -> Option<PackageSpec> {
        let mut spec = git_spec(&self.repo).ok()?;
        let reference = self.pinned.as_deref().filter(|it| *it != "true");
        let reference = reference.or(self.reference.as_deref());
        let reference = reference.map(|it| {
            let short = ["refs/heads/", "refs/tags/"];
            let short = short.iter().find_map(|start| it.strip_prefix(start));
            short.unwrap_or(it)
        });
        spec.reference = reference
            .filter(|it| is_reference(it))
            .map(ToOwned::to_owned);
        let path = self.path.as_deref();
        spec.path = path.and_then(|path| twig_core::RelativePath::parse(path).ok());
        Some(spec)
    }
}

/// Reads what `gh skill` wrote into a `SKILL.md`; `None` for other files.
pub fn gh_skill_origin(text: &str) -> Option<GhSkillOrigin> {
    let entries = front_entries(text)?;
    let (_, metadata) = entries.iter().find(|(key, _)| &**key == "metadata")?;
    let word = |key: &str| metadata.word_at(&format!("{PREFIX}{key}"));
    Some(GhSkillOrigin {
        repo: word("repo")?,
        path: word("path"),
        reference: word("ref"),
        tree_sha: word("tree-sha"),
        pinned: word("pinned"),
    })
}

/// A `SKILL.md` without the lines of `gh skill`, and without a `metadata` that has no others.
pub fn without_gh_metadata(text: &str) -> String {
    let Some(front) = split(text).front else {
        return text.to_owned();
    };
    let mut kept = String::with_capacity(text.len());
    kept.push_str(&text[..front.start]);
    let mut lines = text[front.clone()].split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        if line.trim_end() != "metadata:" {
            kept.push_str(line);
            continue;
        }
        let mut others = String::new();
        let mut removed_indent = None;
        let mut has_removed = false;
        while let Some(inner) =
            lines.next_if(|it| it.starts_with([' ', '\t']) || it.trim().is_empty())
        {
            let indent = inner.len() - inner.trim_start().len();
            // A long value continues on lines that are further in.
            let continues = removed_indent.is_some_and(|it| indent > it);
            if continues || inner.trim_start().starts_with(PREFIX) {
                removed_indent = removed_indent.filter(|_| continues).or(Some(indent));
                has_removed = true;
            } else {
                removed_indent = None;
                others.push_str(inner);
            }
        }
        if !has_removed || !others.trim().is_empty() {
            kept.push_str(line);
        }
        kept.push_str(&others);
    }
    kept.push_str(&text[front.end..]);
    kept
}

/// True if two texts are the same skill: the same body, and the same front matter in any order,
/// apart from what `gh skill` writes.
pub fn same_skill(one: &str, two: &str) -> bool {
    one == two || {
        let body = |text| split(text).body.trim_start_matches(['\n', '\r']);
        body(one) == body(two) && front_value(one).is_some_and(|it| Some(it) == front_value(two))
    }
}

/// The front matter as a value without order, and without what `gh skill` writes.
fn front_value(text: &str) -> Option<Value> {
    let entries = front_entries(text)?;
    let mut value = serde_json::from_str(&FrontMatterValue::Map(entries).to_json()).ok()?;
    if let Value::Object(fields) = &mut value
        && let Some(Value::Object(metadata)) = fields.get_mut("metadata")
    {
        metadata.retain(|key, _| !key.starts_with(PREFIX));
        if metadata.is_empty() {
            fields.remove("metadata");
        }
    }
    Some(value)
}

fn front_entries(text: &str) -> Option<Vec<(Box<str>, FrontMatterValue)>> {
    let front = match split(text).front {
        Some(front) => &text[front],
        None if text.starts_with("---") => return None,
        None => text,
    };
    if front.len() > Limits::default().front_matter {
        return None;
    }
    read_yaml(front).ok()
}
