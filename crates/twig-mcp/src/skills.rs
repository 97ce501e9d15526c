//! The extension for skills, `io.modelcontextprotocol/skills`: what a skill's entry looks like,
//! `skills/get`, and `resources/directory/read`. The list of skills is one of `pages`; the files
//! themselves are documents like any other.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use twig_core::{Catalog, Skill, SkillFile};

use crate::cursor::{Cursor, snapshot_in};
use crate::dispatch::{Call, Outcome};
use crate::error::Refusal;
use crate::json::{self, Object};
use crate::pages::{List, page_bytes};
use crate::params::{self, Fields};
use crate::schema;

/// What stands for the list of a skill's files where it is not to be had.
const DYNAMIC: &str = "dynamic";

/// `skills/get`: the entry of one skill, by the URI of its `SKILL.md`.
pub(crate) fn get(
    call: &Call<'_>,
    fields: &Fields<'_>,
    result: &mut Object<'_>,
) -> Result<Outcome, Refusal> {
    let uri = params::text(fields.uri, "uri")?;
    let catalog = call.host.catalog;
    let found = catalog.skill(&uri).ok_or_else(|| Refusal::Skill {
        suggestions: catalog.near_skills(&uri),
        uri: uri.to_string(),
    })?;
    result.object("skill", |item| entry(found.skill, item));
    call.era.keep_list(result);
    Ok(Outcome::Complete)
}

/// `resources/directory/read`: what is right inside of a folder.
pub(crate) fn read_directory(
    call: &Call<'_>,
    fields: &Fields<'_>,
    result: &mut Object<'_>,
) -> Result<Outcome, Refusal> {
    let uri = params::text(fields.uri, "uri")?;
    let now: &Arc<Catalog> = call.host.catalog;
    let (catalog, offset) = match fields.cursor {
        None => (Arc::clone(now), 0),
        Some(cursor) => {
            let cursor = params::text(Some(cursor), "cursor")?;
            // Whatever the list: a folder's cursors have snapshots that no list's has.
            let cursor = Cursor::parse(&cursor).ok_or(Refusal::Cursor)?;
            let is_meant = |of: &Catalog| snapshot_in(of.fingerprint(), &uri) == cursor.snapshot;
            let catalog = call.server.pages().catalog(now, is_meant);
            (catalog.ok_or(Refusal::Cursor)?, cursor.offset as usize)
        }
    };
    let children = catalog.directory(&uri).ok_or_else(|| Refusal::Directory {
        is_document: catalog.document(&uri).is_some(),
        suggestions: catalog.near_directories(&uri),
        uri: uri.to_string(),
    })?;
    let rest = children.get(offset..).unwrap_or_default();
    if rest.is_empty() {
        return Err(Refusal::Cursor);
    }
    let (count, bytes) = (
        call.server.limits.page.max(1),
        page_bytes(&call.server.limits),
    );
    let mut items: Vec<Vec<u8>> = Vec::new();
    let mut written = 0;
    for child in rest.iter().take(count) {
        let mut item = Vec::new();
        json::object(&mut item, |item| schema::child(*child, item));
        written += item.len() + 1;
        if written > bytes && !items.is_empty() {
            break;
        }
        items.push(item);
    }
    let next = offset + items.len();
    result.list("resources", items, |buffer, item| {
        buffer.extend_from_slice(&item);
    });
    if next < children.len()
        && let Ok(offset) = u32::try_from(next)
    {
        let cursor = Cursor {
            snapshot: snapshot_in(catalog.fingerprint(), &uri),
            list: List::Documents,
            offset,
        };
        result.text("nextCursor", &cursor.to_string());
        call.server.pages().keep(&catalog);
    }
    // The extension does not ask for it here; there are clients that do.
    call.era.keep_list(result);
    Ok(Outcome::Complete)
}

/// Writes the members of a skill's entry.
pub(crate) fn entry(skill: &Skill, item: &mut Object<'_>) {
    item.text("uri", &skill.uri);
    item.raw("frontmatter", &skill.front_matter);
    if skill.is_unlisted {
        item.text("resources", DYNAMIC);
        return;
    }
    item.list("resources", &skill.files, |buffer, file| {
        json::object(buffer, |entry| {
            entry.text("uri", &file.uri);
            entry.text("digest", &digest(file));
            entry.number("size", file.size);
        });
    });
}

/// Where the entries end of which a page has room, from the start of a range on; always one at least.
pub(crate) fn fitting(catalog: &Catalog, range: Range<usize>, bytes: usize) -> usize {
    let mut room = bytes;
    let mut end = range.start;
    for found in catalog.skills(range.start).take(range.len()) {
        let length = length(found.skill);
        if length > room && end > range.start {
            break;
        }
        room = room.saturating_sub(length);
        end += 1;
    }
    end
}

/// At most so many bytes has the entry of a skill.
fn length(skill: &Skill) -> usize {
    /// Names, quotes, commas, a digest and a number: more than all of them.
    const AROUND: usize = 160;
    // URIs hold nothing that JSON escapes, except where somebody made them up.
    let text = |text: &str| 2 * text.len() + AROUND;
    let listed = skill.files.iter().filter(|_| !skill.is_unlisted);
    let files: usize = listed.map(|file| text(&file.uri)).sum();
    text(&skill.uri) + skill.front_matter.len() + files
}

/// A file's digest as clients compare it.
fn digest(file: &SkillFile) -> String {
    let mut digest = String::with_capacity(7 + 64);
    digest.push_str("sha256:");
    for byte in file.digest {
        // Writing to a `String` cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}
