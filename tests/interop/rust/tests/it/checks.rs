//! What has to hold wherever a client comes from.

use rmcp::model::{
    CallToolRequestParams, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, InputRequest, Prompt, Role, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{ServiceError, SubscriptionEnd};
use serde_json::{Value, json};

use crate::client::{Forms, Person};
use crate::server::{Client, Era, Over, Server, Visit, soon};

const MISSING: &str = "Missing required argument: name";

pub(crate) async fn introduces_itself(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    let info = client.peer_info().expect("the server said who it is");
    assert_eq!(info.protocol_version, visit.era.version());
    let itself = info.server_info.as_ref().expect("a name and a version");
    assert_eq!(
        (&*itself.name, itself.title.as_deref()),
        ("twig", Some("Twig"))
    );
    assert!(!itself.version.is_empty());
    let can = &info.capabilities;
    assert!(can.completions.is_some());
    assert_eq!(
        can.prompts
            .as_ref()
            .and_then(|prompts| prompts.list_changed),
        Some(true)
    );
    visit.leave(client, server).await;
}

pub(crate) async fn finds_the_modern_era(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    let info = client.peer_info().expect("the server said who it is");
    assert_eq!(info.protocol_version, visit.era.version());
    assert_eq!(names(&client).await.len(), 5);
    visit.leave(client, server).await;
}

pub(crate) async fn lists_every_page(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    let first = client.list_prompts(None).await.expect("a page");
    assert_eq!(first.prompts.len(), 2);
    assert!(first.next_cursor.is_some());
    let all = client.list_all_prompts().await.expect("every page");
    let listed: Vec<&str> = all.iter().map(|prompt| &*prompt.name).collect();
    let expected = ["count", "farewell", "greet", "talk", "wave"];
    assert_eq!(listed, expected.map(|name| format!("greetings:{name}")));
    let Prompt {
        title,
        description,
        arguments,
        ..
    } = &all[2];
    assert_eq!(title.as_deref(), Some("Greet"));
    assert_eq!(description.as_deref(), Some("Greet somebody"));
    let arguments = arguments.as_deref().unwrap_or_default();
    let taken: Vec<_> = (arguments.iter())
        .map(|argument| (&*argument.name, argument.required))
        .collect();
    assert_eq!(taken, [("name", Some(true)), ("language", Some(false))]);
    assert_eq!(arguments[0].description.as_deref(), Some("Whom to greet"));
    visit.leave(client, server).await;
}

/// What it declares beside prompts, however little that is.
pub(crate) async fn lists_the_rest(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    client.list_all_tools().await.expect("tools");
    client.list_all_resources().await.expect("resources");
    let templates = client.list_all_resource_templates();
    templates.await.expect("resource templates");
    visit.leave(client, server).await;
}

pub(crate) async fn reaches_prompts_through_tools(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    let tools = client.list_all_tools().await.expect("tools");
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        names,
        ["list_prompts", "expand_prompt", "use_prompt", "search"]
    );
    let call = async |name: &'static str, arguments: Value| {
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments.as_object().cloned();
        client.call_tool(params).await.expect("a result")
    };
    let commands = call("list_prompts", json!({})).await;
    let commands = commands.structured_content.expect("what is listed");
    assert_eq!(commands["prompts"].as_array().map(Vec::len), Some(5));
    let greet = json!({"command": ":greetings:greet", "input": "language=french Ada Lovelace"});
    let got = call("expand_prompt", greet.clone()).await;
    let expected = json!({"prompt": "Greet Ada Lovelace in french.\n"});
    assert_eq!(got.structured_content, Some(expected));
    let plain = call("use_prompt", greet).await;
    assert_eq!(plain.structured_content, None);
    let text = plain.content[0].as_text().map(|text| &*text.text);
    assert_eq!(text, Some("Greet Ada Lovelace in french.\n"));
    // A loop is rendered elsewhere.
    let got = call("expand_prompt", json!({"command": "count", "input": ""})).await;
    let counted = got.structured_content.expect("a prompt");
    assert_eq!(counted["prompt"].as_str().map(str::trim), Some("1 2 3"));
    let failed = call("expand_prompt", json!({"command": "greet", "input": ""})).await;
    assert_eq!(failed.is_error, Some(true));
    visit.leave(client, server).await;
}

