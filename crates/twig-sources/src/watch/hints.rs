//! What the system told since the disk was last looked at.

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use notify::EventKind;
use notify::event::ModifyKind;

use super::Signal;

/// More lost paths than this are not kept one by one.
const LOST: usize = 1_000;

/// Collects events: when they came, and whose watches they ended.
#[derive(Debug)]
pub(crate) struct Hints {
    state: Mutex<State>,
    signals: Sender<Signal>,
}

#[derive(Debug, Default)]
struct State {
    times: Option<(Instant, Instant)>,
    lost: Vec<PathBuf>,
}

impl Hints {
    pub(crate) fn new(signals: Sender<Signal>) -> Self {
        Self {
            state: Mutex::default(),
            signals,
        }
    }

    /// Takes one event in; only the first of a burst wakes the thread.
    pub(crate) fn hear(&self, event: notify::Result<notify::Event>) {
        let lost = match event {
            // Our own reads raise these: listening to them would never end.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) && !event.need_rescan() => {
                return;
            }
            Ok(event) if event.need_rescan() => vec![PathBuf::from("/")],
            Ok(event) => match event.kind {
                EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => event.paths,
                _ => Vec::new(),
            },
            Err(_) => vec![PathBuf::from("/")],
        };
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.lost.extend(lost);
        if state.lost.len() > LOST {
            state.lost = vec![PathBuf::from("/")];
        }
        let first = state.times.map(|(first, _)| first);
        state.times = Some((first.unwrap_or(now), now));
        drop(state);
        if first.is_none() {
            let _ = self.signals.send(Signal::Touched);
        }
    }

    /// When the first and the last event came.
    pub(crate) fn times(&self) -> Option<(Instant, Instant)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.times
    }

    /// Begins anew; hands over the paths beneath which watches ended.
    pub(crate) fn take(&self) -> Vec<PathBuf> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *state).lost
    }
}
