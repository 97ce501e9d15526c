//! Real collections, where they lie beside the project; elsewhere there is nothing to see.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use twig_clients::import::{ImportRequest, SourceFile, read};
use twig_core::{Limits, PromptName};

use super::{Kept, outcome, taken};

#[allow(clippy::print_stderr, reason = "a note for whoever runs the tests")]
fn corpus(path: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = here
        .ancestors()
        .skip(2)
        .map(|folder| folder.join("shared/corpus"));
    let found = places
        .map(|place| place.join(path))
        .find(|path| path.exists());
    if found.is_none() {
        eprintln!("shared/corpus/{path} is not beside the project: nothing was looked at");
    }
    found
}

#[test]
fn every_row_of_the_catalogue_is_taken_or_told() {
    let Some(path) = corpus("prompts-chat/prompts.csv") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let found = outcome(&[("prompts.csv", &text)], None);
    assert_eq!(found.items.len(), 1_486);
    assert_eq!(found, outcome(&[("prompts.csv", &text)], None));
    let mut names = BTreeSet::new();
    let mut left = 0;
    for item in &found.items {
        let Ok(prompt) = &item.prompt else {
            left += 1;
            continue;
        };
        assert!(PromptName::parse(&prompt.name).is_ok() && prompt.name.len() <= 64);
        assert!(names.insert(prompt.name.to_lowercase()), "{}", prompt.name);
        assert!(prompt.description.is_some(), "{}", prompt.name);
        for argument in &prompt.arguments {
            let name = &*argument.name;
            assert!(
                !["HOME", "PATH", "secrets"].contains(&name),
                "{}",
                item.from
            );
        }
    }
    assert!(left < 30, "{left} rows are left");
    let kept = Kept::of(&found.items);
    assert!(kept.manifest.len() < 1024 * 1024, "{}", kept.manifest.len());
    for item in found.items.iter().filter(|item| item.prompt.is_ok()) {
        let prompt = taken(item);
        let text = kept.render(&prompt.name, &[]);
        let mut defaults: Vec<&str> = prompt
            .arguments
            .iter()
            .filter_map(|argument| argument.default.as_deref())
            .collect();
        defaults.sort_by_key(|default| std::cmp::Reverse(default.len()));
        let is_good = is_rendered(&prompt.original, &text, &defaults);
        assert!(is_good, "{}:\n{text}", item.from);
    }
    let errors = kept.problems();
    let errors: Vec<&String> = errors.iter().filter(|it| it.contains(" error[")).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Whether a text is the original with a default, or nothing else, in the place of a placeholder.
fn is_rendered(original: &str, text: &str, defaults: &[&str]) -> bool {
    let (mut original, mut text) = (original, text);
    while let Some(start) = original.find("${") {
        let (before, rest) = original.split_at(start);
        let Some(after) = text.strip_prefix(before) else {
            return false;
        };
        let end = rest.find('}').map_or(2, |end| end + 1);
        // Of `${${name}}` the inner one is the placeholder.
        let end = if rest[2..end].contains("${") { 2 } else { end };
        let (written, rest) = rest.split_at(end);
        let as_written = after.strip_prefix(written);
        let with_default = || defaults.iter().find_map(|it| after.strip_prefix(it));
        let Some(after) = as_written.or_else(with_default) else {
            return false;
        };
        text = after;
        original = rest;
    }
    original == text
}

#[test]
fn every_rule_is_taken_or_told() {
    let Some(folder) = corpus("cursor-rules/.cursor/rules") else {
        return;
    };
    let mut files = Vec::new();
    let mut folders = vec![folder.clone()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "mdc") {
                let name = path.strip_prefix(&folder).unwrap().display().to_string();
                files.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let found = outcome(&files, None);
    assert_eq!((found.items.len(), found.others.len()), (257, 0));
    let left = found
        .items
        .iter()
        .filter_map(|item| item.prompt.as_ref().err());
    let left: Vec<&String> = left.collect();
    let context = left
        .iter()
        .filter(|why| why.ends_with("it is context, not a prompt"));
    // One applies always, 44 go with particular files, and one says nothing.
    assert_eq!((context.count(), left.len()), (45, 46), "{left:?}");
    let kept = Kept::of(&found.items);
    for item in found.items.iter().filter(|item| item.prompt.is_ok()) {
        let prompt = taken(item);
        assert_eq!(kept.render(&prompt.name, &[]), prompt.original);
    }
    let all = files.iter().map(|(path, text)| SourceFile {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    });
    let all: Vec<SourceFile> = all.collect();
    let wish = ImportRequest {
        all_rules: true,
        ..ImportRequest::default()
    };
    let found = read(&all, wish, &Limits::default());
    let kept = Kept::of(&found.items);
    let left = found.items.iter().filter(|item| item.prompt.is_err());
    assert!(left.count() < 5);
    for item in found.items.iter().filter(|item| item.prompt.is_ok()) {
        let prompt = taken(item);
        assert_eq!(kept.render(&prompt.name, &[]), prompt.original);
    }
}
