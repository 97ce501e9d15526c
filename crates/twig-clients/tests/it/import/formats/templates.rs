//! Formats with a template language of their own.

use super::super::{Kept, one, outcome, rendered, taken};
use super::left;
use twig_testkit::assert_linear;

const PROMPTY: &str = "---\nname: Shop Help\ndescription: Answers\nmodel:\n  api: chat\n  key: ${env:SECRET}\ninputs:\n  firstName:\n    type: string\n    sample: Jane\n    required: true\n  tone:\n    enum: [kind, formal]\n    default: kind\n  key:\n    default: ${env:SECRET:x}\n  unused:\n    type: string\n---\n\
system:\nYou help {{firstName}} in a {{ tone | upper }} tone. {# note #}\n{% for item in items %}\n- {{ item }}{% endfor %}\n\nuser[name=\"x\"]:\n{{ question.text }} {{key}}\n";

#[test]
fn prompty_keeps_its_jinja() {
    let item = one("a.prompty", PROMPTY);
    let prompt = taken(&item);
    let names: Vec<&str> = prompt.arguments.iter().map(|it| &*it.name).collect();
    assert_eq!(
        names,
        ["firstName", "tone", "key", "items", "question_text"]
    );
    assert!(prompt.arguments[0].required);
    assert_eq!(
        prompt.arguments[0].description.as_deref(),
        Some("For example: Jane")
    );
    assert_eq!(prompt.arguments[1].choices.len(), 2);
    assert_eq!(prompt.arguments[2].default, None, "nothing is looked up");
    let values = [
        ("firstName", "{{x}}"),
        ("items", "a\nb"),
        ("question_text", "Why?"),
    ];
    let said = rendered("a.prompty", PROMPTY, &values);
    assert_eq!(said, "You help {{x}} in a KIND tone. \n\n- a\n- b\n\nWhy? ");
    assert_eq!(
        item.changes,
        [
            "the default of `key` is looked up elsewhere and is left out",
            "`items` is a list: it takes one item a line",
            "its system text is said by the user, as MCP knows no system",
            "`unused` stands nowhere in its text and is no argument",
            "`question.text` is called `question_text`",
        ]
    );
}

#[test]
fn prompty_takes_inputs_in_every_form() {
    for inputs in [
        "inputs:\n  - name: x\n    default: 1\n  - y\n",
        "inputs:\n  x: 1\n  y: string\n",
        "inputs:\n  x: {default: 1}\n  y:\n",
    ] {
        let text = format!("---\n{inputs}---\n{{{{x}}}}/{{{{y}}}}");
        assert_eq!(
            rendered("a.prompty", &text, &[("y", "2")]),
            "1/2",
            "{inputs}"
        );
    }
}

#[test]
fn prompty_speaks_mustache_too() {
    let text = "---\ntemplate:\n  format: mustache\n---\nuser:\nHi {{name}}{{#vip}}, dear{{/vip}}{{^vip}}!{{/vip}} {{! no }}\n";
    assert_eq!(
        rendered("a.prompty", text, &[("name", "Jo"), ("vip", "1")]),
        "Hi Jo, dear "
    );
    assert_eq!(rendered("a.prompty", text, &[]), "Hi ! ");
}

#[test]
fn what_cannot_be_kept_as_a_template_is_kept_as_text() {
    for body in [
        "{% include 'x' %} {{ y }}",
        "{% for a, b in turns %}{{ a.role }}{% endfor %}",
        "{{ x | nosuchfilter }}",
        "{% if x %}\nassistant:\nA\n{% endif %}\n",
        "{{ x",
    ] {
        let item = one("a.prompty", body);
        assert!(!taken(&item).is_template, "{body}");
        assert!(
            item.changes[0].starts_with("it is taken as it is"),
            "{item:?}"
        );
        assert_eq!(rendered("a.prompty", body, &[]), body);
    }
}

