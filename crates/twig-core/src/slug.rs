//! Names made from any text, 1 to 64 bytes long: of letters of any script, or of `[a-z0-9_-]` only,
//! which every client accepts.
//!
//! The same text gives the same name on every machine and in every run, and two texts in one
//! library never share a name.

use std::collections::BTreeSet;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::hidden::is_letter;

/// The longest name, in bytes.
pub const LIMIT: usize = 64;

/// A name made from a title, a file's name or any other text.
///
/// Letters of other scripts are transliterated to Latin ones, and runs of other characters become
/// one `-`. If the result is too long or empty, a part of the text's digest is added.
pub fn slug(text: &str) -> String {
    let latin = deunicode::deunicode_with_tofu(text, "-");
    let mut name = String::with_capacity(latin.len().min(2 * LIMIT));
    for c in latin.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() {
        return format!("prompt-{}", digest(text, 4));
    }
    if name.len() <= LIMIT {
        return name.to_owned();
    }
    with_digest(name, &digest(text, 4))
}

/// The same with letters of any script kept, in lower case and composed (NFC).
///
/// A text without letters outside ASCII has the same name from both.
pub fn native_slug(text: &str) -> String {
    let composed: String = text.nfc().flat_map(char::to_lowercase).nfc().collect();
    if !composed.chars().any(|c| !c.is_ascii() && is_letter(c)) {
        return slug(text);
    }
    let mut name = String::with_capacity(composed.len().min(2 * LIMIT));
    let mut push = |c: char| {
        if is_letter(c) || c == '_' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    };
    for c in composed.chars() {
        if is_letter(c) {
            push(c);
        } else if !is_combining_mark(c) {
            let latin = deunicode::deunicode_char(c).unwrap_or("-");
            let latin = if latin.is_empty() { "-" } else { latin };
            latin.chars().for_each(|c| push(c.to_ascii_lowercase()));
        }
    }
    let name = name.trim_end_matches('-');
    if name.len() <= LIMIT {
        return name.to_owned();
    }
    with_digest(name, &digest(&composed, 4))
}

/// A name in ASCII for clients that replace all other letters; `None` if the name is in ASCII.
///
/// It keeps what can be read in Latin letters and ends with a part of the name's digest, so that two
/// names never share it.
pub fn short_form(name: &str) -> Option<String> {
    if name.is_ascii() {
        return None;
    }
    let latin = slug(&name.replace(|c: char| !is_read_in_latin(c), "-"));
    let is_nothing = !name.chars().any(|c| is_read_in_latin(c) && is_letter(c));
    let latin = if is_nothing { "prompt" } else { &*latin };
    Some(with_digest(latin, &digest(name, 4)))
}

/// The name of a file on every system: in Latin letters if the text can be read in them.
pub fn file_slug(text: &str) -> String {
    let native = native_slug(text);
    match short_form(&native) {
        Some(short) if !text.nfc().all(|c| !is_letter(c) || is_read_in_latin(c)) => short,
        _ => slug(text),
    }
}

/// True for the scripts whose letters have one reading in Latin letters: Latin, Greek and Cyrillic.
/// Others, such as Han, are read differently in each language.
fn is_read_in_latin(c: char) -> bool {
    c < '\u{530}' || ('\u{1e00}'..='\u{1fff}').contains(&c)
}

/// Assigns the names of one library: unique, ignoring case.
#[derive(Debug, Clone, Default)]
pub struct Unique {
    taken: BTreeSet<String>,
}

impl Unique {
    /// Starts without any taken name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Marks a name as taken.
    pub fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_lowercase());
    }

    /// True if this name is taken.
    pub fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(&name.to_lowercase())
    }

    /// Returns the name as it is for the first key that asks. Later keys get a part of their own
    /// digest appended, so that the result does not depend on the order of the others. A key is
    /// unique, such as a path.
    pub fn name(&mut self, wanted: &str, key: &str) -> String {
        if self.taken.insert(wanted.to_lowercase()) {
            return wanted.to_owned();
        }
        let mut turn = 0_u32;
        loop {
            let key = match turn {
                0 => key.to_owned(),
                turn => format!("{key}\n{turn}"),
            };
            let name = with_digest(wanted, &digest(&key, 3));
            if self.taken.insert(name.to_lowercase()) {
                return name;
            }
            turn += 1;
        }
    }
}

/// A name followed by a digest, cut so that both fit.
fn with_digest(name: &str, digest: &str) -> String {
    let room = LIMIT - digest.len() - 1;
    let end = (0..=room.min(name.len()))
        .rev()
        .find(|end| name.is_char_boundary(*end));
    let kept = &name[..end.unwrap_or_default()];
    format!("{}-{digest}", kept.trim_end_matches('-'))
}

