//! Does the same with each of many, several at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Does the same with each of many, at most `at_once` at the same time; the results are in the same
/// order.
pub fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    at_once: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(item) = items.get(at)
        {
            let result = work(item);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..items.len().min(at_once) {
            // Without another thread this one does everything.
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
