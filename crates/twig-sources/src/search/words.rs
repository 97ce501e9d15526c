//! Words: how texts are indexed, and how a query asks for them.
//!
//! SQLite's tokenizer splits at characters that are not letters, digits or marks, and folds case
//! and diacritics. This module handles the rest: scripts without spaces and names like
//! `codeReview`.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Separates two characters of scripts without spaces: the tokenizer splits at it, and snippets
/// remove it again.
pub(super) const SEAM: char = '\u{1f}';

/// Begins the word that stands for a whole name. A query cannot contain it by accident: it is not a
/// letter, but the tokenizer treats it as one.
const WHOLE: char = '\u{e000}';

/// Bytes of a query that are read.
const QUERY: usize = 16 * 1024;
/// Maximum number of words in a query; of more, the longest are used.
const WORDS: usize = 16;
/// Characters of a word that count.
const WORD: usize = 64;

/// A text as it is indexed: characters of scripts without spaces are separated, and characters with
/// a meaning in snippets are removed.
pub(super) fn indexed(text: &str) -> Cow<'_, str> {
    let is_plain = |b: u8| matches!(b, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 3);
    let mut was_alone = true;
    for c in text.chars() {
        let is_alone = is_unspaced(c);
        if (is_alone || was_alone) && !out.is_empty() {
            out.push(SEAM);
        }
        was_alone = is_alone;
        // The tokenizer would make an empty word of an accent without a letter.
        let is_odd =
            (is_accent(c) && !out.ends_with(is_word)) || (c.is_control() && !c.is_whitespace());
        out.push(if is_odd { ' ' } else { c });
    }
    Cow::Owned(out)
}

/// Adds the parts of words such as `codeReview` and `HTTPServer`, each as a word.
pub(super) fn add_parts(text: &str, out: &mut String) {
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let mut start = 0;
        let mut before: Option<char> = None;
        let mut chars = word.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            let is_start = c.is_uppercase()
                && before.is_some_and(|before| {
                    before.is_lowercase()
                        || (before.is_uppercase() && next.is_some_and(char::is_lowercase))
                });
            if is_start {
                out.push(' ');
                out.push_str(&word[start..at]);
                start = at;
            }
            before = Some(c);
        }
        if start > 0 {
            out.push(' ');
            out.push_str(&word[start..]);
        }
    }
}

/// Adds the word that stands for a whole name: `code_review`, `codeReview` and `Code review` have
/// the same.
pub(super) fn add_whole(name: &str, out: &mut String) {
    let mut letters = name.chars().filter(|c| is_word(*c)).peekable();
    while letters.next_if(|c| is_accent(*c)).is_some() {}
    if letters.peek().is_some() {
        out.push(' ');
        out.push(WHOLE);
        out.extend(letters.take(WORDS * WORD));
    }
}

/// What a query asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueryWords {
    /// Each word, or each run of characters of scripts without spaces.
    pub(super) words: Vec<String>,
    /// All of them as one name.
    whole: String,
}

impl QueryWords {
    /// Parses a query: any text is valid, and its length is limited.
    pub(super) fn of(text: &str) -> Self {
        let text = cut(text, QUERY);
        let mut whole = String::new();
        add_whole(text, &mut whole);
        let mut words: Vec<String> = Vec::new();
        for word in text.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
            let word = word.trim_start_matches(is_accent);
            let word: String = word.chars().take(WORD).collect();
            if !word.is_empty() && !words.contains(&word) && words.len() < QUERY / WORD {
                words.push(word);
            }
        }
        // Where `word` is found, `wo` is, too.
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let mut at = 0..;
        words.retain(|_| {
            let word = at.next().map(|at: usize| &lower[at]);
            let is_more = |other: &String| word.is_some_and(|w| other != w && other.starts_with(w));
            !lower.iter().any(is_more)
        });
        if words.len() > WORDS {
            let mut lengths: Vec<usize> = words.iter().map(String::len).collect();
            lengths.sort_unstable_by(|one, two| two.cmp(one));
            let shortest = lengths[WORDS - 1];
            words.retain(|word| word.len() >= shortest);
            words.truncate(WORDS);
        }
        Self { words, whole }
    }

    /// The query in FTS5 syntax: every word has to be found, as the beginning of a word.
    ///
    /// All of it is quoted, so that no part of the query is taken for syntax.
    pub(super) fn expression(&self) -> String {
        let mut out = String::new();
        for word in &self.words {
            let is_phrase = word.chars().next_back().is_some_and(is_unspaced);
            out.push_str(if out.is_empty() { "\"" } else { " \"" });
            out.push_str(&indexed(word));
            // Single characters are whole words.
            out.push_str(if is_phrase { "\"" } else { "\" *" });
        }
        out
    }

    /// The query for items with exactly this name; `None` without a word.
    pub(super) fn whole_expression(&self) -> Option<String> {
        let whole = self.whole.trim_start();
        (!whole.is_empty()).then(|| format!("\"{whole}\""))
    }

    /// The words for comparison with folded text; without any, the query itself.
    pub(super) fn folded(&self, text: &str) -> Vec<Vec<char>> {
        let fold = |word: &str| word.chars().flat_map(fold).collect();
        if !self.words.is_empty() {
            return self.words.iter().map(|word| fold(word)).collect();
        }
        let signs = cut(text, WORDS * WORD).split_whitespace().take(WORDS);
        signs.map(fold).collect()
    }
}

