//! `arguments:` in front matter: names in a row, a list of names, or a table for each.

use super::arguments::is_argument_name;
use twig_core::argument::{Argument, Pattern};
use twig_core::front_matter::FrontMatterValue;
use twig_core::limits::Limits;
use twig_core::problem::{ProblemCode, Severity, shorten};

/// Remarks: code, severity, message.
type Remarks = Vec<(ProblemCode, Severity, String)>;

/// Remarks on one file that are reported.
const TOLD: usize = 20;

/// Reads the arguments that an author names; invalid ones are reported and ignored.
pub(super) fn declared(
    value: &FrontMatterValue,
    limits: &Limits,
    remarks: &mut Remarks,
) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = Vec::new();
    let mut push = |argument: Argument, remarks: &mut Remarks| {
        if arguments.len() > limits.arguments || remarks.len() > TOLD {
            return;
        }
        let name = shorten(&argument.name.escape_debug().to_string(), 64);
        if !is_argument_name(&argument.name) {
            let message = format!(
                "argument `{name}` is ignored: names have letters a to z, digits, `_` and `-`"
            );
            remarks.push((ProblemCode::BadArgument, Severity::Warning, message));
        } else if arguments.iter().any(|known| known.name == argument.name) {
            let message = format!("argument `{name}` is named twice");
            remarks.push((ProblemCode::BadArgument, Severity::Warning, message));
        } else {
            arguments.push(argument);
        }
    };
    match value {
        FrontMatterValue::Null => {}
        FrontMatterValue::List(items) => {
            for item in items {
                match item {
                    FrontMatterValue::Map(_) => push(object(None, item, remarks), remarks),
                    FrontMatterValue::Null | FrontMatterValue::List(_) => {
                        remarks.push(unreadable());
                    }
                    word => push(named(&word.word().unwrap_or_default()), remarks),
                }
            }
        }
        FrontMatterValue::Map(entries) => {
            for (name, about) in entries {
                let argument = match about {
                    FrontMatterValue::Map(_) => object(Some(name), about, remarks),
                    other => Argument {
                        description: other.word().map(Into::into),
                        ..named(name)
                    },
                };
                push(argument, remarks);
            }
        }
        word => {
            let names = word.word().unwrap_or_default();
            for name in names.split([' ', ',', '\t', '\n']) {
                let name = name.trim_matches(['[', ']', '<', '>']);
                if !name.is_empty() {
                    push(named(name), remarks);
                }
            }
        }
    }
    arguments
}

fn unreadable() -> (ProblemCode, Severity, String) {
    let message = "an entry of `arguments` is ignored: it has no name".to_owned();
    (ProblemCode::BadArgument, Severity::Warning, message)
}

fn named(name: &str) -> Argument {
    Argument {
        name: name.trim().trim_start_matches('$').into(),
        ..Argument::default()
    }
}

/// An argument with all its fields.
fn object(name: Option<&str>, about: &FrontMatterValue, remarks: &mut Remarks) -> Argument {
    let word = |key: &str| about.word_at(key);
    let name = name.map(str::to_owned).or_else(|| word("name"));
    let mut argument = named(&name.unwrap_or_default());
    argument.description = word("description").map(Into::into);
    argument.required = about.get("required").and_then(FrontMatterValue::flag) == Some(true);
    argument.default = word("default").map(Into::into);
    let choices = about
        .get("choices")
        .map(FrontMatterValue::items)
        .unwrap_or_default();
    let choices = choices.iter().filter_map(FrontMatterValue::word);
    argument.choices = choices.map(Into::into).collect();
    let whose = shorten(&argument.name.escape_debug().to_string(), 64);
    let mut refuse = |what: &str, why: &str| {
        let message = format!("the {what} of argument `{whose}` is ignored: {why}");
        remarks.push((ProblemCode::BadArgument, Severity::Warning, message));
    };
    if let Some(length) = word("max_length") {
        match length.parse() {
            Ok(length) => argument.max_length = Some(length),
            Err(_) => refuse("`max_length`", "it is no number"),
        }
    }
    if let Some(pattern) = word("pattern") {
        match Pattern::parse(&pattern) {
            Ok(pattern) => argument.pattern = Some(pattern),
            Err(error) => refuse("`pattern`", &error),
        }
    }
    let default = argument.default.clone();
    if let Some(default) = default
        && let Err(error) = twig_core::render::check_value(&argument, &default)
    {
        refuse("`default`", &error.to_string());
        argument.default = None;
    }
    argument
}
