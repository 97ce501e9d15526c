//! The time of a write, and ids that sort by it. The system clock may be set to anything.

use std::time::SystemTime;

use twig_core::store::Timestamp;
use uuid::{NoContext, Uuid};

/// The system's time; 1970 if the clock is set to something earlier.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }))
}

/// A new UUID version 7. (`Uuid::now_v7` panics if the clock is before 1970.)
pub(crate) fn new_id() -> Uuid {
    id_at(now())
}

fn id_at(now: Timestamp) -> Uuid {
    let millis = u64::try_from(now.0).unwrap_or_default();
    let nanos = u32::try_from(millis % 1_000).unwrap_or_default() * 1_000_000;
    Uuid::new_v7(uuid::Timestamp::from_unix(NoContext, millis / 1_000, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_whatever_the_clock_says() {
        let times = [0, 0, -1, 1_763_287_200_000, i64::MAX, i64::MIN];
        let mut ids: Vec<Uuid> = times.map(|time| id_at(Timestamp(time))).to_vec();
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), times.len());
    }
}
