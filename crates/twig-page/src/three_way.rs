//! A text that two people changed: what it was, what is there now, and what one of them typed.

use std::ops::Range;

use maud::{Markup, html};
use similar::{DiffOp, TextDiff};

use crate::diff::{AROUND, BYTES, LINES, LONGEST, MarkedLine, changed_words, merged};
use crate::visible::visible;

/// What two texts differ in from the one that both were made from.
#[derive(Debug)]
pub struct ThreeWayComparison {
    /// The places that changed with some lines around them; empty if nothing did.
    pub html: Markup,
    /// Places that only the saved text changed.
    pub theirs: usize,
    /// Places that only the typed text changed.
    pub mine: usize,
    /// Places that both changed, each in its own way.
    pub both: usize,
}

/// Changed lines: where they were, and where they are.
struct LineEdit {
    from: Range<usize>,
    to: Range<usize>,
}

/// A place that at least one side changed, in each text.
struct ChangedPlace {
    base: Range<usize>,
    theirs: Range<usize>,
    mine: Range<usize>,
}

/// What the three columns are.
const TITLES: [&str; 3] = ["What it was", "What is there now", "What you typed"];

/// Who changed a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceChange {
    Theirs,
    Mine,
    BothAlike,
    Both,
}

impl PlaceChange {
    fn sentence(self) -> &'static str {
        match self {
            Self::Theirs => "changed there",
            Self::Mine => "changed by you",
            Self::BothAlike => "changed there and by you, to the same",
            Self::Both => "changed there and by you",
        }
    }
}

/// The lines of the three texts.
struct ThreeTexts<'t> {
    base: Vec<&'t str>,
    theirs: Vec<&'t str>,
    mine: Vec<&'t str>,
}

/// Compares the saved text and a typed one with what both were made from.
pub fn compare_three(base: &str, theirs: &str, mine: &str) -> ThreeWayComparison {
    let texts = ThreeTexts {
        base: lines(base),
        theirs: lines(theirs),
        mine: lines(mine),
    };
    let places = places(&edits(base, theirs), &edits(base, mine));
    let who: Vec<PlaceChange> = places.iter().map(|place| texts.changed_by(place)).collect();
    let count = |by: PlaceChange| who.iter().filter(|it| **it == by).count();
    ThreeWayComparison {
        theirs: count(PlaceChange::Theirs),
        mine: count(PlaceChange::Mine),
        both: count(PlaceChange::Both),
        html: texts.table(&places, &who),
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn edits(before: &str, after: &str) -> Vec<LineEdit> {
    let (before, after) = (lines(before), lines(after));
    let diff = TextDiff::configure()
        .timeout(LONGEST / 2)
        .diff_slices(&before, &after);
    let ops = diff.ops().iter();
    ops.filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| LineEdit {
            from: op.old_range(),
            to: op.new_range(),
        })
        .collect()
}

/// The edits of both sides; those that touch or overlap are one place.
fn places(theirs: &[LineEdit], mine: &[LineEdit]) -> Vec<ChangedPlace> {
    let (mut theirs, mut mine) = (SideEdits::new(theirs), SideEdits::new(mine));
    let mut places = Vec::new();
    while let Some(start) = theirs.next().into_iter().chain(mine.next()).min() {
        let (their_start, my_start) = (theirs.at(start), mine.at(start));
        let mut end = start;
        while theirs.take(&mut end) || mine.take(&mut end) {}
        places.push(ChangedPlace {
            base: start..end,
            theirs: their_start..theirs.at(end),
            mine: my_start..mine.at(end),
        });
    }
    places
}

/// The edits of one side that are left, and the lines up to which the others went.
struct SideEdits<'e> {
    left: &'e [LineEdit],
    from: usize,
    to: usize,
}

impl<'e> SideEdits<'e> {
    fn new(left: &'e [LineEdit]) -> Self {
        Self {
            left,
            from: 0,
            to: 0,
        }
    }

    fn next(&self) -> Option<usize> {
        self.left.first().map(|edit| edit.from.start)
    }

    /// Where a line is on this side, if no edit is left before it.
    fn at(&self, line: usize) -> usize {
        self.to + line.saturating_sub(self.from)
    }

    /// Takes the next edit if it begins by this line, which then is the end of it.
    fn take(&mut self, end: &mut usize) -> bool {
        let Some((edit, left)) = self.left.split_first() else {
            return false;
        };
        if edit.from.start > *end {
            return false;
        }
        *end = edit.from.end.max(*end);
        (self.left, self.from, self.to) = (left, edit.from.end, edit.to.end);
        true
    }
}

