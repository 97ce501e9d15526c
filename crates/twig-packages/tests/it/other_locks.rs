//! Files of other installers: what is taken over, and why the rest is not.

use std::fmt::Write as _;

use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use twig_packages::other_locks::{gh_skill_origin, same_skill, vercel_hash, without_gh_metadata};
use twig_packages::tree::hex;
use twig_packages::{OtherLock, read_other_lock};

fn report(lock: &OtherLock) -> String {
    let mut report = format!("{} ({})\n", lock.tool, lock.tool.file_name());
    for want in &lock.wants {
        let path = want.path.as_ref().map(ToString::to_string);
        let _ = writeln!(
            report,
            "{} ref={} commit={} path={} only={}",
            want.source,
            want.reference.as_deref().unwrap_or("-"),
            want.commit.as_deref().unwrap_or("-"),
            path.as_deref().unwrap_or("-"),
            want.only.join(",")
        );
        for (name, hash) in &want.content_hashes {
            let _ = writeln!(report, "    {name} {hash}");
        }
    }
    for (name, reason) in &lock.refused {
        let _ = writeln!(report, "refused {name}: {reason}");
    }
    report
}

#[test]
fn files_of_other_tools_are_read() {
    insta::glob!("../fixtures/other_locks", "*.*", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let usual = [
            ".skill-lock.json",
            "skills-lock.json",
            "apm.lock.yaml",
            "apm.yml",
            "rulesync.lock",
        ];
        let usual = usual.iter().find(|end| name.ends_with(**end));
        let read = read_other_lock(usual.unwrap_or(&name), &text);
        let shown = match &read {
            Ok(lock) => report(lock),
            Err(error) => format!("error: {error}\n"),
        };
        insta::assert_snapshot!(shown);
        // The same file under another name is recognised by its content.
        if let Ok(lock) = &read {
            assert_eq!(read_other_lock("other", &text).as_ref(), Ok(lock), "{name}");
        }
    });
}

#[test]
fn the_hash_of_a_skill_has_the_files_in_their_order() {
    let files: [(&str, &[u8]); 5] = [
        ("b.md", b"2"),
        ("SKILL.md", b"3"),
        ("A.md", b"1"),
        (".git/HEAD", b"x"),
        ("node_modules/x/y.js", b"x"),
    ];
    let wanted = Sha256::digest("A.md1b.md2SKILL.md3");
    assert_eq!(vercel_hash(&files), hex(&wanted));
}

const ORIGINAL: &str =
    "---\nname: filter\ndescription: 'Find: it'\nlicense: MIT\n---\n\n# Filter\n\nText.\n";

const INSTALLED: &str = "---\ndescription: 'Find: it'\nlicense: MIT\nmetadata:\n    github-path: skills/filter\n    github-pinned: v1.0.0\n    github-ref: refs/tags/v1.0.0\n    github-repo: https://github.com/example/skills\n    github-tree-sha: 852508c90bde5e11124f12fd97ec579a1bd5a65d\nname: filter\n---\n# Filter\n\nText.\n";

#[test]
fn a_skill_that_gh_installed_is_the_same_skill() {
    assert!(same_skill(ORIGINAL, INSTALLED));
    assert!(!same_skill(ORIGINAL, &INSTALLED.replace("Text", "Test")));
    assert!(!same_skill(ORIGINAL, &INSTALLED.replace("MIT", "ISC")));
    let origin = gh_skill_origin(INSTALLED).unwrap();
    assert_eq!(origin.repo, "https://github.com/example/skills");
    assert_eq!(
        origin.tree_sha.as_deref(),
        Some("852508c90bde5e11124f12fd97ec579a1bd5a65d")
    );
    let spec = origin.package_spec().unwrap();
    assert_eq!(spec.source.to_string(), "github:example/skills");
    assert_eq!(spec.reference.as_deref(), Some("v1.0.0"));
    assert_eq!(spec.path.unwrap().as_str(), "skills/filter");
    assert_eq!(gh_skill_origin(ORIGINAL), None);
}

#[test]
fn the_lines_of_gh_are_taken_out() {
    let plain =
        "---\ndescription: 'Find: it'\nlicense: MIT\nname: filter\n---\n# Filter\n\nText.\n";
    assert_eq!(without_gh_metadata(INSTALLED), plain);
    assert_eq!(without_gh_metadata(plain), plain);
    let mixed =
        "---\nmetadata:\n    author: me\n    github-ref: x\n    version: 1\nname: a\n---\nb\n";
    let kept = "---\nmetadata:\n    author: me\n    version: 1\nname: a\n---\nb\n";
    assert_eq!(without_gh_metadata(mixed), kept);
    assert!(same_skill(mixed, kept));
}

proptest! {
    #[test]
    fn no_text_is_too_much(text in "\\PC{0,200}|(---\n)?([a-z-]{1,8}: ?[\\[{\"a-z0-9.#/-]{0,9}\n){0,6}(---\n)?") {
        for name in ["skills-lock.json", ".skill-lock.json", "apm.yml", "apm.lock.yaml", "rulesync.lock", "x"] {
            let _ = read_other_lock(name, &text);
        }
        let _ = gh_skill_origin(&text);
        prop_assert!(same_skill(&text, &text));
        let once = without_gh_metadata(&text);
        prop_assert_eq!(without_gh_metadata(&once), once.clone());
    }

    #[test]
    fn any_source_is_taken_or_refused(source in "\\PC{0,40}|[a-z@:#./^~-]{0,20}", kind in "github|git|gitlab|well-known|local|\\PC{0,5}", path in "\\PC{0,20}") {
        let entry = serde_json::json!({ "source": source, "sourceType": kind, "skillPath": path });
        let text = serde_json::json!({ "version": 1, "skills": { "one": entry } }).to_string();
        let lock = read_other_lock("skills-lock.json", &text).unwrap();
        prop_assert_eq!(lock.wants.len() + lock.refused.len(), 1);
        let text = serde_json::json!({ "sources": { source.clone(): {} } }).to_string();
        let lock = read_other_lock("rulesync.lock", &text).unwrap();
        prop_assert_eq!(lock.wants.len() + lock.refused.len(), 1);
        let text = serde_json::json!({ "dependencies": { "apm": [source] } }).to_string();
        let _ = read_other_lock("apm.yml", &text);
    }
}
