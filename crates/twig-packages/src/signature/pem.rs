//! PEM: one block of base64 between two lines that say what it is.

use base64::prelude::{BASE64_STANDARD, Engine as _};

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// Characters of a line that is written.
const LINE: usize = 64;

/// Why a file with a block is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PemTrouble {
    #[error(
        "it holds a private key; pin the public key or the certificate, and keep this one secret"
    )]
    Private,
    #[error("it holds more than one key or certificate; keep only the one to trust")]
    Several,
    #[error("it holds `{0}`, and has to hold `CERTIFICATE` or `PUBLIC KEY`")]
    Label(String),
    #[error("its PEM block has no end or is not base64")]
    Broken,
}

/// The bytes in the block of a file; `None` if there is no block. Text around it is ignored.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Vec<u8>>, PemTrouble> {
    let Some((label, rest)) = std::str::from_utf8(bytes).ok().and_then(first_block) else {
        return Ok(None);
    };
    if label.ends_with("PRIVATE KEY") {
        return Err(PemTrouble::Private);
    }
    if !matches!(label, "CERTIFICATE" | "PUBLIC KEY") {
        return Err(PemTrouble::Label(super::error::printable(label)));
    }
    if rest.contains(BEGIN) {
        return Err(PemTrouble::Several);
    }
    let (body, end) = rest.split_once(END).ok_or(PemTrouble::Broken)?;
    let is_end = |end: &str| end.strip_prefix(label)?.strip_prefix(DASHES).map(|_| ());
    is_end(end).ok_or(PemTrouble::Broken)?;
    let digits: String = body.split_ascii_whitespace().collect();
    let der = BASE64_STANDARD.decode(digits);
    der.map(Some).map_err(|_| PemTrouble::Broken)
}

/// A block around bytes.
pub(super) fn write(label: &str, der: &[u8]) -> String {
    let digits = BASE64_STANDARD.encode(der);
    let mut text = format!("{BEGIN}{label}{DASHES}\n");
    let mut rest = &*digits;
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text + END + label + DASHES + "\n"
}

/// The label of the first block, and what follows its first line.
fn first_block(text: &str) -> Option<(&str, &str)> {
    let (_, block) = text.split_once(BEGIN)?;
    block.split_once(DASHES)
}
