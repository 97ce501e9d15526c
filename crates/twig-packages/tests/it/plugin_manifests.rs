//! Manifests of plugins and marketplaces: they group a package and never end it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use twig_packages::{PluginGroups, read_plugin_manifests};

/// The files of a fixture: `//- PATH`, and the text below it.
fn files(text: &str) -> BTreeMap<&str, &str> {
    let parts = text.split("//- ").skip(1);
    parts.filter_map(|part| part.split_once('\n')).collect()
}

fn read(files: &BTreeMap<&str, &str>) -> PluginGroups {
    read_plugin_manifests(files.keys().copied(), |path| {
        let text = files.get(path).ok_or("it is not there")?;
        Ok((*text).to_owned())
    })
}

fn report(found: &PluginGroups) -> String {
    let mut report = String::new();
    for group in &found.groups {
        let folder = group.folder.as_ref().map(ToString::to_string);
        let _ = writeln!(
            report,
            "group {} in {} version={} description={}\n    skills {:?}\n    commands {:?}",
            group.name,
            folder.as_deref().unwrap_or("."),
            group.version.as_deref().unwrap_or("-"),
            group.description.as_deref().unwrap_or("-"),
            group.skills,
            group.commands
        );
    }
    for remote in &found.remote {
        let _ = match &remote.source {
            Ok(spec) => writeln!(
                report,
                "remote {}: {} ref={:?} path={:?} commit={:?}",
                remote.name, spec.source, spec.reference, spec.path, remote.commit
            ),
            Err(reason) => writeln!(report, "remote {} is refused: {reason}", remote.name),
        };
    }
    for left in &found.left_out {
        let _ = writeln!(
            report,
            "left out {} {}: {}",
            left.what, left.path, left.reason
        );
    }
    for (path, problem) in &found.problems {
        let _ = writeln!(report, "problem {path}: {problem}");
    }
    report
}

#[test]
fn manifests_group_a_package() {
    insta::glob!("../fixtures/plugin_manifests", "*.txt", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        insta::assert_snapshot!(report(&read(&files(&text))));
    });
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem() {
    let found = read_plugin_manifests(["gemini-extension.json"], |_| Err("no".to_owned()));
    assert_eq!(
        found.problems,
        [("gemini-extension.json".to_owned(), "no".to_owned())]
    );
}

proptest! {
    #[test]
    fn no_text_is_too_much(text in "\\PC{0,200}", source in "\\PC{0,20}|[./a-z]{0,9}", path in "\\PC{0,20}") {
        let marketplace = serde_json::json!({ "metadata": { "pluginRoot": path }, "plugins": [
            { "name": text, "source": source, "skills": path, "commands": [path, source] },
            { "name": text, "source": { "source": "git-subdir", "url": source, "path": path, "ref": text } },
        ] }).to_string();
        for manifest in [&*marketplace, &*text] {
            let all = [
                ".claude-plugin/marketplace.json",
                ".claude-plugin/plugin.json",
                "plugin.json",
                "a/.codex-plugin/plugin.json",
                "gemini-extension.json",
                &*path,
            ];
            let found = read_plugin_manifests(all, |_| Ok(manifest.to_owned()));
            for group in &found.groups {
                let mut named = group.skills.iter().chain(&group.commands);
                prop_assert!(named.all(|it| !it.split('/').any(|part| part == "..")));
            }
        }
    }
}
