//! Decides the effect of a write on the current state: the next version, nothing, or a refusal.

use sha2::{Digest as _, Sha256};

use super::error::StoreError;
use super::given::{GivenContent, is_text_mime, mime_or_plain};
use super::name::ItemKind;
use super::version::{ContentInfo, Operation, Version};
use super::write::{Change, ItemDraft, ItemWrite, Patch};
use crate::document::Contents;
use crate::hidden::{self, TextPlace};
use crate::limits::Limits;

/// The effect of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing would differ: the last version stays the last.
    Unchanged,
    /// Another version follows. The store sets its number and time.
    Append(Next),
}

/// The next version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// How it was made.
    pub operation: Operation,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// A resource's URI.
    pub uri: Option<Box<str>>,
    /// A resource's MIME type.
    pub mime: Option<Box<str>>,
    /// Its content.
    pub content: ContentInfo,
    /// The content itself, if an earlier version may not have it.
    pub new_content: Option<Vec<u8>>,
}

/// Decides what a write does. `head` is the last version, also of a deleted item; `wanted` is the
/// version that a restore asks for, if it exists.
pub fn decide(
    write: &ItemWrite,
    head: Option<&Version>,
    wanted: Option<&Version>,
    limits: &Limits,
) -> Result<Decision, StoreError> {
    let alive = head.filter(|head| head.operation != Operation::Delete);
    let current = head.map_or(0, |head| head.number);
    if let Some(expected) = write.expected
        && expected != current
        && head.is_some()
    {
        return Err(StoreError::Stale {
            kind: write.kind,
            name: write.name.clone(),
            expected,
            current,
        });
    }
    let missing = || StoreError::Missing {
        kind: write.kind,
        name: write.name.clone(),
        project: write.project.clone(),
        near: Vec::new(),
    };
    let next = match &write.change {
        Change::Create(_) if alive.is_some() => {
            return Err(StoreError::Exists {
                kind: write.kind,
                name: write.name.clone(),
                project: write.project.clone(),
            });
        }
        Change::Create(draft) => create(write.kind, draft, limits)?,
        Change::Update(patch) => update(write.kind, patch, alive.ok_or_else(missing)?, limits)?,
        Change::Delete => same(alive.ok_or_else(missing)?, Operation::Delete),
        Change::Restore { version: None } => {
            let head = head.ok_or_else(missing)?;
            if alive.is_some() {
                return Err(StoreError::NotDeleted {
                    kind: write.kind,
                    name: write.name.clone(),
                    project: write.project.clone(),
                });
            }
            // A deletion keeps the last content, also if the version before it was dropped.
            let from = head.number.saturating_sub(1);
            same(head, Operation::Restore { from })
        }
        Change::Restore {
            version: Some(version),
        } => {
            head.ok_or_else(missing)?;
            let wanted = wanted.ok_or_else(|| StoreError::NoVersion {
                kind: write.kind,
                name: write.name.clone(),
                version: *version,
                // A store that drops versions sets this itself.
                first: 1,
                last: current,
            })?;
            same(wanted, Operation::Restore { from: *version })
        }
    };
    let is_deletion = next.operation == Operation::Delete;
    let is_same = |head: &Version| {
        head.description == next.description
            && head.uri == next.uri
            && head.mime == next.mime
            && head.content == next.content
    };
    Ok(match alive {
        Some(head) if !is_deletion && is_same(head) => Decision::Unchanged,
        _ => Decision::Append(next),
    })
}

/// The same version again.
fn same(version: &Version, operation: Operation) -> Next {
    Next {
        operation,
        description: version.description.clone(),
        uri: version.uri.clone(),
        mime: version.mime.clone(),
        content: version.content,
        new_content: None,
    }
}

fn create(kind: ItemKind, draft: &ItemDraft, limits: &Limits) -> Result<Next, StoreError> {
    let (uri, mime) = match kind {
        ItemKind::Prompt => (None, None),
        ItemKind::Resource => {
            let uri = draft.uri.clone().unwrap_or_default();
            let mime = mime_or_plain(draft.mime.as_deref());
            (Some(uri), Some(Box::from(mime)))
        }
    };
    check_fields(
        draft.description.as_deref(),
        uri.as_deref(),
        mime.as_deref(),
    )?;
    let (content, bytes) = read(kind, &draft.content, mime.as_deref(), limits)?;
    Ok(Next {
        operation: Operation::Create,
        description: draft.description.clone().filter(|text| !text.is_empty()),
        uri,
        mime,
        content,
        new_content: Some(bytes),
    })
}

