//! Work that takes long or much memory: one piece at a time; the waiting requests take turns.
//!
//! A waiting request holds a thread, so only a few may wait, and not for ever.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::fair_queue::{FairQueue, Lane};

/// Maximum number of waiting requests.
const WAITING: usize = 64;

pub(super) struct HeavyWork {
    wait: Duration,
    state: Mutex<HeavyState>,
}

#[derive(Default)]
struct HeavyState {
    is_busy: bool,
    /// Each receives `true` when it gets its turn, and `false` when it has to leave. Both are sent
    /// while the state is locked.
    queue: FairQueue<Sender<bool>>,
}

/// Lets the next one in when it is dropped.
pub(super) struct HeavyTurn<'w>(&'w HeavyWork);

impl HeavyWork {
    /// A request waits at most `wait`.
    pub(super) fn new(wait: Duration) -> Self {
        Self {
            wait,
            state: Mutex::default(),
        }
    }

    /// Waits for a turn; `None` if too many requests wait, or this one waits too long.
    pub(super) fn enter(&self, lane: Lane) -> Option<HeavyTurn<'_>> {
        let (sender, turn) = channel();
        let mut state = self.state();
        if !state.is_busy {
            state.is_busy = true;
            return Some(HeavyTurn(self));
        }
        if let Some(last) = state.queue.push(lane, sender, WAITING) {
            let _ = last.send(false);
        }
        drop(state);
        let heard = turn.recv_timeout(self.wait);
        // After this the receiver is gone, so take a turn that was given meanwhile.
        let state = self.state();
        let is_in = heard.or_else(|_| turn.try_recv());
        drop(turn);
        drop(state);
        is_in.unwrap_or(false).then(|| HeavyTurn(self))
    }

    fn state(&self) -> MutexGuard<'_, HeavyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeavyTurn<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        while let Some(next) = state.queue.pop() {
            if next.send(true).is_ok() {
                return;
            }
        }
        state.is_busy = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    fn lane(prompt: &str) -> Lane {
        Lane::new((), prompt, ())
    }

    #[test]
    fn prompts_take_turns_and_the_crowded_one_is_refused() {
        let heavy = HeavyWork::new(Duration::from_secs(60));
        let turn = heavy.enter(lane("first")).expect("the queue is empty");
        let (order, done) = channel();
        thread::scope(|scope| {
            let start = |prompt: &'static str| {
                let (heavy, order) = (&heavy, order.clone());
                scope.spawn(move || {
                    let turn = heavy.enter(lane(prompt));
                    order.send((prompt, turn.is_some())).expect("the test");
                });
            };
            for _ in 0..WAITING {
                start("greedy");
            }
            while heavy.state().queue.len() < WAITING {
                thread::yield_now();
            }
            start("modest");
            assert_eq!(done.recv(), Ok(("greedy", false)), "it makes room");
            drop(turn);
            let served: Vec<(&str, bool)> = (0..WAITING).map(|_| done.recv().unwrap()).collect();
            assert!(served.iter().all(|(_, is_in)| *is_in));
            let at = served.iter().position(|(prompt, _)| *prompt == "modest");
            assert!(at.is_some_and(|at| at < 4), "{at:?}");
        });
        assert!(heavy.enter(lane("later")).is_some());
    }

    #[test]
    fn waiting_has_an_end() {
        let heavy = HeavyWork::new(Duration::ZERO);
        let turn = heavy.enter(lane("first"));
        assert!(heavy.enter(lane("second")).is_none());
        drop(turn);
        assert!(heavy.enter(lane("third")).is_some());
    }
}
