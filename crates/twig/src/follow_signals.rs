//! What the thread that follows packages waits for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Wakes the thread that follows packages, and ends it.
#[derive(Debug, Default)]
pub(crate) struct FollowSignals {
    news: Mutex<FollowNews>,
    changed: Condvar,
    gauges: Mutex<Vec<FollowGauge>>,
}

/// What metrics say about a package that is followed.
#[derive(Debug, Clone)]
pub(crate) struct FollowGauge {
    pub(crate) library: String,
    /// The commit that is served; empty if none is.
    pub(crate) commit: String,
    /// When its source last answered, in seconds since 1970.
    pub(crate) looked_at: Option<u64>,
    /// True if the newest commit is not served, or not known.
    pub(crate) has_problem: bool,
}

/// What a wait ended with.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FollowNews {
    /// Something may have changed at a source: all of them are to be asked now.
    pub(crate) is_hint: bool,
    /// The server ends.
    pub(crate) is_end: bool,
}

impl FollowSignals {
    /// Has all sources asked now. Several hints before the thread wakes are one.
    pub(crate) fn hint(&self) {
        self.news().is_hint = true;
        self.changed.notify_all();
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        self.news().is_end = true;
        self.changed.notify_all();
    }

    /// Waits for a signal, at most that long.
    pub(crate) fn wait(&self, time: Duration) -> FollowNews {
        let waits = |news: &mut FollowNews| !news.is_hint && !news.is_end;
        let waited = self.changed.wait_timeout_while(self.news(), time, waits);
        let (mut news, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let now = *news;
        news.is_hint = false;
        now
    }

    /// Waits until the end, at most that long.
    pub(crate) fn rest(&self, time: Duration) -> FollowNews {
        let waits = |news: &mut FollowNews| !news.is_end;
        let waited = self.changed.wait_timeout_while(self.news(), time, waits);
        let (mut news, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let now = *news;
        news.is_hint = false;
        now
    }

    /// Says what metrics show.
    pub(crate) fn show(&self, gauges: Vec<FollowGauge>) {
        *self.gauges.lock().unwrap_or_else(PoisonError::into_inner) = gauges;
    }

    /// What metrics show.
    pub(crate) fn gauges(&self) -> Vec<FollowGauge> {
        let gauges = self.gauges.lock().unwrap_or_else(PoisonError::into_inner);
        gauges.clone()
    }

    fn news(&self) -> MutexGuard<'_, FollowNews> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
