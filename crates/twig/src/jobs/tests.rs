//! The runner of jobs: turns, limits, cancellation and panics.

use std::sync::mpsc::{Receiver, Sender, channel};

use twig_core::parse::library::{LibraryRoot, empty_library};
use twig_core::search::{Query, SearchScope};
use twig_core::{Function, LibraryKind, LibraryName, RelativePath};

use super::*;

const SOON: Duration = Duration::from_secs(10);

fn call() -> Work {
    call_of("p")
}

/// The function of a prompt.
fn call_of(prompt: &str) -> Work {
    let folder = LibraryRoot {
        name: LibraryName::from_folder("f").unwrap(),
        root: "/".into(),
        shown_root: "/".into(),
        prefix: "f:".into(),
    };
    let library = empty_library(&folder, LibraryKind::Twig, Vec::new());
    Work::Function(Box::new(FunctionCall {
        prompt: prompt.into(),
        name: prompt.into(),
        library: Arc::new(library),
        function: Function::command(RelativePath::parse("run").unwrap(), Vec::new()),
        input: String::new(),
        millis: 1,
        output: 1,
    }))
}

fn search() -> Work {
    Work::Search(Query {
        text: "needle".to_owned(),
        scope: SearchScope::All,
        limit: 5,
        enough: 5,
    })
}

/// Jobs that each run `run`, and wait at most `wait` for their turn.
fn jobs(wait: Duration, run: impl Fn(Work, &Stop) -> WorkOutcome + Send + Sync + 'static) -> Jobs {
    let run = move |work: Work, _: &JobPlace, _: &mut Worker, stop: &Stop| run(work, stop);
    let run: Arc<RunWork> = Arc::new(run);
    Jobs::with(&run, wait, 0)
}

/// Jobs that each end when the test lets them.
fn gated(wait: Duration) -> (Jobs, Sender<()>) {
    let (go, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let jobs = jobs(wait, move |_, _| {
        let _ = gate.lock().unwrap().recv();
        printed()
    });
    (jobs, go)
}

fn printed() -> WorkOutcome {
    WorkOutcome::Function(FunctionOutcome::Printed(Vec::new()))
}

fn is_refused(outcome: &WorkOutcome) -> bool {
    match outcome {
        WorkOutcome::Function(outcome) => {
            *outcome == FunctionOutcome::Refused(TOO_MANY_WAIT.to_owned())
        }
        WorkOutcome::Search(outcome) => *outcome == Err(TOO_MANY_WAIT.to_owned()),
        _ => false,
    }
}

/// Starts jobs that report their name when they are done.
struct Starter<'j, T> {
    jobs: &'j Jobs,
    told: Sender<(T, WorkOutcome)>,
}

impl<'j, T: Send + 'static> Starter<'j, T> {
    fn new(jobs: &'j Jobs) -> (Self, Receiver<(T, WorkOutcome)>) {
        let (told, outcomes) = channel();
        (Self { jobs, told }, outcomes)
    }

    fn start(&self, work: Work, lane: Lane, whose: T) -> RunningJob {
        let told = self.told.clone();
        self.jobs
            .start(work, &JobPlace::default(), lane, move |outcome| {
                let _ = told.send((whose, outcome));
            })
    }
}

fn until_idle(jobs: &Jobs) {
    while !jobs.functions.lock().running.is_empty() {
        thread::yield_now();
    }
}

#[test]
fn a_cancelled_job_ends_wherever_it_is_and_its_end_is_not_told() {
    let (began, has_begun) = channel();
    let began = Mutex::new(began);
    let jobs = jobs(SOON, move |_, stop| {
        let _ = began.lock().unwrap().send(());
        while !stop.is_stopped() {
            thread::yield_now();
        }
        printed()
    });
    let (starter, outcomes) = Starter::new(&jobs);
    let start = |whose| starter.start(call(), Lane::default(), whose);
    let mut running: Vec<RunningJob> = (0..=FUNCTIONS).map(start).collect();
    for _ in 0..FUNCTIONS {
        has_begun.recv_timeout(SOON).unwrap();
    }
    // The last one is queued; dropping it first means it never starts.
    running.pop();
    assert_eq!(jobs.functions.lock().queue.len(), 0);
    drop(running);
    until_idle(&jobs);
    assert!(has_begun.try_recv().is_err());
    assert!(outcomes.try_recv().is_err(), "its end is not told");
}

#[test]
fn the_end_of_the_runner_ends_its_jobs() {
    let jobs = jobs(SOON, |_, stop| {
        while !stop.is_stopped() {
            thread::yield_now();
        }
        printed()
    });
    let (starter, outcomes) = Starter::new(&jobs);
    let start = |whose| starter.start(call(), Lane::default(), whose);
    let running: Vec<RunningJob> = (0..=FUNCTIONS).map(start).collect();
    jobs.close();
    until_idle(&jobs);
    let late = start(99);
    assert!(jobs.functions.lock().queue.len() == 0, "it is not begun");
    drop((running, late));
    assert!(outcomes.try_recv().is_err());
}

