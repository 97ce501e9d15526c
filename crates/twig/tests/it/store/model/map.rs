//! The plain map: every version of everything, and what may become of it.

use std::collections::BTreeMap;

use super::super::support::Random;

pub(super) const KINDS: [&str; 2] = ["prompt", "resource"];
pub(super) const NAMES: [&str; 4] = ["a", "B", "c.d", "e-f_g"];
const TEXTS: [&str; 4] = ["", "{{ x }}", "ünï\r\ncode\t", "same"];
const URIS: [&str; 3] = ["file:///1", "x:y", "https://example.org/?q=%20"];

/// A kind and a name.
pub(super) type Key = (&'static str, &'static str);

/// A version as the model knows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    pub(super) operation: &'static str,
    pub(super) from: Option<u64>,
    pub(super) text: &'static str,
    pub(super) uri: Option<&'static str>,
    pub(super) description: Option<&'static str>,
}

/// A change that somebody asks for.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Create {
        text: &'static str,
        uri: &'static str,
    },
    Update {
        text: Option<&'static str>,
        description: Option<&'static str>,
    },
    Delete,
    Restore(u64),
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) key: Key,
    pub(super) change: Change,
    pub(super) expected: Option<u64>,
}

/// Every version of everything.
#[derive(Debug, Default, Clone)]
pub(super) struct Model(pub(super) BTreeMap<Key, Vec<Known>>);

impl Model {
    pub(super) fn alive(&self, key: Key) -> Option<&Known> {
        let last = self.0.get(&key).and_then(|versions| versions.last());
        last.filter(|last| last.operation != "delete")
    }

    pub(super) fn count(&self, key: Key) -> u64 {
        self.0.get(&key).map_or(0, Vec::len) as u64
    }

    /// The last version now and whether it is new, or words of the refusal.
    pub(super) fn carry_out(&mut self, step: &Step) -> Result<(u64, bool), &'static str> {
        let count = self.count(step.key);
        let alive = self.alive(step.key).cloned();
        if step.expected.is_some_and(|expected| expected != count) && count > 0 {
            return Err("not at the expected version");
        }
        let missing = "does not exist";
        let mut next = match (&step.change, alive.clone()) {
            (Change::Create { .. }, Some(_)) => return Err("already exists"),
            (Change::Create { text, uri }, None) => Known {
                operation: "create",
                from: None,
                text,
                uri: (step.key.0 == "resource").then_some(uri),
                description: None,
            },
            (Change::Update { text, description }, Some(head)) => Known {
                operation: "update",
                text: text.unwrap_or(head.text),
                description: description.or(head.description),
                ..head
            },
            (Change::Delete, Some(head)) => Known {
                operation: "delete",
                ..head
            },
            (Change::Update { .. } | Change::Delete, None) => return Err(missing),
            (Change::Restore(version), _) => {
                let versions = self.0.get(&step.key).ok_or(missing)?;
                let at = usize::try_from(*version).expect("a small number");
                let wanted = at.checked_sub(1).and_then(|at| versions.get(at));
                Known {
                    operation: "restore",
                    ..wanted.ok_or("has no version")?.clone()
                }
            }
        };
        next.from = match step.change {
            Change::Restore(version) => Some(version),
            _ => None,
        };
        let is_deletion = next.operation == "delete";
        let is_same = |head: &Known| {
            (head.text, head.uri, head.description) == (next.text, next.uri, next.description)
        };
        if !is_deletion && alive.as_ref().is_some_and(is_same) {
            return Ok((count, false));
        }
        let is_taken = |name: &&'static str| {
            let other = self.alive(("resource", name)).and_then(|other| other.uri);
            *name != step.key.1 && other.is_some() && other == next.uri
        };
        if !is_deletion && NAMES.iter().any(is_taken) {
            return Err("is already used by resource");
        }
        self.0.entry(step.key).or_default().push(next);
        Ok((count + 1, true))
    }
}

/// Something to be done, near to what can be done.
pub(super) fn any_step(random: &mut Random, model: &Model) -> Step {
    let key = (random.one_of(&KINDS), random.one_of(&NAMES));
    let change = match random.below(12) {
        0..4 => Change::Create {
            text: random.one_of(&TEXTS),
            uri: random.one_of(&URIS),
        },
        4..8 => {
            let text = Some(random.one_of(&TEXTS)).filter(|_| random.below(4) > 0);
            let described = text.is_none() || random.below(3) == 0;
            let description = described.then(|| random.one_of(&["first", "second"]));
            Change::Update { text, description }
        }
        8..10 => Change::Delete,
        _ => Change::Restore(1 + random.below(9) as u64),
    };
    // Creating and restoring take none.
    let may = matches!(change, Change::Update { .. } | Change::Delete);
    let near = model.count(key) + random.below(2) as u64;
    let expected = (may && random.below(3) == 0).then(|| near.max(1));
    Step {
        key,
        change,
        expected,
    }
}
