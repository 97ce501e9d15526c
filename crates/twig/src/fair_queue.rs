//! A fair queue: clients take turns, so no client waits for everything that another client has
//! queued.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

const LEVELS: usize = 3;

/// The lane of an item. Addresses take turns; at one address its prompts do; for one prompt its
/// clients do. Prompts come before clients because one client may open any number of connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lane([u64; LEVELS]);

impl Lane {
    /// The lane of a request.
    pub(crate) fn new(address: impl Hash, prompt: impl Hash, client: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        address.hash(&mut hasher);
        let first = hasher.finish();
        prompt.hash(&mut hasher);
        let second = hasher.finish();
        client.hash(&mut hasher);
        // Each level's hash includes the levels before it, so it identifies the whole path.
        Self([first, second, hasher.finish()])
    }
}

/// The waiting items, and when each lane had its last turn.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    /// In order of arrival.
    waiting: Vec<Waiter<T>>,
    /// The last turn of every lane with waiting items, on each level.
    served: HashMap<u64, u64>,
    turn: u64,
}

#[derive(Debug)]
struct Waiter<T> {
    lane: Lane,
    since: Instant,
    item: T,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            waiting: Vec::new(),
            served: HashMap::new(),
            turn: 0,
        }
    }
}

impl<T> FairQueue<T> {
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Adds an item. If the queue then holds more than `most`, returns the newest item of the most
    /// crowded lane, which may be the one just added.
    pub(crate) fn push(&mut self, lane: Lane, item: T, most: usize) -> Option<T> {
        let since = Instant::now();
        self.waiting.push(Waiter { lane, since, item });
        if self.waiting.len() <= most {
            return None;
        }
        let crowded = self.most_crowded(lane);
        let newest = self
            .waiting
            .iter()
            .rposition(|waiter| waiter.lane == crowded);
        newest.map(|at| self.waiting.remove(at).item)
    }

