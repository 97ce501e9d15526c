//! What work costs. Tests compare costs and have no bound on the clock: a busy machine makes work
//! slower, not more expensive. Figures that people feel are held against a clock by `just soak`.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How many runs the cheapest is taken of.
const RUNS: usize = 3;
/// Four times the input may cost ten times the time: linear work costs 4 times as much, square work 16.
const GROWTH: u32 = 10;
/// Less than this is noise.
const NOISE: Duration = Duration::from_millis(1);

/// The time that a processor spends on some work of this thread, in the best of a few runs.
pub fn cpu_time(mut work: impl FnMut()) -> Duration {
    let runs = (0..RUNS).map(|_| {
        let before = thread_time();
        work();
        thread_time().saturating_sub(before)
    });
    runs.min().unwrap_or_default()
}

/// Fails where the cost of work grows faster than the size of its input.
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

/// Holds a time against its bound, where figures are measured: `TWIG_FIGURES` is set by `just soak`.
#[expect(clippy::disallowed_methods, reason = "a switch for tests only")]
pub fn figure(what: &str, took: Duration, most: Duration) {
    if std::env::var_os("TWIG_FIGURES").is_some() {
        assert!(took < most, "{what}: {took:?}, more than {most:?}");
    }
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
