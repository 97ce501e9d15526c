//! Cases in text files: sections that begin with a line `=== WORD NAME`.

use std::fmt::Write;
use std::path::Path;

/// One section of a case.
pub(crate) struct Section {
    pub(crate) word: String,
    pub(crate) name: String,
    /// What follows up to the next section, without the line end before that.
    pub(crate) text: String,
}

pub(crate) fn sections(path: &Path) -> Vec<Section> {
    let case = std::fs::read_to_string(path).expect("readable");
    let case = format!("\n{}", case.strip_suffix('\n').unwrap_or(&case));
    let sections = case.split("\n=== ").skip(1);
    sections
        .map(|section| {
            let (head, text) = section.split_once('\n').unwrap_or((section, ""));
            let (word, name) = head.split_once(' ').expect("a word and a name");
            Section {
                word: word.to_owned(),
                name: name.to_owned(),
                text: text.to_owned(),
            }
        })
        .collect()
}

impl Section {
    /// Values of arguments, a line each: a name, `=` and a JSON string.
    pub(crate) fn values(&self) -> Vec<(&str, String)> {
        let values = self.text.lines().map(|line| {
            let (name, value) = line.split_once('=').expect("a value");
            (name, serde_json::from_str(value).expect("a string"))
        });
        values.collect()
    }
}

/// Shows a text with visible line ends and spaces.
pub(crate) fn lines(text: &str, shown: &mut String) {
    for line in text.split_inclusive('\n') {
        let _ = writeln!(shown, "    {line:?}");
    }
}

/// Shows an argument.
pub(crate) fn argument(argument: &twig_core::Argument, shown: &mut String) {
    let _ = write!(shown, "  argument: {}", argument.name);
    if argument.required {
        shown.push_str(" required");
    }
    let pattern = argument.pattern.as_ref();
    let length = argument.max_length.map(|length| length.to_string());
    for (label, value) in [
        ("description", argument.description.as_deref()),
        ("default", argument.default.as_deref()),
        ("max_length", length.as_deref()),
        ("pattern", pattern.map(twig_core::argument::Pattern::as_str)),
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
