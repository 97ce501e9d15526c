//! Words: how texts are indexed, and how a query asks for them.
//!
//! SQLite's tokenizer splits at characters that are not letters, digits or marks, and folds case
//! and diacritics. This module handles the rest: scripts without spaces and names like
//! `codeReview`.

use std::borrow::Cow;
use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;

/// Separates two characters of scripts without spaces: the tokenizer splits at it, and snippets
/// remove it again.
pub(super) const SEAM: char = '\u{1f}';

/// Begins the word that stands for a whole name. A query cannot contain it by accident: it is not a
/// letter, but the tokenizer treats it as one.
const WHOLE: char = '\u{e000}';

/// Bytes of a query that are read.
const QUERY: usize = 16 * 1024;
/// Maximum number of words that a result can have all of. A longer query is a sentence, of which
/// results have some words.
const WORDS: usize = 16;
/// Maximum number of words of a sentence that are looked for; of more, the longest are used.
const TELLING: usize = 32;
/// Characters of a word that count.
const WORD: usize = 64;
/// Letters from which on a stem stands for all words that begin with it.
const STEM: usize = 4;
/// Endings of English words, the longest of each kind first: without them, `paginate` finds
/// *pagination* and `plots` finds *plot*.
const ENDINGS: [&str; 15] = [
    "ations", "ation", "ions", "ings", "ion", "ing", "ies", "ers", "ed", "es", "er", "ly", "s",
    "e", "y",
];

/// English words that say nothing about what a sentence is about, sorted. Words that most texts of
/// any language share hardly count in the rank, but a small library has too few texts to show them.
const FUNCTION_WORDS: [&str; 90] = [
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "before", "but", "by", "can", "could", "did", "do", "does", "for", "from", "get",
    "had", "has", "have", "help", "here", "how", "i", "if", "in", "into", "is", "it", "its",
    "just", "let", "like", "make", "me", "might", "my", "need", "no", "not", "of", "on", "one",
    "or", "our", "out", "please", "should", "so", "some", "such", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "up", "us", "use", "using", "want",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "why", "will", "with",
    "would", "you", "your",
];

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

/// A text as it is indexed: its words in lower case, each once. More of the same would say little
/// more about the text, but take time and room each time, and let long texts win. A text in a script
/// without spaces stays as it is, because there the order of characters counts.
pub(super) fn indexed_text(text: &str) -> String {
    if !text.is_ascii() && text.contains(is_unspaced) {
        return indexed(text).into_owned();
    }
    let text = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut known: HashSet<&str> = HashSet::with_capacity(256);
    for word in text.split(|c| !is_word(c)) {
        let word = word.trim_start_matches(is_accent);
        if !word.is_empty() && known.insert(word) {
            out.push_str(word);
            out.push(' ');
        }
    }
    out
}

/// Adds the parts of words such as `codeReview` and `HTTPServer`, each as a word.
pub(super) fn add_parts(text: &str, out: &mut String) {
    if text.is_ascii() {
        return add_ascii_parts(text, out);
    }
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.is_ascii() {
            add_ascii_parts(word, out);
        } else {
            add_parts_of_word(word, out);
        }
    }
}

/// The same for ASCII: most words have no such parts, and pairs of bytes show it much faster than
/// characters.
fn add_ascii_parts(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let is_hump = |pair: &[u8]| pair[1].is_ascii_uppercase() && pair[0].is_ascii_alphanumeric();
    let is_outside = |byte: &u8| !byte.is_ascii_alphanumeric();
    let mut from = 0;
    while let Some(at) = bytes[from..].windows(2).position(is_hump) {
        let hump = from + at;
        let before = bytes[from..hump].iter().rposition(is_outside);
        let start = before.map_or(from, |before| from + before + 1);
        let length = bytes[hump..].iter().position(is_outside);
        from = length.map_or(bytes.len(), |length| hump + length);
        add_parts_of_word(&text[start..from], out);
    }
}

