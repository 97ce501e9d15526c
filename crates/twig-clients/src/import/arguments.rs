//! Turns the names of placeholders in other formats into arguments that a template can use.

use std::collections::BTreeSet;

use twig_core::argument::Argument;
use twig_core::name::check_argument_name;
use twig_core::render::check_value;

/// The longest name made from other words.
const LENGTH: usize = 64;

/// The arguments of one prompt while it is read.
#[derive(Debug)]
pub(super) struct DraftArguments {
    known: Vec<KnownArgument>,
    limit: usize,
    is_full: bool,
}

#[derive(Debug)]
struct KnownArgument {
    written: String,
    argument: Argument,
    is_declared: bool,
    is_used: bool,
}

impl DraftArguments {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            known: Vec::new(),
            limit,
            is_full: false,
        }
    }

    /// Adds the declaration of an argument; the first one counts.
    pub(super) fn declare(&mut self, written: &str, argument: Argument) {
        if self.find(written).is_some() || self.known.len() >= 4 * self.limit {
            return;
        }
        let name = self.free_name(written);
        self.known.push(KnownArgument {
            written: written.to_owned(),
            argument: Argument {
                name: name.into(),
                ..argument
            },
            is_declared: true,
            is_used: false,
        });
    }

    /// The name of an argument in the template; `None` if there are too many.
    pub(super) fn used(&mut self, written: &str) -> Option<String> {
        let count = self.known.iter().filter(|known| known.is_used).count();
        let found = self.find(written);
        if count >= self.limit && !found.is_some_and(|at| self.known[at].is_used) {
            self.is_full = true;
            return None;
        }
        let at = found.unwrap_or_else(|| {
            let name = self.free_name(written);
            self.known.push(KnownArgument {
                written: written.to_owned(),
                argument: Argument {
                    name: name.into(),
                    ..Argument::default()
                },
                is_declared: false,
                is_used: false,
            });
            self.known.len() - 1
        });
        self.known[at].is_used = true;
        Some(self.known[at].argument.name.to_string())
    }

    /// True if the text uses an argument of that name.
    pub(super) fn is_used(&self, written: &str) -> bool {
        self.find(written).is_some_and(|at| self.known[at].is_used)
    }

    /// True if the argument has a default.
    pub(super) fn has_default(&self, written: &str) -> bool {
        let found = self.find(written);
        found.is_some_and(|at| self.known[at].argument.default.is_some())
    }

    /// Sets the default of an argument that has none; returns whether it has this default now.
    pub(super) fn offer_default(&mut self, written: &str, default: &str) -> bool {
        let Some(at) = self.find(written) else {
            return false;
        };
        let argument = &mut self.known[at].argument;
        &**argument.default.get_or_insert_with(|| default.into()) == default
    }

    /// Sets the description of an argument that has none.
    pub(super) fn describe(&mut self, written: &str, description: &str) {
        if let Some(at) = self.find(written) {
            let argument = &mut self.known[at].argument;
            argument
                .description
                .get_or_insert_with(|| description.into());
        }
    }

    /// A schema declares both objects and their fields: removes those of which only the other is
    /// used.
    pub(super) fn drop_unused_parts(&mut self) {
        let used: Vec<String> = self
            .known
            .iter()
            .filter(|known| known.is_used)
            .map(|known| known.written.clone())
            .collect();
        let is_near = |written: &str| {
            used.iter().any(|other| {
                let starts = |long: &str, short: &str| {
                    long.strip_prefix(short)
                        .is_some_and(|rest| rest.starts_with('.'))
                };
                starts(other, written) || starts(written, other)
            })
        };
        self.known
            .retain(|known| known.is_used || !is_near(&known.written));
    }

    /// The used arguments, declared ones first; reports changes.
    pub(super) fn finish(self, changes: &mut Vec<String>) -> Vec<Argument> {
        if self.is_full {
            changes.push(format!(
                "it has more than {} placeholders; the others stay as they were written",
                self.limit
            ));
        }
        let (declared, others): (Vec<KnownArgument>, Vec<KnownArgument>) =
            self.known.into_iter().partition(|known| known.is_declared);
        let mut arguments = Vec::new();
        for known in declared.into_iter().chain(others) {
            let KnownArgument {
                written,
                mut argument,
                is_declared,
                is_used,
            } = known;
            if !is_used {
                if is_declared {
                    changes.push(format!(
                        "`{written}` does not occur in its text and is no argument"
                    ));
                }
                continue;
            }
            if *written != *argument.name {
                changes.push(format!("`{written}` is called `{}`", argument.name));
            }
            settle(&mut argument, changes);
            arguments.push(argument);
        }
        arguments
    }

    fn find(&self, written: &str) -> Option<usize> {
        self.known.iter().position(|known| known.written == written)
    }

    fn free_name(&self, written: &str) -> String {
        let taken: BTreeSet<&str> = self.known.iter().map(|it| &*it.argument.name).collect();
        let name = identifier(written);
        if !taken.contains(name.as_str()) {
            return name;
        }
        let mut number = 2_usize;
        loop {
            let next = format!("{name}_{number}");
            if !taken.contains(next.as_str()) {
                return next;
            }
            number += 1;
        }
    }
}

/// A name that templates can use: unchanged if it is valid already.
fn identifier(written: &str) -> String {
    if written.len() <= LENGTH && check_argument_name(written).is_ok() {
        return written.to_owned();
    }
    let latin = deunicode::deunicode_with_tofu(written, "_");
    let mut name = String::new();
    for c in latin.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        if name.len() >= LENGTH {
            break;
        }
    }
    let name = name.trim_end_matches('_');
    let name = match name.bytes().next() {
        None => "value".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name.to_owned(),
    };
    match check_argument_name(&name) {
        Ok(()) => name,
        Err(_) => format!("{name}_"),
    }
}

/// Removes values that break the argument's own rules: such a prompt would not be served.
fn settle(argument: &mut Argument, changes: &mut Vec<String>) {
    let Argument { name, .. } = &*argument;
    let name = name.clone();
    let bare = Argument {
        default: None,
        choices: Vec::new(),
        ..argument.clone()
    };
    let before = argument.choices.len();
    argument
        .choices
        .retain(|choice| check_value(&bare, choice).is_ok());
    if argument.choices.len() < before {
        changes.push(format!(
            "choices of `{name}` break its own rule and are left out"
        ));
    }
    let default = argument.default.take();
    match default {
        Some(default) if check_value(argument, &default).is_err() => {
            changes.push(format!(
                "the default of `{name}` breaks its own rule and is left out"
            ));
        }
        default => argument.default = default,
    }
    if argument.default.is_some() {
        argument.required = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers() {
        for (written, name) in [
            ("projectName", "projectName"),
            ("Mother Language", "mother_language"),
            ("points clés", "points_cles"),
            ("名称", "ming_cheng"),
            ("in", "in_"),
            ("2d", "_2d"),
            ("?", "value"),
            ("Brand's core product", "brand_s_core_product"),
        ] {
            assert_eq!(identifier(written), name);
        }
    }

    #[test]
    fn names_that_become_one_are_kept_apart() {
        let mut arguments = DraftArguments::new(2);
        assert_eq!(arguments.used("a b").as_deref(), Some("a_b"));
        assert_eq!(arguments.used("a-b").as_deref(), Some("a_b_2"));
        assert_eq!(arguments.used("a b").as_deref(), Some("a_b"));
        assert_eq!(arguments.used("c"), None);
    }
}
