//! `expand_prompt` and `use_prompt`: a prompt with what the user wrote after its name.

use serde_json::{Value, json};
use twig_core::media::MediaKind;
use twig_core::{
    Argument, Content, Dialect, Function, FunctionOutcome, Limits, MessageSource, Prompt,
    RelativePath, Role, TextForm,
};
use twig_mcp::Tools;

use super::agent::{Agent, text};
use crate::support::{argument, error, jinja, library, prompt, required, sample, server_meta};

fn described(name: &str, description: &str) -> Argument {
    Argument {
        description: Some(description.into()),
        ..argument(name)
    }
}

fn review() -> Prompt {
    let code = Argument {
        required: true,
        ..described("code", "The code to review")
    };
    let language = described("language", "Programming language");
    jinja(
        "review",
        "[{{ code }}|{{ language }}|{{ style }}]",
        vec![code, language, argument("style")],
    )
}

fn says(role: Role, text: &str) -> MessageSource {
    MessageSource {
        role,
        content: Content::Text {
            text: text.into(),
            line: 1,
            form: TextForm::Lines,
            file: None,
        },
    }
}

fn with(prompts: Vec<Prompt>) -> Agent {
    Agent::with(vec![library("l", 1, prompts)], Tools::default())
}

/// What a prompt becomes, after a look that the text says the same.
fn expand(agent: &mut Agent, command: &str, input: &str) -> String {
    let result = agent.call("expand_prompt", json!({"command": command, "input": input}));
    assert!(result.get("isError").is_none(), "{result}");
    let content = &result["structuredContent"];
    let said: Value = serde_json::from_str(&text(&result)).unwrap();
    assert_eq!(said, *content);
    assert_eq!(content.as_object().unwrap().len(), 1);
    content["prompt"].as_str().unwrap().to_owned()
}

fn fails(agent: &mut Agent, command: &str, input: &str) -> String {
    agent.fails("expand_prompt", json!({"command": command, "input": input}))
}

/// Stores a prompt in the project.
fn store(agent: &mut Agent, name: &str, content: &str) {
    agent.says("create_prompt", json!({"name": name, "content": content}));
}

#[test]
fn a_markdown_prompt_is_expanded_as_its_contract_says() {
    let mut research = prompt("research", vec![argument("input")]);
    research.description = Some("Research a topic".into());
    let mut folder = library("prompts", 1, vec![research]);
    std::sync::Arc::make_mut(&mut folder.prompts[0]).full_name = "research".into();
    let mut agent = Agent::without_project(vec![folder], Tools::default());
    let body = "You are a focused researcher. Investigate the topic below and return:\n- A 3-5 sentence summary\n- 3 key findings\n- Source names or links if mentioned in provided context\n\nTopic:\n{{input}}";
    let file = format!("---\ndescription: Research a topic\n---\n\n{body}\n");
    agent.peer.bodies.insert("research.md", file);
    let reply = agent.peer.raw(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"expand_prompt","arguments":{"command":"research","input":"Example topic"}}}"#);
    assert_eq!(
        reply,
        r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"{\"prompt\":\"You are a focused researcher. Investigate the topic below and return:\\n- A 3-5 sentence summary\\n- 3 key findings\\n- Source names or links if mentioned in provided context\\n\\nTopic:\\nExample topic\"}"}],"structuredContent":{"prompt":"You are a focused researcher. Investigate the topic below and return:\n- A 3-5 sentence summary\n- 3 key findings\n- Source names or links if mentioned in provided context\n\nTopic:\nExample topic"}}}
"#
    );
    // Pairs mean nothing to a prompt that takes what there is.
    let all = expand(&mut agent, "research", "input=x \"y\"");
    assert!(all.ends_with("Topic:\ninput=x \"y\""), "{all}");
    agent.peer.bodies.insert("research.md", "Just this");
    assert_eq!(expand(&mut agent, "research", "x"), "Just this\n\nx");
    assert_eq!(expand(&mut agent, "research", ""), "Just this");
}

