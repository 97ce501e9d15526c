//! A part of a content: tools hand out long texts and bytes piece by piece.

use twig_core::Contents;

use crate::cursor::{Cursor, List, snapshot_of_content};
use crate::json::Object;

/// Bytes of one part: more would fill the context of a model.
const PART: usize = 64 * 1024;

/// The sentence for a cursor of something else, or of content that has changed since.
const WRONG_CURSOR: &str =
    "The cursor is not valid, or the content has changed: read again without a cursor";

/// One part of a content.
#[derive(Debug)]
pub(super) struct ContentPart<'c> {
    contents: &'c Contents,
    start: usize,
    end: usize,
    snapshot: [u8; 8],
}

impl<'c> ContentPart<'c> {
    /// The part at a cursor, or the first one. `key` names what is read.
    pub(super) fn at(
        key: &str,
        contents: &'c Contents,
        cursor: Option<&str>,
    ) -> Result<Self, String> {
        let bytes = match contents {
            Contents::Text(text) => text.as_bytes(),
            Contents::Bytes(bytes) => bytes,
        };
        let snapshot = snapshot_of_content(key, bytes);
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let cursor = Cursor::parse(cursor).filter(|cursor| cursor.snapshot == snapshot);
                let start = cursor.map(|cursor| cursor.offset as usize);
                let is_place = |start: &usize| {
                    (1..bytes.len()).contains(start)
                        && contents
                            .text()
                            .is_none_or(|text| text.is_char_boundary(*start))
                };
                start.filter(is_place).ok_or(WRONG_CURSOR)?
            }
        };
        let mut end = bytes.len().min(start + PART);
        match contents {
            Contents::Text(text) => {
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
            }
            // The Base64 of the parts is that of the whole.
            Contents::Bytes(bytes) if end < bytes.len() => end -= (end - start) % 3,
            Contents::Bytes(_) => {}
        }
        Ok(Self {
            contents,
            start,
            end,
            snapshot,
        })
    }

    /// Writes the members `text` or `blob`, and `nextCursor` unless this is the last part.
    pub(super) fn write(&self, content: &mut Object<'_>) {
        match self.contents {
            Contents::Text(text) => content.text("text", &text[self.start..self.end]),
            Contents::Bytes(bytes) => content.base64("blob", &bytes[self.start..self.end]),
        }
        if self.end < self.contents.len()
            && let Ok(offset) = u32::try_from(self.end)
        {
            let cursor = Cursor {
                snapshot: self.snapshot,
                list: List::Documents,
                offset,
            };
            content.text("nextCursor", &cursor.to_string());
        }
    }
}
