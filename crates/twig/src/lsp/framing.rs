//! Messages of the language server protocol: a header with a length, then JSON.
//!
//! Lengths are bounded before anything is allocated, and a message that is no JSON costs only itself.

use std::io::{self, BufRead, Read, Write};

use serde::Deserialize;
use serde_json::{Value, json};

/// The longest line of a header, and the most lines.
const HEADER_LINE: u64 = 1_024;
const HEADER_LINES: usize = 16;

/// The longest message, in bytes: a document of 16 MiB with every character escaped fits.
const LONGEST: usize = 64 * 1024 * 1024;

/// A message of the editor.
#[derive(Debug, Default, Deserialize)]
pub(super) struct EditorMessage {
    /// Names the request that it is; `None` for a notification.
    #[serde(default)]
    pub(super) id: Option<Value>,
    /// What it asks for; `None` for an answer, which nothing here waits for.
    #[serde(default)]
    pub(super) method: Option<Box<str>>,
    #[serde(default)]
    pub(super) params: Value,
}

/// Reads the next message: `None` at the end, an inner error if it is no JSON-RPC.
pub(super) fn read(
    input: &mut impl BufRead,
) -> io::Result<Option<Result<EditorMessage, serde_json::Error>>> {
    let mut length = None;
    for _ in 0..HEADER_LINES {
        let mut line = Vec::new();
        input
            .by_ref()
            .take(HEADER_LINE)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line
            .strip_suffix('\n')
            .ok_or_else(|| wrong("a line of a header is too long or cut off"))?;
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            let length = length.ok_or_else(|| wrong("a header has no Content-Length"))?;
            let mut bytes = Vec::new();
            input.by_ref().take(length as u64).read_to_end(&mut bytes)?;
            if bytes.len() < length {
                return Ok(None);
            }
            return Ok(Some(serde_json::from_slice(&bytes)));
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(wrong("a line of a header has no `:`"));
        };
        if name.eq_ignore_ascii_case("content-length") {
            let value = value.trim().parse().ok();
            let fits = value.filter(|length| *length <= LONGEST);
            length = Some(fits.ok_or_else(|| wrong("Content-Length is no number up to 64 MiB"))?);
        }
    }
    Err(wrong("a header has too many lines"))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Writes the answer to a request.
pub(super) fn answer(output: &mut impl Write, id: &Value, result: &Value) -> io::Result<()> {
    write(
        output,
        &json!({ "jsonrpc": "2.0", "id": id, "result": result }),
    )
}

/// Writes why a request cannot be answered.
pub(super) fn refuse(
    output: &mut impl Write,
    id: &Value,
    code: i32,
    message: &str,
) -> io::Result<()> {
    let error = json!({ "code": code, "message": message });
    write(
        output,
        &json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    )
}

/// Writes a notification.
pub(super) fn notify(output: &mut impl Write, method: &str, params: &Value) -> io::Result<()> {
    write(
        output,
        &json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    )
}

fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_all(bytes: &[u8]) -> Vec<String> {
        let mut input = bytes;
        let mut found = Vec::new();
        loop {
            found.push(match read(&mut input) {
                Ok(None) => return found,
                Ok(Some(Ok(message))) => message.method.unwrap_or_default().into(),
                Ok(Some(Err(_))) => "no JSON".to_owned(),
                Err(error) => {
                    found.push(error.to_string());
                    return found;
                }
            });
        }
    }

    #[test]
    fn messages_follow_each_other_and_one_that_is_no_json_costs_only_itself() {
        let mut bytes = Vec::new();
        notify(&mut bytes, "one", &json!({})).unwrap();
        bytes.extend_from_slice(b"content-length: 3\r\nContent-Type: x\r\n\r\n{,}");
        notify(&mut bytes, "two", &json!({ "text": "Größe" })).unwrap();
        assert_eq!(read_all(&bytes), ["one", "no JSON", "two"]);
    }

    #[test]
    fn headers_are_bounded() {
        for (bytes, expected) in [
            ("Content-Length: 999999999999\r\n\r\n", "Content-Length"),
            ("Content-Length: -1\r\n\r\n", "Content-Length"),
            ("Content-Type: x\r\n\r\n", "no Content-Length"),
            ("nothing\r\n\r\n", "no `:`"),
            (&"x".repeat(2_000), "too long"),
            (&"a: b\n".repeat(20), "too many"),
        ] {
            let found = read_all(bytes.as_bytes());
            assert!(found[0].contains(expected), "{found:?}");
        }
        assert!(read_all(b"Content-Length: 10\r\n\r\n{}").is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            read_all(&bytes);
        }
    }
}
