//! The manifests of plugins and marketplaces: how the author of a package groups it.
//!
//! A manifest groups; it does not filter. What a plugin has beside prompts and skills (hooks, MCP
//! servers, agents) is named and never served. A manifest that cannot be read is a problem, and the
//! package is served without it.

mod left_out;
mod remote;

use std::collections::{BTreeMap, BTreeSet};

use twig_core::RelativePath;
use twig_core::front_matter::FrontMatterValue;

use crate::other_files::{json, shown, sorted_entries, text_at};
use crate::source::PackageSpec;

/// The longest manifest, in bytes.
const LONGEST: usize = 1024 * 1024;

/// The most plugins of a marketplace.
const MOST_PLUGINS: usize = 5_000;

/// The most manifests that are read of one package.
const MOST_MANIFESTS: usize = 2_000;

/// The most problems that are reported.
const MOST_PROBLEMS: usize = 300;

/// The schema of a root `plugin.json` by Agent Plugins 1.0.0.
const AGENT_PLUGIN_SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

/// The keys of a root `plugin.json` by Agent Plugins 1.0.0.
const AGENT_PLUGIN_KEYS: [&str; 10] = [
    "$schema",
    "name",
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "extensions",
];

/// How a package is grouped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginGroups {
    /// The plugins in the package, sorted by folder and name.
    pub groups: Vec<PluginGroup>,
    /// The plugins that a marketplace fetches from elsewhere.
    pub remote: Vec<RemotePlugin>,
    /// What is in the package and is not served.
    pub left_out: Vec<LeftOut>,
    /// Manifests that cannot be read in whole or in part: the path, and what is wrong.
    pub problems: Vec<(String, String)>,
}

/// One plugin in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginGroup {
    /// Its name.
    pub name: String,
    /// Its folder; `None` for the package's own.
    pub folder: Option<RelativePath>,
    /// Its version.
    pub version: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Files and folders with its skills, from the package's folder; `.` for that itself.
    pub skills: Vec<String>,
    /// Files and folders with its commands, from the package's folder.
    pub commands: Vec<String>,
}

/// A plugin that a marketplace fetches from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemotePlugin {
    /// Its name.
    pub name: String,
    /// Where it is, or why it is refused.
    pub source: Result<PackageSpec, String>,
    /// The commit that it is pinned to.
    pub commit: Option<String>,
}

/// Something in a package that is not served.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// What it is: "hooks", "MCP servers", "agents".
    pub what: &'static str,
    /// The file, folder or manifest that has it.
    pub path: String,
    /// Why it is not served.
    pub reason: &'static str,
}

/// Who reads a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ManifestKind {
    ClaudeMarketplace,
    AgentsMarketplace,
    CursorMarketplace,
    ClaudePlugin,
    CodexPlugin,
    CursorPlugin,
    AgentPlugin,
    GeminiExtension,
}

impl ManifestKind {
    fn is_marketplace(self) -> bool {
        matches!(
            self,
            Self::ClaudeMarketplace | Self::AgentsMarketplace | Self::CursorMarketplace
        )
    }
}

/// Reads all manifests of a package.
///
/// `paths` are its files; `read` gets a file's text, or says why it cannot be read.
pub fn read_plugin_manifests<'p>(
    paths: impl IntoIterator<Item = &'p str>,
    mut read: impl FnMut(&str) -> Result<String, String>,
) -> PluginGroups {
    let mut paths: Vec<&str> = paths.into_iter().collect();
    paths.sort_unstable();
    paths.dedup();
    let mut manifests: Vec<(ManifestKind, &str, &str)> = paths
        .iter()
        .filter_map(|path| manifest_kind(path).map(|(kind, folder)| (kind, folder, *path)))
        .collect();
    // Marketplaces first: a plugin's own manifest adds to what they say.
    manifests.sort_unstable();
    let mut reading = PluginReading {
        paths: &paths,
        found: PluginGroups::default(),
        by_folder: BTreeMap::new(),
        seen: BTreeSet::new(),
    };
    if manifests.len() > MOST_MANIFESTS {
        let (_, _, path) = manifests[MOST_MANIFESTS];
        reading.problem(
            path,
            "the package has more than 2,000 manifests; the others are not read",
        );
        manifests.truncate(MOST_MANIFESTS);
    }
    for (kind, folder, path) in manifests {
        // Anything may be called `plugin.json` where no plugin is.
        if kind == ManifestKind::AgentPlugin
            && !folder.is_empty()
            && !reading.by_folder.contains_key(folder)
        {
            continue;
        }
        let value = read(path).and_then(|text| json(&text, LONGEST));
        let value = value.and_then(|value| match value.entries() {
            Some(_) => Ok(value),
            None => Err("it is no JSON object".to_owned()),
        });
        let result = value.and_then(|value| {
            if kind.is_marketplace() {
                reading.read_marketplace(path, &value)
            } else {
                reading.read_plugin(kind, folder, path, &value)
            }
        });
        if let Err(problem) = result {
            reading.problem(path, &problem);
        }
    }
    reading.finish()
}

