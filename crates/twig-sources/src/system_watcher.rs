//! The system's file watcher, if a thread for it can be started.

use notify::{Config, EventHandler, RecommendedWatcher, Watcher};

/// Starts a watcher; fails if the system has none, or no thread for it.
pub(crate) fn start_watcher(handler: impl EventHandler) -> notify::Result<RecommendedWatcher> {
    let mut watcher = RecommendedWatcher::new(handler, Config::default())?;
    // Without its thread the watcher would panic at the first use and again when it is dropped,
    // which ends the whole process. This call needs nothing from the thread and only fails without
    // one.
    match watcher.configure(Config::default()) {
        Ok(_) => Ok(watcher),
        Err(error) => {
            std::mem::forget(watcher);
            Err(error)
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::collections::BTreeMap;

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

    use super::*;

    #[test]
    fn a_watcher_without_a_thread_is_an_error() {
        // A filter applies to the thread that installs it: here one that may start no other.
        let started = std::thread::spawn(|| {
            let rules = [libc::SYS_clone, libc::SYS_clone3].map(|call| (call, Vec::new()));
            let none_left = SeccompAction::Errno(libc::EAGAIN.unsigned_abs());
            let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
            let rules = BTreeMap::from(rules);
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, none_left, arch);
            let filter = BpfProgram::try_from(filter.unwrap()).unwrap();
            apply_filter(&filter).unwrap();
            start_watcher(|_| ()).is_ok()
        });
        assert!(!started.join().unwrap());
        assert!(start_watcher(|_| ()).is_ok());
    }
}