fn add_parts_of_word(word: &str, out: &mut String) {
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
    /// Each word, or each run of characters of scripts without spaces: a result may have all of
    /// them. Empty if there are too many.
    pub(super) words: Vec<String>,
    /// Those that tell what the query is about: a result may have some of them.
    telling: Vec<String>,
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
        let mut known: HashSet<String> = HashSet::new();
        for word in text.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
            let word = word.trim_start_matches(is_accent);
            let word: String = word.chars().take(WORD).collect();
            if !word.is_empty() && words.len() < QUERY / WORD && known.insert(word.to_lowercase()) {
                words.push(word);
            }
        }
        let telling = telling(&words);
        // Where `word` is found, `wo` is, too.
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let mut at = 0..;
        words.retain(|_| {
            let word = at.next().map(|at: usize| &lower[at]);
            let is_more = |other: &String| word.is_some_and(|w| other != w && other.starts_with(w));
            !lower.iter().any(is_more)
        });
        if words.len() > WORDS {
            words.clear();
        }
        Self {
            words,
            telling,
            whole,
        }
    }

    /// The query in FTS5 syntax: every word has to be found, as the beginning of a word.
    ///
    /// All of it is quoted, so that no part of the query is taken for syntax. `None` if no result
    /// can have all words.
    pub(super) fn expression(&self) -> Option<String> {
        let mut out = String::new();
        for word in &self.words {
            // Single characters are whole words.
            let is_phrase = word.chars().next_back().is_some_and(is_unspaced);
            add_quoted(word, !is_phrase, " ", &mut out);
        }
        (!out.is_empty()).then_some(out)
    }

    /// The query in FTS5 syntax: one word that tells what it is about is enough, or a word that
    /// begins with the stem of one.
    pub(super) fn some_expression(&self) -> Option<String> {
        let mut out = String::new();
        for word in &self.telling {
            add_quoted(word, false, " OR ", &mut out);
            let stem = stem(word);
            if stem.len() >= STEM && !stem.contains(is_unspaced) {
                add_quoted(stem, true, " OR ", &mut out);
            }
        }
        (!out.is_empty()).then_some(out)
    }

    /// The query for items with exactly this name; `None` without a word.
    pub(super) fn whole_expression(&self) -> Option<String> {
        let whole = self.whole.trim_start();
        (!whole.is_empty()).then(|| format!("\"{whole}\""))
    }

    /// The words of a result with all of them, for comparison with folded text; without any, the
    /// query itself.
    pub(super) fn folded(&self, text: &str) -> Vec<Vec<char>> {
        if !self.words.is_empty() {
            return folded(self.words.iter().map(String::as_str));
        }
        let signs = cut(text, WORDS * WORD).split_whitespace().take(WORDS);
        signs
            .map(|sign| sign.chars().flat_map(fold).collect())
            .collect()
    }

    /// The same for a result with some of them.
    pub(super) fn some_folded(&self) -> Vec<Vec<char>> {
        folded(self.telling.iter().map(|word| stem(word)))
    }
}

fn folded<'w>(words: impl Iterator<Item = &'w str>) -> Vec<Vec<char>> {
    words
        .map(|word| word.chars().flat_map(fold).collect())
        .collect()
}

/// Adds a word in quotes to a query.
fn add_quoted(word: &str, is_beginning: bool, separator: &str, out: &mut String) {
    if !out.is_empty() {
        out.push_str(separator);
    }
    out.push('"');
    out.push_str(&indexed(word));
    out.push_str(if is_beginning { "\" *" } else { "\"" });
}

/// The words that tell what a query is about, in its order: without function words, unless there
/// are no others. A sentence in a script without spaces becomes its pairs of characters.
fn telling(words: &[String]) -> Vec<String> {
    let is_function_word = |word: &&String| {
        FUNCTION_WORDS
            .binary_search(&&*word.to_ascii_lowercase())
            .is_ok()
    };
    let mut telling: Vec<String> = Vec::new();
    for word in words.iter().filter(|word| !is_function_word(word)) {
        add_pieces(word, &mut telling);
    }
    if telling.is_empty() {
        for word in words {
            add_pieces(word, &mut telling);
        }
    }
    let mut known = HashSet::new();
    telling.retain(|piece| known.insert(piece.clone()));
    if telling.len() > TELLING {
        let mut lengths: Vec<usize> = telling.iter().map(String::len).collect();
        lengths.sort_unstable_by(|one, two| two.cmp(one));
        let shortest = lengths[TELLING - 1];
        telling.retain(|word| word.len() >= shortest);
        telling.truncate(TELLING);
    }
    telling
}