#[test]
fn a_stored_prompt_gets_the_input_once_wherever_it_wants_it() {
    let mut agent = Agent::new();
    store(
        &mut agent,
        "slots",
        "A {{input}} B {{input}} {{ input }} {% if %}",
    );
    assert_eq!(
        expand(&mut agent, "slots", "{{input}} x=y"),
        "A {{input}} x=y B {{input}} x=y {{ input }} {% if %}"
    );
    assert_eq!(
        expand(&mut agent, "slots", ""),
        "A  B  {{ input }} {% if %}"
    );
    store(&mut agent, "plain", "Just this\n");
    assert_eq!(expand(&mut agent, "plain", "more"), "Just this\n\n\nmore");
    assert_eq!(expand(&mut agent, "plain", ""), "Just this\n");
}

#[test]
fn many_slots_do_not_make_a_flood() {
    let mut agent = Agent::new();
    let limits = Limits::default();
    let slots = limits.verbatim / "{{input}}".len();
    store(&mut agent, "flood", &"{{input}}".repeat(slots));
    let most = (limits.verbatim + limits.argument_value) / slots;
    let prompt = expand(&mut agent, "flood", &"x".repeat(most));
    assert_eq!(prompt.len(), most * slots);
    assert_eq!(
        fails(&mut agent, "flood", &"x".repeat(most + 1)),
        "Error: The rendered prompt exceeds the limit of 1310720 bytes"
    );
    store(&mut agent, "whole", &"x".repeat(limits.verbatim));
    expand(&mut agent, "whole", &"x".repeat(limits.argument_value));
    assert_eq!(
        fails(&mut agent, "whole", &"x".repeat(limits.argument_value + 1)),
        "Error: Argument `input` exceeds the limit of 262144 bytes"
    );
}

