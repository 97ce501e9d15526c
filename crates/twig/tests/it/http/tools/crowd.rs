//! Many clients of one server write to one prompt.

use serde_json::json;

use super::{Agent, Era, PROJECT, said, thread, with_project};

/// T-TOOL-06 over HTTP: all of them have read the same version, and one of them wins.
#[test]
fn of_twenty_writers_one_wins_each_round() {
    const WRITERS: usize = 20;
    const ROUNDS: usize = 25;
    let served = with_project();
    let era = |at: usize| {
        if at.is_multiple_of(2) {
            Era::Legacy
        } else {
            Era::Modern
        }
    };
    let mut agents: Vec<Agent> = (0..WRITERS)
        .map(|at| Agent::new(&served, era(at), &format!("agent-{at}")))
        .collect();
    agents[0].done("create_prompt", json!({"name": "p", "content": "start"}));
    for version in 1..=ROUNDS {
        let winners: Vec<usize> = thread::scope(|scope| {
            let started: Vec<_> = agents
                .iter_mut()
                .enumerate()
                .map(|(at, agent)| scope.spawn(move || wins(agent, at, version).then_some(at)))
                .collect();
            let ended = started.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .filter_map(|winner| winner.expect("no panic"))
                .collect()
        });
        let [winner] = winners[..] else {
            panic!("round {version} was won by {winners:?}")
        };
        // Everybody reads the winner's text at once.
        for agent in &mut agents {
            assert_eq!(agent.text("p"), format!("round {version} of {winner}"));
        }
    }
    let history = served
        .env
        .run(["prompt", "history", "p", "-p", PROJECT, "--json"]);
    let history: Vec<serde_json::Value> = serde_json::from_str(&history.stdout).expect("JSON");
    assert_eq!(history.len(), ROUNDS + 1);
}

/// Writes as who has read this version; whether the write was made.
fn wins(agent: &mut Agent, at: usize, version: usize) -> bool {
    let content = format!("round {version} of {at}");
    let update = json!({"name": "p", "content": content, "expected_version": version});
    let result = agent.call("update_prompt", update);
    let next = version + 1;
    if result["isError"] == false {
        assert_eq!(result["structuredContent"]["version"], next);
        return true;
    }
    let lost = format!("Prompt 'p' is at version {next}, not at the expected version {version}");
    assert!(said(&result).contains(&lost), "{result}");
    false
}
