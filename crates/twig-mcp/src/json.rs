//! Writes JSON straight into a buffer: no intermediate values, text copied in runs.

use std::io::Write as _;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use twig_core::json_text;

/// An object that is being written; it is closed by [`Object::end`].
pub(crate) struct Object<'b> {
    buffer: &'b mut Vec<u8>,
    is_empty: bool,
    /// True if it is the result of a tool that failed.
    pub(crate) is_failure: bool,
}

impl<'b> Object<'b> {
    /// Opens an object at the end of a buffer.
    pub(crate) fn open(buffer: &'b mut Vec<u8>) -> Self {
        buffer.push(b'{');
        Self {
            buffer,
            is_empty: true,
            is_failure: false,
        }
    }

    /// Writes a key that needs no escaping; the caller writes the value to the returned buffer.
    pub(crate) fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.comma();
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(key.as_bytes());
        self.buffer.extend_from_slice(b"\":");
        self.buffer
    }

    /// Writes a key that may contain any text.
    pub(crate) fn any_key(&mut self, key: &str) -> &mut Vec<u8> {
        self.comma();
        text(self.buffer, key);
        self.buffer.push(b':');
        self.buffer
    }

    /// A member whose value is text.
    pub(crate) fn text(&mut self, key: &'static str, value: &str) {
        text(self.key(key), value);
    }

    /// A member whose value is text that is escaped already.
    pub(crate) fn escaped(&mut self, key: &'static str, value: &[u8]) {
        let buffer = self.key(key);
        buffer.push(b'"');
        buffer.extend_from_slice(value);
        buffer.push(b'"');
    }

    /// A member whose value is text, omitted if there is none.
    pub(crate) fn maybe(&mut self, key: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    /// A member whose value is bytes, as Base64.
    pub(crate) fn base64(&mut self, key: &'static str, bytes: &[u8]) {
        let buffer = self.key(key);
        buffer.push(b'"');
        let start = buffer.len();
        buffer.resize(start + bytes.len().div_ceil(3) * 4, 0);
        let written = BASE64_STANDARD.encode_slice(bytes, &mut buffer[start..]);
        buffer.truncate(start + written.unwrap_or_default());
        buffer.push(b'"');
    }

    /// Makes room for about this many more bytes at once, and no more: a long value that grows by
    /// doubling would take twice its memory.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.buffer.reserve_exact(bytes);
    }

    /// A member whose value is already JSON.
    pub(crate) fn raw(&mut self, key: &'static str, json: &str) {
        self.key(key).extend_from_slice(json.as_bytes());
    }

    /// A member whose value is a whole number.
    pub(crate) fn number(&mut self, key: &'static str, value: impl Into<i128>) {
        number(self.key(key), value.into());
    }

    /// A member whose value is true or false.
    pub(crate) fn flag(&mut self, key: &'static str, value: bool) {
        self.raw(key, if value { "true" } else { "false" });
    }

    /// A member whose value is an object, which `fill` writes.
    pub(crate) fn object(&mut self, key: &'static str, fill: impl FnOnce(&mut Object<'_>)) {
        object(self.key(key), fill);
    }

    /// A member whose value is a list, one entry for each item, written by `each`.
    pub(crate) fn list<T>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = T>,
        each: impl FnMut(&mut Vec<u8>, T),
    ) {
        list(self.key(key), items, each);
    }

    /// A member whose value is a list of texts.
    pub(crate) fn texts<T: AsRef<str>>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = T>,
    ) {
        self.list(key, items, |buffer, item| text(buffer, item.as_ref()));
    }

    /// Reserves the place of a member that [`member`] wrote; returns its position in the buffer.
    pub(crate) fn place(&mut self) -> usize {
        self.comma();
        self.buffer.len()
    }

    /// Closes the object.
    pub(crate) fn end(self) {
        self.buffer.push(b'}');
    }

    fn comma(&mut self) {
        if !self.is_empty {
            self.buffer.push(b',');
        }
        self.is_empty = false;
    }
}

/// Writes one member by itself, without an object around it.
pub(crate) fn member(write: impl FnOnce(&mut Object<'_>)) -> Vec<u8> {
    let mut buffer = Vec::new();
    write(&mut Object {
        buffer: &mut buffer,
        is_empty: true,
        is_failure: false,
    });
    buffer
}

/// Writes an object whose members `fill` writes.
pub(crate) fn object(buffer: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
    let mut object = Object::open(buffer);
    fill(&mut object);
    object.end();
}

/// Writes a list.
pub(crate) fn list<T>(
    buffer: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut each: impl FnMut(&mut Vec<u8>, T),
) {
    buffer.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            buffer.push(b',');
        }
        each(buffer, item);
    }
    buffer.push(b']');
}

/// Writes a whole number.
pub(crate) fn number(buffer: &mut Vec<u8>, value: i128) {
    // Writing to a `Vec` cannot fail.
    let _ = write!(buffer, "{value}");
}

/// Writes text in quotes, escaped.
pub(crate) fn text(buffer: &mut Vec<u8>, value: &str) {
    buffer.push(b'"');
    json_text::escape(buffer, value);
    buffer.push(b'"');
}
