//! Decides every wait for a save, a burst of events or a checkout: is the writer done?

use std::path::Path;
use std::time::Duration;

use crate::stamp::{FileStamp, SeenStamp};

/// A scanned file or folder is complete if it was not written to for this long: another check
/// follows the next event.
const SCAN: Duration = Duration::from_millis(8);

/// The same for files that are read for a client's request.
const BODY: Duration = Duration::from_millis(20);

/// The longest wait for one file.
const LONG: Duration = Duration::from_millis(250);

/// How long to wait after the last event before checking the disk.
pub(crate) const EVENTS_QUIET: Duration = Duration::from_millis(10);

/// Continuous events do not delay the check for longer than this.
pub(crate) const EVENTS_LONGEST: Duration = Duration::from_millis(300);

/// Nor does a running checkout.
pub(crate) const CHECKOUT: Duration = Duration::from_secs(2);

/// How often to check for its end.
pub(crate) const CHECKOUT_STEP: Duration = Duration::from_millis(20);

/// How long to wait for a running save before the current content is used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SavePatience {
    /// A file that was not written to for this long is complete.
    pub(crate) quiet: Duration,
    /// The same for an empty file, which most likely was truncated to be written again.
    pub(crate) quiet_when_empty: Duration,
    /// A file is gone if no file was added to or removed from its folder for this long.
    pub(crate) quiet_when_gone: Duration,
    /// The longest wait in all.
    pub(crate) total: Duration,
    /// Whether an empty file is checked twice: a file that is being truncated is short a moment
    /// before its times change.
    pub(crate) doubts_empty: bool,
}

impl SavePatience {
    /// For bodies, which are read for a client's request.
    pub(crate) const BODY: Self = Self {
        quiet: BODY,
        quiet_when_empty: LONG,
        quiet_when_gone: BODY,
        total: LONG,
        doubts_empty: true,
    };

    /// For files that no program should be writing: one that changes meanwhile is refused.
    pub(crate) const NONE: Self = Self {
        quiet: Duration::ZERO,
        quiet_when_empty: Duration::ZERO,
        quiet_when_gone: Duration::ZERO,
        total: Duration::ZERO,
        doubts_empty: true,
    };

    /// For files of a package: nothing writes to them, and their digests are compared.
    pub(crate) const FETCHED: Self = Self {
        doubts_empty: false,
        ..Self::NONE
    };

    /// For scans: another check follows the next event, so this waits only a moment, unless a file
    /// that had text is empty now.
    pub(crate) fn for_scan(had_text: bool) -> Self {
        Self {
            quiet: SCAN,
            quiet_when_empty: if had_text { LONG } else { SCAN },
            quiet_when_gone: if had_text { BODY } else { SCAN },
            total: LONG,
            // A file that had no text before is checked again after its next event.
            doubts_empty: had_text,
        }
    }

    /// How long a file with this stamp must not have been written to.
    pub(crate) fn quiet_for(&self, stamp: &FileStamp) -> Duration {
        if stamp.size == 0 {
            self.quiet_when_empty
        } else {
            self.quiet
        }
    }
}

/// Sleeps between two attempts to read a file that is being written.
pub(crate) fn pause(wait: Duration) {
    std::thread::sleep(wait.clamp(Duration::from_micros(200), Duration::from_millis(2)));
}

/// How long until no entry of a folder was added or removed for `quiet`, if that is not so yet.
///
/// Some editors move the old file away before they write the new one: a file that is missing from a
/// folder that was just touched may be back in a moment.
pub(crate) fn until_folder_is_quiet(folder: &Path, quiet: Duration) -> Option<Duration> {
    SeenStamp::at(folder).stamp()?.until_quiet(quiet)
}

/// Checks, and checks again when the folder is quiet if the first check found less than before.
pub(crate) fn look_twice<T>(
    folder: &Path,
    mut look: impl FnMut() -> T,
    is_less: impl Fn(&T) -> bool,
) -> T {
    let found = look();
    match until_folder_is_quiet(folder, BODY) {
        Some(wait) if is_less(&found) => {
            std::thread::sleep(wait);
            look()
        }
        _ => found,
    }
}
