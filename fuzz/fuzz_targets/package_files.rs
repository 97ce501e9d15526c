//! Any lock is read or refused with a reason, any file of another installer is taken over or refused
//! with one, and nothing that comes out leads out of a package.
#![no_main]

mod deep;

use libfuzzer_sys::fuzz_target;
use twig_packages::other_locks::{gh_skill_origin, same_skill, without_gh_metadata};
use twig_packages::skills_index::resolve_url;
use twig_packages::tree::path_trouble;
use twig_packages::{PackageLock, PackageSpec, PackageTree, SkillsIndex, read_archive, read_other_lock, read_plugin_manifests};

const LOCKS: [&str; 6] =
    ["skills-lock.json", ".skill-lock.json", "apm.yml", "apm.lock.yaml", "rulesync.lock", "other"];

const MANIFESTS: [&str; 9] = [
    ".claude-plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
    ".cursor-plugin/marketplace.json",
    ".claude-plugin/plugin.json",
    "plugins/a/.codex-plugin/plugin.json",
    "plugin.json",
    "gemini-extension.json",
    "plugins/a/skills/x/SKILL.md",
    "plugins/b/hooks/hooks.json",
];

const INDEX: &str = "https://hub.example.com/.well-known/agent-skills/index.json";

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    if first % 5 == 4 {
        let Some(text) = deep::text(rest) else { return };
        return own(&text);
    }
    if first % 5 == 3 {
        for file in read_archive(rest).unwrap_or_default() {
            assert_eq!(path_trouble(&file.path), None);
        }
        return;
    }
    let Some(text) = deep::text(rest) else { return };
    match first % 5 {
        0 => locks(&text),
        1 => manifests(&text),
        _ => index(&text),
    }
});

/// The lock, the list of a package's files, and sources.
fn own(text: &str) {
    if let Ok(lock) = PackageLock::parse(text) {
        let again = PackageLock::parse(&lock.to_text());
        assert_eq!(again.as_ref(), Ok(&lock));
    }
    let _ = PackageLock::sides(text);
    if let Some(tree) = PackageTree::parse(text) {
        assert_eq!(tree.to_text(), text);
        assert!(tree.files().iter().all(|file| path_trouble(&file.path).is_none()));
    }
    for line in text.lines().take(20) {
        if let Ok(spec) = PackageSpec::parse(line) {
            let url = spec.source.git_url().unwrap_or_default();
            assert!(!url.starts_with('-') && !url.contains(char::is_whitespace));
            assert!(spec.reference.is_none_or(|it| !it.starts_with('-')));
        }
    }
}

fn locks(text: &str) {
    for name in LOCKS {
        let Ok(lock) = read_other_lock(name, text) else { continue };
        assert!(lock.refused.iter().all(|(_, reason)| !reason.is_empty()));
        for want in lock.wants {
            assert!(!want.source.is_local());
            assert!(want.path.is_none_or(|path| !path.as_str().split('/').any(|part| part == "..")));
            assert!(!want.only.iter().any(|name| name.contains('*')));
        }
    }
    let _ = gh_skill_origin(text);
    assert!(same_skill(text, text));
    let _ = without_gh_metadata(text);
}

fn manifests(text: &str) {
    let found = read_plugin_manifests(MANIFESTS, |_| Ok(text.to_owned()));
    for group in found.groups {
        let mut named = group.skills.iter().chain(&group.commands);
        assert!(named.all(|path| !path.starts_with('/') && !path.split('/').any(|part| part == "..")));
    }
    assert!(found.problems.iter().all(|(_, problem)| !problem.is_empty()));
}

fn index(text: &str) {
    if let Ok(index) = SkillsIndex::parse(text) {
        for skill in index.skills {
            let urls = skill.urls(INDEX).unwrap_or_default();
            assert!(urls.iter().all(|(_, url)| url.starts_with("https://")));
        }
    }
    if let Ok(url) = resolve_url(INDEX, text) {
        assert_eq!(resolve_url(INDEX, &url), Ok(url));
    }
}
