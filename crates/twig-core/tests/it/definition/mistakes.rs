//! Mistakes of authors: each is told with its JSON path and its place, and costs one prompt only.

use super::Definitions;

const GOOD: &str = r#"{"name": "good", "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}"#;

/// What is told of a definition `p`.
fn told(text: &str) -> Vec<String> {
    let problems = Definitions::new().file("p.json", text).problems();
    let shown = problems.into_iter();
    shown
        .map(|problem| problem.replace("prompts/p.json:", ""))
        .collect()
}

/// The same with a root object of these members.
fn told_of(members: &str) -> Vec<String> {
    let messages = r#""messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]"#;
    told(&format!("{{\"name\": \"p\", {members}, {messages}}}"))
}

/// The same with this text and an argument `language`.
fn told_of_text(text: &str) -> Vec<String> {
    let text = serde_json::json!(text);
    told(&format!(
        r#"{{"name": "p", "arguments": [{{"name": "language", "required": true}}],
"messages": [{{"role": "user", "content": {{"type": "text",
"text": {text}}}}}]}}"#
    ))
}

#[test]
fn each_mistake_has_its_path() {
    let text = r#"{
  "name": "p",
  "descripton": "near",
  "arguments": [
    {"name": "a", "required": "yes", "maxLength": -1},
    {"name": "two words", "required": true},
    {"required": true},
    {"name": "b"},
    {"name": "b", "required": false, "maxLength": 1.5}
  ],
  "messages": [
    {"role": "system", "content": {"type": "text", "text": "x"}},
    {"role": "user", "content": "text"},
    {"role": "user", "content": {"type": "video", "text": "x"}},
    {"role": "user", "content": {"type": "text"}},
    {"content": {"type": "image", "file": "../x.png"}},
    {"role": "user", "content": {"type": "image", "file": "x.txt"}},
    {"role": "user", "content": {"type": "audio", "file": "gone.mp3"}},
    {"role": "user", "content": {"type": "resource", "uri": "architecture://patterns/*"}}
  ]
}"#;
    insta::assert_snapshot!(told(text).join("\n"), @r#"
    3:17: warning[unknown-field]: $.descripton: unknown field `descripton` in a definition is ignored; did you mean `description`?
    5:31: error[wrong-type]: $.arguments[0].required: expected true or false, found a string
    5:51: error[wrong-type]: $.arguments[0].maxLength: expected a whole number of 1 or more, found another number
    6:14: error[bad-argument-name]: $.arguments[1].name: `two words` may contain the letters a to z, digits and `_`, and must not start with a digit
    7:5: error[missing-field]: $.arguments[2]: expected a field `name`, found none
    8:5: warning[missing-field]: $.arguments[3]: expected a field `required`, found none: the argument is optional; write "required": true or false
    9:51: error[wrong-type]: $.arguments[4].maxLength: expected a whole number of 1 or more, found another number
    9:14: error[duplicate-argument]: $.arguments[4].name: argument `b` is declared twice
    12:14: error[bad-role]: $.messages[0].role: expected "user" or "assistant", found "system"; MCP prompts have no such role: put it into the first "user" message
    13:33: error[wrong-type]: $.messages[1].content: expected an object, found a string; write {"type": "text", "text": "…"}
    14:42: error[bad-content]: $.messages[2].content.type: expected one of "text", "image", "audio", "resource", "resource_link", found "video"
    15:33: error[missing-field]: $.messages[3].content: expected a field `text`, found none
    16:5: error[missing-field]: $.messages[4]: expected a field `role`, found none
    16:43: error[bad-path]: $.messages[4].content.file: `../x.png` has a `..`; paths stay inside the library's folder
    17:59: error[unknown-media]: $.messages[5].content.file: expected a file whose name ends in one of png, jpg, jpeg, gif, webp, avif, svg, found `x.txt`
    18:59: error[missing-file]: $.messages[6].content.file: Prompt content file not found: ~gone.mp3
    19:61: error[bad-resource]: $.messages[7].content.uri: expected the URI of one document, found a whole folder; embed a folder in a text: `{{resource:…/*}}`
    "#);
}

