//! Content as a caller gives it: text, Base64 or bytes, distinguished by the MIME type.

use base64::prelude::BASE64_STANDARD;
use base64::{DecodeError, Engine};

use super::error::StoreError;
use crate::document::Contents;

/// Content as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenContent {
    /// What a client wrote: text, or Base64 where the MIME type is not one of text.
    Text(String),
    /// The bytes themselves, from a file.
    Bytes(Vec<u8>),
}

impl GivenContent {
    /// What is meant, for something of this type.
    pub fn read(&self, mime: &str) -> Result<Contents, StoreError> {
        let is_text = is_text_mime(mime);
        match self {
            Self::Text(text) if is_text => Ok(Contents::Text(text.clone())),
            Self::Text(text) => match BASE64_STANDARD.decode(text) {
                Ok(bytes) => Ok(Contents::Bytes(bytes)),
                Err(error) => Err(StoreError::NotBase64 {
                    mime: mime.into(),
                    reason: decoding_reason(text, &error).into(),
                }),
            },
            Self::Bytes(bytes) if is_text => match String::from_utf8(bytes.clone()) {
                Ok(text) => Ok(Contents::Text(text)),
                Err(error) => Err(StoreError::NotText {
                    mime: mime.into(),
                    offset: error.utf8_error().valid_up_to(),
                }),
            },
            Self::Bytes(bytes) => Ok(Contents::Bytes(bytes.clone())),
        }
    }
}

/// What is wrong with Base64, for a reader of the text.
fn decoding_reason(text: &str, error: &DecodeError) -> String {
    match *error {
        DecodeError::InvalidByte(offset, _) => {
            let rest = text.get(offset..).unwrap_or_default();
            match rest.chars().next() {
                Some('=') => format!("`=` at byte {} is not at the end", offset + 1),
                Some(c) => format!(
                    "`{}` at byte {} is no character of base64",
                    c.escape_debug(),
                    offset + 1
                ),
                None => format!("byte {} is no character of base64", offset + 1),
            }
        }
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => {
            "it is incomplete: `=` at its end fills up the last group of four characters".to_owned()
        }
        DecodeError::InvalidLastSymbol { offset, .. } => {
            format!("the character at byte {} cannot be the last", offset + 1)
        }
    }
}

/// Bytes as text that [`GivenContent::Text`] reads again.
pub fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// The type of content that was given none.
const PLAIN: &str = "text/plain";

/// The type that is meant: what is missing or empty is `text/plain`.
pub fn mime_or_plain(mime: Option<&str>) -> &str {
    mime.filter(|mime| !mime.is_empty()).unwrap_or(PLAIN)
}

/// Types outside `text/` whose content people read.
const TEXTS: [&str; 19] = [
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/jsonl",
    "application/sql",
    "application/toml",
    "application/typescript",
    "application/x-httpd-php",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-tex",
    "application/x-toml",
    "application/x-www-form-urlencoded",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];

/// Whether content of this type is text. Parameters (`; charset=utf-8`) do not matter.
pub fn is_text_mime(mime: &str) -> bool {
    let essence = mime.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let structured = ["+json", "+xml", "+yaml", "+toml"];
    essence.starts_with("text/")
        || TEXTS.binary_search(&&*essence).is_ok()
        || structured.iter().any(|end| essence.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_sorted() {
        assert!(TEXTS.is_sorted());
    }

    #[test]
    fn a_type_says_whether_its_content_is_text() {
        for mime in [
            "text/markdown",
            "application/sql",
            "image/svg+xml",
            "TEXT/HTML; charset=x",
        ] {
            assert!(is_text_mime(mime), "{mime}");
        }
        for mime in [
            "image/png",
            "application/octet-stream",
            "application/pdf",
            "",
        ] {
            assert!(!is_text_mime(mime), "{mime}");
        }
    }

    #[test]
    fn binary_content_is_base64_or_refused() {
        let given = |text: &str| GivenContent::Text(text.to_owned());
        assert_eq!(
            given("AQI=").read("image/png"),
            Ok(Contents::Bytes(vec![1, 2]))
        );
        let refused = |text: &str| {
            let error = given(text).read("image/png").expect_err("not Base64");
            let sentence = error.to_string();
            let (_, reason) = sentence.split_once("base64: ").expect("a reason");
            reason.to_owned()
        };
        let incomplete =
            "it is incomplete: `=` at its end fills up the last group of four characters";
        assert_eq!(refused("AQI"), incomplete);
        assert_eq!(refused("A"), incomplete);
        assert_eq!(refused("%PNG"), "`%` at byte 1 is no character of base64");
        assert_eq!(
            refused("日本語\n"),
            "`日` at byte 1 is no character of base64"
        );
        assert_eq!(
            refused("AQ\nI="),
            "`\\n` at byte 3 is no character of base64"
        );
        assert_eq!(refused("AQ==AQ=="), "`=` at byte 3 is not at the end");
        assert_eq!(
            refused("AQJ="),
            "the character at byte 3 cannot be the last"
        );
        assert_eq!(
            given("AQI").read("text/plain"),
            Ok(Contents::Text("AQI".to_owned()))
        );
        assert!(GivenContent::Bytes(vec![0xff]).read("text/plain").is_err());
    }
}
