//! How much one person may ask for: requests in a second, and functions at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much one person may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowanceLimits {
    /// Requests in a second, in the long run.
    pub(crate) requests: usize,
    /// Requests at once, after a pause.
    pub(crate) burst: usize,
    /// Functions that run or wait at once.
    pub(crate) functions: usize,
}

impl Default for AllowanceLimits {
    fn default() -> Self {
        Self {
            requests: 50,
            burst: 200,
            functions: 2,
        }
    }
}

/// What one person has left.
#[derive(Debug)]
pub(super) struct Allowance {
    limits: AllowanceLimits,
    left: Mutex<RequestsLeft>,
    functions: AtomicUsize,
}

/// A bucket that requests are taken from, and that time fills.
#[derive(Debug)]
struct RequestsLeft {
    count: f64,
    at: Instant,
}

/// Counts as a function until it is dropped.
#[derive(Debug)]
pub(super) struct FunctionTurn(Arc<Allowance>);

impl Allowance {
    pub(super) fn new(limits: &AllowanceLimits) -> Self {
        Self {
            left: Mutex::new(RequestsLeft {
                count: count(limits.burst),
                at: Instant::now(),
            }),
            limits: limits.clone(),
            functions: AtomicUsize::new(0),
        }
    }

    /// Takes one request; the error is how long to wait for the next one.
    pub(super) fn take(&self, now: Instant) -> Result<(), Duration> {
        let rate = count(self.limits.requests);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(left.at).as_secs_f64();
        left.count = (left.count + passed * rate).min(count(self.limits.burst.max(1)));
        left.at = now;
        if left.count < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - left.count) / rate));
        }
        left.count -= 1.0;
        Ok(())
    }

    /// A turn to run a function; `None` if as many run as may.
    pub(super) fn function(self: &Arc<Self>) -> Option<FunctionTurn> {
        let most = self.limits.functions;
        let taken = self
            .functions
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
                (count < most).then_some(count + 1)
            });
        taken.ok().map(|_| FunctionTurn(Arc::clone(self)))
    }
}

impl Drop for FunctionTurn {
    fn drop(&mut self) {
        self.0.functions.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Limits are far below the numbers that a float cannot hold.
#[allow(clippy::cast_precision_loss, reason = "limits are small")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_allowed_at_once_and_then_at_a_rate() {
        let limits = AllowanceLimits {
            requests: 10,
            burst: 3,
            functions: 1,
        };
        let allowance = Allowance::new(&limits);
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(allowance.take(start), Ok(()));
        }
        let wait = allowance.take(start).unwrap_err();
        assert!(wait <= Duration::from_millis(100), "{wait:?}");
        assert_eq!(allowance.take(start + Duration::from_millis(101)), Ok(()));
        assert!(allowance.take(start + Duration::from_millis(102)).is_err());
        let later = start + Duration::from_secs(60);
        let allowed = (0..10).filter(|_| allowance.take(later).is_ok()).count();
        assert_eq!(allowed, 3, "a pause gives no more than that");
    }

    #[test]
    fn functions_count_until_they_are_done() {
        let limits = AllowanceLimits {
            functions: 2,
            ..AllowanceLimits::default()
        };
        let allowance = Arc::new(Allowance::new(&limits));
        let (one, two) = (allowance.function(), allowance.function());
        assert!(one.is_some() && two.is_some() && allowance.function().is_none());
        drop(one);
        assert!(allowance.function().is_some());
    }
}