#[test]
fn what_is_not_an_object_of_fields_is_told() {
    insta::assert_snapshot!([
        told("[]"), told("{}"), told("null"), told("{\"name\": 1, \"messages\": {}}"),
        told("{\"name\": \"Review_Code\", \"messages\": []}"),
        told_of("\"arguments\": {}"), told_of("\"title\": 5"), told_of("\"template\": \"jinja2\""),
        told_of("\"description\": \"a\", \"description\": \"b\""),
    ].concat().join("\n"), @r#"
    1:1: error[wrong-type]: $: expected an object, found a list
    1:1: error[missing-field]: $: expected a field `name`, found none
    1:1: error[missing-field]: $: expected a field `messages`, found none
    1:1: error[wrong-type]: $: expected an object, found null
    1:10: error[wrong-type]: $.name: expected a string, found a number
    1:25: error[wrong-type]: $.messages: expected a list, found an object
    1:10: error[bad-name]: $.name: expected lower-case letters a to z, digits and `-`, found `Review_Code`, which has other characters; such as `review-code`
    1:37: error[bad-message]: $.messages: expected at least one message, found an empty list
    1:28: error[wrong-type]: $.arguments: expected a list, found an object
    1:24: error[wrong-type]: $.title: expected a string, found a number
    1:27: error[bad-template]: $.template: expected "jinja", found "jinja2"; did you mean `jinja`?
    1:50: warning[duplicate-key]: $.description: `description` is there twice; the last one counts; remove one of the two
    "#);
}

#[test]
fn what_is_not_json_has_its_place() {
    insta::assert_snapshot!([told(""), told("{\n  \"name\": \"p\",\n}"), told("{\"a\": 1} x")].concat().join("\n"), @"
    1:1: error[definition-syntax]: prompts/p.json is not valid JSON: EOF while parsing a value
    3:1: error[definition-syntax]: prompts/p.json is not valid JSON: trailing comma
    1:10: error[definition-syntax]: prompts/p.json is not valid JSON: trailing characters
    ");
}

#[test]
fn text_that_means_nothing_here_is_told() {
    insta::assert_snapshot!([
        "Review. {{#if language}}Focus.{{/if}}",
        "a\n\n\"b\" {{ langauge }}",
        "{{else}} {{> part}} {{! note}} {{{language}}}",
        "{{resource:patterns/x}}",
        "{{resource:architecture://*/x}} {{resource:architecture://a/**}} {{resource:architecture://a*}}",
        "{{resource:architecture://a b}}",
        "{{resource:architecture://a",
        "{{resource:{{language}}}}",
        "{{resource:architecture://{{nope}}}}",
        "{{ resource(\"x\") }}",
        "{{ language | upper }} {{ language.x }}",
        "{% if language %}x{% endif %}{{language}}",
    ].map(|text| told_of_text(text).join("\n")).join("\n"), @r#"
    3:18: error[unsupported-syntax]: $.messages[0].content.text: `{{#if` is not supported: conditions, loops, parts and comments are not part of `{{name}}`; write instructions that hold for any input, or set "template": "jinja" and use `{% if name %}…{% endif %}`
    3:40: error[unsupported-syntax]: $.messages[0].content.text: `{{/if` is not supported: conditions, loops, parts and comments are not part of `{{name}}`; write instructions that hold for any input, or set "template": "jinja" and use `{% if name %}…{% endif %}`
    3:24: error[unknown-variable]: $.messages[0].content.text: `langauge` is used but not declared in `arguments`; did you mean `language`?
    3:12: error[unknown-variable]: $.messages[0].content.text: `else` is used but not declared in `arguments`; write instructions that hold for any input, or set "template": "jinja" and use `{% if name %}…{% endif %}`
    3:19: error[unsupported-syntax]: $.messages[0].content.text: `{{>` is not supported: conditions, loops, parts and comments are not part of `{{name}}`; write instructions that hold for any input, or set "template": "jinja" and use `{% if name %}…{% endif %}`
    3:30: error[unsupported-syntax]: $.messages[0].content.text: `{{!` is not supported: conditions, loops, parts and comments are not part of `{{name}}`; write instructions that hold for any input, or set "template": "jinja" and use `{% if name %}…{% endif %}`
    3:41: error[unsupported-syntax]: $.messages[0].content.text: three braces mean nothing here: values are never escaped; write `{{name}}`
    3:10: error[bad-resource]: $.messages[0].content.text: a document's URI begins with its scheme, such as `architecture://`; write `architecture://folder/name`, or `architecture://folder/*` for all of a folder
    3:21: error[bad-resource]: $.messages[0].content.text: `*` stands for every document of one folder: `…/*`, at the end only; write `architecture://folder/name`, or `architecture://folder/*` for all of a folder
    3:53: error[bad-resource]: $.messages[0].content.text: `*` stands for every document of one folder: `…/*`, at the end only; write `architecture://folder/name`, or `architecture://folder/*` for all of a folder
    3:86: error[bad-resource]: $.messages[0].content.text: `*` stands for every document of one folder: `…/*`, at the end only; write `architecture://folder/name`, or `architecture://folder/*` for all of a folder
    3:37: error[bad-resource]: $.messages[0].content.text: a URI has no ` ` in it; write `architecture://folder/name`, or `architecture://folder/*` for all of a folder
    3:10: error[bad-resource]: $.messages[0].content.text: `{{resource:` has no closing `}}`; write `architecture://folder/name`, or `architecture://folder/*` for all of a folder
    3:10: error[bad-resource]: $.messages[0].content.text: a document's URI begins with its scheme, such as `architecture://`; write `architecture://folder/name`, or `architecture://folder/*` for all of a folder
    3:38: error[unknown-variable]: $.messages[0].content.text: `nope` is used but not declared in `arguments`; declare it: {"name": "nope", "required": true}
    3:10: error[bad-resource]: $.messages[0].content.text: `resource` takes a URI after a colon; write `{{resource:architecture://folder/name}}`
    3:10: warning[literal-braces]: $.messages[0].content.text: `{{language` and what follows is text: only `{{language}}` is replaced; write `{{language}}`, or set "template": "jinja" for filters and fields
     warning[unused-argument]: argument `language` of `p` is never used; write {{ language }} where it belongs
    3:10: warning[literal-braces]: $.messages[0].content.text: `{% … %}` is text here; set "template": "jinja" beside "name" to have it run
    "#);
}

#[test]
fn braces_that_fit_nothing_are_text() {
    let text = "{ } {{ }} {{}} {{ 1 }} {{ a b }} }} {{\nlanguage}} {\"a\": {\"b\": 1}}";
    let definition = Definitions::text(text, &[]);
    assert_eq!(definition.said(&[]), text);
    assert_eq!(definition.problems(), [""; 0]);
}

#[test]
fn one_broken_file_leaves_the_others_alone() {
    let definitions = Definitions::new()
        .file("broken.json", "{\"name\": ")
        .file("good.json", GOOD)
        .file("other.json", GOOD);
    let library = definitions.library();
    let names: Vec<(&str, Option<&str>)> = library
        .prompts
        .iter()
        .map(|prompt| (prompt.name.as_str(), prompt.unavailable.as_deref()))
        .collect();
    let sentence =
        "The definition prompts/broken.json is not valid JSON: EOF while parsing a value (line 1)";
    assert_eq!(names, [("broken", Some(sentence)), ("good", None)]);
    insta::assert_snapshot!(definitions.problems().join("\n"), @"
    prompts/broken.json:1:9: error[definition-syntax]: prompts/broken.json is not valid JSON: EOF while parsing a value
    prompts/other.json:1:10: note[name-mismatch]: $.name: the file is called `other`, its prompt `good`; rename the file to good.json
    prompts/other.json: error[duplicate-prompt]: prompt `good` is already defined in prompts/good.json; rename one of the two
    ");
}

#[test]
fn of_two_with_one_name_the_one_that_works_is_served() {
    let broken = GOOD.replace("user", "system");
    let library = Definitions::new()
        .file("a.json", &broken)
        .file("b.json", GOOD)
        .library();
    assert_eq!(library.prompts.len(), 1);
    assert!(library.prompts[0].unavailable.is_none());
}

#[test]
fn unused_and_optional_arguments_are_warned_of() {
    let definition = Definitions::text("{{resource:architecture://x/{{a}}}}", &["a", "b"]);
    insta::assert_snapshot!(definition.problems().join("\n"), @"
    prompts/p.json:1:107: warning[optional-in-uri]: $.messages[0].content.text: `a` is optional, but `architecture://x/{{a}}` needs it; make it required
    prompts/p.json: warning[unused-argument]: argument `b` of `p` is never used; write {{ b }} where it belongs
    ");
}

#[test]
fn names_follow_the_contract() {
    for (name, is_good) in [
        ("review-code", true),
        ("suggest-patterns-v2", true),
        ("-", true),
        ("Review_Code", false),
        ("suggest patterns", false),
        ("a:b", false),
        ("\u{fc}", false),
        ("", false),
        (&"x".repeat(128), true),
        (&"x".repeat(129), false),
    ] {
        let text = GOOD.replace("good", name);
        let definitions = Definitions::new().file("file.json", &text);
        let library = definitions.library();
        assert_eq!(library.prompts[0].unavailable.is_none(), is_good, "{name}");
        let own = if is_good { name } else { "file" };
        assert_eq!(library.prompts[0].name.as_str(), own);
    }
}
