//! A handful of functions at once, a few more that wait, and the rest told so.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use twig_core::limits::TOO_MANY_WAIT;
use twig_core::{FunctionCall, FunctionOutcome};

use super::{Allowed, Stop};
use crate::fair_queue::{FairQueue, Lane};

/// Functions that may run at once.
const RUNNING: usize = 4;
/// Functions that may wait for their turn.
const WAITING: usize = 16;

/// Takes calls and says what came of them. `K` says whose call it is.
pub(crate) struct Queue<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    /// How long a call may wait for its turn.
    wait: Duration,
    run: Box<Run>,
    state: Mutex<State<K>>,
    done: Box<Tell<K>>,
}

/// Runs a call to its end.
type Run = dyn Fn(&FunctionCall, &Stop) -> FunctionOutcome + Send + Sync;

/// Told whose call ended, and how.
type Tell<K> = dyn Fn(&K, FunctionOutcome) + Send + Sync;

struct State<K> {
    waiting: FairQueue<Call<K>>,
    running: Vec<(Arc<K>, Arc<Stop>)>,
}

struct Call<K> {
    whose: Arc<K>,
    call: Box<FunctionCall>,
}

impl<K: Send + Sync + 'static> Queue<K> {
    /// A queue with nothing in it, in which calls may wait for so long; `done` is called from threads
    /// of its own, or from `submit` for a call that may not wait.
    pub(crate) fn new(
        allowed: Allowed,
        wait: Duration,
        done: impl Fn(&K, FunctionOutcome) + Send + Sync + 'static,
    ) -> Self {
        Self::of(wait, move |call, stop| allowed.run(call, stop), done)
    }

    fn of(
        wait: Duration,
        run: impl Fn(&FunctionCall, &Stop) -> FunctionOutcome + Send + Sync + 'static,
        done: impl Fn(&K, FunctionOutcome) + Send + Sync + 'static,
    ) -> Self {
        let state = State {
            waiting: FairQueue::new(),
            running: Vec::new(),
        };
        Self {
            shared: Arc::new(Shared {
                wait,
                run: Box::new(run),
                state: Mutex::new(state),
                done: Box::new(done),
            }),
        }
    }

    /// Runs a call as soon as its turn comes among those of other lanes.
    pub(crate) fn submit(&self, lane: Lane, whose: K, call: Box<FunctionCall>) {
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
        } else {
            let mut refused = state.waiting.take_expired(self.shared.wait);
            refused.extend(state.waiting.push(lane, Call { whose, call }, WAITING));
            drop(state);
            self.shared.refuse(refused);
        }
    }

    /// Whether nothing runs and nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.shared.lock().running.is_empty()
    }

    /// Ends every call that nobody wants any more, waiting or running.
    ///
    /// `unwanted` may wait for locks of its own: calls come and go meanwhile.
    pub(crate) fn end(&self, unwanted: impl Fn(&K) -> bool) {
        let mut gone = self.shared.all();
        gone.retain(|whose| unwanted(whose));
        if gone.is_empty() {
            return;
        }
        let is_gone = |whose: &Arc<K>| gone.iter().any(|gone| Arc::ptr_eq(gone, whose));
        let mut state = self.shared.lock();
        state.waiting.retain(|call| !is_gone(&call.whose));
        // One that waited a moment ago may run by now.
        let running = state.running.iter().filter(|(whose, _)| is_gone(whose));
        let stops: Vec<Arc<Stop>> = running.map(|(_, stop)| Arc::clone(stop)).collect();
        drop(state);
        for stop in stops {
            stop.now();
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

    /// Whose calls run and wait.
    fn all(&self) -> Vec<Arc<K>> {
        let state = self.lock();
        let running = state.running.iter().map(|(whose, _)| whose);
        let waiting = state.waiting.iter().map(|call| &call.whose);
        running.chain(waiting).map(Arc::clone).collect()
    }

    /// Tells those that may not wait, or not any longer.
    fn refuse(&self, calls: Vec<Call<K>>) {
        for Call { whose, .. } in calls {
            let tell = || (self.done)(&whose, FunctionOutcome::Refused(TOO_MANY_WAIT.to_owned()));
            let _ = catch_unwind(AssertUnwindSafe(tell));
        }
    }

    /// Runs one call and then those that wait, until none does.
    fn serve(&self, mut whose: Arc<K>, mut call: Box<FunctionCall>, mut stop: Arc<Stop>) {
        loop {
            // A mistake of ours costs this call, never its place: others wait for that.
            let run = || (self.run)(&call, &stop);
            let outcome = catch_unwind(AssertUnwindSafe(run));
            if !stop.is_stopped() {
                let outcome = outcome.unwrap_or_else(|_| {
                    // Whatever was started ends.
                    stop.now();
                    FunctionOutcome::Failed("was given up: something went wrong in Twig".to_owned())
                });
                let tell = || (self.done)(&whose, outcome);
                let _ = catch_unwind(AssertUnwindSafe(tell));
            }
            let mut state = self.lock();
            let expired = state.waiting.take_expired(self.wait);
            if !expired.is_empty() {
                drop(state);
                self.refuse(expired);
                state = self.lock();
            }
            state
                .running
                .retain(|(_, known)| !Arc::ptr_eq(known, &stop));
            let Some(next) = state.waiting.pop() else {
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use twig_core::parse::library::{Folder, empty_library};
    use twig_core::{Function, Kind, LibraryName, RelativePath};

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn call() -> FunctionCall {
        let folder = Folder {
            name: LibraryName::from_folder("f").unwrap(),
            root: "/".into(),
            shown_root: "/".into(),
            prefix: "f:".into(),
        };
        let library = empty_library(&folder, Kind::Twig, Vec::new());
        FunctionCall {
            prompt: "p".into(),
            library: Arc::new(library),
            function: Function::Command {
                program: RelativePath::parse("run").unwrap(),
                arguments: Vec::new(),
            },
            input: String::new(),
            millis: 1,
            output: 1,
        }
    }

    #[test]
    fn who_decides_what_is_unwanted_keeps_nobody_waiting() {
        let (told, outcomes) = mpsc::channel();
        let until_stopped = |_: &FunctionCall, stop: &Stop| {
            while !stop.is_stopped() {
                thread::yield_now();
            }
            FunctionOutcome::Printed(Vec::new())
        };
        let queue = Queue::of(SOON, until_stopped, move |whose: &usize, _| {
            let _ = told.send(*whose);
        });
        for whose in 0..=RUNNING {
            queue.submit(Lane::default(), whose, Box::new(call()));
        }
        let (asked, is_asked) = mpsc::channel();
        let (decide, decision) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let queue = &queue;
            scope.spawn(move || {
                queue.end(|_| {
                    let _ = asked.send(());
                    let _ = decision.recv();
                    true
                });
            });
            is_asked.recv_timeout(SOON).unwrap();
            // It has not made up its mind, and others come all the same.
            let (looked, has_looked) = mpsc::channel();
            scope.spawn(move || looked.send(queue.is_idle()));
            let looked = has_looked.recv_timeout(SOON);
            drop(decide);
            assert_eq!(looked, Ok(false));
        });
        while !queue.is_idle() {
            thread::yield_now();
        }
        assert!(outcomes.try_recv().is_err(), "nobody is told of its end");
    }

    #[test]
    fn a_mistake_of_ours_takes_nobodys_turn() {
        let (told, outcomes) = mpsc::channel();
        let broken = |_: &FunctionCall, _: &Stop| panic!("as the test wants it");
        let queue = Queue::of(SOON, broken, move |whose: &usize, outcome| {
            let _ = told.send((*whose, outcome));
        });
        let all = RUNNING + 2;
        for whose in 0..all {
            queue.submit(Lane::default(), whose, Box::new(call()));
        }
        let mut told = Vec::new();
        for _ in 0..all {
            let (whose, outcome) = outcomes.recv_timeout(SOON).unwrap();
            assert!(matches!(outcome, FunctionOutcome::Failed(_)));
            told.push(whose);
        }
        told.sort_unstable();
        assert_eq!(told, (0..all).collect::<Vec<_>>());
        while !queue.is_idle() {
            thread::yield_now();
        }
    }

    #[test]
    fn one_client_neither_fills_the_queue_nor_takes_every_turn() {
        let (told, outcomes) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let gated = move |_: &FunctionCall, _: &Stop| {
            let _ = gate.lock().unwrap().recv();
            FunctionOutcome::Printed(Vec::new())
        };
        let queue = Queue::of(SOON, gated, move |whose: &&str, outcome| {
            let _ = told.send((*whose, outcome));
        });
        let greedy = Lane::new(0, "greedy", 0);
        for _ in 0..RUNNING + WAITING {
            queue.submit(greedy, "greedy", Box::new(call()));
        }
        queue.submit(Lane::new(0, "other", 1), "other", Box::new(call()));
        let (whose, outcome) = outcomes.recv_timeout(SOON).unwrap();
        assert_eq!(whose, "greedy");
        assert!(matches!(outcome, FunctionOutcome::Refused(_)));
        // The first that ends makes room for one of the two lanes, the next for the other.
        let mut order = Vec::new();
        for _ in 0..2 * RUNNING + 2 {
            go.send(()).unwrap();
            order.push(outcomes.recv_timeout(SOON).unwrap().0);
        }
        assert!(order.contains(&"other"), "{order:?}");
        drop(go);
    }

    #[test]
    fn who_waited_too_long_is_refused() {
        let (told, outcomes) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let gated = move |_: &FunctionCall, _: &Stop| {
            let _ = gate.lock().unwrap().recv();
            FunctionOutcome::Printed(Vec::new())
        };
        let queue = Queue::of(Duration::ZERO, gated, move |whose: &usize, outcome| {
            let _ = told.send((*whose, outcome));
        });
        for whose in 0..=RUNNING {
            queue.submit(Lane::default(), whose, Box::new(call()));
        }
        drop(go);
        let all: Vec<_> = (0..=RUNNING)
            .map(|_| outcomes.recv_timeout(SOON).unwrap())
            .collect();
        let refused: Vec<usize> = all
            .iter()
            .filter(|(_, outcome)| matches!(outcome, FunctionOutcome::Refused(_)))
            .map(|(whose, _)| *whose)
            .collect();
        assert_eq!(refused, [RUNNING]);
    }
}
