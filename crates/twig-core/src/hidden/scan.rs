//! The rules, character by character, including those that depend on neighbouring characters.

use super::classes::{
    is_duployan, is_emoji, is_hebrew, is_khmer, is_meaningless, is_mongolian, is_music,
    needs_joiners,
};
use super::line::DirectionLine;
use super::{HiddenReason, TextPlace, is_odd};

/// The first bad character at or after `from`, which is the start of a character.
pub(super) fn first(
    text: &str,
    place: TextPlace,
    from: usize,
) -> Option<(usize, char, HiddenReason)> {
    let mut scan = HiddenScan {
        text,
        place,
        line: None,
    };
    let mut before = text[..from].chars().next_back();
    let mut at = from;
    loop {
        let rest = &text.as_bytes()[at..];
        let plain = rest.iter().position(|byte| is_odd(*byte, place))?;
        if plain > 0 {
            at += plain;
            before = text[..at].chars().next_back();
        }
        let c = text[at..].chars().next()?;
        match scan.judge(at, c, before) {
            Ok(None) => {
                at += c.len_utf8();
                before = Some(c);
            }
            Ok(Some(flag)) => {
                at += flag;
                before = Some(FLAG_END);
            }
            Err(why) => return Some((at, c, why)),
        }
    }
}

struct HiddenScan<'t> {
    text: &'t str,
    place: TextPlace,
    /// The last line that was read.
    line: Option<DirectionLine>,
}

/// The last of the tags with which a flag is written.
const FLAG_END: char = '\u{e007f}';

impl HiddenScan<'_> {
    /// Whether a character is allowed; if a flag starts with it, the length of the flag.
    fn judge(
        &mut self,
        at: usize,
        c: char,
        before: Option<char>,
    ) -> Result<Option<usize>, HiddenReason> {
        let is_label = self.place == TextPlace::Label;
        let fine = |is_fine: bool, why: HiddenReason| if is_fine { Ok(None) } else { Err(why) };
        match c {
            // Start of a terminal sequence: ESC, and DCS, SOS, CSI, OSC, PM, APC as one character.
            '\0' | '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => {
                Err(HiddenReason::Control)
            }
            // Files from Windows end their lines with it.
            '\r' => fine(
                !is_label || self.after(at, c) == Some('\n'),
                HiddenReason::Control,
            ),
            '\u{1}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                fine(!is_label, HiddenReason::Control)
            }
            '\u{1f3f4}' => Ok(self.flag(at)),
            '\u{e0000}'..='\u{e007f}' => Err(HiddenReason::Tag),
            '\u{e0100}'..='\u{e01ef}' => Err(HiddenReason::Selector),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}' => {
                let is_fine = !is_label && self.line(at).allows(at);
                fine(is_fine, HiddenReason::Direction(self.place))
            }
            // These only set the side of a neutral character; one is enough.
            '\u{200e}' | '\u{200f}' => {
                let is_one = !matches!(before, Some('\u{200e}' | '\u{200f}'));
                let is_fine = is_one && self.line(at).has_rtl;
                fine(is_fine, HiddenReason::Invisible)
            }
            '\u{feff}' => fine(!is_label && at == 0, HiddenReason::Invisible),
            c if is_invisible(c) || is_filler(c) => Err(HiddenReason::Invisible),
            c if is_joiner(c) => fine(joins(before, c, self.after(at, c)), HiddenReason::Joiner),
            c if is_selector(c) => fine(selects(before, c), HiddenReason::Selector),
            c => fine(!is_label || !is_meaningless(c), HiddenReason::Meaningless),
        }
    }

    /// The character after the one at this place.
    fn after(&self, at: usize, c: char) -> Option<char> {
        self.text[at + c.len_utf8()..].chars().next()
    }

    /// The line of a place in the text.
    fn line(&mut self, at: usize) -> &DirectionLine {
        let (text, known) = (self.text, self.line.take());
        let known = known.filter(|line| at < line.end);
        self.line
            .insert(known.unwrap_or_else(|| DirectionLine::at(text, at)))
    }

    /// The flag of a region that starts here; a flag without tags is a character like others.
    ///
    /// Tags of other lengths are no region and could hide a message. A title may only have flags
    /// that every font draws: without the flag, the tags are invisible.
    fn flag(&self, at: usize) -> Option<usize> {
        const BASE: usize = '\u{1f3f4}'.len_utf8();
        let mut region = String::new();
        for tag in self.text[at + BASE..].chars() {
            if tag == FLAG_END {
                let known = ["gbeng", "gbsct", "gbwls"].contains(&&*region);
                let is_flag = known || (self.place == TextPlace::Body && is_region(&region));
                let len = BASE + (region.len() + 1) * FLAG_END.len_utf8();
                return is_flag.then_some(len);
            }
            let letter = u32::from(tag)
                .checked_sub(0xe_0000)
                .filter(|code| *code < 0x7f);
            region.push(char::from(u8::try_from(letter?).ok()?));
            if region.len() > 5 {
                break;
            }
        }
        None
    }
}

/// A country of two letters and its part: `gbsct`, `ustx`.
fn is_region(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (3..=5).contains(&text.len())
        && text.bytes().take(2).all(|b| b.is_ascii_lowercase())
        && text.bytes().all(is_part)
}

/// Letters that are drawn as nothing.
pub(crate) fn is_filler(c: char) -> bool {
    matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

/// Invisible characters that no language needs.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0080}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// Invisible characters that some scripts need.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{34f}' | '\u{180e}' | '\u{17b4}' | '\u{17b5}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
}

/// True if a joiner has an effect where it is; several in a row never have.
fn joins(before: Option<char>, joiner: char, after: Option<char>) -> bool {
    if before.is_some_and(is_joiner) {
        return false;
    }
    let near = |is: fn(char) -> bool| before.is_some_and(is) || after.is_some_and(is);
    match joiner {
        '\u{200c}' => near(needs_joiners),
        '\u{200d}' => {
            let ends_emoji =
                |c: char| is_emoji(c) || matches!(c, '\u{fe0f}' | '\u{20e3}' | FLAG_END);
            let is_between = before.is_some_and(ends_emoji) && after.is_some_and(is_emoji);
            is_between || near(needs_joiners)
        }
        '\u{34f}' => near(is_hebrew),
        '\u{180e}' => near(is_mongolian),
        '\u{17b4}' | '\u{17b5}' => near(is_khmer),
        '\u{1bca0}'..='\u{1bca3}' => near(is_duployan),
        _ => near(is_music),
    }
}

/// Characters that select the appearance of the one before them.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}')
}

/// True if there is something to select. Text or emoji style is allowed after anything: programs
/// that remove emoji often leave it behind.
fn selects(before: Option<char>, selector: char) -> bool {
    let Some(before) = before else {
        return matches!(selector, '\u{fe0e}' | '\u{fe0f}');
    };
    if is_selector(before) {
        return false;
    }
    match selector {
        '\u{fe0e}' | '\u{fe0f}' => true,
        '\u{fe00}'..='\u{fe0d}' => before == '0' || !(before.is_ascii() || before.is_whitespace()),
        _ => is_mongolian(before),
    }
}
