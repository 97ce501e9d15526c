//! The store against a plain map: the same answers, whatever is done, also after it was closed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use twig_core::store::{
    Author, Change, GivenContent, ItemDraft, ItemKind, Operation, Patch, Store, StoreError,
    Version, Write, Written,
};

use super::support::*;

/// One thing that somebody does.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Create(ItemKind, usize, usize, usize),
    Update(ItemKind, usize, usize, Option<u64>),
    MoveUri(usize, usize),
    Delete(ItemKind, usize),
    Restore(ItemKind, usize, u64),
    Rename,
    Reopen,
    Check,
}

const NAMES: [&str; 4] = ["a", "B", "c.d", "e-f_g"];
const TEXTS: [&str; 4] = ["", "{{ x }}", "ünï\r\ncode\t", "same"];
const URIS: [&str; 3] = ["file:///1", "x:y", "https://example.org/?q=%20"];

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(ItemKind::Prompt), Just(ItemKind::Resource)];
    let (item, body, uri) = (0..NAMES.len(), 0..TEXTS.len(), 0..URIS.len());
    let expected = proptest::option::weighted(0.3, 0..5_u64);
    prop_oneof![
        4 => (kind.clone(), item.clone(), body.clone(), uri.clone())
            .prop_map(|(kind, item, body, uri)| Step::Create(kind, item, body, uri)),
        4 => (kind.clone(), item.clone(), body, expected)
            .prop_map(|(kind, item, body, expected)| Step::Update(kind, item, body, expected)),
        1 => (item.clone(), uri).prop_map(|(item, uri)| Step::MoveUri(item, uri)),
        2 => (kind.clone(), item.clone()).prop_map(|(kind, item)| Step::Delete(kind, item)),
        3 => (kind, item, 0..6_u64)
            .prop_map(|(kind, item, version)| Step::Restore(kind, item, version)),
        1 => Just(Step::Rename),
        1 => Just(Step::Reopen),
        2 => Just(Step::Check),
    ]
}

/// A version as the model knows it.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    operation: &'static str,
    from: Option<u64>,
    text: &'static str,
    uri: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Model(BTreeMap<(ItemKind, &'static str), Vec<Known>>);

impl Model {
    fn head(&self, kind: ItemKind, item: &'static str) -> Option<&Known> {
        self.0
            .get(&(kind, item))
            .and_then(|versions| versions.last())
    }

    fn alive(&self, kind: ItemKind, item: &'static str) -> Option<&Known> {
        let head = self.head(kind, item);
        head.filter(|head| head.operation != "delete")
    }

    /// Whether a resource of another name has this URI now.
    fn is_taken(&self, item: &str, uri: Option<&str>) -> bool {
        uri.is_some_and(|uri| {
            NAMES.iter().any(|other| {
                let head = self.alive(ItemKind::Resource, other);
                *other != item && head.is_some_and(|head| head.uri == Some(uri))
            })
        })
    }

    /// Appends a version, or says that it would be the same or is refused.
    fn push(
        &mut self,
        kind: ItemKind,
        item: &'static str,
        next: Known,
    ) -> Result<bool, &'static str> {
        let is_same = self.alive(kind, item).is_some_and(|head| {
            next.operation != "delete" && head.text == next.text && head.uri == next.uri
        });
        if is_same {
            return Ok(false);
        }
        if next.operation != "delete" && self.is_taken(item, next.uri) {
            return Err("taken");
        }
        self.0.entry((kind, item)).or_default().push(next);
        Ok(true)
    }

    fn carry_out(&mut self, step: &Step) -> Result<bool, &'static str> {
        match *step {
            Step::Create(kind, item, body, uri) => {
                if self.alive(kind, NAMES[item]).is_some() {
                    return Err("exists");
                }
                let next = Known {
                    operation: "create",
                    from: None,
                    text: TEXTS[body],
                    uri: (kind == ItemKind::Resource).then_some(URIS[uri]),
                };
                self.push(kind, NAMES[item], next)
            }
            Step::Update(kind, item, body, expected) => {
                let versions = self.0.get(&(kind, NAMES[item])).map_or(0, Vec::len) as u64;
                if versions > 0 && expected.is_some_and(|expected| expected != versions) {
                    return Err("stale");
                }
                let head = self.alive(kind, NAMES[item]).ok_or("missing")?.clone();
                let next = Known {
                    operation: "update",
                    from: None,
                    text: TEXTS[body],
                    ..head
                };
                self.push(kind, NAMES[item], next)
            }
            Step::MoveUri(item, uri) => {
                let head = self.alive(ItemKind::Resource, NAMES[item]);
                let next = Known {
                    operation: "update",
                    from: None,
                    uri: Some(URIS[uri]),
                    ..head.ok_or("missing")?.clone()
                };
                self.push(ItemKind::Resource, NAMES[item], next)
            }
            Step::Delete(kind, item) => {
                let next = Known {
                    operation: "delete",
                    from: None,
                    ..self.alive(kind, NAMES[item]).ok_or("missing")?.clone()
                };
                self.push(kind, NAMES[item], next)
            }
            Step::Restore(kind, item, version) => {
                let versions = self.0.get(&(kind, NAMES[item])).ok_or("missing")?;
                let at = usize::try_from(version).unwrap().checked_sub(1);
                let wanted = at.and_then(|at| versions.get(at)).ok_or("no version")?;
                let next = Known {
                    operation: "restore",
                    from: Some(version),
                    ..wanted.clone()
                };
                self.push(kind, NAMES[item], next)
            }
            Step::Rename | Step::Reopen | Step::Check => Ok(false),
        }
    }
}

