//! The pause between two announcements of store writes: a single write is announced at once, many
//! are combined.

use std::time::{Duration, Instant};

/// The shortest pause.
const SHORT: Duration = Duration::from_millis(100);
/// The longest pause.
const LONG: Duration = Duration::from_millis(400);
/// From this many changes since the last announcement, the longest pause applies.
const STORM: u32 = 20;

/// When the next announcement may be made.
#[derive(Debug, Default)]
pub(super) struct Gap {
    last: Option<Instant>,
    length: Duration,
    /// Changes that are not yet announced.
    waiting: u32,
}

impl Gap {
    /// Records a change; returns whether to announce it at once. Otherwise it waits until it is
    /// due.
    pub(super) fn may_announce(&mut self, now: Instant) -> bool {
        self.waiting = self.waiting.saturating_add(1);
        self.due().is_none_or(|due| due <= now)
    }

    /// When the waiting changes must be announced; `None` if there are none, or nothing was
    /// announced yet.
    pub(super) fn due(&self) -> Option<Instant> {
        let last = self.last.filter(|_| self.waiting > 0)?;
        Some(last + self.length)
    }

    /// Records that everything was announced.
    pub(super) fn announced(&mut self, now: Instant) {
        self.length = if self.waiting >= STORM {
            (self.length * 2).clamp(SHORT, LONG)
        } else {
            SHORT
        };
        self.waiting = 0;
        self.last = Some(now);
    }

    /// Nothing waits: the changes were announced already, or need no announcement.
    pub(super) fn settled(&mut self) {
        self.waiting = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The announcements for a change at every interval, for a total time and until all are
    /// announced.
    fn announcements(every: Duration, total: Duration) -> Vec<Duration> {
        let start = Instant::now();
        let (mut gap, mut told) = (Gap::default(), Vec::new());
        let mut at = Duration::ZERO;
        let mut tell = |gap: &mut Gap, at: Duration| {
            gap.announced(start + at);
            told.push(at);
        };
        while at < total {
            while let Some(due) = gap.due().filter(|due| *due < start + at) {
                tell(&mut gap, due - start);
            }
            if gap.may_announce(start + at) {
                tell(&mut gap, at);
            }
            at += every;
        }
        if let Some(due) = gap.due() {
            tell(&mut gap, due - start);
        }
        told
    }

    #[test]
    fn one_change_is_announced_at_once_and_a_storm_in_few_words() {
        let second = Duration::from_secs(1);
        assert_eq!(announcements(second, second), [Duration::ZERO]);
        let storm = announcements(Duration::from_millis(1), second);
        assert!((2..=5).contains(&storm.len()), "{storm:?}");
        assert!(
            storm
                .last()
                .is_some_and(|last| *last >= Duration::from_millis(999))
        );
    }

    #[test]
    fn a_steady_hand_is_followed_closely() {
        let told = announcements(Duration::from_millis(20), Duration::from_secs(2));
        let waits = told.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        assert!(
            waits
                .max()
                .is_some_and(|longest| longest <= Duration::from_millis(120))
        );
    }
}
