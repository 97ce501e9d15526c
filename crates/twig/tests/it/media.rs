//! Pictures and sounds in prompts, from the outside.

use serde_json::json;
use twig_testkit::TestEnv;

use crate::env;

const LIBRARY: &str = r#"
//- lib/twig.toml
[[prompts.look.messages]]
text = "{% for i in [1] %}What is wrong with {{ page }}?{% endfor %}"

[[prompts.look.messages]]
image = "shots/page.png"

[[prompts.look.messages]]
role = "assistant"
audio = "answer.mp3"

[[prompts.look.arguments]]
name = "page"
required = true
"#;

/// Bytes that are no text, as those of a picture.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\xff";

fn library() -> TestEnv {
    let env = env(LIBRARY);
    env.write("lib/shots/page.png", PICTURE);
    env.write("lib/answer.mp3", b"ID3");
    env
}

#[test]
fn pictures_and_sounds_stand_beside_text() {
    let env = library();
    let mut client = env.serve();
    let params = json!({"name": "lib:look", "arguments": {"page": "the {{ page }}"}});
    let answer = client.request("prompts/get", params.clone());
    let messages = json!([
        {"role": "user", "content": {"type": "text", "text": "What is wrong with the {{ page }}?"}},
        {"role": "user", "content":
            {"type": "image", "data": "iVBORw0KGgoA/w==", "mimeType": "image/png"}},
        {"role": "assistant", "content": {"type": "audio", "data": "SUQz", "mimeType": "audio/mpeg"}},
    ]);
    assert_eq!(answer["result"]["messages"], messages);

    env.write("lib/answer.mp3", b"ID4");
    let answer = client.request("prompts/get", params);
    assert_eq!(answer["result"]["messages"][2]["content"]["data"], "SUQ0");
}

#[test]
fn the_terminal_says_what_is_there() {
    let env = library();
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 1 prompt in 1 library: no problems
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "look", "page=this"]), @"
    [user]
    What is wrong with this?
    [user]
    [image/png, 10 bytes]
    [assistant]
    [audio/mpeg, 3 bytes]
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "look", "page=this", "--json"]), @r#"
    {
      "name": "lib:look",
      "description": null,
      "messages": [
        {
          "role": "user",
          "text": "What is wrong with this?"
        },
        {
          "role": "user",
          "content": {"type":"image","data":"iVBORw0KGgoA/w==","mimeType":"image/png"}
        },
        {
          "role": "assistant",
          "content": {"type":"audio","data":"SUQz","mimeType":"audio/mpeg"}
        }
      ]
    }
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["show", "look"]), @"
    name     lib:look
    library  lib
    kind     twig
    path     ~/.local/share/twig/prompts/lib/twig.toml

    arguments
      page  required

    text (user)
    {% for i in [1] %}What is wrong with {{ page }}?{% endfor %}

    text (user)
    [image/png: shots/page.png]

    text (assistant)
    [audio/mpeg: answer.mp3]
    --- exit 0
    ");
}

#[test]
fn there_is_room_for_so_many_bytes_and_not_for_one_more() {
    let env = library();
    let config = env.home().join(".config/twig");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[limits]\nmedia = 13\n").unwrap();
    assert_eq!(env.run(["render", "look", "page=this"]).code, 0);
    env.write("lib/answer.mp3", b"ID3!");
    insta::assert_snapshot!(env.run(["render", "look", "page=this"]), @"
    --- stderr
    error: The images and audio of a prompt may hold 13 bytes in total; with ~/.local/share/twig/prompts/lib/answer.mp3 they hold more
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["check"]), @"
    error[media-too-large]: The images and audio of a prompt may hold 13 bytes in total; with ~/.local/share/twig/prompts/lib/answer.mp3 they hold more
    --> [data]/lib/answer.mp3
    --- stderr
    checked 1 prompt in 1 library: 1 error
    --- exit 1
    ");
}
