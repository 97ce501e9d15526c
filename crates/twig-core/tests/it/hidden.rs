//! Hidden characters: every attack is refused, and nothing that people write.

mod attacks;
mod benign;
mod labels;
mod store;

use proptest::prelude::*;
use proptest::sample::select;
use twig_core::hidden::{HiddenCharacter, TextPlace, find};
use twig_core::name::check_argument_name;
use twig_core::store::{Noun, StoreName};
use twig_core::{LibraryName, PromptName};
use twig_testkit::assert_linear;

const PLACES: [TextPlace; 2] = [TextPlace::Label, TextPlace::Body];

fn sentence(text: &str, place: TextPlace) -> String {
    find(text, place).map_or_else(String::new, |found| found.to_string())
}

#[test]
fn every_attack_is_refused() {
    for (name, text) in attacks::EVERYWHERE {
        for place in PLACES {
            assert!(find(text, place).is_some(), "{name} in {place:?}");
        }
    }
}

#[test]
fn labels_are_refused_what_content_may_have() {
    for (name, text) in attacks::LABELS {
        assert!(find(text, TextPlace::Label).is_some(), "{name}");
        assert_eq!(find(text, TextPlace::Body), None, "{name}");
    }
}

#[test]
fn nothing_that_people_write_is_refused() {
    for text in benign::EVERYWHERE {
        for place in PLACES {
            let found = find(text, place).map(|found| found.to_string());
            assert_eq!(found, None, "{text:?} in {place:?}");
        }
    }
    for text in benign::BODIES {
        let found = find(text, TextPlace::Body).map(|found| found.to_string());
        assert_eq!(found, None, "{text:?}");
        assert!(find(text, TextPlace::Label).is_some(), "{text:?}");
    }
}

#[test]
fn no_name_has_them() {
    for (name, text) in attacks::EVERYWHERE.iter().chain(&attacks::LABELS) {
        assert!(PromptName::parse(text).is_err(), "{name}");
        assert!(PromptName::of_definition(text).is_err(), "{name}");
        assert!(StoreName::parse(Noun::Prompt, text).is_err(), "{name}");
        assert!(check_argument_name(text).is_err(), "{name}");
        if let Some(library) = LibraryName::from_folder(text) {
            let is_plain = |c: char| c.is_alphanumeric() || c == '_';
            assert!(library.as_str().chars().all(is_plain), "{name}");
            assert_eq!(find(library.as_str(), TextPlace::Label), None, "{name}");
        }
    }
}

/// Of all characters: those that names may have are seen.
#[test]
fn every_letter_of_a_name_is_seen() {
    for c in '\0'..=char::MAX {
        let text = c.to_string();
        if PromptName::parse(&text).is_ok() || LibraryName::from_folder(&text).is_some() {
            assert_eq!(find(&text, TextPlace::Label), None, "U+{:04X}", c as u32);
        }
    }
}

#[test]
fn the_sentence_says_what_where_and_what_to_do() {
    assert_eq!(
        sentence("Größe\u{200b}", TextPlace::Label),
        "has an invisible character (U+200B) at position 6, which people do not see: remove it"
    );
    assert_eq!(
        sentence("# One\n\nzwei ü\u{1b}[31m\n", TextPlace::Body),
        "has a control character (U+001B) at line 3, column 7, which terminals obey: remove it"
    );
    assert_eq!(
        sentence("one\nשלום \u{2067}x\n", TextPlace::Body),
        "has a direction control (U+2067) at line 2, column 6, which changes the order in which \
         people read: remove it, or end it on its own line, among right-to-left letters"
    );
    assert_eq!(
        sentence("a\u{e0041}", TextPlace::Label),
        "has a tag character (U+E0041) at position 2, which people do not see: remove it"
    );
    assert_eq!(
        sentence("a\u{200d}b", TextPlace::Body),
        "has an invisible joiner (U+200D) at position 2, which joins nothing there: remove it, \
         or put it between emoji or letters that need it"
    );
    assert_eq!(
        sentence("\u{e000}", TextPlace::Label),
        "has a character without a common meaning (U+E000) at position 1, which each reader sees \
         differently: remove it"
    );
}

