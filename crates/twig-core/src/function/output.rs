//! Checks the output of a function against its contract: exactly one JSON object with known
//! members, and nothing after it.

use std::borrow::Cow;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::Value;

use crate::depth;
use crate::document::Contents;
use crate::media::{Media, MediaKind};
use crate::message::{Block, Message};
use crate::model::Role;
use crate::parse::located::{At, LocatedError, LocatedMembers};

/// The maximum number of messages that one function may print.
const MESSAGES: usize = 64;
/// The longest URI, MIME type or name, in bytes.
const NAME: usize = 2048;

/// What an author who prints plain text can do.
const INSTEAD: &str = "print {\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"…\"}}]}, or set `output = \"text\"` in twig.toml to serve plain text";

/// The prompt that a function made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its description; without one, that of the prompt applies.
    pub description: Option<Box<str>>,
    /// Its messages.
    pub messages: Vec<Message>,
}

/// Parses the output of a function; the error follows "The function of prompt `…` ".
pub fn read_output(bytes: &[u8]) -> Result<Finished, String> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("printed nothing; it has to print one JSON object with `messages`".to_owned());
    }
    depth::json(bytes).map_err(|error| format!("printed JSON that cannot be read: {error}"))?;
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        let error = error.to_string();
        match error.strip_prefix("trailing characters") {
            Some(place) => format!("printed something after its JSON object ({})", place.trim()),
            // JSON with a mistake starts as JSON does.
            None if bytes.trim_ascii_start().starts_with(b"{") => {
                format!("printed invalid JSON: {error}")
            }
            None => format!("printed invalid JSON: {error}; {INSTEAD}"),
        }
    })?;
    read(&At::root(&value)).map_err(|mistake| format!("printed no valid prompt: {mistake}"))
}

/// Takes the output of a function as the text of one user message, without newlines at its end.
pub(super) fn read_text(bytes: Vec<u8>) -> Result<Finished, String> {
    let mut text =
        String::from_utf8(bytes).map_err(|_| "printed text that is not UTF-8".to_owned())?;
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    if text.trim().is_empty() {
        return Err("printed nothing; it has to print the text of the prompt".to_owned());
    }
    if let Some(c) = hidden_in(&text) {
        return Err(format!(
            "printed the character U+{:04X}, which is invisible",
            c as u32
        ));
    }
    Ok(Finished {
        description: None,
        messages: vec![Message {
            role: Role::User,
            block: Block::Text(text),
        }],
    })
}

fn read(root: &At<'_>) -> Result<Finished, LocatedError> {
    let members = root.object()?;
    only(&members, &["description", "messages"])?;
    let description = members.maybe("description");
    let description = description.map(|at| clean(&at)).transpose()?;
    let entries = members.need("messages")?.list()?;
    if entries.is_empty() {
        return Err("`messages` is empty".to_owned());
    }
    if entries.len() > MESSAGES {
        return Err(format!(
            "`messages` has {} entries; the limit is {MESSAGES}",
            entries.len()
        ));
    }
    let messages = entries.iter().map(message).collect::<Result<_, _>>()?;
    Ok(Finished {
        description: description.map(Into::into),
        messages,
    })
}

fn message(entry: &At<'_>) -> Result<Message, LocatedError> {
    let members = entry.object()?;
    only(&members, &["role", "content"])?;
    let role = members.need("role")?;
    let role = match role.text()? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(role.expected("\"user\" or \"assistant\"")),
    };
    let content = members.need("content")?.object()?;
    let kind = content.need("type")?;
    let block = match kind.text()? {
        "text" => {
            only(&content, &["type", "text"])?;
            Block::Text(clean(&content.need("text")?)?.to_owned())
        }
        "image" => media(&content, MediaKind::Image)?,
        "audio" => media(&content, MediaKind::Audio)?,
        "resource" => {
            only(&content, &["type", "resource"])?;
            resource(&content.need("resource")?.object()?)?
        }
        "resource_link" => {
            let known = ["type", "uri", "name", "title", "description", "mimeType"];
            only(&content, &known)?;
            link(&content)?
        }
        _ => {
            let kinds = "\"text\", \"image\", \"audio\", \"resource\" or \"resource_link\"";
            return Err(kind.expected(kinds));
        }
    };
    Ok(Message { role, block })
}

fn media(content: &LocatedMembers<'_>, kind: MediaKind) -> Result<Block, LocatedError> {
    only(content, &["type", "data", "mimeType"])?;
    let at = content.need("mimeType")?;
    let mime = short(&at)?;
    let prefix = format!("{}/", kind.as_str());
    if !mime.starts_with(&prefix) {
        return Err(at.expected(&format!("a MIME type that starts with `{prefix}`")));
    }
    Ok(Block::Media(Media {
        kind,
        mime: Cow::Owned(mime.to_owned()),
        bytes: bytes(&content.need("data")?)?,
    }))
}

