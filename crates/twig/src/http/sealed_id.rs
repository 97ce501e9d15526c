//! Session ids that describe themselves: which client it is, whose session it is, and since when.
//!
//! The id is sealed with a key that is kept on disk or in the database, so a server that was restarted
//! resumes the sessions of its clients, and servers on one database those of each other. It is no credential: the door has asked for one before, and the caller
//! has to be the one that is sealed in.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use twig_mcp::CLIENT_STATE;
use twig_sources::{LockedFile, NewFile};

/// The form of an id.
const FORM: u8 = 1;
/// Seconds after which a session ends.
const LIFETIME: u64 = 24 * 60 * 60;
/// Seconds by which the clock may have been set back.
const AHEAD: u64 = 60;
/// Bytes of the owner's digest, of the random part, and of the seal.
const OWNER: usize = 8;
const NONCE: usize = 12;
const SEAL: usize = 16;
/// Bytes before the client's state: form, time, owner, random part.
const HEAD: usize = 1 + 8 + OWNER + NONCE;
/// The longest id, in characters.
const LONGEST: usize = (HEAD + CLIENT_STATE + SEAL).div_ceil(3) * 4;

/// Makes ids, and reads them.
pub(super) struct SessionSealer {
    key: [u8; 32],
}

/// Whose session it is: the caller, and the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionOwner([u8; OWNER]);

impl SessionOwner {
    pub(super) fn new(caller: &str, address: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update((caller.len() as u64).to_le_bytes());
        hash.update(caller);
        hash.update(address);
        let digest: [u8; 32] = hash.finalize().into();
        let mut owner = [0; OWNER];
        owner.copy_from_slice(&digest[..OWNER]);
        Self(owner)
    }
}

impl SessionSealer {
    /// The sealer with a key that is named, that servers share, or that is in a file, which is made if
    /// there is none; `None` if the system has no random numbers.
    pub(super) fn open(
        named: Option<&str>,
        shared: Option<[u8; 32]>,
        file: Option<&Path>,
    ) -> Option<Self> {
        let named = named.map(|named| Sha256::digest(named.as_bytes()).into());
        if let Some(key) = named.or(shared) {
            return Some(Self { key });
        }
        let kept = file.map(kept_key);
        match kept {
            Some(Ok(key)) => return Some(Self { key }),
            Some(Err(error)) => tracing::warn!(
                "sessions will not survive a restart: the key in {} cannot be used: {error}",
                file.unwrap_or(Path::new("")).display()
            ),
            None => {}
        }
        Some(Self { key: random()? })
    }