/// The kind of a manifest and the folder of its plugin, by its path.
fn manifest_kind(path: &str) -> Option<(ManifestKind, &str)> {
    match path {
        ".claude-plugin/marketplace.json" => return Some((ManifestKind::ClaudeMarketplace, "")),
        ".agents/plugins/marketplace.json" => return Some((ManifestKind::AgentsMarketplace, "")),
        ".cursor-plugin/marketplace.json" => return Some((ManifestKind::CursorMarketplace, "")),
        _ => {}
    }
    let ends = [
        (".claude-plugin/plugin.json", ManifestKind::ClaudePlugin),
        (".codex-plugin/plugin.json", ManifestKind::CodexPlugin),
        (".cursor-plugin/plugin.json", ManifestKind::CursorPlugin),
        ("gemini-extension.json", ManifestKind::GeminiExtension),
        ("plugin.json", ManifestKind::AgentPlugin),
    ];
    ends.iter().find_map(|(end, kind)| {
        let folder = path.strip_suffix(end)?;
        match folder.strip_suffix('/') {
            Some(folder) => Some((*kind, folder)),
            None if folder.is_empty() => Some((*kind, "")),
            None => None,
        }
    })
}

/// The manifests that were read so far.
struct PluginReading<'p> {
    /// All files, sorted.
    paths: &'p [&'p str],
    found: PluginGroups,
    /// The groups of each folder, by their names.
    by_folder: BTreeMap<String, BTreeMap<String, usize>>,
    /// The plugins from elsewhere that are there, as JSON.
    seen: BTreeSet<String>,
}

