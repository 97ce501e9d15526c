//! What agents are told of the tools: every name, description and schema is a promise.

use serde_json::json;

use super::{serve, with_project};

#[test]
fn the_tools_of_a_project_are_described() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    let listed = client.request("tools/list", json!({}));
    let tools = &listed["result"]["tools"];
    insta::assert_json_snapshot!("tools", tools);
    let modern = client.modern("tools/list", json!({}));
    assert_eq!(
        &modern["result"]["tools"], tools,
        "they are the same in both eras"
    );
}
