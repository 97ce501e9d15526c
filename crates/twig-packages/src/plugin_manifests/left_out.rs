//! What a plugin has beside prompts and skills. It is named, and never served.

use std::collections::BTreeSet;

use twig_core::front_matter::FrontMatterValue;

use super::LeftOut;

const HOOKS: (&str, &str) = (
    "hooks",
    "hooks run commands in a client, and Twig runs nothing of a package",
);
const SERVERS: (&str, &str) = (
    "MCP servers",
    "Twig serves prompts and skills, and starts no other servers",
);
const AGENTS: (&str, &str) = (
    "agents",
    "agents are settings of one client, neither prompts nor skills",
);
const LANGUAGE_SERVERS: (&str, &str) = (
    "language servers",
    "language servers run programs, and Twig runs nothing of a package",
);
const STYLES: (&str, &str) = (
    "output styles",
    "output styles are settings of one client, neither prompts nor skills",
);

/// Keys of manifests.
const KEYS: [(&str, (&str, &str)); 5] = [
    ("hooks", HOOKS),
    ("mcpServers", SERVERS),
    ("agents", AGENTS),
    ("lspServers", LANGUAGE_SERVERS),
    ("outputStyles", STYLES),
];

/// Files that are this wherever they are.
const FILES: [(&str, (&str, &str)); 3] = [
    (".mcp.json", SERVERS),
    (".lsp.json", LANGUAGE_SERVERS),
    ("hooks.json", HOOKS),
];

/// Files and folders that are this in a plugin's folder; those with `/` are folders.
const IN_PLUGIN: [(&str, (&str, &str)); 4] = [
    ("hooks/", HOOKS),
    ("mcp.json", SERVERS),
    ("agents/", AGENTS),
    ("output-styles/", STYLES),
];

/// What a manifest declares itself.
pub(super) fn in_manifest(path: &str, value: &FrontMatterValue) -> Vec<LeftOut> {
    let declared = KEYS.iter().filter(|(key, _)| {
        value.get(key).is_some_and(|it| match it {
            FrontMatterValue::Text(text) => !text.is_empty(),
            FrontMatterValue::List(items) => !items.is_empty(),
            FrontMatterValue::Map(entries) => !entries.is_empty(),
            _ => false,
        })
    });
    declared.map(|(_, kind)| left_out(*kind, path)).collect()
}

/// What the files of a package are, with the folders of its plugins.
pub(super) fn in_paths(paths: &[&str], folders: &BTreeSet<&str>) -> BTreeSet<LeftOut> {
    let mut found = BTreeSet::new();
    for path in paths {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let is_in_hooks = folder == "hooks" || folder.ends_with("/hooks");
        for (name, kind) in FILES {
            // The folder of hooks stands for its files.
            if file == name && !(name == "hooks.json" && is_in_hooks && is_plugins(folder, folders))
            {
                found.insert(left_out(kind, path));
            }
        }
        if folder == ".claude/agents" && is_markdown(file) {
            found.insert(left_out(AGENTS, ".claude/agents"));
        }
        for (name, kind) in IN_PLUGIN {
            let Some(name) = name.strip_suffix('/') else {
                if file == name && folders.contains(folder) {
                    found.insert(left_out(kind, path));
                }
                continue;
            };
            let holds = folder == name
                || folder
                    .strip_suffix(name)
                    .is_some_and(|it| it.ends_with('/'));
            let is_it = name != "agents" || is_markdown(file);
            if holds && is_it && is_plugins(folder, folders) {
                found.insert(left_out(kind, folder));
            }
        }
    }
    found
}

fn is_markdown(file: &str) -> bool {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|it| it.eq_ignore_ascii_case("md"))
}

/// True if a folder is right in the folder of a plugin.
fn is_plugins(folder: &str, folders: &BTreeSet<&str>) -> bool {
    let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
    folders.contains(parent)
}

fn left_out((what, reason): (&'static str, &'static str), path: &str) -> LeftOut {
    LeftOut {
        what,
        path: path.to_owned(),
        reason,
    }
}