impl ThreeTexts<'_> {
    fn changed_by(&self, place: &ChangedPlace) -> PlaceChange {
        let base = &self.base[place.base.clone()];
        let theirs = &self.theirs[place.theirs.clone()];
        let mine = &self.mine[place.mine.clone()];
        if theirs == mine {
            PlaceChange::BothAlike
        } else if theirs == base {
            PlaceChange::Mine
        } else if mine == base {
            PlaceChange::Theirs
        } else {
            PlaceChange::Both
        }
    }

    fn table(&self, places: &[ChangedPlace], who: &[PlaceChange]) -> Markup {
        let shown = self.shown(places);
        let mut after = 0;
        let mut blocks = Vec::with_capacity(shown);
        for (at, place) in places.iter().enumerate().take(shown) {
            let next = places.get(at + 1);
            let next = next.map_or(self.base.len(), |next| next.base.start);
            let start = place.base.start.saturating_sub(AROUND).max(after);
            after = (place.base.end + AROUND).min(next);
            blocks.push((start..place.base.start, place, place.base.end..after));
        }
        html! {
            @if !places.is_empty() {
                table.three {
                    caption.sr { "The texts, place by place" }
                    thead { tr { @for title in TITLES { th scope="col" { (title) } } } }
                    @for ((before, place, behind), by) in blocks.into_iter().zip(who) {
                        @let base = &self.base[place.base.clone()];
                        tbody {
                            (self.same(before))
                            tr { th.who colspan="3" scope="rowgroup" { "Line " (place.base.start + 1) ": " (by.sentence()) } }
                            tr.changed {
                                (cell(TITLES[0], base, base))
                                (cell(TITLES[1], base, &self.theirs[place.theirs.clone()]))
                                (cell(TITLES[2], base, &self.mine[place.mine.clone()]))
                            }
                            (self.same(behind))
                        }
                    }
                }
            }
            @if shown < places.len() { p.faint { "The rest is not shown: it is too long." } }
        }
    }

    /// How many of the places are shown: not all of very long ones.
    fn shown(&self, places: &[ChangedPlace]) -> usize {
        let (mut lines, mut bytes) = (0, 0);
        let is_shown = |place: &&ChangedPlace| {
            let texts = [
                &self.base[place.base.clone()],
                &self.theirs[place.theirs.clone()],
                &self.mine[place.mine.clone()],
            ];
            lines += texts.iter().map(|text| text.len()).sum::<usize>();
            bytes += texts.concat().iter().map(|line| line.len()).sum::<usize>();
            lines <= LINES && bytes <= BYTES
        };
        places.iter().take_while(is_shown).count()
    }

    fn same(&self, range: Range<usize>) -> Markup {
        html! {
            @for line in &self.base[range] {
                tr.same { td colspan="3" dir="auto" { (visible(line.trim_end_matches('\n'))) } }
            }
        }
    }
}

/// The lines of one text at a place, with the words that are other than before.
fn cell(title: &str, before: &[&str], now: &[&str]) -> Markup {
    let is_changed = before != now;
    let whole = || -> Vec<MarkedLine<'_>> { now.iter().map(|line| vec![(false, *line)]).collect() };
    let marked = is_changed.then(|| changed_words(before, now)).flatten();
    let lines = marked.map_or_else(whole, |(_, now)| now);
    html! {
        td data-name=(title) class=[is_changed.then_some(if now.is_empty() { "removed" } else { "added" })] {
            @if lines.is_empty() { span.faint { (if is_changed { "removed" } else { "nothing" }) } }
            @for line in &lines {
                div dir="auto" {
                    @for (is_marked, text) in merged(line) {
                        @let text = text.trim_end_matches('\n');
                        @if is_marked { ins { (visible(text)) } } @else { (visible(text)) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who changed what, as the table says it: the text of each row, with ` | ` between cells.
    fn table(base: &str, theirs: &str, mine: &str) -> Vec<String> {
        let html = compare_three(base, theirs, mine).html.into_string();
        let rows = html.split("<tr").skip(2);
        let rows = rows.map(|row| {
            let row = row.split_once('>').map_or("", |(_, row)| row);
            let cells = row.replace("</td><td", "</td> | <td");
            let lines = cells.replace("</div><div", "</div>/<div");
            let mut is_text = true;
            let text = lines.chars().filter(|c| match c {
                '<' => {
                    is_text = false;
                    false
                }
                '>' => {
                    is_text = true;
                    false
                }
                _ => is_text,
            });
            text.collect()
        });
        rows.collect()
    }

    #[test]
    fn each_place_says_who_changed_it() {
        let base = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        let theirs = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
        let mine = "a\nb\nc\nd\ne\nh\ni\nj\nk\nL\n";
        let expected = [
            "a",
            "Line 2: changed there",
            "b | B | b",
            "c",
            "d",
            "e",
            "Line 6: changed by you",
            "f/g | f/g | removed",
            "h",
            "i",
            "j",
            "k",
            "Line 12: changed there and by you",
            "l | l/m | L",
        ];
        assert_eq!(table(base, theirs, mine), expected);
        let compared = compare_three(base, theirs, mine);
        assert_eq!((compared.theirs, compared.mine, compared.both), (1, 1, 1));
    }

    #[test]
    fn what_both_changed_alike_is_no_conflict() {
        let expected = [
            "a",
            "Line 2: changed there and by you, to the same",
            "nothing | b | b",
        ];
        assert_eq!(table("a\n", "a\nb\n", "a\nb\n"), expected);
        let compared = compare_three("a\n", "a\nb\n", "a\nb\n");
        assert_eq!((compared.theirs, compared.mine, compared.both), (0, 0, 0));
        assert_eq!(table("a\n", "a\n", "a\n"), [""; 0]);
    }

    #[test]
    fn text_is_escaped_and_changed_words_are_marked() {
        let compared = compare_three("one <b>two</b>\n", "one <i>two</i>\n", "one <b>2</b>\n");
        let html = compared.html.into_string();
        assert!(!html.contains("<b>") && !html.contains("<i>"), "{html}");
        assert!(html.contains("<ins>2</ins>"), "{html}");
    }
}