/// A word without its ending, if enough of it remains.
fn stem(word: &str) -> &str {
    let stems = ENDINGS.iter().filter_map(|ending| {
        let at = word.len().checked_sub(ending.len())?;
        let has_ending = word.is_ascii() && word[at..].eq_ignore_ascii_case(ending);
        (has_ending && at >= STEM).then(|| &word[..at])
    });
    stems.into_iter().next().unwrap_or(word)
}

/// Adds a word, or the pairs of characters of each part that has no spaces.
fn add_pieces(word: &str, out: &mut Vec<String>) {
    if word.is_ascii() || !word.contains(is_unspaced) {
        out.push(word.to_owned());
        return;
    }
    let characters: Vec<char> = word.chars().collect();
    for part in characters.chunk_by(|one, two| is_unspaced(*one) == is_unspaced(*two)) {
        if part.len() <= 2 || !is_unspaced(part[0]) {
            out.push(part.iter().collect());
        } else {
            out.extend(part.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
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
    c >= '\u{e01}'
        && matches!(c,
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
        assert_eq!(parts("(aB)2C,dE F-gH"), " a B d E g H");
        assert_eq!(parts("aB – cD"), " a B c D");
        assert_eq!(parts("plain Words HERE über"), "");
        assert_eq!(parts("caféBar"), " café Bar");
    }

    #[test]
    fn a_text_has_each_word_once() {
        assert_eq!(indexed_text("Go go, GO; go! gopher go"), "go gopher ");
        assert_eq!(indexed_text("\u{301}été — été\u{7}"), "été ");
        assert_eq!(indexed_text("代 go go"), indexed("代 go go"));
    }

    #[test]
    fn a_query_is_quoted_word_by_word() {
        let expression = |text: &str| QueryWords::of(text).expression().unwrap_or_default();
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
    fn a_query_is_about_its_telling_words() {
        let some = |text: &str| QueryWords::of(text).some_expression().unwrap_or_default();
        assert_eq!(
            some("How do I review the \"tests\" of a PR?"),
            r#""review" OR "review" * OR "tests" OR "test" * OR "PR""#
        );
        assert_eq!(some("how to do it"), r#""how" OR "to" OR "do" OR "it""#);
        assert_eq!(
            some("審查代码"),
            "\"審\u{1f}查\" OR \"查\u{1f}代\" OR \"代\u{1f}码\""
        );
        assert_eq!(some("go编写 x"), "\"go\" OR \"编\u{1f}写\" OR \"x\"");
        assert_eq!(some(" - "), "");
        let is_sorted = FUNCTION_WORDS.is_sorted();
        assert!(is_sorted, "for the binary search");
    }

    #[test]
    fn a_stem_is_what_remains_without_an_ending() {
        for (word, expected) in [
            ("paginate", "paginat"),
            ("Migrations", "Migr"),
            ("queries", "quer"),
            ("tests", "test"),
            ("ring", "ring"),
            ("uses", "uses"),
            ("Größe", "Größe"),
        ] {
            assert_eq!(stem(word), expected);
        }
    }

    #[test]
    fn a_long_query_is_a_sentence() {
        let words = |count| {
            (0..count)
                .map(|at| format!("word{at:02}"))
                .collect::<Vec<_>>()
        };
        let query = |count| QueryWords::of(&words(count).join(" "));
        assert_eq!(query(WORDS).words, words(WORDS));
        assert_eq!(query(WORDS + 1).words, [""; 0]);
        assert_eq!(query(WORDS + 1).expression(), None);
        assert_eq!(query(TELLING).telling, words(TELLING));
        let text = format!("wee {}", words(TELLING).join(" "));
        assert_eq!(QueryWords::of(&text).telling, words(TELLING), "the longest");
    }

    #[test]
    fn a_beginning_of_another_word_is_no_word() {
        assert_eq!(QueryWords::of("w Wor word wo word").words, ["word"]);
        let long = "x".repeat(WORD + 1);
        assert_eq!(QueryWords::of(&long).words, [&long[..WORD]]);
        assert_eq!(QueryWords::of(&long[..WORD]).words, [&long[..WORD]]);
    }
}
