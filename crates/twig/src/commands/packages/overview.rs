//! What a new package has beside prompts and skills, and what it can do: shown before anything is
//! asked.

use serde::Serialize;
use twig_packages::plugin_manifests::{LeftOut, RemotePlugin};
use twig_packages::{
    PackageCapabilities, PackageChanges, PackageFile, PackageTree, PluginGroups, TreeDigest,
    read_plugin_manifests,
};
use twig_sources::PackageStore;

use crate::command_error::CommandError;
use crate::ui::Ui;

/// The most lines of one kind that are printed.
const LINES: usize = 12;

/// The largest manifest that is read, in bytes.
const MANIFEST_BYTES: u64 = 1024 * 1024;

/// What a new package has beside prompts and skills, and what it can do.
#[derive(Debug, Default)]
pub(super) struct PackageOverview {
    groups: PluginGroups,
    pub(super) capabilities: PackageCapabilities,
}

/// A plugin that a marketplace has elsewhere, as scripts see it.
#[derive(Debug, Serialize)]
pub(super) struct RemotePluginRow {
    name: String,
    /// What `twig add` takes for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    add: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// Why it cannot be added.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// What is wrong with a manifest, as scripts see it.
#[derive(Debug, Serialize)]
pub(super) struct ManifestProblemRow {
    path: String,
    message: String,
}

impl PackageOverview {
    /// Reads a package that was fetched.
    pub(super) fn read(store: &PackageStore, tree: TreeDigest, files: &PackageTree) -> Self {
        let root = store.root_of(tree);
        let paths = files.files().iter().map(|file| &*file.path);
        let groups = read_plugin_manifests(paths, |path| {
            let size = files.file(path).map_or(0, |file| file.size);
            if size > MANIFEST_BYTES {
                return Err("it is longer than 1 MiB".to_owned());
            }
            let text = std::fs::read_to_string(root.join(path));
            text.map_err(|error| crate::command_error::reason(&error))
        });
        let content = |file: &PackageFile| std::fs::read(root.join(&file.path)).ok();
        Self {
            groups,
            capabilities: PackageChanges::capabilities_of(files, &content),
        }
    }

    /// What is in the package and is never served.
    pub(super) fn left_out(&self) -> &[LeftOut] {
        &self.groups.left_out
    }

    pub(super) fn remote_rows(&self) -> Vec<RemotePluginRow> {
        let rows = self.groups.remote.iter().map(|plugin| RemotePluginRow {
            name: plugin.name.clone(),
            add: argument(plugin),
            commit: plugin.commit.clone(),
            why: why_not(plugin),
        });
        rows.collect()
    }

    pub(super) fn problem_rows(&self) -> Vec<ManifestProblemRow> {
        let problems = self.groups.problems.iter();
        let rows = problems.map(|(path, message)| ManifestProblemRow {
            path: path.clone(),
            message: message.clone(),
        });
        rows.collect()
    }

    /// Shows what it can do, and names what is left out, with the reasons.
    pub(super) fn show(&self, is_json: bool, ui: &mut Ui) -> Result<(), CommandError> {
        if !is_json {
            for line in PackageChanges::capability_lines(&self.capabilities) {
                ui.line(format!("  {line}"))?;
            }
        }
        let left_out = self.left_out().iter();
        let left_out =
            left_out.map(|it| format!("left out: {} ({}): {}", it.what, it.path, it.reason));
        say_some(left_out.collect(), "left out", ui);
        let remote = self.groups.remote.iter().map(|plugin| {
            let name = &plugin.name;
            match (argument(plugin), why_not(plugin)) {
                (Some(add), _) => {
                    format!("elsewhere: the plugin `{name}`: `twig add {add}` adds it")
                }
                (None, why) => {
                    let why = why.unwrap_or_default();
                    format!("elsewhere: the plugin `{name}` cannot be added: {why}")
                }
            }
        });
        say_some(remote.collect(), "elsewhere", ui);
        let problems = self.groups.problems.iter();
        let problems = problems.map(|(path, message)| format!("warning: {path}: {message}"));
        say_some(problems.collect(), "warning", ui);
        Ok(())
    }
}

/// The first lines of a kind, and how many more there are.
fn say_some(lines: Vec<String>, kind: &str, ui: &mut Ui) {
    let more = lines.len().saturating_sub(LINES);
    for line in lines.into_iter().take(LINES) {
        ui.say(line);
    }
    if more > 0 {
        ui.say(format!("{kind}: {more} more, which --json lists"));
    }
}

/// What `twig add` takes for a plugin.
fn argument(plugin: &RemotePlugin) -> Option<String> {
    plugin.source.as_ref().ok()?.to_argument()
}

/// Why a plugin cannot be added by one command.
fn why_not(plugin: &RemotePlugin) -> Option<String> {
    match &plugin.source {
        Err(why) => Some(why.clone()),
        Ok(spec) if spec.to_argument().is_none() => {
            let path = spec.path.as_ref().map_or("", |path| path.as_str());
            Some(format!(
                "it is the folder `{path}` of {}: write it to config.toml with `source` and `path`",
                spec.source
            ))
        }
        Ok(_) => None,
    }
}
