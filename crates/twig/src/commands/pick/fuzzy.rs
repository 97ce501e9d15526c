//! Fuzzy matching: a text fits if it has the letters of every typed word in their order, and the better,
//! the more of them follow each other or begin words.
//!
//! Written here because crates that do it are larger than all other parts of `pick`: vectorised for
//! millions of texts, which nobody picks from.

/// What a letter counts that follows the one before it.
const FOLLOWS: i32 = 9;
/// What a letter counts that begins a word.
const BEGINS: i32 = 8;
/// What a letter counts that begins a part of a word, as in `codeReview`.
const BEGINS_PART: i32 = 6;
/// No way to match.
const NONE: i32 = i32::MIN / 2;
/// The part of a text that is compared, in characters.
const COMPARED: usize = 500;

/// What was typed: words in lower case.
#[derive(Debug)]
pub(super) struct FuzzyQuery {
    words: Vec<Vec<char>>,
}

/// A text, prepared to be compared with queries.
#[derive(Debug)]
pub(super) struct FuzzyText {
    letters: Vec<char>,
    /// What each letter counts by its place.
    places: Vec<i32>,
}

impl FuzzyQuery {
    pub(super) fn new(query: &str) -> Self {
        let words = query.split_whitespace();
        let words = words.map(|word| word.chars().map(lower).collect());
        Self {
            words: words.collect(),
        }
    }

    /// The same with one letter less, in every possible way: for one that is wrong.
    pub(super) fn with_a_letter_less(&self) -> Vec<Self> {
        let mut queries = Vec::new();
        for (at, word) in self.words.iter().enumerate() {
            for letter in 0..word.len() {
                let mut words = self.words.clone();
                words[at].remove(letter);
                queries.push(Self { words });
            }
        }
        queries
    }

    /// How well a text fits; `None` if it does not.
    pub(super) fn score(&self, text: &FuzzyText) -> Option<i32> {
        self.words.iter().try_fold(0, |sum, word| {
            let score = text.score(word)?;
            Some(sum + score)
        })
    }
}

impl FuzzyText {
    pub(super) fn new(text: &str) -> Self {
        let mut before = ' ';
        let letters = text.chars().take(COMPARED);
        let (letters, places) = letters
            .map(|letter| {
                let place = match (before, letter) {
                    (before, letter) if letter.is_alphanumeric() && !before.is_alphanumeric() => {
                        BEGINS
                    }
                    (before, letter) if before.is_lowercase() && letter.is_uppercase() => {
                        BEGINS_PART
                    }
                    _ => 0,
                };
                before = letter;
                (lower(letter), place)
            })
            .unzip();
        Self { letters, places }
    }

    pub(super) fn len(&self) -> usize {
        self.letters.len()
    }

    /// The best sum over all ways in which the letters of a word stand here in their order.
    fn score(&self, word: &[char]) -> Option<i32> {
        if word.is_empty() {
            return Some(0);
        }
        let mut rest = self.letters.iter();
        if !word.iter().all(|letter| rest.any(|it| it == letter)) {
            return None;
        }
        // For each place the best sum of the letters so far, if the last of them stands there.
        let mut sums = vec![NONE; self.len()];
        for (at, letter) in word.iter().enumerate() {
            let mut earlier = if at == 0 { 0 } else { NONE };
            let mut last = NONE;
            for (place, here) in self.letters.iter().enumerate() {
                let sum = if here == letter {
                    1 + self.places[place] + earlier.max(last + FOLLOWS)
                } else {
                    NONE
                };
                last = std::mem::replace(&mut sums[place], sum);
                earlier = earlier.max(last);
            }
        }
        sums.into_iter().max()
    }
}

fn lower(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(query: &str, text: &str) -> Option<i32> {
        FuzzyQuery::new(query).score(&FuzzyText::new(text))
    }

    #[test]
    fn letters_have_to_be_there_in_their_order() {
        assert!(score("rvw", "review").is_some());
        assert!(score("RVW", "re-VieW").is_some());
        assert_eq!(score("wvr", "review"), None);
        assert_eq!(score("rr", "review"), None);
        assert!(score("code rev", "review of code").is_some());
        assert_eq!(score("", ""), Some(0));
        assert_eq!(score("a", ""), None);
        let shorter = FuzzyQuery::new("a bc").with_a_letter_less();
        let fits = |it: &FuzzyQuery| it.score(&FuzzyText::new("bc")).is_some();
        assert_eq!(shorter.iter().filter(|it| fits(it)).count(), 1);
    }

    #[test]
    fn letters_that_follow_or_begin_words_count_more() {
        assert!(score("com", "commit") > score("com", "c-o-m"));
        assert!(score("cr", "code-review") > score("cr", "scrape"));
        assert!(score("cr", "codeReview") > score("cr", "coder"));
        // The first place where letters fit need not be the best one.
        assert_eq!(score("re", "raw re"), score("re", "saw re"));
    }

    #[test]
    fn a_long_text_is_compared_as_far_as_it_is_read() {
        let text = format!("{}z", "a".repeat(COMPARED));
        assert_eq!(score("z", &text), None);
        assert!(score(&"a".repeat(100), &text).is_some());
    }
}