#[test]
fn the_outermost_open_control_is_named() {
    let offset = |text: &str| find(text, TextPlace::Body).map(|found| found.offset);
    assert_eq!(offset("ש \u{2067}a \u{2066}b\u{2069}"), Some(3));
    assert_eq!(offset("ש \u{2067}a\u{2069} \u{2066}b"), Some(11));
    assert_eq!(offset("ש a\u{2069} \u{2066}b"), Some(4));
}

/// A line of a million controls is looked at once, not once for each of them.
#[test]
fn many_controls_in_one_line_take_linear_time() {
    let pair = "\u{2067}\u{2069}\u{200f}";
    let text = |count| format!("ש{}", pair.repeat(count));
    assert_linear("pairs", 75_000, text, |text| {
        assert_eq!(find(text, TextPlace::Body), None);
    });
    let open = |count| format!("ש{}", "\u{2067}".repeat(count));
    assert_linear("open", 225_000, open, |text| {
        assert_eq!(
            find(text, TextPlace::Body).map(|found| found.offset),
            Some(2)
        );
    });
}

/// Wherever in a long text an attack begins, whatever the pieces in which the text is looked at.
#[test]
fn an_attack_is_found_at_every_place_of_a_long_text() {
    for before in 0..400 {
        let text = format!("{}\u{1b}{}", "x".repeat(before), "y".repeat(400 - before));
        for place in PLACES {
            let found = find(&text, place).map(|found: HiddenCharacter| found.offset);
            assert_eq!(found, Some(before));
        }
    }
}

fn benign() -> impl Strategy<Value = String> {
    let text = select(&benign::EVERYWHERE[..]);
    proptest::collection::vec(text, 0..4).prop_map(|texts| texts.join("\n"))
}

proptest! {
    #[test]
    fn any_text_is_looked_at(text in any::<String>()) {
        for place in PLACES {
            if let Some(found) = find(&text, place) {
                prop_assert!(text[found.offset..].starts_with(found.character));
                prop_assert!(!found.to_string().contains(found.character) || found.character.is_ascii());
            }
        }
        // Whatever content may not have, a title may not have either.
        prop_assert!(find(&text, TextPlace::Body).is_none() || find(&text, TextPlace::Label).is_some());
    }

    #[test]
    fn any_mix_of_odd_characters_is_looked_at(
        text in "([a\n\r ש]|[\u{200b}-\u{200f}]|[\u{2028}-\u{202e}]|[\u{2066}-\u{2069}]|🏴|[\u{e0061}-\u{e007f}]|[\u{fe00}-\u{fe0f}]|👩|ی){0,24}"
    ) {
        for place in PLACES {
            let found = find(&text, place);
            // What was looked at before it is fine, as far as its line goes.
            if let Some(found) = found {
                let lines = text[..found.offset].rfind('\n').map_or("", |at| &text[..=at]);
                prop_assert_eq!(find(lines, place).map(|it| it.offset), None);
            }
        }
    }

    #[test]
    fn benign_lines_around_it_do_not_hide_an_attack(
        before in benign(),
        attack in select(&attacks::EVERYWHERE[..]),
        after in benign(),
    ) {
        let text = format!("{before}\n{}\n{after}", attack.1);
        for place in PLACES {
            prop_assert!(find(&text, place).is_some(), "{}", attack.0);
        }
    }

    #[test]
    fn benign_words_around_it_do_not_hide_an_attack(
        before in "[a-z ,.äß]{0,200}",
        attack in select(&attacks::EVERYWHERE[..]),
        after in "[a-z ,.äß]{0,200}",
    ) {
        let text = format!("{before}{}{after}", attack.1);
        for place in PLACES {
            prop_assert!(find(&text, place).is_some(), "{}", attack.0);
        }
    }

    #[test]
    fn benign_texts_together_are_benign(text in benign()) {
        for place in PLACES {
            prop_assert_eq!(find(&text, place), None);
        }
    }
}
