//! Commands, files and editor values that the client of a prompt's file puts in: kept for the same
//! client, and for others text, or written in their syntax.
//!
//! Only what stands in the file counts. A line with the place of an argument is kept for the same
//! client and never translated: clients differ in how they quote values.

use std::ops::Range;

use super::ShellTranslation;
use super::harmless::{SHOWN, quoted_place};
use super::speech::SpeechPart;
use crate::clients::ExportFormat;
use twig_core::marks::MarkedPiece;
use twig_core::model::LibraryKind;
use twig_core::problem::shorten;
use twig_core::shell_lines::{ShellLine, ShellLineKind, shell_lines};

/// What became of them.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellCount {
    /// The client of the file, and the one of the export.
    titles: (&'static str, &'static str),
    kept: PlaceCount,
    translated: PlaceCount,
    text: PlaceCount,
    /// How many of those that are text could be translated.
    translatable: usize,
}

/// How many places there are, and the first of them.
#[derive(Debug, Clone, Default)]
struct PlaceCount {
    count: usize,
    first: String,
}

impl PlaceCount {
    fn add(&mut self, place: &str) {
        if self.count == 0 {
            let words: Vec<&str> = place.split_whitespace().collect();
            self.first = quoted_place(&shorten(&words.join(" "), SHOWN));
        }
        self.count += 1;
    }

    /// A note on them, if there are any.
    fn note(
        &self,
        one: impl FnOnce(&str) -> String,
        several: impl FnOnce(usize, &str) -> String,
    ) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(one(&self.first)),
            count => Some(several(count, &self.first)),
        }
    }
}

impl ShellCount {
    /// The notes on them.
    pub(super) fn notes(&self) -> Vec<String> {
        let (source, target) = self.titles;
        let kept = self.kept.note(
            |first| format!("keeps one place that {target} runs or fills in: {first}"),
            |count, first| {
                format!("keeps {count} places that {target} runs or fills in, such as {first}")
            },
        );
        let translated = self.translated.note(
            |first| format!("translates one place, which {target} runs or fills in: {first}"),
            |count, first| {
                format!(
                    "translates {count} places, which {target} runs or fills in, such as {first}"
                )
            },
        );
        let offer = match self.translatable {
            0 => String::new(),
            1 if self.text.count == 1 => "; `--keep-shell` translates it".to_owned(),
            all if all == self.text.count => "; `--keep-shell` translates them".to_owned(),
            some => format!("; `--keep-shell` translates {some} of them"),
        };
        let text = self.text.note(
            |first| {
                format!(
                    "one place that {source} runs or fills in is text for {target}: {first}{offer}"
                )
            },
            |count, first| {
                format!(
                    "{count} places that {source} runs or fills in are text for {target}, such as {first}{offer}"
                )
            },
        );
        [kept, translated, text].into_iter().flatten().collect()
    }
}

/// What is written for one of them.
enum LineForm {
    /// What the file has, for the client to run or fill in.
    Verbatim,
    /// The same in the syntax of the other client.
    Translated(String),
    /// What the file has, as text.
    Text,
}

