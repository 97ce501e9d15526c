//! What an agent writes into a project.

use twig_core::Limits;
use twig_core::store::{
    Author, Change, Decision, GivenContent, ItemDraft, ItemKind, ItemWrite, Noun, StoreError,
    StoreName, decide,
};

use super::{attacks, benign};

const KINDS: [ItemKind; 2] = [ItemKind::Prompt, ItemKind::Resource];

/// What becomes of a new item with this content and description.
fn create(kind: ItemKind, content: &str, description: &str) -> Result<Decision, StoreError> {
    let name = |noun| StoreName::parse(noun, "name").expect("a name");
    let write = ItemWrite {
        project: name(Noun::Project),
        kind,
        name: name(Noun::Prompt),
        change: Change::Create(ItemDraft {
            content: GivenContent::Text(content.to_owned()),
            description: Some(description.into()),
            uri: (kind == ItemKind::Resource).then(|| "file:///x".into()),
            mime: (kind == ItemKind::Resource).then(|| "text/plain".into()),
        }),
        expected: None,
        author: Author::Client("agent".into()),
    };
    decide(&write, None, None, &Limits::default())
}

#[test]
fn every_attack_is_refused_in_a_sentence() {
    for kind in KINDS {
        for (name, text) in attacks::EVERYWHERE {
            let refused = create(kind, text, "fine").expect_err(name);
            assert!(refused.to_string().contains("U+"), "{name}: {refused}");
        }
        for (name, text) in attacks::EVERYWHERE.iter().chain(&attacks::LABELS) {
            let refused = create(kind, "fine", text).expect_err(name);
            assert!(refused.to_string().contains("U+"), "{name}: {refused}");
        }
    }
}

#[test]
fn what_people_write_is_kept_byte_for_byte() {
    for kind in KINDS {
        let kept = |content: &str, description: &str| {
            let Ok(Decision::Append(next)) = create(kind, content, description) else {
                panic!("{content:?} {description:?} is refused");
            };
            assert_eq!(next.new_content.as_deref(), Some(content.as_bytes()));
            assert_eq!(next.description.as_deref(), Some(description));
        };
        for text in benign::EVERYWHERE {
            kept(text, text);
        }
        for text in benign::BODIES {
            kept(text, "fine");
        }
    }
}
