//! Archives that were made: the digests of many, and the bytes of the last ones.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use twig_packages::published::published_digest;

/// Bytes of archives that are kept.
const KEPT_BYTES: usize = 16 * 1024 * 1024;
/// Digests that are kept.
const KEPT_DIGESTS: usize = 16_384;

/// What an archive is made from: another one if a file changed.
pub(super) type ArchiveKey = [u8; 32];

/// An archive that was made.
#[derive(Debug, Clone)]
pub(super) struct HubArchive {
    pub(super) digest: [u8; 32],
    pub(super) bytes: Arc<Vec<u8>>,
}

/// Archives that were made.
#[derive(Default)]
pub(super) struct HubArchives(Mutex<KeptArchives>);

#[derive(Default)]
struct KeptArchives {
    digests: HashMap<ArchiveKey, [u8; 32]>,
    /// Used last at the end.
    archives: VecDeque<HubArchive>,
    bytes: usize,
}

impl HubArchives {
    /// The digest of an archive that was made from this.
    pub(super) fn digest(&self, key: &ArchiveKey) -> Option<[u8; 32]> {
        self.kept().digests.get(key).copied()
    }

    /// The archive that was made from this, if it is still kept.
    pub(super) fn archive(&self, key: &ArchiveKey) -> Option<HubArchive> {
        let mut kept = self.kept();
        let digest = *kept.digests.get(key)?;
        let at = kept.archives.iter().position(|it| it.digest == digest)?;
        let archive = kept.archives.remove(at)?;
        kept.archives.push_back(archive.clone());
        Some(archive)
    }

    /// Keeps an archive, and forgets those that were not used for the longest time.
    pub(super) fn keep(&self, key: ArchiveKey, bytes: Vec<u8>) -> HubArchive {
        let archive = HubArchive {
            digest: published_digest(&bytes),
            bytes: Arc::new(bytes),
        };
        let mut kept = self.kept();
        if kept.digests.len() >= KEPT_DIGESTS {
            kept.digests.clear();
        }
        kept.digests.insert(key, archive.digest);
        let is_new = kept.archives.iter().all(|it| it.digest != archive.digest);
        if is_new && archive.bytes.len() <= KEPT_BYTES {
            kept.bytes += archive.bytes.len();
            kept.archives.push_back(archive.clone());
            while kept.bytes > KEPT_BYTES {
                let Some(oldest) = kept.archives.pop_front() else {
                    break;
                };
                kept.bytes -= oldest.bytes.len();
            }
        }
        archive
    }

    fn kept(&self) -> MutexGuard<'_, KeptArchives> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_archives_are_kept_and_every_digest() {
        let archives = HubArchives::default();
        let size = KEPT_BYTES / 4;
        let keep = |at: u8| archives.keep([at; 32], vec![at; size]);
        let first = keep(0);
        for at in 1..4 {
            keep(at);
        }
        assert!(archives.archive(&[0; 32]).is_some());
        keep(4);
        assert!(
            archives.archive(&[1; 32]).is_none(),
            "not used for the longest time"
        );
        let again = archives.archive(&[0; 32]).map(|it| it.digest);
        assert_eq!(again, Some(first.digest));
        assert!(archives.digest(&[1; 32]).is_some());
        archives.keep([9; 32], vec![0; KEPT_BYTES + 1]);
        assert!(archives.archive(&[9; 32]).is_none(), "too large to keep");
        assert!(archives.archive(&[0; 32]).is_some());
        assert_eq!(archives.kept().bytes, KEPT_BYTES);
    }
}
