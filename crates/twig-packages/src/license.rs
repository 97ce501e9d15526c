//! The license that a package declares, as an SPDX identifier where it is known. Nobody checked
//! that it is true.

use std::collections::BTreeSet;

use serde_json::Value;
use twig_core::model::SKILL_FILE;
use twig_core::{Limits, depth, front_matter};

/// Characters of a license.
const LONGEST: usize = 100;

/// Bytes of a manifest that is read.
const LONGEST_MANIFEST: usize = 1024 * 1024;

/// Manifests with the license of the whole package, the most specific first.
const MANIFESTS: [&str; 5] = [
    ".claude-plugin/plugin.json",
    "plugin.json",
    ".codex-plugin/plugin.json",
    ".cursor-plugin/plugin.json",
    "package.json",
];

/// Names of files with the text of a license, without their endings.
const LICENSE_FILES: [&str; 5] = ["license", "licence", "copying", "unlicense", "license-mit"];

/// The start of a license that is searched, in bytes.
const START: usize = 2048;

/// Words at the start of a license, and its identifier. The first that fits counts, so longer names
/// come before those that they contain.
const STARTS: [(&[&str], &str); 20] = [
    (
        &["gnu affero general public license", "version 3"],
        "AGPL-3.0",
    ),
    (
        &["gnu lesser general public license", "version 3"],
        "LGPL-3.0",
    ),
    (
        &["gnu lesser general public license", "version 2.1"],
        "LGPL-2.1",
    ),
    (&["gnu library general public license"], "LGPL-2.0"),
    (&["gnu general public license", "version 3"], "GPL-3.0"),
    (&["gnu general public license", "version 2"], "GPL-2.0"),
    (&["mozilla public license", "2.0"], "MPL-2.0"),
    (&["apache license", "version 2.0"], "Apache-2.0"),
    (&["cc0 1.0 universal"], "CC0-1.0"),
    (&["creative commons zero v1.0"], "CC0-1.0"),
    (&["attribution-noncommercial"], "CC-BY-NC"),
    (&["attribution-sharealike 4.0"], "CC-BY-SA-4.0"),
    (&["attribution-noderivatives 4.0"], "CC-BY-ND-4.0"),
    (&["attribution 4.0 international"], "CC-BY-4.0"),
    (
        &["free and unencumbered software released into the public domain"],
        "Unlicense",
    ),
    (
        &[
            "redistribution and use in source and binary forms",
            "neither the name",
        ],
        "BSD-3-Clause",
    ),
    (
        &["redistribution and use in source and binary forms"],
        "BSD-2-Clause",
    ),
    (
        &["permission to use, copy, modify, and/or distribute this software"],
        "ISC",
    ),
    (
        &["permission to use, copy, modify, and distribute this software"],
        "ISC",
    ),
    (
        &[
            "permission is hereby granted, free of charge",
            "without restriction",
        ],
        "MIT",
    ),
];

/// The license that a package declares: in its manifest, in its license file, or in all of its
/// skills that name one.
///
/// Different licenses of skills are listed, or called `several` if they are too many.
pub fn declared_license<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Option<String> {
    let mut manifest: Option<(usize, String)> = None;
    let mut whole: Option<String> = None;
    let mut parts = BTreeSet::new();
    for (path, text) in files {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if let Some(rank) = MANIFESTS.iter().position(|known| *known == path) {
            let better = manifest.as_ref().is_none_or(|(found, _)| rank < *found);
            if let Some(license) = manifest_license(text).filter(|_| better) {
                manifest = Some((rank, license));
            }
        } else if is_license_file(name) {
            match license_of_text(text) {
                Some(license) if folder.is_empty() => whole = whole.or(Some(license.to_owned())),
                Some(license) => drop(parts.insert(license.to_owned())),
                None => {}
            }
        } else if name.eq_ignore_ascii_case(SKILL_FILE) {
            parts.extend(skill_license(text));
        }
    }
    let manifest = manifest.map(|(_, license)| license);
    manifest.or(whole).or_else(|| joined(&parts))
}

fn joined(parts: &BTreeSet<String>) -> Option<String> {
    let length: usize = parts.iter().map(|part| part.chars().count() + 2).sum();
    match parts.len() {
        0 => None,
        1.. if length <= LONGEST + 2 => Some(
            parts
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", "),
        ),
        _ => Some("several".to_owned()),
    }
}

fn manifest_license(text: &str) -> Option<String> {
    if text.len() > LONGEST_MANIFEST || depth::json(text).is_err() {
        return None;
    }
    let manifest: Value = serde_json::from_str(text).ok()?;
    let license = manifest.get("license")?;
    // Old packages of npm have an object.
    let license = license.as_str().or_else(|| license.get("type")?.as_str())?;
    cleaned(license)
}