/// A character without case and accents, as the tokenizer folds it.
pub(super) fn fold(c: char) -> impl Iterator<Item = char> {
    // Above this there are no precomposed letters with accents.
    let is_plain = c.is_ascii() || c >= '\u{2000}';
    let parts = (!is_plain).then(|| std::iter::once(c).nfd().filter(|c| !is_accent(*c)));
    let whole = is_plain.then_some(c);
    let parts = whole.into_iter().chain(parts.into_iter().flatten());
    parts.flat_map(char::to_lowercase)
}

/// Adds a text without case and accents.
pub(super) fn fold_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        let start = out.len();
        out.push_str(text);
        out[start..].make_ascii_lowercase();
    } else {
        out.extend(text.chars().flat_map(fold));
    }
}

/// Whether a word begins with this character, given the one before it.
pub(super) fn is_start(before: Option<char>, c: char) -> bool {
    let Some(before) = before else {
        return is_word(c);
    };
    let is_hump = before.is_lowercase() && c.is_uppercase();
    is_word(c) && (is_hump || !is_word(before) || is_unspaced(c) || is_unspaced(before))
}

/// A combining accent, which follows its letter.
fn is_accent(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// The beginning of a text, of at most that many bytes.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether a character may be part of a word. The tokenizer is more precise: where it splits a word
/// of ours, it does so in texts, too, and the query is a phrase.
fn is_word(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => c.is_ascii_alphanumeric(),
        // Joiners occur in the middle of words.
        '\u{200c}' | '\u{200d}' => true,
        // Punctuation and symbols: of all scripts, of East Asia, of double width.
        '\u{2000}'..='\u{206f}'
        | '\u{2190}'..='\u{2bff}'
        | '\u{2e00}'..='\u{2e7f}'
        | '\u{3001}'..='\u{3004}'
        | '\u{3008}'..='\u{3020}'
        | '\u{3030}'
        | '\u{303d}'..='\u{3040}'
        | '\u{30fb}'
        | '\u{fe0e}'..='\u{fe1f}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}'
        | '\u{ff3b}'..='\u{ff40}'
        | '\u{ff5b}'..='\u{ff65}'
        | '\u{1f000}'..='\u{1faff}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{f0000}'..='\u{10ffff}' => false,
        '\u{80}'..='\u{bf}' => c.is_alphanumeric(),
        c => !c.is_whitespace() && !c.is_control(),
    }
}

/// Whether a character belongs to a script that is written without spaces: Thai, Lao, Myanmar,
/// Khmer, Kana and Han. Hangul has spaces, but not inside its many compounds.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e81}'..='\u{ece}'
        | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{109f}' | '\u{a9e0}'..='\u{a9fe}'
        | '\u{aa60}'..='\u{aa7f}' | '\u{1780}'..='\u{17d3}' | '\u{1100}'..='\u{11ff}'
        | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{318e}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7fb}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ffdc}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> String {
        let mut out = String::new();
        add_parts(text, &mut out);
        out
    }

    #[test]
    fn characters_without_spaces_between_them_stand_alone() {
        let seams = |text: &str| indexed(text).replace(SEAM, "|");
        assert_eq!(seams("plain text, as it is"), "plain text, as it is");
        assert_eq!(seams("审查代码"), "审|查|代|码");
        assert_eq!(seams("用Rust编写。好"), "用|Rust|编|写|。|好");
        assert_eq!(seams("코드 리뷰 über"), "코|드| |리|뷰| über");
        assert_eq!(seams("a\u{2}b\u{1f}c\nd"), "a b c\nd");
    }

    #[test]
    fn words_with_humps_have_parts() {
        assert_eq!(
            parts("codeReview and HTTPServer2"),
            " code Review HTTP Server2"
        );
        assert_eq!(parts("plain Words HERE über"), "");
        assert_eq!(parts("caféBar"), " café Bar");
    }

    #[test]
    fn a_query_is_quoted_word_by_word() {
        let expression = |text: &str| QueryWords::of(text).expression();
        assert_eq!(expression("cod rev"), r#""cod" * "rev" *"#);
        assert_eq!(
            expression(r#"name:"x" OR NEAR(a, b)*"#),
            r#""name" * "x" * "OR" * "NEAR" * "a" * "b" *"#
        );
        assert_eq!(expression("代码"), "\"代\u{1f}码\"");
        assert_eq!(expression(" - \" * ^ "), "");
        assert_eq!(QueryWords::of("!").whole_expression(), None);
    }

    #[test]
    fn one_word_too_many_costs_the_shortest_one() {
        let words: Vec<String> = (0..WORDS).map(|at| format!("word{at:02}")).collect();
        let text = words.join(" ");
        assert_eq!(QueryWords::of(&text).words, words);
        assert_eq!(QueryWords::of(&format!("wee {text}")).words, words);
        assert_eq!(QueryWords::of("w Wor word wo word").words, ["word"]);
        let long = "x".repeat(WORD + 1);
        assert_eq!(QueryWords::of(&long).words, [&long[..WORD]]);
        assert_eq!(QueryWords::of(&long[..WORD]).words, [&long[..WORD]]);
    }
}