/// The contract has names and `data` here, MCP has `blob`: both are accepted, and MCP's form is
/// sent.
fn resource(members: &LocatedMembers<'_>) -> Result<Block, LocatedError> {
    let known = ["uri", "name", "title", "mimeType", "text", "data", "blob"];
    only(members, &known)?;
    let data = members.maybe("data").or_else(|| members.maybe("blob"));
    let contents = match (members.maybe("text"), data) {
        (Some(_), Some(data)) => {
            let path = data.path_or("data");
            return Err(format!(
                "`{path}` is given together with `text`; a resource has only one of them"
            ));
        }
        (Some(text), None) => Contents::Text(clean(&text)?.to_owned()),
        (None, Some(data)) => Contents::Bytes(bytes(&data)?),
        // Nothing is embedded, so it is a link.
        (None, None) => return link(members),
    };
    for key in ["name", "title"] {
        maybe_short(members, key)?;
    }
    let mime = match (maybe_short(members, "mimeType")?, &contents) {
        (Some(mime), _) => Cow::Owned(mime.to_owned()),
        (None, Contents::Text(_)) => Cow::Borrowed("text/plain"),
        (None, Contents::Bytes(_)) => Cow::Borrowed("application/octet-stream"),
    };
    Ok(Block::Resource {
        uri: uri(members)?,
        mime,
        contents: Arc::new(contents),
    })
}

fn link(members: &LocatedMembers<'_>) -> Result<Block, LocatedError> {
    let uri = uri(members)?;
    let name = maybe_short(members, "name")?;
    let description = members.maybe("description");
    let description = description.map(|at| clean(&at)).transpose()?;
    let mime = maybe_short(members, "mimeType")?;
    Ok(Block::Link {
        name: name.map_or_else(|| uri.clone(), Into::into),
        title: maybe_short(members, "title")?.map(Into::into),
        description: description.map(Into::into),
        mime: mime.map(|mime| Cow::Owned(mime.to_owned())),
        uri,
    })
}

fn uri(members: &LocatedMembers<'_>) -> Result<Box<str>, LocatedError> {
    let at = members.need("uri")?;
    let text = short(&at)?;
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(inner)
    };
    if !scheme.is_some_and(is_scheme) || text.contains(char::is_whitespace) {
        return Err(at.expected("a URI such as \"notes://today\""));
    }
    Ok(text.into())
}

fn maybe_short<'v>(
    members: &LocatedMembers<'v>,
    key: &str,
) -> Result<Option<&'v str>, LocatedError> {
    members.maybe(key).map(|at| short(&at)).transpose()
}

/// One short line.
fn short<'v>(at: &At<'v>) -> Result<&'v str, LocatedError> {
    let text = clean(at)?;
    if text.is_empty() || text.len() > NAME || text.contains(['\n', '\r', '\t']) {
        return Err(at.expected(&format!("one line of 1 to {NAME} bytes")));
    }
    Ok(text)
}

fn bytes(at: &At<'_>) -> Result<Vec<u8>, LocatedError> {
    BASE64_STANDARD.decode(at.text()?).map_err(|error| {
        let path = at.path_or("data");
        format!("`{path}` is not valid Base64: {error}")
    })
}

fn only(members: &LocatedMembers<'_>, known: &[&str]) -> Result<(), LocatedError> {
    match members.others(known).first() {
        None => Ok(()),
        Some(path) => Err(format!(
            "`{path}` is not known; known: {}",
            known.join(", ")
        )),
    }
}

/// A text without terminal controls and hidden characters.
fn clean<'v>(at: &At<'v>) -> Result<&'v str, LocatedError> {
    let text = at.text()?;
    match hidden_in(text) {
        None => Ok(text),
        Some(c) => Err(format!(
            "`{}` has the character U+{:04X}, which is invisible",
            at.path_or("the document"),
            c as u32
        )),
    }
}

/// The first terminal control or hidden character of a text.
fn hidden_in(text: &str) -> Option<char> {
    let hidden = text.char_indices().find(|(place, c)| match c {
        '\n' | '\r' | '\t' => false,
        '\u{e0000}'..='\u{e007f}' => !is_in_flag(text, *place),
        c => c.is_control(),
    });
    hidden.map(|(_, c)| c)
}