fn skill_license(text: &str) -> Option<String> {
    let front = front_matter::split(text).front?;
    let fields = front_matter::read_block(&text[front], &Limits::default()).fields;
    fields.word("license").and_then(cleaned)
}

fn is_license_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let stem = ["", ".md", ".txt", ".rst"].iter().find_map(|ending| {
        let stem = name.strip_suffix(ending)?;
        LICENSE_FILES.contains(&stem).then_some(stem)
    });
    stem.is_some()
}

/// The license whose words are at the start of a text.
fn license_of_text(text: &str) -> Option<&'static str> {
    let mut end = text.len().min(START);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let words: Vec<&str> = text[..end].split_whitespace().collect();
    let start = words.join(" ").to_lowercase();
    let mut known = STARTS.iter();
    let found = known.find(|(words, _)| words.iter().all(|word| start.contains(word)));
    found.map(|(_, license)| *license)
}

/// A license as declared, on one line, without control characters, and not too long.
fn cleaned(license: &str) -> Option<String> {
    let words: Vec<&str> = license.split_whitespace().collect();
    let text = words.join(" ");
    let text: String = text
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST)
        .collect();
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIT: &str = "MIT License\n\nCopyright (c) 2026 Someone\n\nPermission is hereby granted, \
        free of charge, to any person obtaining a copy\nof this software and associated \
        documentation files (the \"Software\"), to deal\nin the Software without restriction";

    #[test]
    fn a_manifest_comes_before_a_license_file_and_that_before_skills() {
        let skill = ("skills/a/SKILL.md", "---\nname: a\nlicense: ISC\n---\n");
        let file = ("LICENSE", MIT);
        let manifest = ("package.json", r#"{"license": "Apache-2.0"}"#);
        let plugin = (
            ".claude-plugin/plugin.json",
            r#"{"license": {"type": "0BSD"}}"#,
        );
        let cases = [
            (vec![skill, file, manifest, plugin], Some("0BSD")),
            (vec![skill, file, manifest], Some("Apache-2.0")),
            (vec![skill, file], Some("MIT")),
            (vec![skill], Some("ISC")),
            (vec![skill, ("skills/b/LICENSE.txt", MIT)], Some("ISC, MIT")),
            (vec![("LICENSE", "All rights reserved")], None),
            (
                vec![("package.json", "{"), ("x/package.json", manifest.1)],
                None,
            ),
        ];
        for (files, expected) in cases {
            assert_eq!(declared_license(files).as_deref(), expected);
        }
    }

    #[test]
    fn texts_are_known_by_their_first_words() {
        let bsd = "Redistribution and use in source and binary forms, with or without";
        let texts = [
            ("Apache License\n   Version 2.0, January 2004", "Apache-2.0"),
            (
                "GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007",
                "GPL-3.0",
            ),
            (
                "GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991",
                "GPL-2.0",
            ),
            ("GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3", "AGPL-3.0"),
            (
                "GNU LESSER GENERAL PUBLIC LICENSE\n Version 2.1",
                "LGPL-2.1",
            ),
            ("Mozilla Public License Version 2.0\n===", "MPL-2.0"),
            (
                "Creative Commons Legal Code\n\nCC0 1.0 Universal",
                "CC0-1.0",
            ),
            ("Attribution 4.0 International\n\n===", "CC-BY-4.0"),
            ("Attribution-ShareAlike 4.0 International", "CC-BY-SA-4.0"),
            (
                "This is free and unencumbered software released into the\npublic domain.",
                "Unlicense",
            ),
            (bsd, "BSD-2-Clause"),
            (&format!("{bsd}\n3. Neither the name of"), "BSD-3-Clause"),
            (
                "Permission to use, copy, modify, and/or distribute this software for",
                "ISC",
            ),
            (MIT, "MIT"),
        ];
        for (text, license) in texts {
            assert_eq!(license_of_text(text), Some(license), "{text}");
        }
    }

    #[test]
    fn what_is_declared_is_one_short_line() {
        let skill = format!("---\nlicense: \"a\\e[31m\\n{}\"\n---\n", "b".repeat(200));
        let license = declared_license([("SKILL.md", &*skill)]).unwrap();
        assert_eq!(license.chars().count(), LONGEST);
        assert!(license.starts_with("a[31m b"), "{license}");
        let many: Vec<(String, String)> = (0..50)
            .map(|at| {
                (
                    format!("s{at}/SKILL.md"),
                    format!("---\nlicense: license-{at}\n---\n"),
                )
            })
            .collect();
        let many = many.iter().map(|(path, text)| (&**path, &**text));
        assert_eq!(declared_license(many).as_deref(), Some("several"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(text in "(?s).{0,200}", at in 0..5_usize) {
            let paths = ["LICENSE", "SKILL.md", "package.json", "plugin.json", "a/COPYING.md"];
            let license = declared_license([(paths[at], &*text)]);
            prop_assert!(license.is_none_or(|it| it.chars().count() <= LONGEST));
        }
    }
}