    /// Takes the next item: the oldest one of the lane whose last turn is the longest ago.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let next = match self.waiting.len() {
            0 => return None,
            1 => 0,
            _ => {
                let turn = |lane: Lane| lane.0.map(|key| self.served.get(&key).copied());
                let turns = self.waiting.iter().map(|waiter| turn(waiter.lane));
                // Of equals, take the one that arrived first.
                turns.enumerate().min_by_key(|(_, turn)| *turn)?.0
            }
        };
        let Waiter { lane, item, .. } = self.waiting.remove(next);
        self.turn += 1;
        for key in lane.0 {
            self.served.insert(key, self.turn);
        }
        self.forget_turns();
        Some(item)
    }

    /// Takes out every item that has waited this long.
    pub(crate) fn take_expired(&mut self, limit: Duration) -> Vec<T> {
        let is_over = |waiter: &mut Waiter<T>| waiter.since.elapsed() >= limit;
        let expired = self.waiting.extract_if(.., is_over);
        expired.map(|waiter| waiter.item).collect()
    }

    /// Takes out every item that is no longer wanted.
    pub(crate) fn take_if(&mut self, is_unwanted: impl Fn(&T) -> bool) -> Vec<T> {
        let is_unwanted = |waiter: &mut Waiter<T>| is_unwanted(&waiter.item);
        let unwanted = self.waiting.extract_if(.., is_unwanted);
        unwanted.map(|waiter| waiter.item).collect()
    }

    /// The lane with the most waiting items, level by level; of several, the one with the newest
    /// item.
    fn most_crowded(&self, newest: Lane) -> Lane {
        let mut crowded = newest;
        for level in 0..LEVELS {
            let is_within = |lane: Lane| level == 0 || lane.0[level - 1] == crowded.0[level - 1];
            let within = self.waiting.iter().map(|waiter| waiter.lane).enumerate();
            let mut counts: HashMap<u64, (usize, usize, Lane)> = HashMap::new();
            for (at, lane) in within.filter(|(_, lane)| is_within(*lane)) {
                let (count, last, _) = counts.entry(lane.0[level]).or_insert((0, at, lane));
                (*count, *last) = (*count + 1, at);
            }
            let most = counts
                .values()
                .max_by_key(|(count, last, _)| (*count, *last));
            if let Some((_, _, lane)) = most {
                crowded = *lane;
            }
        }
        crowded
    }

    /// Forgets the turns of lanes without waiting items: a lane that comes back goes first.
    fn forget_turns(&mut self) {
        if self.waiting.is_empty() {
            self.served.clear();
        } else if self.served.len() > 2 * LEVELS * (self.waiting.len() + 1) {
            let waiting = self.waiting.iter();
            let keys: std::collections::HashSet<u64> =
                waiting.flat_map(|waiter| waiter.lane.0).collect();
            self.served.retain(|key, _| keys.contains(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1_000;

    fn queue(items: &[(Lane, &'static str)]) -> FairQueue<&'static str> {
        let mut queue = FairQueue::default();
        for (lane, item) in items {
            assert_eq!(queue.push(*lane, *item, MOST), None);
        }
        queue
    }

    fn drain(mut queue: FairQueue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn one_lane_goes_in_the_order_in_which_it_came() {
        let lane = Lane::default();
        let queue = queue(&[(lane, "a"), (lane, "b"), (lane, "c")]);
        assert_eq!(drain(queue), ["a", "b", "c"]);
    }

    #[test]
    fn addresses_then_prompts_then_clients_take_turns() {
        let lane = |address, prompt, client| Lane::new(address, prompt, client);
        let queue = queue(&[
            (lane(1, "bomb", 1), "bomb 1a"),
            (lane(1, "bomb", 1), "bomb 1b"),
            (lane(1, "bomb", 2), "bomb 2"),
            (lane(1, "other", 1), "other"),
            (lane(2, "bomb", 9), "elsewhere a"),
            (lane(2, "bomb", 9), "elsewhere b"),
        ]);
        assert_eq!(
            drain(queue),
            [
                "bomb 1a",
                "elsewhere a",
                "other",
                "elsewhere b",
                "bomb 2",
                "bomb 1b"
            ]
        );
    }

    #[test]
    fn who_comes_late_waits_for_one_turn_and_not_for_all_that_wait() {
        let bombs = |client| Lane::new(0, "bomb", client);
        let mut queue = FairQueue::default();
        for client in 0..255 {
            queue.push(bombs(client), "bomb", MOST);
        }
        assert_eq!((queue.pop(), queue.pop()), (Some("bomb"), Some("bomb")));
        queue.push(Lane::new(0, "count", 999), "count", MOST);
        assert_eq!(queue.pop(), Some("count"));
    }

    #[test]
    fn a_full_queue_gives_back_what_the_most_crowded_lane_added_last() {
        let lane = Lane::new;
        let mut queue = queue(&[
            (lane(1, "bomb", 1), "bomb 1"),
            (lane(1, "bomb", 2), "bomb 2"),
            (lane(1, "other", 1), "other"),
        ]);
        assert_eq!(queue.push(lane(1, "bomb", 3), "bomb 3", 3), Some("bomb 3"));
        assert_eq!(queue.push(lane(1, "count", 4), "count", 3), Some("bomb 2"));
        // Every lane holds one item now, so the newest item is refused.
        assert_eq!(queue.push(lane(1, "more", 5), "more", 3), Some("more"));
        assert_eq!(queue.push(lane(2, "bomb", 6), "far", 3), Some("count"));
        assert_eq!(queue.len(), 3);
    }

    #[test]
    fn what_is_remembered_of_turns_is_bounded_by_what_waits() {
        let mut queue = FairQueue::default();
        let waiting = 10;
        for number in 0..1_000 {
            queue.push(Lane::new(number, number, number), number, MOST);
            if number >= waiting {
                queue.pop();
            }
        }
        assert!(queue.served.len() <= 2 * LEVELS * (queue.len() + 1) + LEVELS);
        while queue.pop().is_some() {}
        assert!(queue.served.is_empty());
    }

    #[test]
    fn what_waited_too_long_is_taken_out() {
        let lane = Lane::default();
        let mut queue = queue(&[(lane, "a"), (lane, "b")]);
        assert!(queue.take_expired(Duration::from_secs(600)).is_empty());
        assert_eq!(queue.take_expired(Duration::ZERO), ["a", "b"]);
        assert_eq!(queue.len(), 0);
    }
}
