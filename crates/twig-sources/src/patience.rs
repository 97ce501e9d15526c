//! Is the writer done? Every wait for a save, a burst of events or a checkout is decided here.

use std::path::Path;
use std::time::Duration;

use crate::stamp::{FileStamp, SeenStamp};

/// A file or folder that a scan looks at is whole if it was not written for this long: another look
/// follows the next event.
const SCAN: Duration = Duration::from_millis(8);

/// The same for what is read because a client asks.
const BODY: Duration = Duration::from_millis(20);

/// The longest wait for one file.
const LONG: Duration = Duration::from_millis(250);

/// After the last event, the disk is left alone for this long before it is looked at.
pub(crate) const EVENTS_QUIET: Duration = Duration::from_millis(10);

/// Events that never end do not put off the look for longer than this.
pub(crate) const EVENTS_LONGEST: Duration = Duration::from_millis(300);

/// Nor does a checkout that is under way.
pub(crate) const CHECKOUT: Duration = Duration::from_secs(2);

/// How often its end is looked for.
pub(crate) const CHECKOUT_STEP: Duration = Duration::from_millis(20);

/// How long a save may be under way before what is there is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SavePatience {
    /// A file that was not written for this long is whole.
    pub(crate) quiet: Duration,
    /// The same for an empty file, which most likely was truncated to be written anew.
    pub(crate) quiet_when_empty: Duration,
    /// The longest wait in all.
    pub(crate) total: Duration,
    /// Whether an empty file is looked at twice: one that is being truncated is short a moment
    /// before its times say so.
    pub(crate) doubts_empty: bool,
}

impl SavePatience {
    /// For bodies, which are read because a client asks.
    pub(crate) const BODY: Self = Self {
        quiet: BODY,
        quiet_when_empty: LONG,
        total: LONG,
        doubts_empty: true,
    };

    /// For what nobody is expected to be writing: a file that changes meanwhile is refused.
    pub(crate) const NONE: Self = Self {
        quiet: Duration::ZERO,
        quiet_when_empty: Duration::ZERO,
        total: Duration::ZERO,
        doubts_empty: true,
    };

    /// For what is scanned: another look follows the next event, so this waits just a moment,
    /// unless what had text before is empty now.
    pub(crate) fn for_scan(had_text: bool) -> Self {
        Self {
            quiet: SCAN,
            quiet_when_empty: if had_text { LONG } else { SCAN },
            total: LONG,
            // What had no text before is seen again after its next event.
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

/// How long until nothing came to a folder or went for `quiet`, if that is not so yet.
///
/// Some editors move the old file away before they write the new one: what is missing in a folder
/// that was touched just now may be back in a moment.
pub(crate) fn until_folder_is_quiet(folder: &Path, quiet: Duration) -> Option<Duration> {
    SeenStamp::at(folder).stamp()?.until_quiet(quiet)
}

/// Looks, and once more when the folder is quiet if the first look found less than was there before.
pub(crate) fn look_twice<T>(
    folder: &Path,
    mut look: impl FnMut() -> T,
    is_less: impl Fn(&T) -> bool,
) -> T {
    let found = look();
    match until_folder_is_quiet(folder, SCAN) {
        Some(wait) if is_less(&found) => {
            std::thread::sleep(wait);
            look()
        }
        _ => found,
    }
}
