//! Each format with its traps: a file a case in `fixtures/import`, and what does not fit a text file.
//!
//! In a case `=== file PATH` is a file of the import, `=== format WORD` the format that a person
//! names, and `=== render NAME` a prompt to render with the values on the lines below it.

use std::fmt::Write;
use std::path::Path;

use twig_clients::import::{ImportFormat, ImportItem};
use twig_testkit::assert_linear;

use super::{Kept, one, outcome, rendered, taken};
use crate::fixture::{argument, lines, sections};

/// What an import makes of a case.
fn show(path: &Path) -> String {
    let sections = sections(path);
    let mut files = Vec::new();
    let mut format = None;
    let mut renders = Vec::new();
    for section in &sections {
        let name = section.name.as_str();
        match section.word.as_str() {
            "file" => files.push((name, section.text.as_str())),
            "format" => format = ImportFormat::ALL.into_iter().find(|it| it.as_str() == name),
            "render" => renders.push(section),
            word => panic!("{word} is no section"),
        }
    }
    let outcome = outcome(&files, format);
    let mut shown = String::new();
    for (path, why) in &outcome.others {
        let _ = writeln!(shown, "other {path}: {why}");
    }
    for item in &outcome.items {
        show_item(item, &mut shown);
    }
    let kept = Kept::of(&outcome.items);
    for problem in kept.problems() {
        let _ = writeln!(shown, "{problem}");
    }
    for section in renders {
        let (name, values) = (&section.name, section.values());
        let _ = writeln!(shown, "render {name} {values:?}");
        let values = values.iter().map(|(name, value)| (*name, &**value));
        lines(&kept.render(name, &values.collect::<Vec<_>>()), &mut shown);
    }
    shown
}

fn show_item(item: &ImportItem, shown: &mut String) {
    let _ = writeln!(shown, "{}", item.from);
    match &item.prompt {
        Err(why) => {
            let _ = writeln!(shown, "  left: {why}");
        }
        Ok(prompt) => {
            let _ = writeln!(shown, "  name: {}", prompt.name);
            for (label, text) in [
                ("title", &prompt.title),
                ("description", &prompt.description),
            ] {
                if let Some(text) = text {
                    let _ = writeln!(shown, "  {label}: {text:?}");
                }
            }
            for it in &prompt.arguments {
                argument(it, shown);
            }
            for message in &prompt.messages {
                let form = if prompt.is_template {
                    "template"
                } else {
                    "text"
                };
                let _ = writeln!(shown, "  {} {form}:", message.role.as_str());
                lines(&message.text, shown);
            }
        }
    }
    for change in &item.changes {
        let _ = writeln!(shown, "  changed: {change}");
    }
    for note in &item.notes {
        let _ = writeln!(shown, "  note: {note}");
    }
}

#[test]
fn fixtures() {
    insta::glob!("../../fixtures/import", "*.txt", |path| {
        insta::assert_snapshot!(show(path));
    });
}

fn left(path: &str, text: &str) -> String {
    match one(path, text).prompt {
        Err(why) => why,
        Ok(prompt) => panic!("{path} is taken: {prompt:?}"),
    }
}

#[test]
fn a_large_prompt_keeps_its_text_and_loses_its_arguments() {
    let prompt = format!("${{name}} {}", "word ".repeat(30_000));
    let text = format!("act,prompt\nx,{prompt}\n");
    let item = one("a.csv", &text);
    assert!(taken(&item).arguments.is_empty() && !taken(&item).is_template);
    let change = "it is taken as it is, without arguments: a template may have 131072 bytes";
    assert_eq!(item.changes, [change]);
    let larger = format!("act,prompt\nx,{}\n", "word ".repeat(300_000));
    let why = left("a.csv", &larger);
    assert_eq!(why, "it is longer than the limit of 1048576 bytes");
}

#[test]
fn titles_and_descriptions_hide_nothing() {
    let text = "act,prompt\n\"Ti\u{200b}tle\u{1b}\",\"Te\u{202e}xt\"\n";
    let item = one("a.csv", text);
    let prompt = taken(&item);
    assert_eq!(prompt.title.as_deref(), Some("Title"));
    assert_eq!(prompt.description.as_deref(), Some("Text"));
    assert_eq!(
        item.changes,
        ["invisible characters are removed from its title"]
    );
    let errors = Kept::of([&item]).problems();
    assert!(
        errors.iter().all(|problem| !problem.contains("error[")),
        "{errors:?}"
    );
}

#[test]
fn go_actions_that_do_not_end_are_text_and_cost_no_time() {
    for open in ["{{ ", "{{/* ", "{{ \"", "{{(((", "{{- `"] {
        let text = |size| open.repeat(size / open.len());
        let is_left = |text: &String| outcome(&[("a.tmpl", text)], None).items[0].prompt.is_err();
        assert_linear(open, 50_000, text, |text| assert!(!is_left(text), "{open}"));
        assert!(is_left(&text(2_000_000)), "{open}");
    }
    let item = one("a.tmpl", "Hi {{.name}} and {{ then");
    assert_eq!(taken(&item).arguments.len(), 1);
    assert_eq!(
        rendered("a.tmpl", "Hi {{.name}} and {{ then", &[("name", "Jo")]),
        "Hi Jo and {{ then"
    );
}

#[test]
fn a_long_action_is_told_in_short() {
    let text = format!("Hi {{{{{}x}}}}", "(".repeat(120_000));
    let item = one("a.tmpl", &text);
    assert!(!item.changes.is_empty());
    let is_short = |change: &String| change.chars().count() < 400;
    assert!(item.changes.iter().all(is_short));
}
