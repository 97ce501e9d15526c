//! Markdown as HTML, with nothing in it that a sanitizer would take out.
//!
//! Raw HTML is text. Links lead to web pages and to mail only, pictures become links, and no
//! attribute comes from the content but the address of a link and the first number of a list.

use std::fmt::Write as _;

use maud::{Escaper, Markup, PreEscaped};
use pulldown_cmark::{Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

/// The most bytes that are rendered; the rest is shown as text.
const RENDERED: usize = 256 * 1024;

/// A Markdown text as HTML.
pub fn markdown(text: &str) -> Markup {
    let mut end = text.len().min(RENDERED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (rendered, rest) = text.split_at(end);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut writer = MarkdownWriter::default();
    for event in Parser::new_ext(rendered, options) {
        writer.event(event);
    }
    if !rest.is_empty() {
        writer.out.push_str("<pre><code>");
        writer.text(rest);
        writer.out.push_str("</code></pre>");
    }
    PreEscaped(writer.out)
}

#[derive(Default)]
struct MarkdownWriter {
    out: String,
    /// For each open link or picture, what ends it.
    open: Vec<&'static str>,
    is_head: bool,
}

impl MarkdownWriter {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text),
            Event::Code(text) => {
                self.out.push_str("<code>");
                self.text(&text);
                self.out.push_str("</code>");
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(is_done) => {
                self.out.push_str(if is_done { "☑ " } else { "☐ " });
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => self.link(*link_type, dest_url),
            Tag::Image { dest_url, .. } => {
                // It would tell another host that this was read.
                self.out.push_str("🖼 ");
                self.link(LinkType::Inline, dest_url);
            }
            Tag::List(Some(first)) if *first != 1 => {
                let _ = write!(self.out, "<ol start=\"{first}\">");
            }
            Tag::List(Some(_)) => self.out.push_str("<ol>"),
            Tag::TableHead => {
                self.is_head = true;
                self.out.push_str("<thead><tr>");
            }
            Tag::Table(_) => self.out.push_str("<table>"),
            Tag::CodeBlock(_) => self.out.push_str("<pre><code>"),
            Tag::TableCell if self.is_head => self.out.push_str("<th>"),
            other => self.out.push_str(element(other.to_end()).0),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Link | TagEnd::Image => {
                let end = self.open.pop().unwrap_or_default();
                self.out.push_str(end);
            }
            TagEnd::List(true) => self.out.push_str("</ol>"),
            TagEnd::TableHead => {
                self.is_head = false;
                self.out.push_str("</tr></thead>");
            }
            TagEnd::Table => self.out.push_str("</table>"),
            TagEnd::CodeBlock => self.out.push_str("</code></pre>"),
            TagEnd::TableCell if self.is_head => self.out.push_str("</th>"),
            other => self.out.push_str(element(other).1),
        }
    }

    fn link(&mut self, kind: LinkType, target: &str) {
        let is_mail = kind == LinkType::Email;
        let is_web = ["http://", "https://", "mailto:"].iter().any(|scheme| {
            let start = target.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        // A link in a link, or in a picture, is no HTML.
        if !(is_mail || is_web) || self.open.iter().any(|end| !end.is_empty()) {
            self.open.push("");
            return;
        }
        self.out.push_str("<a href=\"");
        if is_mail {
            self.out.push_str("mailto:");
        }
        self.text(target);
        self.out.push_str("\" rel=\"noreferrer noopener\">");
        self.open.push("</a>");
    }

    fn text(&mut self, text: &str) {
        // Writing to a string does not fail.
        let _ = Escaper::new(&mut self.out).write_str(text);
    }
}

/// The start and the end of an element without attributes.
fn element(tag: TagEnd) -> (&'static str, &'static str) {
    match tag {
        TagEnd::Paragraph => ("<p>", "</p>"),
        // The screen has its own first heading.
        TagEnd::Heading(HeadingLevel::H1) => ("<h2>", "</h2>"),
        TagEnd::Heading(HeadingLevel::H2) => ("<h3>", "</h3>"),
        TagEnd::Heading(HeadingLevel::H3) => ("<h4>", "</h4>"),
        TagEnd::Heading(_) => ("<h5>", "</h5>"),
        TagEnd::BlockQuote(_) => ("<blockquote>", "</blockquote>"),
        TagEnd::List(_) => ("<ul>", "</ul>"),
        TagEnd::Item => ("<li>", "</li>"),
        TagEnd::TableRow => ("<tr>", "</tr>"),
        TagEnd::TableCell => ("<td>", "</td>"),
        TagEnd::Emphasis => ("<em>", "</em>"),
        TagEnd::Strong => ("<strong>", "</strong>"),
        TagEnd::Strikethrough => ("<del>", "</del>"),
        _ => ("", ""),
    }
}
