//! Why a signature is not accepted.

use twig_core::depth::TooDeep;
use twig_core::problem::shorten;

use crate::signature::SignatureComparison;

/// The most characters of somebody else's text in a message.
const QUOTED: usize = 200;

/// Why a signature cannot be read, or proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// More bytes than any list of files needs.
    #[error("the signature has {size} bytes, and the limit is {limit}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The largest size that is read.
        limit: usize,
    },
    /// More of something than is read.
    #[error("the signature has {count} {what}, and the limit is {limit}")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// The most that are read.
        limit: usize,
    },
    /// JSON that no signature needs.
    #[error("{place} cannot be read")]
    TooDeep {
        /// Which JSON.
        place: &'static str,
        /// Where it is too deep.
        source: TooDeep,
    },
    /// Not JSON, or other JSON than expected.
    #[error("{place} cannot be read: {reason}")]
    Json {
        /// Which JSON.
        place: &'static str,
        /// What the parser says.
        reason: String,
    },
    /// A field that is not base64.
    #[error("`{field}` of the signature is not base64")]
    Base64 {
        /// The field.
        field: &'static str,
    },
    /// Another format, version or algorithm.
    #[error("`{field}` of the signature is `{found}`, and Twig knows only `{known}`")]
    Unsupported {
        /// The field.
        field: &'static str,
        /// Its value.
        found: String,
        /// The value that is known.
        known: &'static str,
    },
    /// Keyless signing with a public log.
    #[error(
        "the signature relies on a transparency log, which Twig cannot check: ask the publisher to sign with a key or a certificate of their own"
    )]
    TransparencyLog,
    /// Neither a certificate nor a public key.
    #[error("the signature names no certificate and no public key")]
    NoKey,
    /// A bundle has exactly one signature.
    #[error("the bundle has {count} signatures, and has to have exactly one")]
    SignatureCount {
        /// How many it has.
        count: usize,
    },
    /// A certificate of the bundle that cannot be read.
    #[error("certificate {number} of the signature cannot be read: {reason}")]
    Certificate {
        /// Counted from one.
        number: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// RSA, Ed25519, other curves.
    #[error(
        "key `{fingerprint}` is of a kind that Twig cannot check: it has to be ECDSA with P-256 or P-384"
    )]
    KeyKind {
        /// The key.
        fingerprint: String,
    },
    /// What is to be pinned is no key.
    #[error("this is no key to pin: {reason}")]
    KeyFile {
        /// What is wrong with it.
        reason: String,
    },
    /// A digest that is not 64 digits.
    #[error("the signed digest of `{name}` is not 64 hexadecimal digits")]
    Digest {
        /// The file, or the name of the whole.
        name: String,
    },
    /// Two digests for one file.
    #[error("the signed list names `{name}` twice")]
    Twice {
        /// The file.
        name: String,
    },
    /// The digest over the list is another.
    #[error("the signed list of files does not have the digest that its own subject states")]
    SubjectDigest,
    /// The list has to be about one folder.
    #[error("the signed statement has {count} subjects, and has to have exactly one")]
    SubjectCount {
        /// How many it has.
        count: usize,
    },
    /// The signature was not made by the key that the bundle names, or something was changed.
    #[error(
        "the signature does not match: the list of files is not what key `{fingerprint}` signed"
    )]
    Mismatch {
        /// The key that the bundle names.
        fingerprint: String,
    },
    /// A good signature of somebody the user does not know.
    #[error(
        "it is signed with key `{fingerprint}`, which is not pinned; its certificate names `{subject}`, but anybody can write that: compare the fingerprint with the publisher's, then pin the key"
    )]
    UnknownKey {
        /// The key that signed.
        fingerprint: String,
        /// The name in its certificate.
        subject: String,
    },
    /// A bundle without certificates, and no pinned key that made its signature.
    #[error(
        "no pinned key made this signature; the signer calls the key `{hint}`: ask the publisher for it, then pin it"
    )]
    UnknownHint {
        /// What the bundle calls the key.
        hint: String,
    },
    /// A pinned issuer, but no valid chain from it to the signer.
    #[error("the certificate of `{subject}` cannot be trusted: {trouble}")]
    Chain {
        /// The certificate.
        subject: String,
        /// What is wrong with it.
        trouble: ChainTrouble,
    },
    /// The certificate has expired. Only reported if the time was given.
    #[error(
        "the certificate of `{subject}` expired at {end}: ask the publisher for a new signature"
    )]
    Expired {
        /// The certificate.
        subject: String,
        /// The last second it was valid.
        end: String,
    },
    /// The certificate is not valid yet. Only reported if the time was given.
    #[error(
        "the certificate of `{subject}` is valid only from {start}: check the clock of this machine"
    )]
    NotYetValid {
        /// The certificate.
        subject: String,
        /// The first second it is valid.
        start: String,
    },
    /// The signature is good, and the files are others.
    #[error("the files are not what was signed ({0})")]
    Files(Box<SignatureComparison>),
}

/// Why a certificate between a signer and a pinned key does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainTrouble {
    /// A pinned key is in the bundle, and it did not issue the signer's certificate.
    #[error("no certificates lead from it to the pinned key")]
    NotIssued,
    /// No CA.
    #[error("it issued another certificate without being allowed to")]
    NotAnIssuer,
    /// More certificates below it than it may have.
    #[error("it may not have so many certificates below it")]
    PathTooLong,
    /// For servers or mail, not for files.
    #[error("it was issued for another purpose than signing files")]
    NotForSigning,
    /// The issuer was not valid when the certificate was issued.
    #[error("its issuer was not valid when it was issued")]
    IssuedTooEarlyOrLate,
    /// A rule that Twig does not know and that must not be ignored.
    #[error("it has a critical extension `{0}` that Twig does not know")]
    CriticalExtension(String),
    /// An extension that is not what it should be.
    #[error("its extensions cannot be read")]
    Extensions,
}

/// Somebody else's text for a message: short, and with escapes for what cannot be seen.
pub(super) fn printable(text: &str) -> String {
    let mut shown = String::new();
    for c in shorten(text, QUOTED).chars() {
        let escaped = c.escape_debug();
        // Quotes and backslashes have escapes of two characters, and need none here.
        if c.is_control() || escaped.len() > 2 {
            shown.extend(escaped);
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(printable("O=\"Ä\\B\",C=日"), "O=\"Ä\\B\",C=日");
        assert_eq!(
            printable("a\u{1b}[2J\n\u{202e}\u{200b}\u{9b}"),
            "a\\u{1b}[2J\\n\\u{202e}\\u{200b}\\u{9b}"
        );
        assert_eq!(printable(&"x".repeat(1000)).chars().count(), QUOTED + 1);
    }
}
