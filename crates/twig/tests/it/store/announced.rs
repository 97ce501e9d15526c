//! T-COH-01 at its figure: one writes all the time, and five others hear of it soon.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use twig_testkit::Client;

use super::{done, names, serve, servers, with_project};

const PROMPTS: &str = "notifications/prompts/list_changed";
const WRITES: usize = 300;
/// The pace of the one who writes.
const PAUSE: Duration = Duration::from_millis(20);

#[test]
fn five_servers_hear_soon_of_three_hundred_writes() {
    let env = with_project();
    let mut listeners = servers(&env, 5);
    for modern in &mut listeners[3..] {
        let wanted = json!({"notifications": {"promptsListChanged": true}});
        modern.start_modern("subscriptions/listen", wanted);
        modern.notification("notifications/subscriptions/acknowledged");
    }
    let mut writer = serve(&env);
    let name = |at: usize| format!("p{at:03}");
    let (written, heard) = thread::scope(|scope| {
        let listening: Vec<_> = listeners
            .iter_mut()
            .map(|listener| scope.spawn(|| hear_all(listener)))
            .collect();
        let start = Instant::now();
        let mut written = BTreeMap::new();
        for at in 0..WRITES {
            let create = json!({"name": name(at), "content": "x"});
            done(&mut writer, "create_prompt", create);
            written.insert(name(at), Instant::now());
            // Nothing is waited for here: the pace is what the figure is about.
            let next = PAUSE * u32::try_from(at + 1).expect("a small number");
            thread::park_timeout(next.saturating_sub(start.elapsed()));
        }
        let heard = listening
            .into_iter()
            .map(|all| all.join().expect("heard all"));
        (written, heard.collect::<Vec<_>>())
    });
    let wait = |(name, at): (&String, &Instant)| at.saturating_duration_since(written[name]);
    let mut waits: Vec<Duration> = heard.iter().flatten().map(wait).collect();
    assert_eq!(waits.len(), 5 * WRITES);
    waits.sort_unstable();
    let [half, nearly_all] = [50, 99].map(|percent| waits[waits.len() * percent / 100]);
    println!("announced to five servers: median {half:?}, p99 {nearly_all:?}");
    // 300 ms where nothing else runs.
    assert!(nearly_all < Duration::from_secs(1), "{nearly_all:?}");
    let first = names(&mut listeners[0]);
    assert_eq!(first.len(), WRITES);
    for listener in &mut listeners {
        assert_eq!(names(listener), first);
    }
}

/// When each name was on the list that was read because a change was announced.
fn hear_all(listener: &mut Client) -> BTreeMap<String, Instant> {
    let mut heard = BTreeMap::new();
    while heard.len() < WRITES {
        listener.notification(PROMPTS);
        let now = Instant::now();
        for name in names(listener) {
            heard.entry(name).or_insert(now);
        }
    }
    heard
}