#[test]
fn what_is_only_known_by_its_fields_is_given_by_its_fields() {
    let text = "---\ninputSchema:\n  properties:\n    - name: question\n      kind: string\n      required: true\n---\n{% for item in docs %}\n{{ item.id }}: {{ item.name }}\n{% endfor %}\nHi {{ customer.name }}. {{ question }}";
    let values = [
        ("docs", "A, B"),
        ("customer_name", "Jo"),
        ("question", "Why?"),
    ];
    assert_eq!(rendered("a.prompty", text, &values), "A, B\nHi Jo. Why?");
    assert!(taken(&one("a.prompty", text)).arguments[0].required);
    let text = "---\nmodel: x\n---\n{{#if customer}}Hi {{customer.name}}{{else}}Hi{{/if}}";
    assert_eq!(
        rendered("a.prompt", text, &[("customer_name", "Jo")]),
        "Hi Jo"
    );
    assert_eq!(rendered("a.prompt", text, &[]), "Hi");
    let text = "{{- define \"a\" -}}\n{{with .config}}{{.name}} {{.mode}}{{else}}none{{end}}\n{{- end -}}\n";
    assert_eq!(rendered("a.tmpl", text, &[("config_mode", "x")]), " x");
    assert_eq!(rendered("a.tmpl", text, &[]), "none");
    let elsewhere = one("a.prompty", "---\ninputs: ${file:x.json}\n---\n{{a}}");
    assert_eq!(
        elsewhere.changes,
        ["its inputs are looked up elsewhere and are not known"]
    );
}

const DOTPROMPT: &str = "# Copyright\n#\n\n---\nmodel: x/y\ninput:\n  schema:\n    topic: string, what it is about\n    tone?(enum): [kind, formal]\n    tags?(array, some words): string\n    customer(object):\n      name: string\n      age?: number\n  default:\n    tone: kind\n---\n\
{{role \"system\"}}\nBe {{tone}} to {{customer.name}}.\n{{role \"user\"}}\n{{#if topic}}\nOn {{{topic}}} {x} \\{{raw}}.\n{{else}}\nOn anything.\n{{/if}}\n{{#each tags}}\n{{@index}}: {{this}}\n{{/each}}\n{{#unless tags}}none{{/unless}}{{~! gone ~}}  {{media url=photo}}\n{{> _sign name=\"Jo\"}}\n";

#[test]
fn dotprompt_becomes_jinja() {
    let files = [
        ("main.fancy.prompt", DOTPROMPT),
        ("_sign.prompt", "-- {{name}}, {{topic}}\n"),
    ];
    let items = outcome(&files, None).items;
    let item = &items[0];
    let prompt = taken(item);
    assert_eq!(prompt.name, "main-fancy");
    let kept = Kept::of(&items);
    assert_eq!(kept.problems(), Vec::<String>::new());
    let values = [
        ("topic", "{{a}}"),
        ("tags", "p\nq"),
        ("customer_name", "Al"),
    ];
    assert_eq!(
        kept.render("main-fancy", &values),
        "Be kind to Al.\n\nOn {{a}} {x} {{raw}}.\n0: p\n1: q\n{{media url=photo}}\n-- Jo, {{a}}"
    );
    let names: Vec<(&str, bool)> = prompt
        .arguments
        .iter()
        .map(|it| (&*it.name, it.required))
        .collect();
    assert_eq!(
        names,
        [
            ("topic", true),
            ("tone", false),
            ("tags", false),
            ("customer_name", true)
        ]
    );
    assert_eq!(
        items[1].prompt.as_ref().unwrap_err(),
        "a partial: it stands in the prompts that use it"
    );
    for change in [
        "`{{media url=photo}}` has no counterpart and stays as it is",
        "`tags` is a list: it takes one item a line",
        "`customer.name` is called `customer_name`",
    ] {
        assert!(
            item.changes.iter().any(|it| it == change),
            "{change}: {:?}",
            item.changes
        );
    }
}

#[test]
fn handlebars_that_has_no_counterpart_stays() {
    let text = "---\nmodel: x\n---\n{{@state.x}} {{history}} {{upper name}} {{> gone}} {{name}}";
    assert_eq!(
        rendered("a.prompt", text, &[("name", "Jo")]),
        "{{@state.x}} {{history}} {{upper name}} {{> gone}} Jo"
    );
    let fields = "---\nmodel: x\n---\n{{#each people}}{{name}}{{else}}none{{/each}}";
    assert_eq!(rendered("a.prompt", fields, &[("people", "A, B")]), "A, B");
    assert_eq!(rendered("a.prompt", fields, &[]), "none");
    for broken in [
        "{{#if x}}",
        "{{/if}}",
        "{{else}}",
        "{{#odd a b}}{{/odd}}",
        "{{#if x}}{{role \"user\"}}{{/if}}",
        "{{{{raw}}}}x{{{{/raw}}}}",
    ] {
        let text = format!("---\nmodel: x\n---\n{broken} {{{{name}}}}");
        let item = one("a.prompt", &text);
        assert!(!taken(&item).is_template, "{broken}");
        assert_eq!(
            rendered("a.prompt", &text, &[]),
            format!("{broken} {{{{name}}}}")
        );
    }
    let json = "---\ninput:\n  schema:\n    type: object\n    required: [a]\n    properties:\n      a: {type: string, description: First}\n      b: {type: string, default: two}\n---\n{{a}}{{b}}{{#ifEquals b \"two\"}}={{/ifEquals}}";
    assert_eq!(rendered("a.prompt", json, &[("a", "1")]), "1two=");
    assert!(taken(&one("a.prompt", json)).arguments[0].required);
}