/// The parts of a text, of which these are the pieces.
pub(super) fn parts(
    kind: LibraryKind,
    (client, translation): (ExportFormat, ShellTranslation),
    text: &str,
    pieces: &[MarkedPiece<'_>],
    count: &mut ShellCount,
) -> Vec<SpeechPart> {
    let places: Vec<Range<usize>> = pieces.iter().map(|piece| place(text, piece)).collect();
    // Marks and escapes of marks are between two pieces of text.
    let is_plain = |range: &Range<usize>| {
        let at = places.partition_point(|place| place.end <= range.start);
        let is_inside = |place: &Range<usize>| place.start <= range.start && range.end <= place.end;
        let is_text = matches!(pieces.get(at), Some(MarkedPiece::Text(_)));
        is_text && places.get(at).is_some_and(is_inside)
    };
    let mut forms: Vec<(Range<usize>, LineForm)> = Vec::new();
    if let Some(source) = ExportFormat::of(kind) {
        count.titles = (runner(source).title(), runner(client).title());
        for line in shell_lines(kind, text) {
            let own = &text[line.range.clone()];
            let form = if source == client {
                count.kept.add(own);
                LineForm::Verbatim
            } else {
                let translated = Some(&line).filter(|line| is_plain(&line.range));
                let translated = translated.and_then(|line| translate(source, client, line, text));
                other_form(client, translation, &line, own, translated, count)
            };
            forms.push((line.range, form));
        }
    }
    let mut parts = Vec::with_capacity(pieces.len() + 2 * forms.len());
    let mut forms = forms.into_iter().peekable();
    for (piece, place) in pieces.iter().zip(&places) {
        match piece {
            MarkedPiece::Argument { at, .. } => parts.push(SpeechPart::Argument(*at)),
            MarkedPiece::All { .. } => parts.push(SpeechPart::All),
            MarkedPiece::Text(_) => {
                let mut at = place.start;
                while at < place.end {
                    while forms.next_if(|(range, _)| range.end <= at).is_some() {}
                    let (stop, form) = match forms.peek() {
                        Some((range, form)) if range.start <= at => (range.end, form),
                        Some((range, _)) => (range.start, &LineForm::Text),
                        None => (place.end, &LineForm::Text),
                    };
                    let stop = stop.min(place.end);
                    let own = || text[at..stop].to_owned();
                    parts.push(match form {
                        LineForm::Verbatim => SpeechPart::Live(own()),
                        LineForm::Translated(other) => SpeechPart::Live(other.clone()),
                        LineForm::Text => SpeechPart::Text(own()),
                    });
                    at = stop;
                }
            }
        }
    }
    parts
}

/// What is written for another client, and counted.
fn other_form(
    client: ExportFormat,
    translation: ShellTranslation,
    line: &ShellLine<'_>,
    own: &str,
    translated: Option<String>,
    count: &mut ShellCount,
) -> LineForm {
    match (translated, translation) {
        (Some(other), ShellTranslation::On) => {
            if other == own {
                count.kept.add(own);
                LineForm::Verbatim
            } else {
                count.translated.add(&other);
                LineForm::Translated(other)
            }
        }
        (translated, _) => {
            // A path in the project stays for clients that write it alike: a note of its own says
            // so.
            let reads_words = matches!(client, ExportFormat::Claude | ExportFormat::Opencode);
            let stays = reads_words && own.starts_with('@') && !own.starts_with("@{");
            if !(stays && line.what == ShellLineKind::File && !is_far(line.text)) {
                count.text.add(own);
                count.translatable += usize::from(translated.is_some());
            }
            LineForm::Text
        }
    }
}

/// The client that runs what is in files of a format: of those that read skills, it is Claude Code.
fn runner(format: ExportFormat) -> ExportFormat {
    match format {
        ExportFormat::Skills => ExportFormat::Claude,
        other => other,
    }
}

/// Where a piece is in its text.
fn place(text: &str, piece: &MarkedPiece<'_>) -> Range<usize> {
    let (MarkedPiece::Text(own)
    | MarkedPiece::Argument { mark: own, .. }
    | MarkedPiece::All { mark: own }) = piece;
    // A piece is a part of the text, so the distance of their starts is its place.
    let start = own.as_ptr() as usize - text.as_ptr() as usize;
    start..start + own.len()
}

/// A line without arguments in the syntax of another client, if that can hold it.
fn translate(
    source: ExportFormat,
    client: ExportFormat,
    line: &ShellLine<'_>,
    text: &str,
) -> Option<String> {
    let (before, after) = (&text[..line.range.start], &text[line.range.end..]);
    let is_apart = before.chars().next_back().is_none_or(char::is_whitespace);
    let inner = line.text;
    let is_held = match (line.what, client) {
        (ShellLineKind::Command, ExportFormat::Gemini) => fits_braces(inner),
        (ShellLineKind::Command, ExportFormat::Claude | ExportFormat::Skills)
            if runner(source) == ExportFormat::Claude =>
        {
            // Both write it alike.
            return (!has_marks(inner)).then(|| text[line.range.clone()].to_owned());
        }
        (ShellLineKind::Command, ExportFormat::Claude | ExportFormat::Skills) => {
            is_apart && fits_ticks(inner) && !after.starts_with('`')
        }
        (ShellLineKind::Command, ExportFormat::Opencode) => {
            fits_ticks(inner) && !after.starts_with('`')
        }
        (ShellLineKind::File, ExportFormat::Gemini) => fits_braces(inner) && !is_far(inner),
        (ShellLineKind::File, ExportFormat::Claude | ExportFormat::Opencode) => {
            is_apart && is_word(inner) && ends_word(after)
        }
        _ => false,
    };
    is_held.then(|| match (line.what, client) {
        (ShellLineKind::Command, ExportFormat::Gemini) => format!("!{{{inner}}}"),
        (_, ExportFormat::Gemini) => format!("@{{{inner}}}"),
        (ShellLineKind::Command, _) => format!("!`{inner}`"),
        _ => format!("@{inner}"),
    })
}

/// True if a text can be between `!{` and `}`: its braces are balanced, and nothing in it is
/// filled in.
fn fits_braces(inner: &str) -> bool {
    let mut depth = 0_usize;
    let is_balanced = inner.chars().all(|c| match c {
        '{' => {
            depth += 1;
            true
        }
        '}' => depth.checked_sub(1).is_some_and(|less| {
            depth = less;
            true
        }),
        _ => true,
    });
    let filled = ["!{", "@{", "{{args}}"];
    let is_filled = filled.iter().any(|sign| inner.contains(sign));
    !inner.is_empty() && is_balanced && depth == 0 && !is_filled
}

/// True if a text can be between two backticks on one line.
fn fits_ticks(inner: &str) -> bool {
    let is_odd = |c: char| c == '`' || c.is_control();
    !inner.is_empty() && !inner.contains(is_odd) && !has_marks(inner)
}

/// True if a text has what some client takes for an argument.
fn has_marks(inner: &str) -> bool {
    inner.split('$').skip(1).any(|after| {
        after.starts_with(|c: char| c.is_ascii_digit()) || after.starts_with("ARGUMENTS")
    })
}

/// True if a path is one word for every client.
fn is_word(path: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./~".contains(c);
    !path.is_empty() && path.chars().all(is_plain) && !path.ends_with('.')
}

/// True if a word ends here, apart from a sign at the end of a sentence.
fn ends_word(after: &str) -> bool {
    let rest = after.trim_start_matches(['.', ',']);
    rest.chars().next().is_none_or(char::is_whitespace)
}

/// True if a path is outside the project.
fn is_far(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..")
}