#[test]
fn arguments_are_read_from_pairs_and_the_rest_goes_to_the_first_that_is_free() {
    let mut agent = with(vec![review()]);
    for (input, expected) in [
        ("fn main() {}", "[fn main() {}||]"),
        ("language=go fix  this", "[fix  this|go|]"),
        (r#"language="go 1.27" code=x"#, "[x|go 1.27|]"),
        ("code=x a b", "[x|a b|]"),
        ("code=x language=go style='k & r'", "[x|go|k & r]"),
        (
            "code=x language=go style=y and more",
            "[x|go|y]\n\nand more",
        ),
        ("code=\"{{ language }}\" language=z", "[{{ language }}|z|]"),
    ] {
        assert_eq!(expand(&mut agent, "l:review", input), expected, "{input}");
    }
}

#[test]
fn a_missing_argument_brings_the_whole_list() {
    let mut agent = with(vec![review()]);
    let expected = "Error: Missing required argument: code
Give them in `input` as key=value or key=\"several words\". `l:review` takes:
- code (required): The code to review
- language (optional): Programming language
- style (optional)";
    for input in ["", "  "] {
        assert_eq!(fails(&mut agent, "review", input), expected);
    }
    let two = jinja("two", "{{ a }}{{ b }}", vec![required("a"), required("b")]);
    let mut agent = with(vec![two]);
    let said = fails(&mut agent, "two", "b=1");
    assert!(
        said.starts_with("Error: Missing required argument: a\n"),
        "{said}"
    );
    let said = fails(&mut agent, "two", "");
    assert!(
        said.starts_with("Error: Missing required arguments: a, b\n"),
        "{said}"
    );
}

#[test]
fn a_value_that_breaks_a_rule_is_a_tool_that_failed() {
    let choice = Argument {
        choices: vec!["go".into(), "rust".into()],
        ..argument("language")
    };
    let mut agent = with(vec![jinja("p", "{{ language }}", vec![choice])]);
    assert_eq!(
        fails(&mut agent, "p", "language=perl"),
        "Error: Argument `language` must be one of: go, rust"
    );
    let mut agent = Agent::with(vec![sample()], Tools::default());
    assert_eq!(
        fails(&mut agent, "broken", ""),
        "Error: Prompt `broken` has no template"
    );
    assert_eq!(
        fails(&mut agent, "gone", ""),
        "Error: Prompt content file not found: ~/lib/gone.md"
    );
}

#[test]
fn a_prompt_without_arguments_is_followed_by_the_input() {
    let mut agent = with(vec![jinja("p", "Do it", Vec::new())]);
    assert_eq!(expand(&mut agent, "p", "a=b  now"), "Do it\n\na=b  now");
    assert_eq!(expand(&mut agent, "p", ""), "Do it");
}

#[test]
fn the_trigger_may_stand_before_the_command() {
    let mut agent = with(vec![jinja("p", "Do it", Vec::new())]);
    for command in [":p", "p", ":l:p", "l:p", " :p ", ": p"] {
        assert_eq!(expand(&mut agent, command, ""), "Do it", "{command}");
    }
    assert!(fails(&mut agent, "::p", "").starts_with("Error: Prompt not found: :p"));
    let tools = Tools {
        trigger: "pre".to_owned(),
        ..Tools::default()
    };
    let prompts = vec![
        jinja("present", "Whole", Vec::new()),
        jinja("notes", "Part", Vec::new()),
    ];
    let mut agent = Agent::with(vec![library("l", 1, prompts)], tools);
    assert_eq!(expand(&mut agent, "present", ""), "Whole");
    assert_eq!(expand(&mut agent, "prenotes", ""), "Part");
}

#[test]
fn a_prompt_that_is_not_there_brings_near_names() {
    let prompts = || vec![review(), jinja("notes", "N", Vec::new())];
    let mut agent = Agent::without_project(vec![library("l", 1, prompts())], Tools::default());
    assert_eq!(
        fails(&mut agent, ":reveiw", "x"),
        "Error: Prompt not found: reveiw; did you mean `l:review`?"
    );
    assert_eq!(
        fails(&mut agent, "zzz", "x"),
        "Error: Prompt not found: zzz"
    );
    for command in ["", " ", ":", " : "] {
        assert_eq!(
            fails(&mut agent, command, "x"),
            "Error: `command` is empty: give the name of a prompt"
        );
    }
    let mut agent = with(prompts());
    assert_eq!(
        fails(&mut agent, ":reveiw", "x"),
        "Error: Prompt 'reveiw' not found in project 'auth-module'; did you mean `l:review`?"
    );
    assert!(fails(&mut agent, &"x".repeat(1_000_000), "x").len() < 500);
}

#[test]
fn a_name_in_several_libraries_is_told_with_all_of_them() {
    let libraries = ["a", "b"].map(|name| library(name, 1, vec![jinja("p", name, Vec::new())]));
    let mut agent = Agent::with(libraries.to_vec(), Tools::default());
    assert_eq!(
        fails(&mut agent, "p", ""),
        "Error: Prompt `p` is in several libraries: a:p, b:p"
    );
    assert_eq!(expand(&mut agent, "b:p", ""), "b");
}

#[test]
fn several_messages_become_one_text() {
    let pair = |roles: [Role; 2]| Prompt {
        messages: vec![says(roles[0], "One"), says(roles[1], "Two")],
        ..jinja("p", "", Vec::new())
    };
    let mut agent = with(vec![pair([Role::User, Role::User])]);
    assert_eq!(expand(&mut agent, "p", "x"), "One\n\nTwo\n\nx");
    let mut agent = with(vec![pair([Role::User, Role::Assistant])]);
    assert_eq!(expand(&mut agent, "p", ""), "User:\nOne\n\nAssistant:\nTwo");
    assert_eq!(
        expand(&mut agent, "p", "x"),
        "User:\nOne\n\nAssistant:\nTwo\n\nUser:\nx"
    );
    let mut agent = with(vec![pair([Role::Assistant, Role::User])]);
    assert_eq!(
        expand(&mut agent, "p", "x"),
        "Assistant:\nOne\n\nUser:\nTwo\n\nx"
    );
}

#[test]
fn pictures_follow_as_blocks_of_their_own() {
    let mut show = jinja("show", "Look", Vec::new());
    show.messages.insert(
        0,
        MessageSource {
            role: Role::Assistant,
            content: Content::Media {
                kind: MediaKind::Image,
                mime: "image/png",
                path: RelativePath::parse("x.png").unwrap(),
            },
        },
    );
    let mut agent = with(vec![show]);
    agent.peer.bodies.insert("x.png", "png");
    let result = agent.call("expand_prompt", json!({"command": "show", "input": ""}));
    // Nobody speaks but the user: a picture says nothing.
    assert_eq!(result["structuredContent"], json!({"prompt": "Look"}));
    assert_eq!(
        result["content"],
        json!([{"type": "text", "text": "{\"prompt\":\"Look\"}"},
            {"type": "image", "data": "cG5n", "mimeType": "image/png"}])
    );
}

#[test]
fn a_computed_template_comes_back_as_a_tool_result() {
    let mut looped = jinja(
        "loop",
        "{% for c in who %}<{{ c }}>{% endfor %}",
        vec![argument("who")],
    );
    looped.description = Some("Loops".into());
    let wrong = jinja(
        "wrong",
        "{% for c in who %}{{ c.x.y }}{% endfor %}",
        vec![argument("who")],
    );
    let mut agent = with(vec![looped, wrong]);
    assert_eq!(expand(&mut agent, "loop", "ab"), "<a><b>");
    assert_eq!(expand(&mut agent, "loop", "who=ab more"), "<a><b>\n\nmore");
    let said = fails(&mut agent, "wrong", "ab");
    assert!(
        said.starts_with("Error: Error rendering prompt template at line 1: "),
        "{said}"
    );
    agent.is_modern = true;
    let arguments = json!({"command": "loop", "input": "x"});
    assert_eq!(
        agent.call("expand_prompt", arguments),
        json!({"content": [{"type": "text", "text": "{\"prompt\":\"<x>\"}"}],
            "structuredContent": {"prompt": "<x>"}, "resultType": "complete",
            "_meta": server_meta()})
    );
}

fn function() -> Prompt {
    let program = RelativePath::parse("bin/run").unwrap();
    Prompt {
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::Function(Function::command(program, Vec::new())),
        }],
        dialect: Dialect::Function,
        ..prompt("run", vec![argument("who")])
    }
}

