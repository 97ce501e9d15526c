//! The effect of each write on each state.

use super::super::author::Author;
use super::super::name::{Noun, StoreName};
use super::super::version::Timestamp;
use super::*;

fn name(text: &str) -> StoreName {
    StoreName::parse(Noun::Prompt, text).unwrap()
}

fn given(text: &str) -> GivenContent {
    GivenContent::Text(text.to_owned())
}

fn draft(text: &str) -> ItemDraft {
    ItemDraft {
        content: given(text),
        description: None,
        uri: Some("file:///a".into()),
        mime: None,
    }
}

fn write(kind: ItemKind, change: Change) -> ItemWrite {
    ItemWrite {
        project: name("p"),
        kind,
        name: name("a"),
        change,
        expected: None,
        author: Author::Person,
    }
}

/// The version that follows from a decision.
fn version(number: u64, next: Next) -> Version {
    Version {
        number,
        operation: next.operation,
        description: next.description,
        uri: next.uri,
        mime: next.mime,
        content: next.content,
        at: Timestamp(0),
        author: "tests".into(),
    }
}

fn appended(decision: Result<Decision, StoreError>) -> Next {
    match decision {
        Ok(Decision::Append(next)) => next,
        other => panic!("{other:?}"),
    }
}

fn ask(
    kind: ItemKind,
    change: Change,
    head: Option<&Version>,
    wanted: Option<&Version>,
) -> Result<Decision, StoreError> {
    decide(&write(kind, change), head, wanted, &Limits::default())
}

/// A resource's first version.
fn first() -> Version {
    let change = Change::Create(draft("one"));
    version(1, appended(ask(ItemKind::Resource, change, None, None)))
}

fn deleted() -> Version {
    let (head, change) = (first(), Change::Delete);
    let next = appended(ask(ItemKind::Resource, change, Some(&head), None));
    version(2, next)
}

fn patch() -> Patch {
    Patch::default()
}

#[test]
fn a_prompt_has_neither_uri_nor_type() {
    let mut wanted = draft("{{ x }} é");
    wanted.mime = Some("image/png".into());
    wanted.description = Some("".into());
    let next = appended(ask(ItemKind::Prompt, Change::Create(wanted), None, None));
    assert_eq!((next.uri, next.mime, next.description), (None, None, None));
    assert_eq!(next.operation, Operation::Create);
    assert_eq!(next.new_content.as_deref(), Some("{{ x }} é".as_bytes()));
    assert_eq!((next.content.size, next.content.is_text), (10, true));
    let digest: [u8; 32] = Sha256::digest("{{ x }} é").into();
    assert_eq!(next.content.digest, digest);
}

#[test]
fn a_resource_without_a_type_is_plain_text() {
    assert_eq!(first().mime.as_deref(), Some("text/plain"));
    let mut wanted = draft("x");
    wanted.mime = Some("".into());
    let next = appended(ask(ItemKind::Resource, Change::Create(wanted), None, None));
    assert_eq!(next.mime.as_deref(), Some("text/plain"));
}

#[test]
fn what_is_there_is_not_made_again_and_what_was_deleted_is() {
    let create = || Change::Create(draft("two"));
    assert!(matches!(
        ask(ItemKind::Resource, create(), Some(&first()), None),
        Err(StoreError::Exists { .. })
    ));
    let next = appended(ask(ItemKind::Resource, create(), Some(&deleted()), None));
    assert_eq!(next.operation, Operation::Create);
}

#[test]
fn an_update_changes_what_was_given_and_nothing_else() {
    let head = first();
    let described = Patch {
        description: Some("What it is".into()),
        ..patch()
    };
    let change = Change::Update(described);
    let next = appended(ask(ItemKind::Resource, change, Some(&head), None));
    assert_eq!(next.description.as_deref(), Some("What it is"));
    assert_eq!((&next.uri, &next.mime), (&head.uri, &head.mime));
    assert_eq!(
        (next.content, next.new_content.is_some()),
        (head.content, false)
    );
    // An empty text removes the description.
    let head = Version {
        description: Some("What it is".into()),
        ..head
    };
    let silent = Patch {
        description: Some("".into()),
        ..patch()
    };
    let next = appended(ask(
        ItemKind::Resource,
        Change::Update(silent),
        Some(&head),
        None,
    ));
    assert_eq!(next.description, None);
}

#[test]
fn an_update_that_changes_nothing_is_none() {
    let head = first();
    for same in [
        Patch {
            content: Some(given("one")),
            ..patch()
        },
        Patch {
            uri: head.uri.clone(),
            mime: head.mime.clone(),
            ..patch()
        },
    ] {
        let decision = ask(ItemKind::Resource, Change::Update(same), Some(&head), None);
        assert_eq!(decision, Ok(Decision::Unchanged));
    }
    let restore = Change::Restore { version: Some(1) };
    let decision = ask(ItemKind::Resource, restore, Some(&head), Some(&head));
    assert_eq!(decision, Ok(Decision::Unchanged));
    assert!(matches!(
        ask(
            ItemKind::Resource,
            Change::Update(patch()),
            Some(&head),
            None
        ),
        Err(StoreError::NothingGiven(_))
    ));
}

#[test]
fn what_is_not_there_is_neither_changed_nor_deleted() {
    let some = || Patch {
        content: Some(given("x")),
        ..patch()
    };
    for head in [None, Some(&deleted())] {
        for change in [Change::Update(some()), Change::Delete] {
            assert!(matches!(
                ask(ItemKind::Resource, change, head, None),
                Err(StoreError::Missing { .. })
            ));
        }
    }
    let restore = Change::Restore { version: Some(1) };
    assert!(matches!(
        ask(ItemKind::Resource, restore, None, None),
        Err(StoreError::Missing { .. })
    ));
}

