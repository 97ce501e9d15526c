//! Templates as Jinja2 renders them, what they refuse, and what `twig check` finds out by rendering.

use std::fmt::Write as _;

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use crate::env;

/// A library `lib` with a prompt for each template; each takes the arguments `n` and `text`.
fn library(templates: &[&str]) -> TestEnv {
    let env = env("");
    let mut manifest = String::new();
    for (at, template) in templates.iter().enumerate() {
        let _ = writeln!(
            manifest,
            "[prompts.p{at}]\n[[prompts.p{at}.arguments]]\nname = \"n\"\n\
             [[prompts.p{at}.arguments]]\nname = \"text\""
        );
        env.write(&format!("lib/prompts/p{at}.md"), template);
    }
    env.write("lib/twig.toml", manifest);
    env
}

/// The text of each template for `n` = 7 and a short text, or the message of its refusal.
fn rendered(templates: &[&str]) -> Vec<String> {
    let env = library(templates);
    let mut client = env.serve();
    let count = templates.len();
    let texts = (0..count).map(|at| {
        let answer = client.request(
            "prompts/get",
            json!({"name": format!("lib:p{at}"), "arguments": {"n": "7", "text": "one two three"}}),
        );
        let text = &answer["result"]["messages"][0]["content"]["text"];
        let text = text.as_str().or(answer["error"]["message"].as_str());
        text.expect("a text or a message").to_owned()
    });
    texts.collect()
}

/// The problems of each template: code, severity and line.
fn problems(templates: &[&str]) -> Vec<String> {
    let env = library(templates);
    let output = env.run(["check", "--json"]);
    let problems: Vec<Value> = serde_json::from_str(&output.stdout).expect("JSON");
    let problems = problems.iter().filter(|it| it["code"] != "unused-argument");
    let shown = problems.map(|it| {
        let path = it["path"].as_str().unwrap_or_default();
        let (_, file) = path.rsplit_once('/').unwrap_or_default();
        format!(
            "{file}:{} {}[{}] {}",
            it["line"],
            it["severity"].as_str().unwrap_or_default(),
            it["code"].as_str().unwrap_or_default(),
            it["message"].as_str().unwrap_or_default(),
        )
    });
    shown.collect()
}