#[test]
fn a_function_comes_back_as_a_tool_result() {
    let mut agent = with(vec![function()]);
    let printed = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}"#;
    agent.printed = FunctionOutcome::Printed(printed.into());
    assert_eq!(expand(&mut agent, "run", "who=x y"), "hello\n\ny");
    agent.printed = FunctionOutcome::Failed("ended with status 1".to_owned());
    assert_eq!(
        fails(&mut agent, "run", "x"),
        "Error: The function of prompt `l:run` ended with status 1"
    );
}

#[test]
fn documents_and_links_follow_as_blocks_of_their_own() {
    let mut agent = with(vec![function()]);
    let link = json!({"type": "resource_link", "uri": "a://x", "name": "x"});
    let resource = json!({"type": "resource", "resource":
        {"uri": "a://y", "mimeType": "text/plain", "text": "y"}});
    let message = |content: &Value| json!({"role": "user", "content": content});
    let read = message(&json!({"type": "text", "text": "Read"}));
    let printed = json!({"messages": [message(&link), read, message(&resource)]});
    agent.printed = FunctionOutcome::Printed(printed.to_string().into());
    let result = agent.call("expand_prompt", json!({"command": "run", "input": ""}));
    assert_eq!(result["structuredContent"], json!({"prompt": "Read"}));
    assert_eq!(result["content"].as_array().unwrap()[1..], [link, resource]);
}

#[test]
fn a_prompt_that_panics_takes_nothing_with_it() {
    let mut agent = Agent::with(vec![sample()], Tools::default());
    let reply = agent.reply("expand_prompt", json!({"command": "panic", "input": ""}));
    assert_eq!(error(&reply), (-32603, "Internal error".to_owned()));
    assert_eq!(expand(&mut agent, "echo", "x"), "echo: x");
}

/// The content of the answer of `use_prompt`, after a look that it is plain.
fn used(agent: &mut Agent, arguments: Value) -> Vec<Value> {
    let result = agent.call("use_prompt", arguments);
    assert_eq!(result.get("structuredContent"), None, "{result}");
    assert_eq!(result.get("isError"), None, "{result}");
    result["content"].as_array().unwrap().clone()
}

