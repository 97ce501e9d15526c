//! The token that all clients share, from a file or the environment.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use subtle::ConstantTimeEq;
use twig_core::access::KeyText;
use twig_sources::platform::mode;

use super::door::is_this_machine;
use super::limits;
use crate::command_error::{CommandError, reason};
use crate::places;

const MAKE_TOKEN: &str = "make one with `openssl rand -hex 32`";

/// A secret; it is compared and never shown.
pub(super) struct BearerToken(Box<[u8]>);

impl BearerToken {
    /// Reads the token from a file or the environment. A short one is refused if other machines can
    /// connect and guess it.
    pub(super) fn find(
        file: Option<&Path>,
        address: SocketAddr,
    ) -> Result<Option<Self>, CommandError> {
        let (token, place) = match file {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|error| {
                    let path = path.display();
                    let message = format!("could not read the token in {path}: {}", reason(&error));
                    CommandError::fixable(message)
                })?;
                (text, path.display().to_string())
            }
            None => match places::token_from_environment() {
                Some(token) => (
                    token.to_string_lossy().into_owned(),
                    "TWIG_TOKEN".to_owned(),
                ),
                None => return Ok(None),
            },
        };
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("the token in {place} has to be one word of ASCII characters");
            return Err(CommandError::fixable(message).hint(MAKE_TOKEN));
        }
        if KeyText::parse(token).is_ok() {
            let message = format!(
                "{place} has the key of a person, which cannot be the token of a server: everyone who has it could do everything"
            );
            let hint = "start the server without it; keys work by themselves";
            return Err(CommandError::fixable(message).hint(hint));
        }
        if token.len() < limits::GOOD_TOKEN {
            let (length, least, good) = (token.len(), limits::TOKEN, limits::GOOD_TOKEN);
            if length < least && !is_this_machine(address) {
                let message = format!(
                    "the token in {place} has {length} characters, and {address} needs one of at least {least}: others could guess it"
                );
                return Err(CommandError::fixable(message).hint(MAKE_TOKEN));
            }
            tracing::warn!(
                "the token in {place} has {length} characters and is easy to guess: use at least {good}; {MAKE_TOKEN}"
            );
        }
        if let Some(path) = file {
            warn_if_shared("token", path);
        }
        Ok(Some(Self(token.as_bytes().into())))
    }

    /// SHA-256 of the token.
    #[cfg(feature = "page")]
    pub(super) fn digest(&self) -> [u8; 32] {
        use sha2::{Digest as _, Sha256};
        Sha256::digest(&self.0).into()
    }

    /// Compares in constant time.
    pub(super) fn is(&self, shown: &[u8]) -> bool {
        bool::from(self.0.ct_eq(shown))
    }
}

/// Warns about a file whose secret every user of the machine can read.
pub(super) fn warn_if_shared(secret: &str, path: &Path) {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file);
    let mode = found.and_then(|found| mode(&found));
    if mode.is_some_and(|mode| mode & 0o004 != 0) {
        let path = path.display();
        tracing::warn!(
            "every user of this machine can read the {secret} in {path}: run `chmod 600 {path}`"
        );
    }
}
