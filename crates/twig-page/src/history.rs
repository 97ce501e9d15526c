//! The versions of a prompt or resource, and two of them compared.

use maud::{Markup, html};
use twig_core::store::{LabelName, Operation, Timestamp, Version};

use crate::diff::TextComparison;
use crate::link;
use crate::messages::size_of;
use crate::problems::counts;
use crate::visible::{label, sentence};

/// What the screen of versions shows.
#[derive(Debug)]
pub struct HistoryView<'v> {
    /// What has the versions.
    pub item: HistoryItem<'v>,
    /// Some of them, the newest first.
    pub versions: ShownVersions<'v>,
    /// The two that are compared.
    pub compared: Option<ComparedVersions>,
    /// True if the viewer may restore one.
    pub may_write: bool,
}

/// A prompt or resource, and where it is.
#[derive(Debug, Clone, Copy)]
pub enum HistoryItem<'v> {
    /// A prompt: its full name and its library.
    Prompt(&'v str, &'v str),
    /// A document: its URI and its library.
    Document(&'v str, &'v str),
}

/// Versions on one page.
#[derive(Debug)]
pub struct ShownVersions<'v> {
    /// The versions, the newest first.
    pub versions: &'v [Version],
    /// The labels of all versions.
    pub labels: &'v [(LabelName, u64)],
    /// The number of the newest version.
    pub newest: u64,
    /// True if older ones are kept as well.
    pub has_older: bool,
}

/// Two versions and their difference.
#[derive(Debug)]
pub struct ComparedVersions {
    /// The version that is compared; 0 for nothing.
    pub from: u64,
    /// The version that it is compared with.
    pub to: u64,
    /// The difference, or why there is none.
    pub result: Result<TextComparison, String>,
}

/// What the screen shows of a prompt or document whose history Twig does not keep.
#[derive(Debug)]
pub struct FileHistoryView<'v> {
    /// What it is.
    pub item: HistoryItem<'v>,
    /// A command that shows its history, if it is a file of the viewer.
    pub command: Option<&'v str>,
    /// Its versions that were replaced on the page, the newest first.
    pub replaced: &'v [ReplacedFile],
    /// The file, as people know it.
    pub place: Option<&'v str>,
    /// The digest of the one that is compared with the file as it is now.
    pub chosen: Option<&'v str>,
    /// The difference, or why there is none: what restoring it changes, if that was asked for.
    pub compared: Option<Result<TextComparison, String>>,
    /// How one of them is restored, if the viewer may do so.
    pub restore: Option<FileRestore<'v>>,
}

/// What a request that restores a version of a file needs.
#[derive(Debug, Clone, Copy)]
pub struct FileRestore<'v> {
    /// The file, as the query of a request names it.
    pub source: &'v str,
    /// The digest of what the file holds now.
    pub expected: &'v str,
    /// True if the difference is the one that restoring makes.
    pub is_asked: bool,
}

/// A version of a file that was replaced on the page.
#[derive(Debug)]
pub struct ReplacedFile {
    /// When.
    pub at: Timestamp,
    /// Its length in bytes.
    pub size: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub digest: String,
}

impl HistoryItem<'_> {
    fn address(&self) -> String {
        match self {
            Self::Prompt(name, _) => link::prompt(name),
            Self::Document(uri, _) => link::document(uri),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Prompt(name, _) | Self::Document(name, _) => name,
        }
    }

    fn library(&self) -> &str {
        match self {
            Self::Prompt(_, library) | Self::Document(_, library) => library,
        }
    }
}