#[test]
fn use_prompt_answers_in_plain_text() {
    let mut agent = with(vec![review()]);
    let text = |text: &str| json!({"type": "text", "text": text});
    for (input, expected) in [
        ("fn main() {}", "[fn main() {}||]"),
        (
            r#"language="go 1.27" code="a \"b\"""#,
            r#"[a "b"|go 1.27|]"#,
        ),
    ] {
        let arguments = json!({"command": ":review", "input": input});
        assert_eq!(used(&mut agent, arguments), [text(expected)]);
    }
    let mut agent = with(vec![jinja("p", "Do \"it\"\nnow", Vec::new())]);
    let expected = [text("Do \"it\"\nnow")];
    assert_eq!(used(&mut agent, json!({"command": "p"})), expected);
    agent.is_modern = true;
    assert_eq!(
        used(&mut agent, json!({"command": "p", "input": null})),
        expected
    );
    let said = agent.fails("use_prompt", json!({"command": "x"}));
    assert!(
        said.starts_with("Error: Prompt 'x' not found in project"),
        "{said}"
    );
    assert_eq!(
        agent.fails("use_prompt", json!({})),
        "Error: Missing required argument: command"
    );
}

#[test]
fn use_prompt_writes_documents_and_links_into_the_text() {
    let mut agent = with(vec![function()]);
    let message = |role: &str, content: Value| json!({"role": role, "content": content});
    let printed = json!({"messages": [
        message("user", json!({"type": "resource_link", "uri": "a://x", "name": "x",
            "description": "About x"})),
        message("user", json!({"type": "text", "text": "Read"})),
        message("user", json!({"type": "resource", "resource":
            {"uri": "a://y", "mimeType": "text/plain", "text": "y\n"}})),
        message("user", json!({"type": "image", "data": "cG5n", "mimeType": "image/png"})),
        message("user", json!({"type": "resource", "resource":
            {"uri": "a://z", "mimeType": "image/gif", "blob": "Z2lm"}})),
        message("user", json!({"type": "resource", "resource":
            {"uri": "a://b", "mimeType": "application/pdf", "blob": "cGRm"}})),
        message("user", json!({"type": "text", "text": "End"})),
    ]});
    agent.printed = FunctionOutcome::Printed(printed.to_string().into());
    let image = |data: &str, mime: &str| json!({"type": "image", "data": data, "mimeType": mime});
    assert_eq!(
        used(&mut agent, json!({"command": "run", "input": "who=w more"})),
        [
            json!({"type": "text", "text":
                "Resource \"x\" at a://x: About x\n\nRead\n\nDocument a://y (text/plain):\n\ny\n"}),
            image("cG5n", "image/png"),
            image("Z2lm", "image/gif"),
            json!({"type": "resource", "resource":
                {"uri": "a://b", "mimeType": "application/pdf", "blob": "cGRm"}}),
            json!({"type": "text", "text": "End\n\nmore"}),
        ]
    );
    let printed = json!({"messages": [
        message("user", json!({"type": "text", "text": "One"})),
        message("assistant", json!({"type": "text", "text": "Two"})),
    ]});
    agent.printed = FunctionOutcome::Printed(printed.to_string().into());
    assert_eq!(
        used(&mut agent, json!({"command": "run"})),
        [json!({"type": "text", "text": "User:\nOne\n\nAssistant:\nTwo"})]
    );
    agent.printed = FunctionOutcome::Printed(r#"{"messages":[]}"#.into());
    let result = agent.call("use_prompt", json!({"command": "run"}));
    assert!(result["content"][0]["text"].is_string(), "{result}");
}

#[test]
fn the_error_for_a_missing_argument_says_what_it_takes() {
    let choice = Argument {
        choices: ["go", "rust"].map(Into::into).to_vec(),
        ..required("language")
    };
    let style = Argument {
        default: Some("terse".into()),
        ..described("style", "How to write")
    };
    let depth = Argument {
        choices: ["1", "2"].map(Into::into).to_vec(),
        default: Some("1".into()),
        ..argument("depth")
    };
    let arguments = vec![choice, style, depth];
    let mut agent = with(vec![jinja("p", "{{ language }}", arguments)]);
    let expected = "Error: Missing required argument: language
Give them in `input` as key=value or key=\"several words\". `l:p` takes:
- language (required, one of: go, rust)
- style (optional; default: terse): How to write
- depth (optional, one of: 1, 2; default: 1)";
    assert_eq!(fails(&mut agent, "p", ""), expected);
    assert_eq!(agent.fails("use_prompt", json!({"command": "p"})), expected);
}