#[test]
fn text_is_not_ordered_against_a_number() {
    let templates = [
        "{{ text }}\n{% if n > 100 %}many{% endif %}",
        "{{ n|trim >= 3 }}",
        "{{ 5 < n < 10 }}",
        "{% set limit = n|default(3) %}{{ limit > 2 }}",
        "{% for part in text.split() %}{{ part > 3 }}{% endfor %}",
        "{{ n is gt 5 }}",
        "{{ n ~ '0' > 5 }}",
        "{{ n|int > 5 }} {{ n|length > 5 }} {{ n > '5' }} {{ n == 7 }}",
        "{% set n = n|int %}{{ n > 5 }}",
        "{% for part in [1, 9] %}{{ part > 3 }} {% endfor %}{{ text.split()|length > 2 }}",
    ];
    insta::assert_snapshot!(rendered(&templates).join("\n"), @"
    Error rendering prompt template at line 2: `n` is text and has no order with a number; write `n|int`
    Error rendering prompt template at line 1: `n|trim` is text and has no order with a number; write `n|trim|int`
    Error rendering prompt template at line 1: `n` is text and has no order with a number; write `n|int`
    Error rendering prompt template at line 1: `limit` is text and has no order with a number; write `limit|int`
    Error rendering prompt template at line 1: `part` is text and has no order with a number; write `part|int`
    Error rendering prompt template at line 1: `n` is text and has no order with a number; write `n|int`
    Error rendering prompt template at line 1: `n ~ '0'` is text and has no order with a number; write `(n ~ '0')|int`
    True False True False
    True
    False True True
    ");
    insta::assert_snapshot!(problems(&templates).join("\n"), @"
    p0.md:2 error[text-and-number] `n` is text and has no order with a number; write `n|int`
    p1.md:1 error[text-and-number] `n|trim` is text and has no order with a number; write `n|trim|int`
    p2.md:1 error[text-and-number] `n` is text and has no order with a number; write `n|int`
    p3.md:1 error[text-and-number] `limit` is text and has no order with a number; write `limit|int`
    p4.md:1 error[text-and-number] `part` is text and has no order with a number; write `part|int`
    p5.md:1 error[text-and-number] `n` is text and has no order with a number; write `n|int`
    p6.md:1 error[text-and-number] `n ~ '0'` is text and has no order with a number; write `(n ~ '0')|int`
    ");
}

#[test]
fn a_missing_argument_has_no_order_either() {
    let env = library(&["{% if n > 1 %}many{% else %}few{% endif %}"]);
    insta::assert_snapshot!(env.run(["render", "lib:p0"]), @"
    --- stderr
    error: Error rendering prompt template at line 1: `n` is text and has no order with a number; write `n|int`
    --- exit 1
    ");
}

#[test]
fn maps_keep_their_order() {
    let templates = [
        "{{ {'zeta': 1, 'alpha': 2} }}",
        "{% for key, value in {'zeta': 1, 'alpha': 2}.items() %}{{ key }}={{ value }} {% endfor %}",
        "{{ {'zeta': 1, 'alpha': 2}|tojson }}",
        "{{ dict(zeta=1, alpha=2)|list }}",
    ];
    insta::assert_snapshot!(rendered(&templates).join("\n"), @r#"
    {'zeta': 1, 'alpha': 2}
    zeta=1 alpha=2 
    {"zeta": 1, "alpha": 2}
    ['zeta', 'alpha']
    "#);
}

#[test]
fn filters_take_the_parameters_of_jinja2() {
    let templates = [
        "{{ text|truncate(9) }}|{{ text|truncate(9, true, '…', 0) }}|{{ text|truncate(length=200) }}",
        "{{ ''|default('x', boolean=true) }}|{{ text|indent('> ', true) }}|{{ text|replace('o', '0', 1) }}",
        "{{ '%s is %5.1f%%' % (text, 12.345) }}|{{ '%-4d|' % n|int }}|{{ '%(a)s' % {'a': n} }}",
        "{{ text|wordwrap(7) }}|{{ n|center(5) }}|{{ 'a/b'|e }}",
        "{{ text|int }} {{ text|int(5) }} {{ text|float }} {{ '12.9'|int }}",
        "{% set odd = cycler('a', 'b') %}{{ odd.next() }}{{ odd.next() }}{{ odd.next() }}",
        "{% set comma = joiner() %}{% for part in text.split() %}{{ comma() }}{{ part }}{% endfor %}",
        "{{ text.rsplit(' ', 1) }} {{ text.removeprefix('one ') }} {{ text.removesuffix('three') }}",
        "{{ n.ljust(3, '.') }} {{ n.rjust(3, '.') }}",
        "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    ];
    insta::assert_snapshot!(rendered(&templates).join("\n"), @"
    one two three|one two …|one two three
    x|> one two three|0ne two three
    one two three is  12.3%|7   ||7
    one two
    three|  7  |a/b
    0 5 0.0 12
    aba
    one, two, three
    ['one two', 'three'] two three one two 
    7.. ..7
    013
    ");
    assert_eq!(problems(&templates), Vec::<String>::new());
}

#[test]
fn a_failure_of_a_percent_points_at_its_place() {
    let templates = [
        "{{ '%s' % text }}{{ '%d' % text }}{{ nope }}",
        "a\n{{ '%s' % text }} {{ nope }}",
        "{{ n % 2 }}",
        "{{ '%s %s' % text }}",
        "{{ '%y' % text }}",
    ];
    insta::assert_snapshot!(rendered(&templates).join("\n"), @"
    Error rendering prompt template at line 1: `%d` needs a number; convert the value with `|int`
    Error rendering prompt template at line 2: undefined variable 'nope'
    Error rendering prompt template at line 1: the format takes 0 of the 1 values after `%`; for a remainder, write `|int` before `%`
    Error rendering prompt template at line 1: the format needs more values than the 1 after `%`
    Error rendering prompt template at line 1: the format has a `%` that begins no conversion; `%%` writes a percent sign
    ");
}

#[test]
fn widths_have_a_limit() {
    let templates = [
        "{{ text|center(10**12) }}",
        "{{ text|center(99999999999999999999999) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%.1000000000f' % 1 }}",
        "{{ '%*d' % (1000000000, 1) }}",
        "{{ '%1000000000d'|format(1) }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ text|indent(1000000000) }}",
        "{{ text.ljust(1000000000) }}",
        "{{ text.rjust(1000000000) }}",
        "{{ n.zfill(1000000000) }}",
        "{{ ('a\n' * (n|int * 9999))|indent(9999) }}",
        "{{ (n * (n|int * 9999))|replace('7', 'x' * 1000) }}",
        "{{ text|wordwrap(0) }}",
        "{{ text|wordwrap(-5) }}",
        "{{ (text * (n|int * 999))|wordwrap(1, wrapstring='x' * 1000) }}",
        "{{ text|truncate(1000000000000) }}",
        "{{ text|wordwrap(1000000000000) }}",
    ];
    insta::assert_snapshot!(rendered(&templates).join("\n"), @"
    the width of `center` exceeds the limit of 10000 characters
    the width of `center` exceeds the limit of 10000 characters
    the width of `%` exceeds the limit of 10000 characters
    the width of `%` exceeds the limit of 10000 characters
    the width of `%` exceeds the limit of 10000 characters
    the width of `%` exceeds the limit of 10000 characters
    the width of `.format()` exceeds the limit of 10000 characters
    the width of `indent` exceeds the limit of 10000 characters
    the width of `ljust` exceeds the limit of 10000 characters
    the width of `rjust` exceeds the limit of 10000 characters
    the width of `zfill` exceeds the limit of 10000 characters
    repeated constants in the template exceed the limit of 65536 bytes
    repeated constants in the template exceed the limit of 65536 bytes
    Error rendering prompt template at line 1: `wordwrap` needs a width of at least 1
    Error rendering prompt template at line 1: the parameter `width` has to be a number of at least 0
    repeated constants in the template exceed the limit of 65536 bytes
    one two three
    one two three
    ");
}

#[test]
fn what_is_not_the_same_every_time_is_refused_with_a_reason() {
    let templates = [
        "{{ [1, 2]|random }}",
        "{{ lipsum() }}",
        "{% set items = [] %}\n{% do items.append(n) %}",
        "{% set items = {} %}{{ items.update({'a': 1}) }}",
    ];
    insta::assert_snapshot!(problems(&templates).join("\n"), @"
    p0.md:1 error[unknown-filter] unknown filter `random`
    p1.md:1 error[unknown-function] unknown function `lipsum`
    p2.md:2 error[unknown-method] a template cannot change a value, so there is no `.append()`; write `{% set items = items + [item] %}`
    p3.md:1 error[unknown-method] a template cannot change a value, so there is no `.update()`; write `dict(old, key=value)`
    ");
    insta::assert_snapshot!(rendered(&templates).join("\n"), @"
    Error rendering prompt template at line 1: unknown filter `random`; the same values always give the same text, so pass the choice as an argument
    Error rendering prompt template at line 1: unknown function `lipsum`; the same values always give the same text, so pass the choice as an argument
    Error rendering prompt template at line 2: a template cannot change a value, so there is no `.append()`; write `{% set items = items + [item] %}`
    Error rendering prompt template at line 1: a template cannot change a value, so there is no `.update()`; write `dict(old, key=value)`
    ");
}

#[test]
fn check_renders_each_template_with_stand_ins() {
    let templates = [
        // It fails with any value.
        "{{ text }}\n\n{{ n + 1 }}",
        "{{ '%d' % n }}",
        "{% for item in range(99999) %}{% for other in range(99999) %}{% endfor %}{% endfor %}",
        // It depends on the value.
        "{{ n|int + 1 }}",
        "{{ text.split(',')[3].strip() }}",
        "{{ 10 / n|int }}",
        // An error that is known already is reported once.
        "{{ nope }}",
    ];
    insta::assert_snapshot!(problems(&templates).join("\n"), @"
    p6.md:1 error[unknown-variable] `nope` is used but not declared
    p0.md:3 warning[fails-to-render] `lib:p0` fails to render with plausible values: tried to use + operator on unsupported types string and number; convert the text with `|int`
    p1.md:1 warning[fails-to-render] `lib:p1` fails to render with plausible values: `%d` needs a number; convert the value with `|int`
    p2.md:null warning[fails-to-render] `lib:p2` fails to render with plausible values: the template needs too many steps; the limit is 200000
    ");
}

#[test]
fn stand_ins_are_the_first_choice_and_the_default() {
    let env = env("
//- lib/twig.toml
[prompts.ask]
[[prompts.ask.arguments]]
name = \"color\"
choices = [\"red\", \"blue\"]
[[prompts.ask.arguments]]
name = \"size\"
default = \"7\"
[prompts.pair]
arguments = [{ name = \"x\", pattern = \"[a-z]+=[a-z]+\" }]
//- lib/prompts/ask.md
{{ {'red': 1}[color] + {'7': 1}[size] }}
//- lib/prompts/pair.md
{{ x.split('=')[1].upper() }}
");
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 2 prompts in 1 library: no problems
    --- exit 0
    ");
}

#[test]
fn check_runs_no_functions() {
    let env = env("
//- lib/twig.toml
[prompts.run]
command = [\"./run\"]
//- lib/run
#!/bin/sh
touch ran
");
    env.run(["library", "trust", "lib", "--yes"]);
    env.run(["check"]);
    assert!(!env.data().join("lib/ran").exists());
}
