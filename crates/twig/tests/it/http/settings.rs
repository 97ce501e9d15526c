//! Settings by file, environment and flag.

use super::client::list;
use super::{LIBRARY, Served};
use crate::env;

/// The status of a request to this host.
fn status(served: &Served, host: &str) -> u16 {
    list(&mut served.caller(), &[("host", host)]).status
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let start = |args: &[&str], variables: &[(&str, &str)]| {
        let env = env(LIBRARY);
        env.configure("[http]\naddress = \"127.0.0.1:0\"\nallow_host = [\"file.example\"]\n");
        let mut command = env.command(["serve", "--http"]);
        command.args(args).envs(variables.iter().copied());
        Served::start(env, command)
    };
    let hosts = ["file.example", "one.example", "two.example", "flag.example"];
    let allowed = |served: &Served| hosts.map(|host| status(served, host) == 200);
    let variables = [("TWIG_HTTP_ALLOW_HOST", "one.example, two.example")];
    assert_eq!(allowed(&start(&[], &[])), [true, false, false, false]);
    assert_eq!(allowed(&start(&[], &variables)), [false, true, true, false]);
    let flag = ["--allow-host", "flag.example"];
    assert_eq!(
        allowed(&start(&flag, &variables)),
        [false, false, false, true]
    );
    // An empty one is not there.
    let empty = [("TWIG_HTTP_ALLOW_HOST", "")];
    assert_eq!(allowed(&start(&[], &empty)), [true, false, false, false]);
}

#[test]
fn an_address_in_the_settings_does_not_make_a_server_of_pipes_one_of_http() {
    let env = env(LIBRARY);
    env.configure("[http]\naddress = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n");
    let mut client = env.serve();
    client.initialize();
    let stderr = client.close().stderr;
    assert_eq!(stderr, "");
}

#[test]
fn the_whole_server_can_be_set_in_the_file() {
    let env = env(LIBRARY);
    let token = "a-token-of-more-than-twenty-letters";
    let folder = env.home().join(".config/twig");
    std::fs::create_dir_all(&folder).expect("a folder of the test");
    std::fs::write(folder.join("token"), token).expect("a folder of the test");
    env.configure(
        "[http]\naddress = \"0.0.0.0:0\"\nadmin = \":0\"\ntoken_file = \"token\"\nallow_origin = [\"https://app.example\"]\n",
    );
    let command = env.command(["serve", "--http"]);
    let mut served = Served::start(env, command);
    let bearer = format!("Bearer {token}");
    let host = format!("localhost:{}", served.port);
    let mut headers = vec![("host", &*host), ("origin", "https://app.example")];
    assert_eq!(list(&mut served.caller(), &headers).status, 401);
    headers.push(("authorization", &bearer));
    assert_eq!(list(&mut served.caller(), &headers).status, 200);
    let port = served.admin_port();
    assert_eq!(super::admin::ask(port, "GET /readyz").status, 200);
}

#[test]
fn a_token_in_the_environment_comes_before_a_file_that_no_flag_names() {
    let env = env(LIBRARY);
    env.configure("[http]\ntoken_file = \"missing\"\n");
    let mut command = env.command(["serve", "--http", ":0"]);
    command.env("TWIG_TOKEN", "token-of-the-environment");
    let served = Served::start(env, command);
    let bearer = [("authorization", "Bearer token-of-the-environment")];
    assert_eq!(list(&mut served.caller(), &bearer).status, 200);
    let run = served.env.run(["serve", "--http", ":0"]);
    assert!(
        run.stderr
            .contains("could not read the token in [home]/.config/twig/missing"),
        "{run}"
    );
}