/// True if a tag character belongs to an emoji flag: a black flag, a region's few tags, their end.
fn is_in_flag(text: &str, at: usize) -> bool {
    let is_tag = |c: char| ('\u{e0020}'..='\u{e007e}').contains(&c);
    // A bounded search keeps this linear.
    let mut before = text[..at].chars().rev().take(7).skip_while(|c| is_tag(*c));
    let mut after = text[at..].chars().take(7).skip_while(|c| is_tag(*c));
    before.next() == Some('\u{1f3f4}') && after.next() == Some('\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(json: &str) -> String {
        read_output(json.as_bytes()).expect_err(json)
    }

    fn block(content: &str) -> Block {
        let json = format!(r#"{{"messages":[{{"role":"user","content":{content}}}]}}"#);
        let mut finished = read_output(json.as_bytes()).expect(&json);
        finished.messages.remove(0).block
    }

    #[test]
    fn every_kind_of_content_in_the_contract_is_taken() {
        let text = block(
            r#"{"type":"text","text":"a\nb\t🏴\udb40\udc67\udb40\udc62\udb40\udc65\udb40\udc6e\udb40\udc67\udb40\udc7f"}"#,
        );
        assert!(matches!(text, Block::Text(text) if text.starts_with("a\nb")));
        let image = block(r#"{"type":"image","data":"aGk=","mimeType":"image/png"}"#);
        assert!(matches!(image, Block::Media(media) if media.bytes == b"hi"));
        let audio = block(r#"{"type":"audio","data":"","mimeType":"audio/wav"}"#);
        assert!(matches!(audio, Block::Media(media) if media.kind == MediaKind::Audio));
        let whole = r#"{"uri":"a:b","name":"n","title":"t","mimeType":"text/x","text":"x"}"#;
        let resource = block(&format!(r#"{{"type":"resource","resource":{whole}}}"#));
        assert!(matches!(resource, Block::Resource { mime, .. } if mime == "text/x"));
        for key in ["data", "blob"] {
            let one = format!(r#"{{"type":"resource","resource":{{"uri":"a:b","{key}":"aGk="}}}}"#);
            let Block::Resource { contents, mime, .. } = block(&one) else {
                panic!("{one}");
            };
            assert_eq!(*contents, Contents::Bytes(b"hi".to_vec()));
            assert_eq!(mime, "application/octet-stream");
        }
        let bare = block(r#"{"type":"resource","resource":{"uri":"a:b"}}"#);
        assert!(matches!(bare, Block::Link { name, .. } if &*name == "a:b"));
    }

    #[test]
    fn plain_text_is_one_user_message() {
        let finished = read_text(b"# Standup\n\n- one\n\n".to_vec()).expect("a text");
        assert_eq!(finished.messages.len(), 1);
        let message = &finished.messages[0];
        assert_eq!(message.role, Role::User);
        assert!(matches!(&message.block, Block::Text(text) if text == "# Standup\n\n- one"));
        for (printed, expected) in [
            (&b"\n \n"[..], "printed nothing"),
            (b"a\xff", "not UTF-8"),
            (b"\x1b[31mred", "U+001B"),
        ] {
            let mistake = read_text(printed.to_vec()).expect_err(expected);
            assert!(mistake.contains(expected), "{mistake}");
        }
    }

    #[test]
    fn whatever_else_is_printed_is_refused_with_its_place() {
        let message =
            |content: &str| format!(r#"{{"messages":[{{"role":"user","content":{content}}}]}}"#);
        let one = message(r#"{"type":"text","text":"x"}"#);
        let many = format!(
            r#"{{"messages":[{}]}}"#,
            vec![&one[13..one.len() - 2]; 65].join(",")
        );
        let cases = [
            (String::new(), "printed nothing"),
            (" \n".to_owned(), "printed nothing"),
            ("hello".to_owned(), "invalid JSON"),
            (format!("{one}{one}"), "after its JSON object"),
            (format!("{one} x"), "after its JSON object"),
            (
                "[]".to_owned(),
                "`the document` has to be an object, not a list",
            ),
            ("{}".to_owned(), "`messages` is missing"),
            (r#"{"messages":[]}"#.to_owned(), "`messages` is empty"),
            (many, "65 entries; the limit is 64"),
            (
                r#"{"messages":[{"role":"system","content":{"type":"text","text":""}}]}"#
                    .to_owned(),
                "`messages[0].role` has to be \"user\" or \"assistant\", not \"system\"",
            ),
            (
                r#"{"messages":[],"extra":1}"#.to_owned(),
                "`extra` is not known",
            ),
            (
                message(r#"{"type":"text","text":"x","more":1}"#),
                "`messages[0].content.more`",
            ),
            (
                message(r#"{"type":"text"}"#),
                "`messages[0].content.text` is missing",
            ),
            (
                message(r#"{"type":"text","text":7}"#),
                "has to be a string, not a number",
            ),
            (
                message(r#"{"type":"video","text":""}"#),
                "has to be \"text\"",
            ),
            (
                message(r#"{"type":"image","data":"a","mimeType":"image/png"}"#),
                "not valid Base64",
            ),
            (
                message(r#"{"type":"image","data":"","mimeType":"text/plain"}"#),
                "starts with `image/`",
            ),
            (
                message(r#"{"type":"text","text":"\u001b[31mred"}"#),
                "U+001B",
            ),
            (message(r#"{"type":"text","text":"a\u009b"}"#), "U+009B"),
            (
                message(r#"{"type":"text","text":"a\udb40\udc41"}"#),
                "U+E0041",
            ),
            (
                message(r#"{"type":"resource","resource":{"uri":"x","text":""}}"#),
                "a URI such as",
            ),
            (
                message(r#"{"type":"resource","resource":{"uri":"a:b","text":"","data":""}}"#),
                "is given together",
            ),
            (
                message(r#"{"type":"resource","resource":{"uri":"a:b\nc","text":""}}"#),
                "one line",
            ),
        ];
        for (printed, expected) in cases {
            let mistake = mistake(&printed);
            assert!(mistake.contains(expected), "{printed}: {mistake}");
        }
    }
}
