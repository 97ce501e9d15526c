//! Markdown brings no element, attribute or address that a sanitizer would take out.

use proptest::prelude::*;
use twig_page::markdown;

/// What a sanitizer leaves of it.
fn cleaned(html: &str) -> String {
    ammonia::Builder::default()
        .link_rel(Some("noreferrer noopener"))
        .url_schemes(["http", "https", "mailto"].into())
        .clean(html)
        .to_string()
}

#[track_caller]
fn is_clean(text: &str) {
    let html = markdown(text).into_string();
    // Both sides are read and written again by the same parser: what differs then was taken out.
    let same = ammonia::Builder::default()
        .link_rel(None)
        .add_tag_attributes("a", ["rel"])
        .add_generic_attributes([
            "style", "class", "id", "onclick", "onerror", "onload", "src",
        ])
        .add_tags(["script", "iframe", "svg", "form", "input"])
        .rm_clean_content_tags(["script", "style"])
        .url_schemes(["http", "https", "mailto", "javascript", "data", "file"].into())
        .clean(&html)
        .to_string();
    assert_eq!(cleaned(&html), same, "{text:?}: {html}");
}

#[test]
fn hostile_texts_are_text() {
    for text in [
        "<script>alert(1)</script>",
        "a <b onclick=\"x\">b</b>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](https://example.com/\"onclick=\"alert(1))",
        "![x](https://example.com/a.png \"t\\\" onerror=\\\"alert(1)\")",
        "[![a](https://a.example)](https://b.example)",
        "<javascript:alert(1)>",
        "<https://example.com/?a=<b>>",
        "| a | b |\n|---|:-:|\n| <img src=x> | `<svg>` |",
        "```html\n</code></pre><script>\n```",
        "5. five\n6. six\n\n---\n\n> # <h1>",
        "&lt;script&gt; &#60;script&#62;",
        "[a]: javascript:alert(1)\n\n[a]",
        "<!-- --><style>*{}</style>",
    ] {
        is_clean(text);
        let html = markdown(text).into_string();
        for part in [
            "<script",
            "<img",
            "<svg",
            "<style",
            "<iframe",
            "javascript:alert(1)\"",
        ] {
            assert!(!html.contains(part), "{text:?}: {html}");
        }
    }
}

#[test]
fn ordinary_texts_keep_their_form() {
    let html = |text: &str| markdown(text).into_string();
    assert_eq!(
        html("# A\n\nb *c* **d** `e<f>`"),
        "<h2>A</h2><p>b <em>c</em> <strong>d</strong> <code>e&lt;f&gt;</code></p>"
    );
    assert_eq!(
        html("[a](https://example.com/?b&c)"),
        "<p><a href=\"https://example.com/?b&amp;c\" rel=\"noreferrer noopener\">a</a></p>"
    );
    assert_eq!(html("[a](other.md)"), "<p>a</p>");
    assert_eq!(
        html("3. a\n4. b"),
        "<ol start=\"3\"><li>a</li><li>b</li></ol>"
    );
    assert_eq!(
        html("| a |\n|---|\n| b |"),
        "<table><thead><tr><th>a</th></tr></thead><tr><td>b</td></tr></table>"
    );
}

#[test]
fn a_long_text_is_rendered_up_to_a_limit() {
    let text = "*a* ".repeat(100_000);
    let html = markdown(&text).into_string();
    assert!(
        html.ends_with("*a* </code></pre>"),
        "{}",
        &html[html.len() - 60..]
    );
}

proptest! {
    #[test]
    fn any_text_is_clean(text in r#"([a-z \n#>|*_`~\[\]()!<>&"'=:/.\\-]|javascript:|https://a\.b|<script>|<img src=x onerror=y>|&lt;|onclick=){0,60}"#) {
        is_clean(&text);
    }
}