#[test]
fn a_wrong_value_names_its_variable() {
    let env = env(LIBRARY);
    let run = |name: &str, value: &str| {
        let mut command = env.command(["list"]);
        let run = env.outcome(command.env(name, value));
        assert_eq!(run.code, 1, "{name}: {run}");
        run.stderr
    };
    let mut said = String::new();
    for (name, value) in [
        ("TWIG_HTTP_DRAIN_MILLIS", "soon"),
        ("TWIG_HTTP_DRAIN_MILLIS", "-1"),
        ("TWIG_HTTP_SESSIONS", "0"),
        ("TWIG_LIMITS_MESSAGE", "4 MiB"),
        ("TWIG_PACKAGES_FILES", "1000001"),
        ("TWIG_SEPARATOR", "words"),
        ("TWIG_STORE_SERVE", "yes"),
        ("TWIG_HTTP_ADDRESS", "prompts.example.com"),
        ("TWIG_HTTP_ALLOW_HOST", "good.example,*"),
        ("TWIG_FUNCTIONS_ENVIRONMENT", "A-B"),
    ] {
        said += &run(name, value);
    }
    insta::assert_snapshot!(said, @r#"
    error: TWIG_HTTP_DRAIN_MILLIS: limit `drain_millis` has to be a whole number, 0 or more
    error: TWIG_HTTP_DRAIN_MILLIS: limit `drain_millis` has to be a whole number, 0 or more
    error: TWIG_HTTP_SESSIONS: limit `sessions` has to be a whole number above zero
    error: TWIG_LIMITS_MESSAGE: limit `message` has to be a whole number above zero
    error: TWIG_PACKAGES_FILES: limit `files` can be 1000000 at most
    error: TWIG_SEPARATOR: `separator` is one to three of `: / . _ -`, such as ":"
    error: TWIG_STORE_SERVE: `serve` has to be true or false
    error: TWIG_HTTP_ADDRESS: `address` cannot be `prompts.example.com`: it has to be an address such as 127.0.0.1:7373
    error: TWIG_HTTP_ALLOW_HOST: `allow_host` cannot be `*`: write a host such as prompts.example.com or prompts.example.com:8080, once for each host
    error: TWIG_FUNCTIONS_ENVIRONMENT: `environment` is a list of names of variables: ["AWS_PROFILE"]
    "#);
    let mut command = env.command(["list"]);
    let good = env.outcome(command.envs([
        ("TWIG_HTTP_DRAIN_MILLIS", "0"),
        ("TWIG_LIMITS_MESSAGE", "4_000_000"),
        ("TWIG_SEPARATOR", "/"),
        // A service in Kubernetes that is called `twig-http` brings these.
        ("TWIG_HTTP_PORT", "tcp://10.0.0.1:7373"),
        ("TWIG_HTTP_SERVICE_HOST", "10.0.0.1"),
    ]));
    assert_eq!((good.code, &*good.stderr), (0, ""), "{good}");
    assert!(good.stdout.contains("lib/hello"), "{good}");
}

#[test]
fn a_misspelled_variable_is_logged_by_a_server() {
    let variables = [
        ("TWIG_HTTP_SESIONS", "3"),
        ("TWIG_HTTP_PORT", "tcp://10.0.0.1:7373"),
    ];
    let served = Served::with(&[], &variables);
    let warned = "the variable TWIG_HTTP_SESIONS sets nothing: did you mean TWIG_HTTP_SESSIONS?";
    assert!(served.before.contains(warned), "{}", served.before);
    assert!(
        !served.before.contains("TWIG_HTTP_PORT"),
        "{}",
        served.before
    );
}

#[test]
fn a_mistake_in_the_file_has_its_line() {
    let env = env(LIBRARY);
    let mut said = String::new();
    for config in [
        "[http]\nsessions = 1\naddres = \":0\"\n",
        "[http]\naddress = 7373\n",
        "[http]\nallow_origin = \"https://app.example\"\n",
        "[http]\nallow_origin = [\"app.example\"]\n",
        "[http]\ntls_key = \"\"\n",
    ] {
        env.configure(config);
        let run = env.run(["list"]);
        assert_eq!(run.code, 1, "{run}");
        said += &run.stderr;
    }
    insta::assert_snapshot!(said, @"
    error: ~/.config/twig/config.toml:3: unknown setting `addres`; did you mean `address`?
    error: ~/.config/twig/config.toml:2: `address` has to be text
    error: ~/.config/twig/config.toml:2: `allow_origin` has to be a list of texts
    error: ~/.config/twig/config.toml:2: `allow_origin` cannot be `app.example`: write an origin such as https://example.com, without a path, once for each origin
    error: ~/.config/twig/config.toml:2: `tls_key` has to be text
    ");
}