pub(crate) async fn gets_text_exactly(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    // Values are data, whatever they look like.
    for name in ["Ada", "Jõgi\n\"{{ language }}\" \u{1F44B}"] {
        let got = get(
            &client,
            "greet",
            json!({"name": name, "language": "estonian"}),
        )
        .await;
        let expected = format!("Greet {name} in estonian.\n");
        assert_eq!(texts(&got.expect("a prompt")), [(Role::User, &*expected)]);
    }
    let default = get(&client, "greet", json!({"name": "Ada"})).await;
    let default = default.expect("a prompt");
    assert_eq!(texts(&default), [(Role::User, "Greet Ada in english.\n")]);
    assert_eq!(default.description.as_deref(), Some("Greet somebody"));
    visit.leave(client, server).await;
}

pub(crate) async fn gets_messages_and_loops(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    let talk = get(&client, "talk", json!({})).await.expect("a prompt");
    let expected = [
        (Role::User, "How are you?"),
        (Role::Assistant, "Very well."),
    ];
    assert_eq!(texts(&talk), expected);
    let count = get(&client, "count", json!({})).await.expect("a prompt");
    assert_eq!(texts(&count), [(Role::User, "1 2 3 \n")]);
    visit.leave(client, server).await;
}

pub(crate) async fn names_what_is_missing(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    let missing = refusal(get(&client, "greet", json!({})).await);
    assert_eq!(missing.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(missing.message, MISSING);
    visit.leave(client, server).await;
}

/// A client that can show a form is asked to: in the modern era with the result, in the legacy era
/// with a request.
pub(crate) async fn asks_for_what_is_missing(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::Filled)).await;
    let got = get(&client, "greet", json!({"language": "french"})).await;
    let got = got.expect("a prompt");
    assert_eq!(texts(&got), [(Role::User, "Greet Ada in french.\n")]);
    if visit.era == Era::Modern {
        let once = GetPromptRequestParams::new("greetings:greet");
        let asked = client.get_prompt_once(once).await.expect("an answer");
        let GetPromptResponse::InputRequired(asked) = asked else {
            panic!("not asked: {asked:?}");
        };
        let requests = asked.input_requests.expect("a request");
        let requests: Vec<_> = requests.values().collect();
        assert!(matches!(requests[..], [InputRequest::Elicitation(_)]));
    }
    let mut params = CallToolRequestParams::new("use_prompt");
    params.arguments = json!({"command": "greet", "input": "language=estonian"})
        .as_object()
        .cloned();
    let used = client.call_tool(params).await.expect("a result");
    let text = used.content[0].as_text().map(|text| &*text.text);
    assert_eq!(text, Some("Greet Ada in estonian.\n"));
    visit.leave(client, server).await;
}

pub(crate) async fn takes_no_for_an_answer(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::Declined)).await;
    let declined = refusal(get(&client, "greet", json!({})).await);
    assert_eq!(declined.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(declined.message, MISSING);
    visit.leave(client, server).await;
}

pub(crate) async fn suggests_a_near_name(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    // The second one is not ASCII, which modern HTTP has to put in a header nevertheless.
    for name in ["gret", "gréet"] {
        let unknown = refusal(get(&client, name, json!({})).await);
        assert_eq!(unknown.code, ErrorCode::INVALID_PARAMS);
        assert_eq!(
            unknown.message,
            format!("Prompt not found: greetings:{name}")
        );
        let near = &unknown.data.expect("more to say")["suggestions"];
        assert_eq!(near, &json!(["greetings:greet"]));
    }
    visit.leave(client, server).await;
}

