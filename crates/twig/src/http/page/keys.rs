//! Page keys: each lets one browser read what its holder may read.
//!
//! Only digests are kept, in one file of this user. A key ends when it was not used for thirty days,
//! when what it was made from ends, or with `twig page --forget`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;
use twig_core::store::{hex, read_hex};
use twig_sources::{LockedFile, NewFile};

use super::entrance::new_secret;

/// Seconds without use after which a key ends.
const IDLE: u64 = 30 * 24 * 60 * 60;
/// Seconds after which the last use is written down again.
const WRITTEN: u64 = 24 * 60 * 60;
/// The most keys; the one that was unused for the longest time ends first.
const MOST: usize = 200;
/// The file with the keys.
const FILE: &str = "keys.json";

/// What a page key stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PageHolder {
    /// The user whose server this is.
    Owner,
    /// Somebody who typed the token, by its digest.
    Token(String),
    /// Somebody who typed the key of a person: its id and its digest.
    Person(String, String),
}

/// The page keys of a server.
pub(super) struct PageKeys {
    file: Option<PathBuf>,
    known: Mutex<KnownPageKeys>,
}

#[derive(Default)]
struct KnownPageKeys {
    /// What the file was like when it was read.
    seen: Option<(SystemTime, u64)>,
    keys: Vec<PageKeyRecord>,
}

/// A key as the file has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PageKeyRecord {
    digest: String,
    used: u64,
    holder: PageHolder,
}

impl PageKeys {
    /// The keys in a folder; without one they last as long as the server.
    pub(super) fn new(folder: Option<&Path>) -> Self {
        Self {
            file: folder.map(|folder| folder.join(FILE)),
            known: Mutex::default(),
        }
    }

    /// Makes a key.
    pub(super) fn make(&self, holder: PageHolder) -> io::Result<String> {
        let key = new_secret()?;
        let record = PageKeyRecord {
            digest: hex(&Sha256::digest(&key).into()),
            used: now(),
            holder,
        };
        self.change(|keys| {
            keys.retain(|it| !it.is_over());
            if keys.len() >= MOST {
                keys.sort_by_key(|it| std::cmp::Reverse(it.used));
                keys.truncate(MOST - 1);
            }
            keys.push(record);
        })?;
        Ok(key)
    }

    /// What a key stands for, if it works.
    pub(super) fn holder(&self, shown: &str) -> Option<PageHolder> {
        let digest: [u8; 32] = Sha256::digest(shown).into();
        let found = self.known().keys.iter().find_map(|record| {
            let known = read_hex(&record.digest)?;
            bool::from(known[..].ct_eq(&digest[..])).then(|| record.clone())
        });
        let found = found.filter(|record| !record.is_over())?;
        if now().saturating_sub(found.used) > WRITTEN {
            // What cannot be written is written next time.
            let _ = self.change(|keys| {
                let used = keys.iter_mut().find(|it| it.digest == found.digest);
                if let Some(record) = used {
                    record.used = now();
                }
            });
        }
        Some(found.holder)
    }

    /// The keys, read again if another process changed them.
    fn known(&self) -> MutexGuard<'_, KnownPageKeys> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &self.file {
            let now = fs::metadata(file)
                .and_then(|it| Ok((it.modified()?, it.len())))
                .ok();
            if known.seen != now || now.is_none() {
                known.keys = read(file);
                known.seen = now;
            }
        }
        known
    }

    fn change(&self, change: impl FnOnce(&mut Vec<PageKeyRecord>)) -> io::Result<()> {
        let Some(path) = &self.file else {
            change(
                &mut self
                    .known
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .keys,
            );
            return Ok(());
        };
        write(path, change)?;
        self.known().seen = None;
        Ok(())
    }
}

/// Ends all page keys; returns how many there were.
pub(crate) fn forget_keys(folder: &Path) -> io::Result<usize> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(0);
    }
    let mut count = 0;
    write(&path, |keys| {
        count = keys.iter().filter(|it| !it.is_over()).count();
        keys.clear();
    })?;
    Ok(count)
}

fn read(path: &Path) -> Vec<PageKeyRecord> {
    // A file that cannot be read lets nobody in.
    let text = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn write(path: &Path, change: impl FnOnce(&mut Vec<PageKeyRecord>)) -> io::Result<()> {
    let file = LockedFile::open(path).map_err(io::Error::other)?;
    let before = file.read()?;
    let read = before.as_deref().map(serde_json::from_slice);
    let mut keys: Vec<PageKeyRecord> = read.and_then(Result::ok).unwrap_or_default();
    change(&mut keys);
    let bytes = serde_json::to_vec_pretty(&keys)?;
    file.replace(before.as_deref(), &bytes, NewFile::PRIVATE)
}

impl PageKeyRecord {
    fn is_over(&self) -> bool {
        now().saturating_sub(self.used) > IDLE
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_as_digests_until_they_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let keys = PageKeys::new(Some(folder.path()));
        assert_eq!(keys.holder("anything"), None);
        let key = keys.make(PageHolder::Owner).unwrap();
        assert_eq!(keys.holder(&key), Some(PageHolder::Owner));
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(!text.contains(&key));
        // Another server of this user.
        let other = PageKeys::new(Some(folder.path()));
        assert_eq!(other.holder(&key), Some(PageHolder::Owner));
        assert_eq!(forget_keys(folder.path()).unwrap(), 1);
        assert_eq!((keys.holder(&key), other.holder(&key)), (None, None));
    }

    #[test]
    fn an_unused_key_ends_and_a_used_one_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let keys = PageKeys::new(Some(folder.path()));
        let key = keys.make(PageHolder::Token("aa".to_owned())).unwrap();
        keys.change(|all| all[0].used -= WRITTEN + 10).unwrap();
        assert!(keys.holder(&key).is_some());
        assert!(now() - keys.known().keys[0].used < 100);
        keys.change(|all| all[0].used -= IDLE + 1).unwrap();
        assert_eq!(keys.holder(&key), None);
    }
}
