//! Sessions that clients have ended: their ids are refused until they would have expired anyway,
//! also after a restart.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use twig_core::store::{hex, read_hex};

/// Seconds for which an ended session is remembered: as long as an id is valid.
const REMEMBERED: u64 = 24 * 60 * 60;
/// The most ended sessions that are remembered; the oldest are forgotten first.
const MOST: usize = 100_000;

/// The ended sessions, by the digest of their ids.
pub(super) struct EndedSessions {
    known: Mutex<KnownEnds>,
}

struct KnownEnds {
    ends: HashMap<[u8; 32], u64>,
    /// Where they are kept; `None` if they cannot be.
    file: Option<File>,
}

impl EndedSessions {
    /// Reads the file, and writes it again without what has expired.
    pub(super) fn open(path: Option<&Path>) -> Self {
        let ends = path.map(read).unwrap_or_default();
        let file = path.and_then(|path| match rewritten(path, &ends) {
            Ok(file) => Some(file),
            Err(error) => {
                let path = path.display();
                tracing::debug!("ended sessions are not kept in {path}: {error}");
                None
            }
        });
        Self {
            known: Mutex::new(KnownEnds { ends, file }),
        }
    }

    /// Remembers that a session was ended.
    pub(super) fn add(&self, id: &str) {
        let (digest, at) = (digest(id), now());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.ends.len() >= MOST {
            known.ends.retain(|_, at| !is_over(*at));
            let oldest = known.ends.iter().min_by_key(|(_, at)| **at);
            let oldest = oldest.map(|(digest, _)| *digest);
            if let Some(oldest) = oldest.filter(|_| known.ends.len() >= MOST) {
                known.ends.remove(&oldest);
            }
        }
        known.ends.insert(digest, at);
        if let Some(file) = &mut known.file {
            // One write, so that a line is never half there. It need not survive a power failure.
            let _ = file.write_all(line(&digest, at).as_bytes());
        }
    }

    /// Whether a session was ended.
    pub(super) fn has(&self, id: &str) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.ends.contains_key(&digest(id))
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
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
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