fn update(
    kind: ItemKind,
    patch: &Patch,
    head: &Version,
    limits: &Limits,
) -> Result<Next, StoreError> {
    if *patch == Patch::default() {
        return Err(StoreError::NothingGiven(match kind {
            ItemKind::Prompt => "a new content or description",
            ItemKind::Resource => "a new content, MIME type or description",
        }));
    }
    let mut next = same(head, Operation::Update);
    check_fields(
        patch.description.as_deref(),
        patch.uri.as_deref(),
        patch.mime.as_deref(),
    )?;
    if let Some(description) = &patch.description {
        next.description = Some(description.clone()).filter(|text| !text.is_empty());
    }
    if kind == ItemKind::Resource {
        if let Some(uri) = &patch.uri {
            next.uri = Some(uri.clone());
        }
        if let Some(mime) = &patch.mime {
            next.mime = Some(mime.clone());
        }
    }
    match &patch.content {
        Some(given) => {
            let (content, bytes) = read(kind, given, next.mime.as_deref(), limits)?;
            next.content = content;
            next.new_content = Some(bytes);
        }
        None => {
            if let Some(mime) = &next.mime
                && is_text_mime(mime) != next.content.is_text
            {
                return Err(StoreError::MimeOfOther {
                    mime: mime.clone(),
                    is_text: next.content.is_text,
                });
            }
        }
    }
    Ok(next)
}

/// The given content, measured and checked.
fn read(
    kind: ItemKind,
    given: &GivenContent,
    mime: Option<&str>,
    limits: &Limits,
) -> Result<(ContentInfo, Vec<u8>), StoreError> {
    let (what, limit) = match kind {
        ItemKind::Prompt => ("The content of the prompt", limits.verbatim),
        ItemKind::Resource => ("The content of the resource", limits.document),
    };
    let contents = given.read(mime_or_plain(mime))?;
    if contents.len() > limit {
        let size = contents.len();
        return Err(StoreError::TooLarge { what, size, limit });
    }
    if let Some(text) = contents.text() {
        check_text("The content", text, TextPlace::Body)?;
    }
    let is_text = contents.text().is_some();
    let bytes = match contents {
        Contents::Text(text) => text.into_bytes(),
        Contents::Bytes(bytes) => bytes,
    };
    let content = ContentInfo {
        digest: Sha256::digest(&bytes).into(),
        size: bytes.len() as u64,
        is_text,
    };
    Ok((content, bytes))
}

/// Bytes of a description.
const DESCRIPTION: usize = 2 * 1024;
/// Bytes of a URI.
const URI: usize = 2 * 1024;
/// Bytes of a MIME type.
const MIME: usize = 255;

fn check_fields(
    description: Option<&str>,
    uri: Option<&str>,
    mime: Option<&str>,
) -> Result<(), StoreError> {
    for (what, text, limit) in [
        ("The description", description, DESCRIPTION),
        ("The URI", uri, URI),
        ("The MIME type", mime, MIME),
    ] {
        let size = text.map_or(0, str::len);
        if size > limit {
            return Err(StoreError::TooLarge { what, size, limit });
        }
    }
    if let Some(description) = description {
        check_text("The description", description, TextPlace::Label)?;
    }
    if let Some(uri) = uri {
        check_uri(uri)?;
    }
    match mime {
        Some(mime) if !is_mime(mime) => Err(StoreError::BadMime { mime: mime.into() }),
        _ => Ok(()),
    }
}

/// A URI is a key: it only has to be a URI without hidden characters.
fn check_uri(uri: &str) -> Result<(), StoreError> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    };
    let reason = match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) && !rest.is_empty() => {
            if uri.chars().all(|c| !c.is_whitespace() && !c.is_control()) {
                return check_text("The URI", uri, TextPlace::Label);
            }
            "it has a space or a control character"
        }
        _ => "it has to start with a scheme, such as file:///docs/api.md",
    };
    let uri = uri.into();
    Err(StoreError::BadUri { uri, reason })
}

fn is_mime(mime: &str) -> bool {
    let essence = mime.split(';').next().unwrap_or_default().trim();
    let is_token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    let is_plain = mime.bytes().all(|b| (0x20..0x7f).contains(&b));
    is_plain
        && essence
            .split_once('/')
            .is_some_and(|(of, sub)| is_token(of) && is_token(sub))
}

fn check_text(what: &str, text: &str, place: TextPlace) -> Result<(), StoreError> {
    hidden::find(text, place).map_or(Ok(()), |found| {
        Err(StoreError::HiddenText(format!("{what} {found}")))
    })
}

#[cfg(test)]
mod tests;
