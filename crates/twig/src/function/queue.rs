//! A handful of functions at once, a few more that wait, and the rest told so.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use twig_core::{FunctionCall, FunctionOutcome};

use super::{Allowed, Stop};

/// Functions that may run at once.
const RUNNING: usize = 4;
/// Functions that may wait for their turn.
const WAITING: usize = 16;

/// Takes calls and says what came of them. `K` says whose call it is.
pub(crate) struct Queue<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    allowed: Allowed,
    state: Mutex<State<K>>,
    done: Box<Tell<K>>,
}

/// Told whose call ended, and how.
type Tell<K> = dyn Fn(&K, FunctionOutcome) + Send + Sync;

struct State<K> {
    waiting: VecDeque<Call<K>>,
    running: Vec<(Arc<K>, Arc<Stop>)>,
}

struct Call<K> {
    whose: Arc<K>,
    call: Box<FunctionCall>,
}

impl<K: Send + Sync + 'static> Queue<K> {
    /// A queue with nothing in it; `done` is called from threads of its own.
    pub(crate) fn new(
        allowed: Allowed,
        done: impl Fn(&K, FunctionOutcome) + Send + Sync + 'static,
    ) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            running: Vec::new(),
        };
        Self {
            shared: Arc::new(Shared {
                allowed,
                state: Mutex::new(state),
                done: Box::new(done),
            }),
        }
    }

    /// Runs a call as soon as its turn comes.
    pub(crate) fn submit(&self, whose: K, call: Box<FunctionCall>) {
        let whose = Arc::new(whose);
        let mut state = self.shared.lock();
        if state.running.len() < RUNNING {
            let stop = Arc::new(Stop::default());
            let mine = (Arc::clone(&whose), Arc::clone(&stop));
            state.running.push(mine);
            drop(state);
            let shared = Arc::clone(&self.shared);
            let first = Arc::clone(&whose);
            let thread = thread::Builder::new().name("function".to_owned());
            if let Err(error) = thread.spawn(move || shared.serve(first, call, stop)) {
                let mut state = self.shared.lock();
                state
                    .running
                    .retain(|(known, _)| !Arc::ptr_eq(known, &whose));
                drop(state);
                let what = format!("could not be started: no thread for it: {error}");
                (self.shared.done)(&whose, FunctionOutcome::Failed(what));
            }
        } else if state.waiting.len() < WAITING {
            state.waiting.push_back(Call { whose, call });
        } else {
            drop(state);
            let sentence = format!(
                "{RUNNING} functions run and {WAITING} wait already: ask for prompt `{}` again in a moment",
                call.prompt
            );
            (self.shared.done)(&whose, FunctionOutcome::Refused(sentence));
        }
    }

    /// Whether nothing runs and nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.shared.lock().running.is_empty()
    }

    /// Ends every call that nobody wants any more, waiting or running.
    pub(crate) fn end(&self, unwanted: impl Fn(&K) -> bool) {
        let mut state = self.shared.lock();
        state.waiting.retain(|call| !unwanted(&call.whose));
        for (whose, stop) in &state.running {
            if unwanted(whose) {
                stop.now();
            }
        }
    }
}

impl<K> Drop for Queue<K> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.waiting.clear();
        for (_, stop) in &state.running {
            stop.now();
        }
    }
}

impl<K> Shared<K> {
    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one call and then those that wait, until none does.
    fn serve(&self, mut whose: Arc<K>, mut call: Box<FunctionCall>, mut stop: Arc<Stop>) {
        loop {
            let outcome = self.allowed.run(&call, &stop);
            if !stop.is_stopped() {
                (self.done)(&whose, outcome);
            }
            let mut state = self.lock();
            state
                .running
                .retain(|(_, known)| !Arc::ptr_eq(known, &stop));
            let Some(next) = state.waiting.pop_front() else {
                return;
            };
            stop = Arc::new(Stop::default());
            state
                .running
                .push((Arc::clone(&next.whose), Arc::clone(&stop)));
            (whose, call) = (next.whose, next.call);
        }
    }
}
