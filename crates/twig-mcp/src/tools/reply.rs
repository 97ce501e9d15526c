//! The format of tool results.

use crate::json::{self, Object};

/// Writes the members of a failed result.
pub(crate) fn failed(sentence: &str, result: &mut Object<'_>) {
    says(&format!("Error: {sentence}"), result);
    result.flag("isError", true);
    result.is_failure = true;
}

/// Writes content that is one text.
pub(super) fn says(text: &str, result: &mut Object<'_>) {
    result.list("content", [text], text_block);
}

/// Writes structured content and the same as text, for clients that read only that.
pub(super) fn structured(fill: impl FnOnce(&mut Object<'_>), result: &mut Object<'_>) {
    structured_with(fill, &[], |_, &()| {}, result);
}

/// The same, followed by further blocks of content, one for each item.
pub(super) fn structured_with<T>(
    fill: impl FnOnce(&mut Object<'_>),
    more: &[T],
    mut block: impl FnMut(&mut Vec<u8>, &T),
    result: &mut Object<'_>,
) {
    let mut content = Vec::new();
    json::object(&mut content, fill);
    // All of it was written as text.
    let content = String::from_utf8_lossy(&content);
    let text = [None].into_iter().chain(more.iter().map(Some));
    result.list("content", text, |buffer, item| match item {
        None => text_block(buffer, &content),
        Some(item) => block(buffer, item),
    });
    result.raw("structuredContent", &content);
}

fn text_block(buffer: &mut Vec<u8>, text: &str) {
    json::object(buffer, |block| {
        block.text("type", "text");
        block.text("text", text);
    });
}