#[test]
fn go_templates_become_jinja() {
    let main = "{{- /* Reviews code */ -}}\n{{template \"_head\" .}}\nReview {{.lang}} {x} {{ \"{{\" }}\n{{- if and .strict (eq .mode \"full\") }}\nBe strict.\n{{- else if not .kind }}\nBe kind.\n{{- else }}\nBe.\n{{- end }}\n{{range $i, $t := .tags}}{{$i}}={{$t}} {{end}}{{with .note}}Note: {{.}}{{end}}\n{{template \"sign\" dict \"who\" .author \"how\" \"truly\"}} {{.date}} {{.x | printf \"%s\"}}\n";
    let files = [
        ("review.tmpl", main),
        ("_head.tmpl", "# For {{.project}}"),
        (
            "_parts.tmpl",
            "{{define \"sign\"}}-- {{.who}}, {{.how}}{{if .gone}}?{{end}}{{end}}",
        ),
        ("broken.tmpl", "{{if .x}} {{.y}}"),
        (
            "other.tmpl",
            "{{range .people}}{{.name}}{{end}}{{ $x := .a }}{{ $x }}",
        ),
    ];
    let items = outcome(&files, None).items;
    assert_eq!(items.len(), 5);
    let prompt = taken(&items[0]);
    assert_eq!(prompt.description.as_deref(), Some("Reviews code"));
    let kept = Kept::of(&items);
    assert_eq!(kept.problems(), Vec::<String>::new());
    let values = [
        ("project", "P"),
        ("lang", "{{Go}}"),
        ("tags", "a\nb"),
        ("note", "N"),
        ("author", "Al"),
        ("strict", "1"),
        ("mode", "full"),
        ("date", "today"),
    ];
    assert_eq!(
        kept.render("review", &values),
        "# For P\nReview {{Go}} {x} {{\nBe strict.\n0=a 1=b Note: N\n-- Al, truly today {{.x | printf \"%s\"}}\n"
    );
    assert!(kept.render("review", &[]).contains("Be kind."));
    assert_eq!(kept.render("broken", &[]), "{{if .x}} {{.y}}");
    assert_eq!(kept.render("other", &[("people", "A"), ("a", "B")]), "AB");
    assert_eq!(
        left("_x.tmpl", "text"),
        "a partial: it stands in the prompts that use it"
    );
}

#[test]
fn go_actions_that_do_not_end_are_text_and_cost_no_time() {
    for open in ["{{ ", "{{/* ", "{{ \"", "{{(((", "{{- `"] {
        let text = |size| open.repeat(size / open.len());
        let is_left = |text: &String| outcome(&[("a.tmpl", text)], None).items[0].prompt.is_err();
        assert_linear(open, 50_000, text, |text| assert!(!is_left(text), "{open}"));
        assert!(is_left(&text(2_000_000)), "{open}");
    }
    let item = one("a.tmpl", "Hi {{.name}} and {{ then");
    assert_eq!(taken(&item).arguments.len(), 1);
    assert_eq!(
        rendered("a.tmpl", "Hi {{.name}} and {{ then", &[("name", "Jo")]),
        "Hi Jo and {{ then"
    );
}

#[test]
fn a_long_action_is_told_in_short() {
    let text = format!("Hi {{{{{}x}}}}", "(".repeat(120_000));
    let item = one("a.tmpl", &text);
    assert!(!item.changes.is_empty());
    let is_short = |change: &String| change.chars().count() < 400;
    assert!(item.changes.iter().all(is_short));
}
