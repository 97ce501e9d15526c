//! The cost of work. Tests compare costs and have no bound on the clock: a busy machine makes work
//! slower, not more expensive. `just soak` compares the times that users notice with a clock.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The number of runs, of which the cheapest counts.
const RUNS: usize = 3;
/// Four times the input may cost ten times as much: linear work costs 4 times as much, quadratic
/// work 16.
const GROWTH: u32 = 10;
/// Less than this is noise.
const NOISE: Duration = Duration::from_millis(1);

/// The processor time of some work on this thread, in the best of a few runs.
pub fn cpu_time(mut work: impl FnMut()) -> Duration {
    let runs = (0..RUNS).map(|_| {
        let before = thread_time();
        work();
        thread_time().saturating_sub(before)
    });
    runs.min().unwrap_or_default()
}

/// Fails if the cost of work grows faster than the size of its input.
pub fn assert_linear<I>(what: &str, size: usize, input: impl Fn(usize) -> I, work: impl Fn(&I)) {
    let [small, large] = [size, size * 4].map(|size| {
        let input = input(size);
        cpu_time(|| work(&input))
    });
    assert!(
        large <= (small + NOISE) * GROWTH,
        "{what}: {small:?} for {size}, {large:?} for four times as much"
    );
}

/// Compares a time with its bound, if figures are measured: `just soak` sets `TWIG_FIGURES`.
#[expect(clippy::disallowed_methods, reason = "a switch for tests only")]
pub fn figure(what: &str, took: Duration, most: Duration) {
    if std::env::var_os("TWIG_FIGURES").is_some() {
        assert!(took < most, "{what}: {took:?}, more than {most:?}");
    }
}

/// How many rounds a test has: the larger number before a release. `just store-faults` sets
/// `TWIG_RELEASE`.
#[expect(clippy::disallowed_methods, reason = "a switch for tests only")]
pub fn rounds(usual: usize, before_a_release: usize) -> usize {
    if std::env::var_os("TWIG_RELEASE").is_some() {
        before_a_release
    } else {
        usual
    }
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