/// The screen of all versions.
pub fn history(view: &HistoryView<'_>) -> Markup {
    let ShownVersions {
        versions,
        labels,
        newest,
        has_older,
    } = view.versions;
    let address = format!("{}/history", view.item.address());
    let compared = view.compared.as_ref();
    html! {
        div.page.history data-history=(address) data-newest=(newest) {
            (head(&view.item, None))
            @if let Some(compared) = compared { (comparison(view, compared, &address)) }
            form.versions #versions {
                div.heads aria-hidden="true" {
                    span title="Compare from" { "from" } span title="Compare to" { "to" } span { "version" } span.wide { "when" } span { "who" }
                }
                ol.rows {
                    @for version in versions {
                        (row(version, labels, compared, newest))
                    }
                }
            }
            @if has_older && let Some(last) = versions.last() {
                p.older { a href=(format!("{address}?before={}", last.number)) { "Older versions" } }
            }
        }
    }
}

/// The screen of a prompt or document whose history Twig does not keep.
pub fn file_history(view: &FileHistoryView<'_>) -> Markup {
    let address = format!("{}/history", view.item.address());
    html! {
        div.page.history data-history=(address) {
            (head(&view.item, view.place))
            @match (&view.compared, view.chosen) {
                (Some(Ok(found)), Some(chosen)) => (file_comparison(view.restore, found, chosen, &address)),
                (Some(Err(why)), _) => { p.failure role="alert" { (sentence(why)) } }
                _ => {}
            }
            @if view.replaced.is_empty() {
                p { "This is a file. Twig keeps the versions that are replaced on this page, and those of prompts in projects." }
            } @else {
                h2.minor { "Replaced on this page" }
                ol.rows {
                    @for version in view.replaced {
                        @let compare = format!("{address}?replaced={}", version.digest);
                        li.replaced data-key=(format!("r:{}", version.digest)) {
                            (moment(&version.at.to_string()))
                            span.faint { (size_of(usize::try_from(version.size).unwrap_or(usize::MAX))) }
                            a href=(compare) aria-current=[(view.chosen == Some(&*version.digest)).then_some("true")] { "Compare with now" }
                            @if view.restore.is_some() { a href=(format!("{compare}&restore=1")) { "Restore…" } }
                        }
                    }
                }
            }
            @if let Some(command) = view.command {
                p { "If its folder is in a git repository, this command shows its history:" }
                (command_to_copy(command))
            }
        }
    }
}

/// A version of a file beside what the file holds now, with the button that restores it.
fn file_comparison(
    restore: Option<FileRestore<'_>>,
    found: &TextComparison,
    chosen: &str,
    address: &str,
) -> Markup {
    let asked = restore.filter(|it| it.is_asked);
    let lines = changed_lines(found);
    html! {
        section.comparison aria-label="Difference" {
            div.head {
                div {
                    h2 { @if asked.is_some() { "What restoring this version changes" } @else { "From this version to now" } }
                    p.faint { @if lines.is_empty() { "Both are the same." } @else { (lines) } }
                }
                @if !lines.is_empty() {
                    div.actions {
                        @match (asked, restore) {
                            (Some(it), _) => {
                                button.button.primary type="button" data-restore-file=(chosen)
                                    data-source=(it.source) data-expected=(it.expected) { "Restore this version" }
                            }
                            (None, Some(_)) => { a.button href=(format!("{address}?replaced={chosen}&restore=1")) { "Restore this version…" } }
                            (None, None) => {}
                        }
                    }
                }
            }
            @if asked.is_some() && !lines.is_empty() {
                p.advice { "Nothing is lost: what the file holds now is kept in this list." }
            }
            (found.html)
        }
    }
}

fn changed_lines(found: &TextComparison) -> String {
    counts(&[
        (found.added, "line added", "lines added"),
        (found.removed, "line removed", "lines removed"),
    ])
}

/// A command with a button that copies it.
pub(crate) fn command_to_copy(command: &str) -> Markup {
    html! {
        div.command {
            code tabindex="0" { (label(command)) }
            button.quiet type="button" data-copied=(command) { "Copy" span.sr { " the command" } }
        }
    }
}

