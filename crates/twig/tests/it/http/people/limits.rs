//! What one person may ask for at once.

use serde_json::json;

use super::super::{LIBRARY, Served};
use super::key;
use crate::env;

/// T-DEP-03
#[test]
fn one_person_who_asks_too_often_does_not_slow_the_others() {
    let env = env(LIBRARY);
    env.configure("[http]\nperson_requests = 1\nperson_burst = 5\n");
    let greedy = key(&env, "greedy", "reader", &[]);
    let other = key(&env, "other", "reader", &[]);
    let served = Served::from_env(env);
    let mut caller = served.caller().with_key(&greedy);
    let answers: Vec<_> = (0..20)
        .map(|_| caller.modern("prompts/list", json!({})))
        .collect();
    let refused: Vec<_> = answers.iter().filter(|it| it.status != 200).collect();
    assert!(answers[..5].iter().all(|it| it.status == 200));
    assert!(refused.len() >= 10, "{}", refused.len());
    for answer in refused {
        assert_eq!(answer.status, 429);
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    let mut caller = served.caller().with_key(&other);
    for _ in 0..5 {
        assert_eq!(caller.modern("prompts/list", json!({})).status, 200);
    }
}