impl PluginReading<'_> {
    fn problem(&mut self, path: &str, message: &str) {
        if self.found.problems.len() < MOST_PROBLEMS {
            self.found
                .problems
                .push((path.to_owned(), message.to_owned()));
        }
    }

    fn read_marketplace(&mut self, path: &str, value: &FrontMatterValue) -> Result<(), String> {
        let Some(FrontMatterValue::List(plugins)) = value.get("plugins") else {
            return Err("it has no list of `plugins`".to_owned());
        };
        if plugins.len() > MOST_PLUGINS {
            return Err("it has more than 5,000 plugins".to_owned());
        }
        let root = value
            .get("metadata")
            .and_then(|it| text_at(it, "pluginRoot"));
        for plugin in plugins {
            let Some(name) = text_at(plugin, "name") else {
                self.problem(path, "a plugin has no `name`");
                continue;
            };
            let source = match plugin.get("source") {
                Some(FrontMatterValue::Text(source)) if !source.contains(':') => Some(&**source),
                Some(source) if text_at(source, "source") == Some("local") => {
                    text_at(source, "path")
                }
                Some(source) => {
                    if self.seen.insert(format!("{name} {}", source.to_json())) {
                        self.found.remote.push(remote::read(name, source));
                    }
                    continue;
                }
                None => None,
            };
            let folder = self.plugin_folder(source.unwrap_or("./"), root);
            match folder {
                Ok(folder) => self.add(path, &folder, name, plugin),
                Err(reason) => {
                    let name = shown(name);
                    self.problem(path, &format!("the source of the plugin `{name}` {reason}"));
                }
            }
        }
        Ok(())
    }

    /// The folder that a source in the package names.
    fn plugin_folder(&self, source: &str, root: Option<&str>) -> Result<String, String> {
        let plain = joined("", source)?;
        if let Some(root) = root {
            let below = joined(&joined("", root)?, source)?;
            let is_bare = !source.starts_with("./");
            if self.has_folder(&below) && (is_bare || !self.has_folder(&plain)) {
                return Ok(below);
            }
        }
        if self.has_folder(&plain) {
            Ok(plain)
        } else {
            Err(format!(
                "is `{}`, and there is no such folder",
                shown(source)
            ))
        }
    }

    fn read_plugin(
        &mut self,
        kind: ManifestKind,
        folder: &str,
        path: &str,
        value: &FrontMatterValue,
    ) -> Result<(), String> {
        if kind == ManifestKind::AgentPlugin {
            let known = self.known_fields(path, value)?;
            let name = text_at(&known, "name").ok_or("it has no `name`")?;
            self.add(path, folder, name, &known);
            self.add_child_skills(folder, name);
        } else {
            let name = text_at(value, "name").ok_or("it has no `name`")?;
            self.add(path, folder, name, value);
        }
        Ok(())
    }

    /// The fields of a root `plugin.json` that Agent Plugins know; others are reported.
    fn known_fields(
        &mut self,
        path: &str,
        value: &FrontMatterValue,
    ) -> Result<FrontMatterValue, String> {
        let mut known = Vec::new();
        for (key, value) in value.entries().unwrap_or_default() {
            if &**key == "extensions" && value.entries().is_none() {
                self.problem(path, "`extensions` is no map and is ignored");
            } else if !AGENT_PLUGIN_KEYS.contains(&&**key) {
                self.problem(path, &format!("unknown key `{}` is ignored", shown(key)));
            } else if !is_agent_plugin_value(key, value) {
                return Err(format!("`{key}` has a value of the wrong kind"));
            } else {
                known.push((key.clone(), value.clone()));
            }
        }
        let known = FrontMatterValue::Map(known);
        match text_at(&known, "$schema") {
            Some(AGENT_PLUGIN_SCHEMA) => {}
            Some(other) => return Err(format!("Twig does not know its schema `{}`", shown(other))),
            None => return Err("it has no `$schema` of Agent Plugins".to_owned()),
        }
        let name = text_at(&known, "name").unwrap_or_default();
        if !is_agent_plugin_name(name) {
            return Err("`name` has to be 1 to 64 lower-case letters, digits, single `-` and `.`, with a letter or digit at both ends".to_owned());
        }
        Ok(known)
    }

    /// Adds a plugin, or what a second manifest says about one that is there.
    fn add(&mut self, path: &str, folder: &str, name: &str, value: &FrontMatterValue) {
        self.found
            .left_out
            .extend(left_out::in_manifest(path, value));
        let skills = self.named_paths(path, folder, value.get("skills"));
        let commands = self.named_paths(path, folder, value.get("commands"));
        let at = self.group_at(path, folder, name);
        let Some(group) = at.and_then(|at| self.found.groups.get_mut(at)) else {
            return;
        };
        let text = |key: &str| value.word_at(key).filter(|it| !it.is_empty());
        group.version = group.version.take().or_else(|| text("version"));
        group.description = group.description.take().or_else(|| text("description"));
        group.skills.extend(skills);
        group.commands.extend(commands);
    }

    /// The group of a plugin. Manifests of several clients in one folder are about one plugin,
    /// whatever they call it; a marketplace may cut one folder into several.
    fn group_at(&mut self, path: &str, folder: &str, name: &str) -> Option<usize> {
        let there = self.by_folder.entry(folder.to_owned()).or_default();
        if let Some(at) = there.get(name) {
            return Some(*at);
        }
        if !path.ends_with("/marketplace.json") && !there.is_empty() {
            return the_only(there);
        }
        let at = self.found.groups.len();
        there.insert(name.to_owned(), at);
        self.found.groups.push(PluginGroup {
            name: name.to_owned(),
            folder: RelativePath::parse(folder).ok(),
            version: None,
            description: None,
            skills: Vec::new(),
            commands: Vec::new(),
        });
        Some(at)
    }

    /// The files and folders that a field names: a text, a list, or a map with `source`.
    fn named_paths(
        &mut self,
        path: &str,
        folder: &str,
        field: Option<&FrontMatterValue>,
    ) -> Vec<String> {
        let named: Vec<String> = match field {
            Some(FrontMatterValue::Text(text)) => vec![text.to_string()],
            Some(FrontMatterValue::List(items)) => {
                items.iter().filter_map(FrontMatterValue::word).collect()
            }
            Some(map) => {
                let entries = sorted_entries(map).into_iter();
                entries
                    .filter_map(|(_, value)| value.word_at("source"))
                    .collect()
            }
            None => Vec::new(),
        };
        let mut paths = Vec::new();
        for name in named {
            match joined(folder, &name) {
                Ok(found) if self.has_folder(&found) || self.has_file(&found) => {
                    paths.push(if found.is_empty() {
                        ".".to_owned()
                    } else {
                        found
                    });
                }
                Ok(_) => {
                    self.problem(path, &format!("`{}` is not in the package", shown(&name)));
                }
                Err(reason) => {
                    self.problem(path, &format!("`{}` {reason}", shown(&name)));
                }
            }
        }
        paths
    }

    /// `skills/CHILD/SKILL.md`, one level, as Agent Plugins have it.
    fn add_child_skills(&mut self, folder: &str, name: &str) {
        let skills = below(folder, "skills/");
        let start = self.paths.partition_point(|path| *path < &*skills);
        let inside = self.paths[start..].iter();
        let inside = inside.take_while(|path| path.starts_with(&*skills));
        let children = inside.filter_map(|path| {
            let child = path.strip_suffix("/SKILL.md")?;
            let is_child = !child[skills.len()..].contains('/');
            is_child.then(|| child.to_owned())
        });
        let children: Vec<String> = children.collect();
        let there = self.by_folder.get(folder);
        if let Some(at) =
            there.and_then(|there| there.get(name).copied().or_else(|| the_only(there)))
        {
            self.found.groups[at].skills.extend(children);
        }
    }

    fn has_folder(&self, folder: &str) -> bool {
        if folder.is_empty() {
            return true;
        }
        let start = format!("{folder}/");
        let at = self.paths.partition_point(|path| *path < &*start);
        self.paths
            .get(at)
            .is_some_and(|path| path.starts_with(&start))
    }

    fn has_file(&self, path: &str) -> bool {
        self.paths.binary_search(&path).is_ok()
    }

    fn finish(mut self) -> PluginGroups {
        let mut groups = std::mem::take(&mut self.found.groups);
        for group in &mut groups {
            let folder = group.folder.as_ref().map_or("", |it| it.as_str());
            // Who names nothing has the usual folders.
            for (named, usual) in [
                (&mut group.skills, "skills"),
                (&mut group.commands, "commands"),
            ] {
                let usual = below(folder, usual);
                if named.is_empty() && self.has_folder(&usual) {
                    named.push(usual);
                }
                named.sort();
                named.dedup();
            }
        }
        groups.sort_by(|one, two| (&one.folder, &one.name).cmp(&(&two.folder, &two.name)));
        let folders = self.by_folder.keys().map(|it| &**it).collect();
        self.found
            .left_out
            .extend(left_out::in_paths(self.paths, &folders));
        self.found.left_out.sort();
        self.found.left_out.dedup();
        self.found.groups = groups;
        self.found
    }
}

