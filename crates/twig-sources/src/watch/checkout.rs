//! Whether git is changing a folder right now.

use std::path::Path;
use std::time::Duration;

use crate::stamp::SeenStamp;

/// Whether git began to change a folder's files less than `patience` ago and is not done.
///
/// An older lock was left behind, or belongs to a command that waits for the user.
pub(crate) fn under_way(root: &Path, patience: Duration) -> bool {
    let lock = SeenStamp::at(&root.join(".git/index.lock"));
    lock.stamp()
        .is_some_and(|stamp| stamp.until_quiet(patience).is_some())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_young_lock_counts_and_an_old_one_does_not() {
        let patience = Duration::from_secs(60);
        let folder = tempfile::tempdir().unwrap();
        assert!(!under_way(folder.path(), patience));
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        assert!(!under_way(folder.path(), patience));
        let lock = File::create(folder.path().join(".git/index.lock")).unwrap();
        assert!(under_way(folder.path(), patience));
        lock.set_modified(SystemTime::now() - patience).unwrap();
        assert!(!under_way(folder.path(), patience));
    }
}