pub(crate) async fn completes_choices(visit: Visit) {
    let (client, server) = visit.come(Person::with(Forms::None)).await;
    let found = client.complete_prompt_argument("greetings:greet", "language", "e", None);
    let found = found.await.expect("choices");
    assert_eq!(found.values, ["english", "estonian"]);
    assert_eq!((found.total, found.has_more), (Some(2), Some(false)));
    visit.leave(client, server).await;
}

/// Unasked in the legacy era, over HTTP on the stream that the client holds open; on a subscription
/// in the modern one.
pub(crate) async fn tells_of_a_new_prompt(visit: Visit) {
    let (person, mut heard) = Person::who_listens(Forms::None);
    let (client, mut server) = visit.come(person).await;
    assert_eq!(names(&client).await.len(), 5);
    if visit.era == Era::Legacy {
        visit.home.add_prompt();
        soon(heard.recv()).await.expect("a change");
        assert!(names(&client).await.contains(&"greetings:later".to_owned()));
        return visit.leave(client, server).await;
    }
    let filter = SubscriptionFilter::builder().prompts_list_changed().build();
    let mut first = client.listen(filter.clone()).await.expect("a subscription");
    let mut second = client.listen(filter).await.expect("another one");
    assert_eq!(first.acknowledged().prompts_list_changed, Some(true));
    visit.home.add_prompt();
    for subscription in [&mut first, &mut second] {
        let told = soon(subscription.next()).await.expect("a notification");
        let expected = matches!(
            told,
            Some(ServerNotification::PromptListChangedNotification(_))
        );
        assert!(expected, "{told:?}");
    }
    assert!(names(&client).await.contains(&"greetings:later".to_owned()));
    // One ends for the client, the other with the server.
    first.cancel().await.expect("it is given up");
    assert_eq!(first.end(), Some(&SubscriptionEnd::Cancelled));
    server.terminate();
    assert!(soon(second.next()).await.expect("an end").is_none());
    assert!(matches!(second.end(), Some(SubscriptionEnd::Graceful(_))));
    assert!(server.ended().await.success());
}

pub(crate) async fn wants_the_token(visit: Visit) {
    assert!(visit.over == Over::Http);
    let server = Server::over_http(&visit.home, Some("open-sesame")).await;
    for token in [None, Some("close-sesame")] {
        let outside = visit.come_over_http(&server, Person::with(Forms::None), token);
        let refused = outside.await.expect_err("a refusal");
        assert!(refused.is_authorization_required(), "{refused}");
        let challenge = refused.auth_challenge().unwrap_or_default();
        assert!(challenge.starts_with("Bearer"), "{challenge}");
    }
    let inside = visit.come_over_http(&server, Person::with(Forms::None), Some("open-sesame"));
    let client = inside.await.expect("a connection");
    assert_eq!(names(&client).await.len(), 5);
    visit.leave(client, server).await;
}

async fn names(client: &Client) -> Vec<String> {
    let all = client.list_all_prompts().await.expect("every page");
    all.into_iter().map(|prompt| prompt.name).collect()
}

async fn get(
    client: &Client,
    name: &str,
    arguments: Value,
) -> Result<GetPromptResult, ServiceError> {
    let mut params = GetPromptRequestParams::new(format!("greetings:{name}"));
    params.arguments = arguments.as_object().cloned();
    client.get_prompt(params).await
}

fn texts(got: &GetPromptResult) -> Vec<(Role, &str)> {
    (got.messages.iter())
        .map(|message| (message.role.clone(), message.content.as_text()))
        .map(|(role, text)| (role, &*text.expect("a text").text))
        .collect()
}

fn refusal(got: Result<GetPromptResult, ServiceError>) -> ErrorData {
    match got {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("no refusal: {other:?}"),
    }
}
