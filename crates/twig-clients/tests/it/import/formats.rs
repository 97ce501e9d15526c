//! Each format with its traps: a file a case in `fixtures/import`, and what does not fit a text file.
//!
//! A case has sections: `=== file PATH` is a file of the import, `=== format WORD` the format that a
//! person names, `=== render NAME` a prompt to render with the values on the lines below it. The line
//! end before a section is not part of the text.

use std::fmt::Write;
use std::path::Path;

use twig_clients::import::{Format, Item};
use twig_testkit::assert_linear;

use super::{Kept, one, outcome, rendered, taken};

/// What an import makes of a case.
fn show(path: &Path) -> String {
    let case = std::fs::read_to_string(path).expect("readable");
    let case = format!("\n{case}");
    let mut files = Vec::new();
    let mut format = None;
    let mut renders = Vec::new();
    for section in case.split("\n=== ").skip(1) {
        let (head, text) = section.split_once('\n').unwrap_or((section, ""));
        match head.split_once(' ').expect("a word and a name") {
            ("file", path) => files.push((path, text)),
            ("format", word) => format = Format::ALL.into_iter().find(|it| it.as_str() == word),
            ("render", name) => renders.push((name, text)),
            (word, _) => panic!("{word} is no section"),
        }
    }
    // The line end of the case itself.
    if let (Some((_, last)), true) = (files.last_mut(), renders.is_empty()) {
        *last = last.strip_suffix('\n').unwrap_or(last);
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
    for (name, values) in renders {
        let values: Vec<(&str, String)> = values
            .lines()
            .map(|line| {
                let (name, value) = line.split_once('=').expect("a value");
                (name, serde_json::from_str(value).expect("a string"))
            })
            .collect();
        let values: Vec<(&str, &str)> = values
            .iter()
            .map(|(name, value)| (*name, &**value))
            .collect();
        let _ = writeln!(shown, "render {name} {values:?}");
        lines(&kept.render(name, &values), &mut shown);
    }
    shown
}

fn show_item(item: &Item, shown: &mut String) {
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
            for argument in &prompt.arguments {
                let _ = write!(shown, "  argument: {}", argument.name);
                if argument.required {
                    shown.push_str(" required");
                }
                let pattern = argument.pattern.as_ref().map(|pattern| pattern.as_str());
                let length = argument.max_length.map(|length| length.to_string());
                for (label, value) in [
                    ("description", argument.description.as_deref()),
                    ("default", argument.default.as_deref()),
                    ("max_length", length.as_deref()),
                    ("pattern", pattern),
                ] {
                    if let Some(value) = value {
                        let _ = write!(shown, " {label}={value:?}");
                    }
                }
                if !argument.choices.is_empty() {
                    let _ = write!(shown, " choices={:?}", argument.choices);
                }
                shown.push('\n');
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

/// A text, so that its line ends and blanks can be seen.
fn lines(text: &str, shown: &mut String) {
    for line in text.split_inclusive('\n') {
        let _ = writeln!(shown, "    {line:?}");
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
        ["characters that nobody sees are left out of its title"]
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