#[test]
fn a_restore_brings_back_what_was_there_and_says_so() {
    let (head, wanted) = (deleted(), first());
    let restore = || Change::Restore { version: Some(1) };
    let next = appended(ask(
        ItemKind::Resource,
        restore(),
        Some(&head),
        Some(&wanted),
    ));
    assert_eq!(next.operation, Operation::Restore { from: 1 });
    assert_eq!((next.uri, next.content), (wanted.uri, wanted.content));
    assert_eq!(next.new_content, None);
    let missing = ask(ItemKind::Resource, restore(), Some(&head), None);
    assert_eq!(
        missing.unwrap_err().to_string(),
        "Resource 'a' has no version 1; the last one is 2"
    );
}

#[test]
fn a_version_that_was_expected_is_the_last_one_or_the_write_is_refused() {
    let head = first();
    let mut wanted = write(ItemKind::Resource, Change::Delete);
    let limits = Limits::default();
    wanted.expected = Some(1);
    appended(decide(&wanted, Some(&head), None, &limits));
    for stale in [0, 2] {
        wanted.expected = Some(stale);
        let refused = decide(&wanted, Some(&head), None, &limits).unwrap_err();
        let expected = StoreError::Stale {
            kind: ItemKind::Resource,
            name: name("a"),
            expected: stale,
            current: 1,
        };
        assert_eq!(refused, expected);
    }
    // A missing item has no version that could be stale.
    assert!(matches!(
        decide(&wanted, None, None, &limits),
        Err(StoreError::Missing { .. })
    ));
}

#[test]
fn a_type_of_the_other_sort_wants_its_content() {
    let head = first();
    let picture = Patch {
        mime: Some("image/png".into()),
        ..patch()
    };
    let change = Change::Update(picture.clone());
    assert!(matches!(
        ask(ItemKind::Resource, change, Some(&head), None),
        Err(StoreError::MimeOfOther { is_text: true, .. })
    ));
    let whole = Patch {
        content: Some(given("AQI=")),
        ..picture
    };
    let next = appended(ask(
        ItemKind::Resource,
        Change::Update(whole),
        Some(&head),
        None,
    ));
    assert_eq!(next.new_content, Some(vec![1, 2]));
    assert!(!next.content.is_text);
}

#[test]
fn contents_and_fields_end_at_their_limits() {
    let limits = Limits {
        verbatim: 10,
        document: 20,
        ..Limits::default()
    };
    let size = |kind, size: usize| {
        let change = Change::Create(draft(&"x".repeat(size)));
        decide(&write(kind, change), None, None, &limits).is_ok()
    };
    assert!(size(ItemKind::Prompt, 10) && !size(ItemKind::Prompt, 11));
    assert!(size(ItemKind::Resource, 20) && !size(ItemKind::Resource, 21));
    let fields = |description: usize, uri: usize, mime: usize| {
        let wanted = ItemDraft {
            description: Some("d".repeat(description).into()),
            uri: Some(format!("x:{}", "u".repeat(uri - 2)).into()),
            mime: Some(format!("text/{}", "m".repeat(mime - 5)).into()),
            ..draft("x")
        };
        ask(ItemKind::Resource, Change::Create(wanted), None, None).is_ok()
    };
    assert!(fields(DESCRIPTION, URI, MIME));
    assert!(!fields(DESCRIPTION + 1, URI, MIME));
    assert!(!fields(DESCRIPTION, URI + 1, MIME));
    assert!(!fields(DESCRIPTION, URI, MIME + 1));
}

#[test]
fn a_uri_has_a_scheme_and_no_spaces() {
    let is_good = |uri: &str| {
        let wanted = ItemDraft {
            uri: Some(uri.into()),
            ..draft("x")
        };
        ask(ItemKind::Resource, Change::Create(wanted), None, None).is_ok()
    };
    for good in [
        "file:///a.md",
        "x:y",
        "urn:isbn:1",
        "a+b-c.d:ü",
        "http://h/?q#f",
    ] {
        assert!(is_good(good), "{good}");
    }
    for bad in [
        "",
        "a",
        ":x",
        "x:",
        "1a:b",
        "a b:c",
        "file:///a b",
        "x:\n",
        "x:\u{7f}",
        "/a/b",
    ] {
        assert!(!is_good(bad), "{bad:?}");
    }
    let mut none = draft("x");
    none.uri = None;
    assert!(ask(ItemKind::Resource, Change::Create(none), None, None).is_err());
}

#[test]
fn a_type_looks_like_one() {
    for good in [
        "text/markdown",
        "image/svg+xml",
        "text/plain; charset=utf-8",
        "a/b",
    ] {
        assert!(is_mime(good), "{good}");
    }
    for bad in [
        "",
        "text",
        "text/",
        "/plain",
        "a b/c",
        "text/plain\n",
        "text/ü",
        "a/b/c",
    ] {
        assert!(!is_mime(bad), "{bad:?}");
    }
}

#[test]
fn text_that_hides_something_is_refused() {
    let hidden = Change::Create(draft("a\u{1b}[2J"));
    assert!(matches!(
        ask(ItemKind::Prompt, hidden, None, None),
        Err(StoreError::HiddenText(_))
    ));
    let label = ItemDraft {
        description: Some("a\rb".into()),
        ..draft("x")
    };
    assert!(matches!(
        ask(ItemKind::Prompt, Change::Create(label), None, None),
        Err(StoreError::HiddenText(_))
    ));
    // Bytes are not text.
    let bytes = ItemDraft {
        content: GivenContent::Bytes(vec![0, 27]),
        mime: Some("application/octet-stream".into()),
        ..draft("x")
    };
    appended(ask(ItemKind::Resource, Change::Create(bytes), None, None));
}