fn head(item: &HistoryItem<'_>, place: Option<&str>) -> Markup {
    html! {
        header.title {
            p.crumbs {
                a href="/" { "Library" }
                " / "
                a href=(format!("/?library={}", link::escaped(item.library()))) { (item.library()) }
                " / "
                a data-back href=(item.address()) { (label(item.name())) }
            }
            h1 { "History" }
            @if let Some(place) = place { p.facts { span.mono { (label(place)) } } }
        }
    }
}

fn row(
    version: &Version,
    labels: &[(LabelName, u64)],
    compared: Option<&ComparedVersions>,
    newest: u64,
) -> Markup {
    let number = version.number;
    let is_from = compared.is_some_and(|it| it.from == number);
    let is_to = compared.is_some_and(|it| it.to == number);
    let radio = |name: &str, is_on: bool, what: &str| {
        html! {
            label.pick {
                input type="radio" name=(name) value=(number) id=(format!("{name}-{number}")) checked[is_on];
                span.sr { (what) " version " (number) }
            }
        }
    };
    let named = labels.iter().filter(|(_, named)| *named == number);
    html! {
        li.version data-key=(format!("v:{number}")) {
            (radio("from", is_from, "Compare from"))
            (radio("to", is_to, "Compare to"))
            span.mono { (number) @if number == newest { span.sr { " (now)" } } }
            (moment(&version.at.to_string()))
            span.who { (label(&version.author)) }
            span.about {
                span { (done(version)) }
                span.faint { " " (size_of(usize::try_from(version.content.size).unwrap_or(usize::MAX))) }
                @if let Some(description) = &version.description { span.faint { " " (label(description)) } }
                @for (name, _) in named { span.label { (name.as_str()) } }
            }
        }
    }
}

/// When a version was made: for people, and in full for a pointer on it.
fn moment(whole: &str) -> Markup {
    // `2026-11-15T09:30:00Z`, as every timestamp is written.
    let shown = match (whole.get(..10), whole.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time}"),
        _ => whole.to_owned(),
    };
    html! { time.wide datetime=(whole) title=(whole) { (shown) } }
}

fn done(version: &Version) -> String {
    match version.operation {
        Operation::Create => "created".to_owned(),
        Operation::Update => "changed".to_owned(),
        Operation::Delete => "deleted".to_owned(),
        Operation::Restore { from } => format!("restored version {from}"),
    }
}

fn comparison(view: &HistoryView<'_>, compared: &ComparedVersions, address: &str) -> Markup {
    let ComparedVersions { from, to, result } = compared;
    let newest = view.versions.newest;
    let step = |from: u64, to: u64| format!("{address}/{from}..{to}");
    let is_older = from > to;
    // From now to an older version is what restoring that would change.
    let restores = view.may_write && *from == newest && *to > 0 && to < from;
    html! {
        section.comparison aria-label="Difference" {
            div.head {
                div {
                    h2 {
                        @if *from == 0 { "Version " (to) ", the first that is kept" }
                        @else if is_older { "From version " (from) " back to " (to) }
                        @else { "From version " (from) " to " (to) }
                    }
                    @if let Ok(found) = result {
                        p.faint {
                            @let lines = changed_lines(found);
                            @if lines.is_empty() { "Both are the same." } @else { (lines) }
                        }
                    }
                }
                div.actions {
                    @if restores {
                        button.button.primary type="button" data-restore=(to) data-expected=(newest) { "Restore version " (to) }
                    } @else if view.may_write && *to < newest && *to > 0 {
                        a.button href=(step(newest, *to)) { "Restore version " (to) "…" }
                    }
                    @if !is_older && *from > 0 {
                        a.quiet data-older href=(step(from - 1, *from)) { "Older" }
                    }
                    @if !is_older && *to < newest {
                        a.quiet data-newer href=(step(*to, to + 1)) { "Newer" }
                    }
                }
            }
            @if restores {
                p.advice { "Nothing is lost: restoring adds version " (newest + 1) " with this text." }
            }
            @match result {
                Ok(found) => { (found.html) }
                Err(why) => { p.failure role="alert" { (sentence(why)) } }
            }
        }
    }
}
