//! Delays refusals for clients that keep sending wrong tokens, longer each time.
//!
//! Only refusals are delayed. The right token is accepted at once, wherever it comes from.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::limits::{WRONG_TOKEN_DELAY, WRONG_TOKEN_NETWORKS, WRONG_TOKENS_AT_ONCE};
use super::peers::Network;

/// The first delay.
const FIRST_DELAY: Duration = Duration::from_millis(50);
/// A network that sends no wrong token for this long starts over.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// Counts wrong tokens by network; `None` is this machine.
#[derive(Default)]
pub(super) struct WrongTokens {
    networks: Mutex<HashMap<Option<Network>, WrongCount>>,
}

struct WrongCount {
    count: u32,
    last: Instant,
}

impl WrongTokens {
    /// Counts a wrong token and returns the delay of its refusal.
    pub(super) fn delay(&self, network: Option<Network>, now: Instant) -> Duration {
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        if networks.len() >= WRONG_TOKEN_NETWORKS && !networks.contains_key(&network) {
            networks.retain(|_, wrong| !wrong.is_forgotten(now));
            let oldest = networks.iter().min_by_key(|(_, wrong)| wrong.last);
            if networks.len() >= WRONG_TOKEN_NETWORKS
                && let Some(oldest) = oldest.map(|(network, _)| *network)
            {
                networks.remove(&oldest);
            }
        }
        let wrong = networks.entry(network).or_insert(WrongCount {
            count: 0,
            last: now,
        });
        if wrong.is_forgotten(now) {
            wrong.count = 0;
        }
        wrong.count = wrong.count.saturating_add(1);
        wrong.last = now;
        let Some(over) = wrong.count.checked_sub(WRONG_TOKENS_AT_ONCE + 1) else {
            return Duration::ZERO;
        };
        let factor = 1_u32.checked_shl(over).unwrap_or(u32::MAX);
        FIRST_DELAY.saturating_mul(factor).min(WRONG_TOKEN_DELAY)
    }
}

impl WrongCount {
    fn is_forgotten(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) >= FORGOTTEN_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(number: u32) -> Option<Network> {
        let address = std::net::Ipv4Addr::from_bits(0x0a00_0000 + number);
        Network::new(address.into())
    }

    #[test]
    fn refusals_wait_longer_and_longer_up_to_a_limit() {
        let (wrong, now) = (WrongTokens::default(), Instant::now());
        for _ in 0..WRONG_TOKENS_AT_ONCE {
            assert_eq!(wrong.delay(network(1), now), Duration::ZERO);
        }
        let delays: Vec<Duration> = (0..40).map(|_| wrong.delay(network(1), now)).collect();
        assert!(delays.is_sorted(), "{delays:?}");
        assert_eq!(delays[0], FIRST_DELAY);
        assert_eq!(delays[39], WRONG_TOKEN_DELAY);
        assert_eq!(wrong.delay(network(2), now), Duration::ZERO);
        assert_eq!(wrong.delay(None, now), Duration::ZERO);
        let later = now + FORGOTTEN_AFTER;
        assert_eq!(wrong.delay(network(1), later), Duration::ZERO);
    }

    #[test]
    fn so_many_networks_are_remembered_and_no_more() {
        let (wrong, now) = (WrongTokens::default(), Instant::now());
        let many = u32::try_from(WRONG_TOKEN_NETWORKS).unwrap();
        for number in 0..2 * many {
            wrong.delay(network(number), now);
        }
        let networks = wrong.networks.lock().unwrap();
        assert_eq!(networks.len(), WRONG_TOKEN_NETWORKS);
    }
}