#[test]
fn a_mistake_of_ours_costs_one_job_and_no_place() {
    let jobs = jobs(SOON, |_, _| panic!("as the test wants it"));
    let (starter, outcomes) = Starter::new(&jobs);
    let all = FUNCTIONS + 2;
    let start = |whose| starter.start(call(), Lane::default(), whose);
    let running: Vec<RunningJob> = (0..all).map(start).collect();
    let mut told = Vec::new();
    for _ in 0..all {
        let (whose, outcome) = outcomes.recv_timeout(SOON).unwrap();
        let broken = FunctionOutcome::Refused(BROKEN.to_owned());
        assert!(matches!(outcome, WorkOutcome::Function(outcome) if outcome == broken));
        told.push(whose);
    }
    told.sort_unstable();
    assert_eq!(told, (0..all).collect::<Vec<_>>());
    until_idle(&jobs);
    drop(running);
}

#[test]
fn a_receiver_that_fails_costs_no_place() {
    let jobs = jobs(SOON, |_, _| WorkOutcome::Search(Ok(Vec::new())));
    let first = jobs.start(search(), &JobPlace::default(), Lane::default(), |_| {
        panic!("as the test wants it")
    });
    let (starter, outcomes) = Starter::new(&jobs);
    let second = starter.start(search(), Lane::default(), ());
    assert!(outcomes.recv_timeout(SOON).is_ok());
    drop((first, second));
}

#[test]
fn one_client_neither_fills_the_queue_nor_takes_every_turn() {
    let (began, has_begun) = channel();
    let (go, gate) = channel::<()>();
    let shared = (Mutex::new(began), Mutex::new(gate));
    let jobs = jobs(SOON, move |work, _| {
        if let Work::Function(call) = work {
            let _ = shared.0.lock().unwrap().send(call.prompt.to_string());
        }
        let _ = shared.1.lock().unwrap().recv();
        printed()
    });
    let (starter, outcomes) = Starter::new(&jobs);
    let greedy = Lane::new(0, "greedy", 0);
    let mut running: Vec<RunningJob> = (0..FUNCTIONS + WAITING_FUNCTIONS)
        .map(|_| starter.start(call_of("greedy"), greedy, "greedy"))
        .collect();
    assert!(
        outcomes.try_recv().is_err(),
        "there is room for all of them"
    );
    for _ in 0..FUNCTIONS {
        assert_eq!(has_begun.recv_timeout(SOON).unwrap(), "greedy");
    }
    running.push(starter.start(call_of("other"), Lane::new(0, "other", 1), "other"));
    let (whose, outcome) = outcomes.recv_timeout(SOON).unwrap();
    assert_eq!(whose, "greedy");
    assert!(is_refused(&outcome));
    // The first that ends makes room for one of the two lanes, the next for the other.
    let mut order = Vec::new();
    for _ in 0..2 {
        go.send(()).unwrap();
        order.push(has_begun.recv_timeout(SOON).unwrap());
    }
    assert!(order.iter().any(|it| it == "other"), "{order:?}");
    drop((go, running));
}

#[test]
fn one_search_runs_and_a_crowd_is_turned_away() {
    let (jobs, go) = gated(SOON);
    let (starter, outcomes) = Starter::new(&jobs);
    let start = |whose| starter.start(search(), Lane::default(), whose);
    let all = SEARCHES + WAITING_SEARCHES;
    let running: Vec<RunningJob> = (0..=all).map(start).collect();
    // A job over the limit is refused at once.
    let (whose, outcome) = outcomes.try_recv().unwrap();
    assert_eq!(whose, all);
    assert!(is_refused(&outcome));
    assert!(outcomes.try_recv().is_err());
    for whose in 0..all {
        go.send(()).unwrap();
        assert_eq!(outcomes.recv_timeout(SOON).unwrap().0, whose);
    }
    drop(running);
}

#[test]
fn a_job_that_waited_too_long_is_refused() {
    let (jobs, go) = gated(Duration::ZERO);
    let (starter, outcomes) = Starter::new(&jobs);
    let start = |whose| starter.start(call(), Lane::default(), whose);
    let mut running = Vec::new();
    for whose in 0..FUNCTIONS {
        running.push(start(whose));
        while jobs.functions.lock().running.len() <= whose {
            thread::yield_now();
        }
    }
    running.push(start(FUNCTIONS));
    drop(go);
    let all: Vec<_> = (0..=FUNCTIONS)
        .map(|_| outcomes.recv_timeout(SOON).unwrap())
        .collect();
    let refused = all.iter().filter(|(_, outcome)| is_refused(outcome));
    let refused: Vec<usize> = refused.map(|(whose, _)| *whose).collect();
    assert_eq!(refused, [FUNCTIONS]);
}
