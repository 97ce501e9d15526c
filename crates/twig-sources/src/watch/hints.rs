//! The system's events since the last check of the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use notify::EventKind;
use notify::event::ModifyKind;

use crate::live::Signal;

/// More lost paths than this are not kept one by one.
const LOST: usize = 1_000;

/// Collects events: when they arrived, and which watches they ended.
#[derive(Debug)]
pub(crate) struct Hints {
    state: Mutex<HintState>,
    signals: Sender<Signal>,
}

#[derive(Debug, Default)]
struct HintState {
    times: Option<(Instant, Instant)>,
    lost: Vec<PathBuf>,
    interests: Interests,
}

/// Which events matter: other files in a busy folder above a library do not.
#[derive(Debug, Default)]
pub(crate) struct Interests {
    /// Folders of which every entry matters.
    pub(crate) inside: BTreeSet<PathBuf>,
    /// Paths that matter themselves, with their parents.
    pub(crate) roots: Vec<PathBuf>,
}

impl Interests {
    fn include(&self, path: &Path) -> bool {
        path.parent()
            .is_some_and(|folder| self.inside.contains(folder))
            || self.inside.contains(path)
            || self.roots.iter().any(|root| root.starts_with(path))
    }
}

impl Hints {
    pub(crate) fn new(signals: Sender<Signal>) -> Self {
        Self {
            state: Mutex::default(),
            signals,
        }
    }

    /// Records one event; only the first of a burst wakes the thread.
    pub(crate) fn hear(&self, event: notify::Result<notify::Event>) {
        let (paths, ends) = match event {
            Ok(event) if event.need_rescan() => (everything(), true),
            Err(_) => (everything(), true),
            // Our own reads cause these: reacting to them would never end.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) => {
                let ends = matches!(
                    event.kind,
                    EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
                );
                (event.paths, ends)
            }
        };
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !paths.is_empty() && !paths.iter().any(|path| state.interests.include(path)) {
            return;
        }
        if ends {
            state.lost.extend(paths);
        }
        if state.lost.len() > LOST {
            state.lost = everything();
        }
        let first = state.times.map(|(first, _)| first);
        state.times = Some((first.unwrap_or(now), now));
        drop(state);
        if first.is_none() {
            let _ = self.signals.send(Signal::Touched);
        }
    }

    /// When the first and the last event arrived.
    pub(crate) fn times(&self) -> Option<(Instant, Instant)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.times
    }

    /// Resets the events; returns the paths beneath which watches ended.
    pub(crate) fn take(&self) -> Vec<PathBuf> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.times = None;
        std::mem::take(&mut state.lost)
    }

    /// Sets which events matter from now on.
    pub(crate) fn listen_for(&self, interests: Interests) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.interests = interests;
    }
}

/// The root path, which contains everything.
fn everything() -> Vec<PathBuf> {
    vec![PathBuf::from("/")]
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use notify::event::{AccessKind, AccessMode, CreateKind, Flag, RemoveKind};
    use notify::{Event, EventKind};

    use super::*;

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(PathBuf::from(path))
    }

    fn hints() -> (Hints, std::sync::mpsc::Receiver<Signal>) {
        let (sender, receiver) = channel();
        let hints = Hints::new(sender);
        hints.listen_for(Interests {
            inside: BTreeSet::from([PathBuf::from("/home/me/prompts")]),
            roots: vec![PathBuf::from("/home/me/prompts")],
        });
        (hints, receiver)
    }

    #[test]
    fn our_own_reads_are_no_news() {
        let (hints, signals) = hints();
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        hints.hear(Ok(event(opened, "/home/me/prompts/a")));
        assert!(signals.try_recv().is_err());
    }

    #[test]
    fn what_happens_beside_a_library_is_no_news() {
        let (hints, signals) = hints();
        hints.hear(Ok(event(
            EventKind::Create(CreateKind::File),
            "/home/me/notes",
        )));
        assert!(signals.try_recv().is_err());
        hints.hear(Ok(event(EventKind::Remove(RemoveKind::Folder), "/home/me")));
        assert!(signals.try_recv().is_ok());
        assert_eq!(hints.take(), [PathBuf::from("/home/me")]);
    }

    #[test]
    fn a_burst_wakes_once() {
        let (hints, signals) = hints();
        for _ in 0..3 {
            hints.hear(Ok(event(
                EventKind::Create(CreateKind::File),
                "/home/me/prompts/a",
            )));
        }
        assert_eq!(signals.try_iter().count(), 1);
        assert!(hints.take().is_empty());
        hints.hear(Ok(event(EventKind::Any, "/home/me/prompts/b")));
        assert_eq!(signals.try_iter().count(), 1);
    }

    #[test]
    fn an_overflow_means_look_at_everything() {
        let (hints, signals) = hints();
        hints.hear(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        assert!(signals.try_recv().is_ok());
        assert_eq!(hints.take(), everything());
        hints.hear(Err(notify::Error::generic("gone")));
        assert_eq!(hints.take(), everything());
    }
}