/// The first bytes of a text's digest, in hexadecimal.
pub fn digest(text: &str, bytes: usize) -> String {
    let mut hex = String::with_capacity(2 * bytes);
    for byte in Sha256::digest(text.as_bytes()).iter().take(bytes) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::name::PromptName;

    #[test]
    fn titles_become_readable_names() {
        let cases = [
            ("Life Coach", "life-coach"),
            ("Недвижимость ", "nedvizhimost"),
            ("確定申告について", "que-ding-shen-gao-nituite"),
            (
                "Harry Potter / Marauder’s Map",
                "harry-potter-marauder-s-map",
            ),
            ("svelte:a11y", "svelte-a11y"),
            ("Crème brûlée", "creme-brulee"),
            ("snake_case", "snake_case"),
            ("--x--", "x"),
        ];
        for (title, name) in cases {
            assert_eq!(slug(title), name, "{title}");
        }
    }

    #[test]
    fn letters_of_any_script_are_kept() {
        let cases = [
            ("Life Coach", "life-coach"),
            ("日本語レビュー", "日本語レビュー"),
            ("確定申告について (2026)", "確定申告について-2026"),
            ("Недвижимость ", "недвижимость"),
            ("Crème brûlée", "crème-brûlée"),
            ("Cre\u{300}me", "crème"),
            ("🎉 Release", "tada-release"),
            ("İstanbul", "istanbul"),
            ("レビュー:コード", "レビュー-コード"),
        ];
        for (title, name) in cases {
            assert_eq!(native_slug(title), name, "{title}");
        }
    }

    #[test]
    fn other_scripts_have_a_short_form() {
        assert_eq!(short_form("review"), None);
        let japanese = short_form("日本語レビュー").expect("one");
        assert_eq!(japanese, format!("prompt-{}", digest("日本語レビュー", 4)));
        let mixed = short_form("api-レビュー").expect("one");
        assert!(mixed.starts_with("api-") && mixed.len() == 12, "{mixed}");
        assert!(short_form("crème").is_some_and(|name| name.starts_with("creme-")));
        assert_eq!(file_slug("Crème brûlée"), "creme-brulee");
        assert_eq!(file_slug("日本語レビュー"), japanese);
        assert_eq!(file_slug("Review!"), "review");
    }

    #[test]
    fn nothing_left_is_told_apart_by_digest() {
        let (dots, bars) = (slug("..."), slug("|||"));
        assert!(dots.starts_with("prompt-") && dots.len() == 15, "{dots}");
        assert_ne!(dots, bars);
    }

    #[test]
    fn long_titles_are_cut_and_told_apart() {
        let one = slug(&format!("{} one", "word ".repeat(20)));
        let two = slug(&format!("{} two", "word ".repeat(20)));
        assert!(one.len() <= LIMIT && one.starts_with("word-word-"), "{one}");
        assert_ne!(one, two);
        assert_eq!(slug(&"a".repeat(LIMIT)), "a".repeat(LIMIT));
        assert_eq!(slug(&"a".repeat(LIMIT + 1)).len(), LIMIT);
    }

    #[test]
    fn the_first_keeps_its_name() {
        let mut names = Unique::new();
        names.reserve("Taken");
        assert_eq!(names.name("life-coach", "1"), "life-coach");
        let second = names.name("life-coach", "2");
        assert!(
            second.starts_with("life-coach-") && second.len() == 17,
            "{second}"
        );
        assert_ne!(names.name("life-coach", "2"), second);
        assert_ne!(names.name("taken", "3"), "taken");
        assert!(names.is_taken("LIFE-coach"));
    }

    #[test]
    fn a_long_name_is_cut_to_stay_unique() {
        let mut names = Unique::new();
        let long = "b".repeat(LIMIT);
        assert_eq!(names.name(&long, "1"), long);
        assert_eq!(names.name(&long, "2").len(), LIMIT);
    }

    proptest! {
        #[test]
        fn every_text_has_a_name(text in ".{0,200}") {
            let name = slug(&text);
            let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
            prop_assert!(!name.is_empty() && name.len() <= LIMIT);
            prop_assert!(name.chars().all(is_good), "{name}");
            prop_assert!(PromptName::parse(&name).is_ok(), "{name}");
            prop_assert_eq!(slug(&text), name);
        }

        #[test]
        fn every_text_has_a_native_name(text in ".{0,200}") {
            let name = native_slug(&text);
            prop_assert!(!name.is_empty() && name.len() <= LIMIT, "{name}");
            prop_assert!(PromptName::parse(&name).is_ok(), "{name}");
            prop_assert_eq!(native_slug(&name), name.clone(), "{}", text);
            let short = short_form(&name);
            prop_assert_eq!(short.is_none(), name.is_ascii());
            let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
            let short = short.unwrap_or(name);
            prop_assert!(short.len() <= LIMIT && short.chars().all(is_good), "{short}");
            prop_assert!(file_slug(&text).chars().all(is_good));
        }

        #[test]
        fn names_differ(titles in proptest::collection::vec("[aAbB]{1,2}", 1..40)) {
            let mut names = Unique::new();
            let mut seen = BTreeSet::new();
            for (at, title) in titles.iter().enumerate() {
                let name = names.name(&slug(title), &at.to_string());
                prop_assert!(seen.insert(name.to_lowercase()));
            }
        }
    }
}
