//! Sessions that clients have ended: their ids are refused until they would have expired anyway,
//! also after a restart, and on all servers that share a database.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use twig_core::store::{hex, read_hex};
use twig_sources::platform::create_with_mode;
use twig_sources::{SessionDigest, SharedSessions};

/// Seconds for which an ended session is remembered: as long as an id is valid.
const REMEMBERED: u64 = 24 * 60 * 60;
/// The most ended sessions that are remembered; the oldest are forgotten first.
const MOST: usize = 100_000;

/// The ended sessions, by the digest of their ids.
pub(super) struct EndedSessions {
    known: Mutex<KnownEnds>,
}

struct KnownEnds {
    ends: HashMap<SessionDigest, u64>,
    place: EndsPlace,
}

/// Where ended sessions are kept.
enum EndsPlace {
    Memory,
    File(File),
    /// The database that servers share.
    Shared(Arc<SharedSessions>),
}

impl EndedSessions {
    /// Reads the file, and writes it again without what has expired.
    pub(super) fn open(path: Option<&Path>) -> Self {
        let ends = path.map(read).unwrap_or_default();
        let place = match path.map(|path| (path, rewritten(path, &ends))) {
            Some((_, Ok(file))) => EndsPlace::File(file),
            Some((path, Err(error))) => {
                let path = path.display();
                tracing::debug!("ended sessions are not kept in {path}: {error}");
                EndsPlace::Memory
            }
            None => EndsPlace::Memory,
        };
        Self {
            known: Mutex::new(KnownEnds { ends, place }),
        }
    }

    /// Those of all servers on a database.
    pub(super) fn shared(sessions: Arc<SharedSessions>) -> Self {
        let ended = Self {
            known: Mutex::new(KnownEnds {
                ends: HashMap::new(),
                place: EndsPlace::Shared(sessions),
            }),
        };
        ended.refresh();
        ended
    }

    /// Remembers that a session was ended.
    pub(super) fn add(&self, id: &str) {
        let (digest, at) = (digest(id), now());
        let mut known = self.known();
        known.insert(digest, at);
        match &mut known.place {
            EndsPlace::Memory => {}
            // One write, so that a line is never half there. It need not survive a power failure.
            EndsPlace::File(file) => {
                let _ = file.write_all(line(&digest, at).as_bytes());
            }
            EndsPlace::Shared(sessions) => sessions.end(digest),
        }
    }

    /// Whether other servers may have ended sessions that this one has to ask for.
    pub(super) fn is_stale(&self) -> bool {
        match &self.known().place {
            EndsPlace::Shared(sessions) => sessions.is_stale(),
            EndsPlace::Memory | EndsPlace::File(_) => false,
        }
    }

    /// Learns which sessions were ended on other servers; returns whether there were any.
    pub(super) fn refresh(&self) -> bool {
        let mut known = self.known();
        let EndsPlace::Shared(sessions) = &known.place else {
            return false;
        };
        let ended = sessions.take_ended();
        let at = now();
        let mut is_news = false;
        for digest in ended {
            is_news |= known.insert(digest, at);
        }
        is_news
    }

    /// Whether a session was ended.
    pub(super) fn has(&self, id: &str) -> bool {
        let known = self.known();
        // Every request of a session asks, and most servers have ended none.
        !known.ends.is_empty() && known.ends.contains_key(&digest(id))
    }

    fn known(&self) -> MutexGuard<'_, KnownEnds> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownEnds {
    /// Remembers a session, if need be instead of the oldest; returns whether it was not known.
    fn insert(&mut self, digest: SessionDigest, at: u64) -> bool {
        if self.ends.contains_key(&digest) {
            return false;
        }
        if self.ends.len() >= MOST {
            self.ends.retain(|_, at| !is_over(*at));
            let oldest = self.ends.iter().min_by_key(|(_, at)| **at);
            let oldest = oldest.map(|(digest, _)| *digest);
            if let Some(oldest) = oldest.filter(|_| self.ends.len() >= MOST) {
                self.ends.remove(&oldest);
            }
        }
        self.ends.insert(digest, at);
        true
    }
}

fn read(path: &Path) -> HashMap<[u8; 32], u64> {
    let Ok(file) = File::open(path) else {
        return HashMap::new();
    };
    let lines = BufReader::new(file).lines().take(2 * MOST);
    let ends = lines.map_while(Result::ok).filter_map(|line| {
        let (digest, at) = line.split_once(' ')?;
        Some((read_hex(digest)?, at.parse().ok()?))
    });
    ends.filter(|(_, at)| !is_over(*at)).take(MOST).collect()
}

fn rewritten(path: &Path, ends: &HashMap<[u8; 32], u64>) -> io::Result<File> {
    let mut text = String::new();
    for (digest, at) in ends {
        text.push_str(&line(digest, *at));
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    create_with_mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn line(digest: &[u8; 32], at: u64) -> String {
    format!("{} {at}\n", hex(digest))
}

fn digest(id: &str) -> [u8; 32] {
    Sha256::digest(id.as_bytes()).into()
}

fn is_over(at: u64) -> bool {
    now() >= at + REMEMBERED
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_session_stays_ended_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ended");
        let old = line(&digest("old"), now() - REMEMBERED);
        std::fs::write(&path, format!("{old}not a line\n")).unwrap();
        let ends = EndedSessions::open(Some(&path));
        assert!(!ends.has("old") && !ends.has("one"));
        ends.add("one");
        assert!(ends.has("one"));
        let again = EndedSessions::open(Some(&path));
        assert!(again.has("one") && !again.has("old"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert!(
            EndedSessions::open(None)
                .known
                .lock()
                .unwrap()
                .ends
                .is_empty()
        );
    }
}