/// The group of a folder that has one.
fn the_only(groups: &BTreeMap<String, usize>) -> Option<usize> {
    let only = groups.values().next().copied();
    only.filter(|_| groups.len() == 1)
}

/// True if a field of a root `plugin.json` has a value of its kind.
fn is_agent_plugin_value(key: &str, value: &FrontMatterValue) -> bool {
    let is_text = |it: &FrontMatterValue| matches!(it, FrontMatterValue::Text(_));
    match key {
        "author" => value.entries().is_some_and(|entries| {
            let is_known = |key: &str| matches!(key, "name" | "email" | "url");
            entries.iter().all(|(key, it)| is_known(key) && is_text(it))
        }),
        "keywords" => {
            matches!(value, FrontMatterValue::List(items) if items.iter().all(is_text))
        }
        "extensions" => true,
        _ => is_text(value),
    }
}

fn is_agent_plugin_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().next_back()];
    name.len() <= 64
        && name
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b'-' | b'.'))
        && ends.iter().all(|end| end.is_some_and(is_word))
        && !name.contains("--")
        && !name.contains("..")
}

fn below(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

/// A path from a plugin's folder, with `${PLUGIN_ROOT}` and the like taken out; it stays in it.
fn joined(folder: &str, path: &str) -> Result<String, String> {
    let roots = ["${PLUGIN_ROOT}/", "${CLAUDE_PLUGIN_ROOT}/", "./"];
    let path = roots
        .iter()
        .fold(path, |path, root| path.strip_prefix(root).unwrap_or(path));
    let path = path.trim_end_matches('/');
    if matches!(path, "" | ".") {
        return Ok(folder.to_owned());
    }
    let path = RelativePath::parse(path).map_err(|error| error.to_string())?;
    Ok(below(folder, path.as_str()))
}