    /// An id for a session that begins now.
    pub(super) fn seal(&self, owner: SessionOwner, client: &[u8]) -> Option<String> {
        let nonce: [u8; NONCE] = random()?;
        let mut bytes = vec![FORM];
        bytes.extend_from_slice(&now().to_be_bytes());
        bytes.extend_from_slice(&owner.0);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(client);
        let seal = self.mac(&bytes)?;
        bytes.extend_from_slice(&seal);
        Some(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The state of the client in an id; `None` if the id was not made here, is another caller's, or
    /// is too old.
    pub(super) fn open_id(&self, id: &str, owner: SessionOwner) -> Option<Vec<u8>> {
        if id.len() > LONGEST {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(id).ok()?;
        let body = bytes.len().checked_sub(SEAL)?;
        let (body, seal) = bytes.split_at(body);
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        mac.update(body);
        // Compares in constant time.
        mac.verify_truncated_left(seal).ok()?;
        let (head, client) = body.split_at_checked(HEAD)?;
        let since = u64::from_be_bytes(head[1..9].try_into().ok()?);
        let now = now();
        let is_current = since <= now + AHEAD && now < since + LIFETIME;
        let is_theirs = head[0] == FORM && head[9..9 + OWNER] == owner.0;
        (is_current && is_theirs).then(|| client.to_vec())
    }

    fn mac(&self, bytes: &[u8]) -> Option<[u8; SEAL]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        mac.update(bytes);
        let whole = mac.finalize().into_bytes();
        whole.get(..SEAL)?.try_into().ok()
    }
}

/// The key that a server offers to share: the one of its file, so that its sessions go on, or a random
/// one.
pub(super) fn offered_key(file: Option<&Path>) -> Option<[u8; 32]> {
    let text = file.and_then(|file| std::fs::read_to_string(file).ok());
    let kept = text.and_then(|text| twig_core::store::read_hex(text.trim()));
    kept.or_else(random)
}

/// The key in a file, which only this user may read.
fn kept_key(path: &Path) -> Result<[u8; 32], String> {
    let file = LockedFile::open(path).map_err(|error| error.to_string())?;
    let text = file.read().map_err(|error| error.to_string())?;
    if let Some(text) = text {
        let text = String::from_utf8(text).ok();
        let key = text.and_then(|text| twig_core::store::read_hex(text.trim()));
        return key.ok_or_else(|| "it is not 64 hexadecimal digits".to_owned());
    }
    let key: [u8; 32] = random().ok_or("the system has no random numbers")?;
    let text = format!("{}\n", twig_core::store::hex(&key));
    let written = file.replace(None, text.as_bytes(), NewFile::PRIVATE);
    written.map_err(|error| error.to_string())?;
    Ok(key)
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!("the system has no random numbers: {error}");
        return None;
    }
    Some(bytes)
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn sealer(byte: u8) -> SessionSealer {
        SessionSealer { key: [byte; 32] }
    }

    fn owner(caller: &str) -> SessionOwner {
        SessionOwner::new(caller, "/mcp")
    }

    #[test]
    fn an_id_is_read_by_whoever_has_the_key() {
        let id = sealer(1).seal(owner("anna"), b"\x07Claude Code").unwrap();
        assert!(id.len() <= 160 && id.bytes().all(|byte| byte.is_ascii_graphic()));
        let opened = sealer(1).open_id(&id, owner("anna"));
        assert_eq!(opened.as_deref(), Some(&b"\x07Claude Code"[..]));
        assert_eq!(sealer(2).open_id(&id, owner("anna")), None);
        assert_eq!(sealer(1).open_id(&id, owner("bob")), None);
        let elsewhere = SessionOwner::new("anna", "/mcp/acme/garden");
        assert_eq!(sealer(1).open_id(&id, elsewhere), None);
        let longest = sealer(1)
            .seal(owner("anna"), &[b'x'; CLIENT_STATE])
            .unwrap();
        assert!(longest.len() <= 160, "{}", longest.len());
        assert!(sealer(1).open_id(&longest, owner("anna")).is_some());
    }

    #[test]
    fn no_flipped_bit_and_no_other_text_is_an_id() {
        let sealer = sealer(1);
        let id = sealer.seal(owner("anna"), b"\x07client").unwrap();
        for at in 0..id.len() {
            for bit in 0..7 {
                let mut bytes = id.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let Ok(text) = String::from_utf8(bytes) else {
                    continue;
                };
                assert_eq!(sealer.open_id(&text, owner("anna")), None, "{at} {bit}");
            }
        }
        for text in ["", "0", &id[1..], &format!("{id}A"), &"A".repeat(10_000)] {
            assert_eq!(sealer.open_id(text, owner("anna")), None);
        }
    }

    #[test]
    fn an_old_id_is_refused() {
        let sealer = sealer(1);
        let with_age = |age: u64| {
            let mut bytes = vec![FORM];
            bytes.extend_from_slice(&(now() - age).to_be_bytes());
            bytes.extend_from_slice(&owner("anna").0);
            bytes.extend_from_slice(&[0; NONCE]);
            bytes.push(7);
            let seal = sealer.mac(&bytes).unwrap();
            bytes.extend_from_slice(&seal);
            URL_SAFE_NO_PAD.encode(bytes)
        };
        let open = |age| sealer.open_id(&with_age(age), owner("anna"));
        assert!(open(LIFETIME - 60).is_some());
        assert_eq!(open(LIFETIME + 1), None);
        assert_eq!(open(25 * 60 * 60), None);
    }

    #[test]
    fn the_key_is_kept_for_this_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/session.key");
        let first = SessionSealer::open(None, None, Some(&path)).unwrap();
        let second = SessionSealer::open(None, None, Some(&path)).unwrap();
        assert_eq!(first.key, second.key);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(&path, "not a key").unwrap();
        let other = SessionSealer::open(None, None, Some(&path)).unwrap();
        assert_ne!(first.key, other.key, "a key of this process alone");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "not a key");
    }
}
