//! Classes of characters: script (as far as needed), emoji, and whether the code point is assigned.

/// Letters that are read from right to left.
pub(super) fn is_rtl_letter(c: char) -> bool {
    let is_rtl_block = matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}');
    is_rtl_block && c.is_alphabetic()
}

/// The parts of an emoji sequence: pictographs, arrows and signs that can be shown as one.
pub(super) fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}'
        | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Scripts whose letters join or stack: there a joiner is visible.
pub(super) fn needs_joiners(c: char) -> bool {
    // Ordered: Arabic to Mandaic and Arabic again; Devanagari to Sinhala; Tibetan and Myanmar;
    // Khmer and Mongolian; those of South and South-East Asia; forms of Arabic letters; and the
    // same again for scripts that came later.
    matches!(c, '\u{600}'..='\u{74f}' | '\u{750}'..='\u{77f}' | '\u{7c0}'..='\u{7ff}'
        | '\u{840}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
        | '\u{1780}'..='\u{18af}' | '\u{1a20}'..='\u{1aad}' | '\u{1b00}'..='\u{1c4f}'
        | '\u{1cd0}'..='\u{1cff}' | '\u{a800}'..='\u{a82f}' | '\u{a840}'..='\u{a8ff}'
        | '\u{a930}'..='\u{a9df}' | '\u{a9e0}'..='\u{aa7f}' | '\u{aae0}'..='\u{aaff}'
        | '\u{abc0}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10a00}'..='\u{10a5f}' | '\u{10ac0}'..='\u{10aff}' | '\u{10b80}'..='\u{10baf}'
        | '\u{10d00}'..='\u{10d3f}' | '\u{10ec0}'..='\u{10fdf}' | '\u{11000}'..='\u{11fff}'
        | '\u{13000}'..='\u{143ff}' | '\u{1e900}'..='\u{1e95f}')
}

pub(super) fn is_hebrew(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{5ff}' | '\u{fb1d}'..='\u{fb4f}')
}

pub(super) fn is_mongolian(c: char) -> bool {
    matches!(c, '\u{1800}'..='\u{180a}' | '\u{1810}'..='\u{18af}')
}

pub(super) fn is_khmer(c: char) -> bool {
    matches!(c, '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}')
}

pub(super) fn is_duployan(c: char) -> bool {
    matches!(c, '\u{1bc00}'..='\u{1bc9f}')
}

pub(super) fn is_music(c: char) -> bool {
    matches!(c, '\u{1d100}'..='\u{1d172}' | '\u{1d17b}'..='\u{1d1ff}')
}

/// Private use, a non-character, or unknown to this build.
pub(super) fn is_meaningless(c: char) -> bool {
    // The cheap checks first: they decide for nearly every character.
    !(is_full(c) || c.is_alphanumeric() || c.is_whitespace() || is_format_sign(c) || is_known(c))
}

/// Common blocks in which every code point is assigned.
fn is_full(c: char) -> bool {
    matches!(c, '\u{a1}'..='\u{377}' | '\u{400}'..='\u{52f}' | '\u{591}'..='\u{5c7}'
        | '\u{600}'..='\u{70d}' | '\u{900}'..='\u{983}' | '\u{e01}'..='\u{e3a}'
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2190}'..='\u{2426}'
        | '\u{2460}'..='\u{2b73}' | '\u{3001}'..='\u{303f}' | '\u{3041}'..='\u{3096}'
        | '\u{3099}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{ff01}'..='\u{ffbe}' | '\u{1f300}'..='\u{1f64f}')
}

/// Signs that enclose numbers or arrange hieroglyphs: visible, though of the format category.
fn is_format_sign(c: char) -> bool {
    matches!(
        c,
        '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'
            ..='\u{13455}'
    )
}

/// True if the standard library would print it: its tables are those of the newest Unicode version
/// that the compiler knows. After another character it escapes a character for no other reason.
fn is_known(c: char) -> bool {
    let text: String = ['x', c].iter().collect();
    text.escape_debug().nth(1) != Some('\\')
}
