//! Whether a file or folder is unchanged since it was checked.
//!
//! A stamp is the result of `stat`. Clocks of file systems are coarse, so two writes within one
//! tick can leave the same stamp: a stamp younger than [`SETTLED`] is not relied on.
//!
//! A program that maps a file into its memory leaves one stamp for all its writes to a page until
//! the system has written that page to disk. So a file changed within [`MAPPED`] is read again in
//! every round, whatever its stamp; older files cost nothing.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use crate::platform::facts;

/// From this age on a stamp proves that nothing changed.
const SETTLED: Duration = Duration::from_millis(50);

/// How long after the first write to a mapped page there can be another one without a trace: Linux
/// writes a page to disk after 30 s, give or take the 5 s between two of its own checks, and of
/// ours.
const MAPPED: Duration = Duration::from_secs(40);

/// The current round of checks.
static ROUND: AtomicU32 = AtomicU32::new(1);

/// Begins another round: files that changed a moment ago are read once more.
pub(crate) fn next_round() {
    ROUND.fetch_add(1, Ordering::Relaxed);
}

/// How far a file server's clock may be ahead before its times are ignored.
const AHEAD: Duration = Duration::from_secs(10);

/// The `stat` of one file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    /// Nanoseconds since 1970; users can set it.
    modified: i64,
    /// Nanoseconds since 1970; only the system sets it.
    changed: i64,
}

impl FileStamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let facts = facts(metadata);
        Self {
            device: facts.device,
            inode: facts.inode,
            size: metadata.len(),
            modified: facts.modified,
            changed: facts.changed,
        }
    }

    /// When it was last written, in seconds since 1970.
    pub(crate) fn modified(&self) -> i64 {
        self.modified.div_euclid(1_000_000_000)
    }

    /// All fields in one number.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Whether any later change is sure to give another stamp, except one through a mapping.
    pub(crate) fn is_settled(&self) -> bool {
        !self.is_younger(SETTLED)
    }

    /// The round of this check, if a change through a mapping might not be noticed.
    pub(crate) fn round(&self) -> Option<u32> {
        self.is_younger(MAPPED)
            .then(|| ROUND.load(Ordering::Relaxed))
    }

    fn is_younger(&self, than: Duration) -> bool {
        let age = since_1970(SystemTime::now()).wrapping_sub(self.changed);
        (-signed(AHEAD)..signed(than)).contains(&age)
    }

    /// How long until the last write is `quiet` ago, if it is not yet.
    pub(crate) fn until_quiet(&self, quiet: Duration) -> Option<Duration> {
        let age = since_1970(SystemTime::now()).wrapping_sub(self.modified);
        let quiet = signed(quiet);
        // A time far ahead was set by hand and says nothing about a running write.
        (-quiet..quiet)
            .contains(&age)
            .then(|| Duration::from_nanos(quiet.saturating_sub(age).max(0).cast_unsigned()))
    }
}

/// The result of checking a path: a stamp or nothing, and whether it is reliable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeenStamp {
    stamp: Option<FileStamp>,
    settled: bool,
    /// The round of the check.
    round: u32,
}

impl SeenStamp {
    /// Checks a path; follows symlinks.
    pub(crate) fn at(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(metadata) => Self::of(FileStamp::of(&metadata)),
            Err(error) => Self {
                stamp: None,
                settled: is_absence(&error),
                round: 0,
            },
        }
    }

    pub(crate) fn of(stamp: FileStamp) -> Self {
        Self {
            stamp: Some(stamp),
            settled: stamp.is_settled(),
            round: ROUND.load(Ordering::Relaxed),
        }
    }

    /// Not checked yet: anything is new.
    pub(crate) fn never() -> Self {
        Self {
            stamp: None,
            settled: false,
            round: 0,
        }
    }

    pub(crate) fn is_there(&self) -> bool {
        self.stamp.is_some()
    }

    pub(crate) fn stamp(&self) -> Option<&FileStamp> {
        self.stamp.as_ref()
    }

    /// The stamp, if a later change is sure to give another one.
    pub(crate) fn settled(&self) -> Option<&FileStamp> {
        self.stamp.as_ref().filter(|_| self.settled)
    }

    /// Whether the path is sure to be unchanged.
    pub(crate) fn holds(&self, now: &SeenStamp) -> bool {
        self.settled && self.stamp == now.stamp && !self.is_past(now)
    }
}

impl SeenStamp {
    /// Whether another round has begun since, and this is so young that it may have changed
    /// unnoticed.
    fn is_past(&self, now: &SeenStamp) -> bool {
        let is_young = |stamp: &FileStamp| stamp.is_younger(MAPPED);
        self.round != now.round && now.stamp.as_ref().is_some_and(is_young)
    }
}

/// Whether an error means that nothing is there, rather than that access is denied.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
    )
}

fn since_1970(time: SystemTime) -> i64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn signed(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(changed: i64) -> FileStamp {
        FileStamp {
            device: 1,
            inode: 2,
            size: 3,
            modified: changed,
            changed,
        }
    }

    #[test]
    fn young_stamps_are_not_relied_on() {
        let now = since_1970(SystemTime::now());
        assert!(!stamp(now).is_settled());
        assert!(!stamp(now + signed(Duration::from_secs(1))).is_settled());
        assert!(stamp(now - signed(SETTLED)).is_settled());
    }

    #[test]
    fn a_clock_that_jumped_back_does_not_unsettle_for_ever() {
        let now = since_1970(SystemTime::now());
        let year = signed(Duration::from_secs(365 * 86_400));
        assert!(stamp(now + year).is_settled());
        assert_eq!(
            stamp(now + year).until_quiet(Duration::from_millis(20)),
            None
        );
    }

    #[test]
    fn a_fresh_write_is_waited_for_and_an_old_one_is_not() {
        let now = since_1970(SystemTime::now());
        let quiet = Duration::from_millis(500);
        assert!(
            stamp(now)
                .until_quiet(quiet)
                .is_some_and(|wait| wait <= quiet)
        );
        assert_eq!(stamp(now - signed(quiet)).until_quiet(quiet), None);
    }
}