/// The same step, done to the store's project of this name.
fn carry_out(store: &dyn Store, project: &str, step: &Step) -> Result<Written, StoreError> {
    let (kind, item, change, expected) = match *step {
        Step::Create(kind, item, body, uri) => {
            let draft = ItemDraft {
                content: GivenContent::Text(TEXTS[body].to_owned()),
                description: None,
                uri: (kind == ItemKind::Resource).then_some(URIS[uri].into()),
                mime: None,
            };
            (kind, item, Change::Create(draft), None)
        }
        Step::Update(kind, item, body, expected) => (kind, item, new_text(TEXTS[body]), expected),
        Step::MoveUri(item, uri) => {
            let patch = Patch {
                uri: Some(URIS[uri].into()),
                ..Patch::default()
            };
            (ItemKind::Resource, item, Change::Update(patch), None)
        }
        Step::Delete(kind, item) => (kind, item, Change::Delete, None),
        Step::Restore(kind, item, version) => {
            let version = Some(version);
            (kind, item, Change::Restore { version }, None)
        }
        Step::Rename | Step::Reopen | Step::Check => unreachable!("not a write to an item"),
    };
    let mut wanted = item_write(kind, NAMES[item], change);
    wanted.project = name(project);
    wanted.expected = expected;
    write(store, Write::Item(Box::new(wanted)))
}

fn word(error: &StoreError) -> &'static str {
    match error {
        StoreError::Exists { .. } => "exists",
        StoreError::Missing { .. } => "missing",
        StoreError::Stale { .. } => "stale",
        StoreError::UriTaken { .. } => "taken",
        StoreError::NoVersion { .. } => "no version",
        _ => "something else",
    }
}

/// All that the store says is what the model says.
fn check(store: &dyn Store, project: &str, model: &Model) {
    let found = store.project(&name(project)).unwrap().unwrap();
    let mut alive = Vec::new();
    let mut bytes = 0;
    let mut texts = BTreeSet::new();
    for ((kind, item), versions) in &model.0 {
        let history = store.history(&name(project), *kind, &name(item)).unwrap();
        let told: Vec<Known> = history
            .iter()
            .map(|version| {
                let bytes = store.content(&version.content.digest).unwrap();
                let text = TEXTS.into_iter().find(|text| text.as_bytes() == bytes);
                let uri = version.uri.as_deref();
                Known {
                    operation: version.operation.as_str(),
                    from: match version.operation {
                        Operation::Restore { from } => Some(from),
                        _ => None,
                    },
                    text: text.unwrap(),
                    uri: uri.map(|uri| URIS.into_iter().find(|known| *known == uri).unwrap()),
                }
            })
            .collect();
        assert_eq!(&told, versions);
        bytes += history.iter().map(Version::cost).sum::<u64>();
        texts.extend(versions.iter().map(|version| version.text));
        if model.alive(*kind, item).is_some() {
            alive.push((*kind, *item, history.last().cloned()));
        }
    }
    let listed: Vec<_> = found
        .items
        .iter()
        .map(|item| (item.kind, item.name.as_str(), Some(item.head.clone())))
        .collect();
    assert_eq!(listed, alive);
    let projects = store.projects().unwrap();
    let of = |kind| alive.iter().filter(|item| item.0 == kind).count() as u64;
    assert_eq!(projects.len(), 1);
    let texts: usize = texts.iter().map(|text| text.len()).sum();
    assert_eq!(projects[0].history, bytes + texts as u64);
    assert_eq!(projects[0].prompts, of(ItemKind::Prompt));
    assert_eq!(projects[0].resources, of(ItemKind::Resource));
}

/// Runs steps on two connections, and compares every answer with the model's.
pub(crate) fn run(steps: &[Step], open: impl Fn() -> Box<dyn Store>) {
    let mut stores = [open(), open()];
    create_project(&*stores[0], "p").unwrap();
    let mut model = Model::default();
    let mut names = ["p", "q"];
    for (at, step) in steps.iter().enumerate() {
        let (store, other) = (&*stores[at % 2], &*stores[(at + 1) % 2]);
        match step {
            Step::Check => check(store, names[0], &model),
            Step::Reopen => stores[at % 2] = open(),
            Step::Rename => {
                let (name, to) = (name(names[0]), name(names[1]));
                write(
                    store,
                    Write::RenameProject {
                        name,
                        to,
                        author: Author::Person,
                    },
                )
                .unwrap();
                names.swap(0, 1);
            }
            step => {
                let before = other.revision().unwrap();
                let expected = model.carry_out(step);
                let found = carry_out(store, names[0], step);
                let told = found.as_ref().map(|written| written.is_new);
                assert_eq!(told.map_err(word), expected, "{step:?}");
                let is_news = other.revision().unwrap() > before;
                assert_eq!(is_news, expected == Ok(true), "{step:?}");
            }
        }
    }
    check(&*stores[0], names[0], &model);
    drop(stores);
    check(&*open(), names[0], &model);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_store_and_a_plain_map_give_the_same_answers(
        steps in proptest::collection::vec(step(), 50)
    ) {
        let home = Home::in_memory();
        run(&steps, || Box::new(home.open()));
    }
}
