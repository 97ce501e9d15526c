//! Search for prompts and documents: the query and the results. Another crate keeps the index.

use std::ops::Range;

/// A search query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Words, the beginnings of words, or a sentence.
    pub text: String,
    /// What to search.
    pub scope: SearchScope,
    /// The maximum number of results.
    pub limit: usize,
    /// If fewer results than this have all words, results with some of the words are added up to
    /// this number.
    pub enough: usize,
}

/// What is searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchScope {
    /// Prompts and documents.
    #[default]
    All,
    /// Prompts alone, skills among them.
    Prompts,
    /// Documents alone.
    Documents,
}

/// A prompt, skill or document that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Which one.
    pub target: SearchTarget,
    /// How much of the query it has.
    pub matched: MatchedWords,
    /// A name for people.
    pub title: Option<Box<str>>,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// The text around the words, with `…` for what was left out.
    pub snippet: Box<str>,
    /// The bytes of the snippet that match words of the query, in order.
    pub matches: Box<[Range<usize>]>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchTarget {
    /// A prompt, by its full name.
    Prompt(Box<str>),
    /// A skill, by the full name of its prompt.
    Skill(Box<str>),
    /// A document.
    Document {
        /// Its URI, to read it.
        uri: Box<str>,
        /// Its name, to change a project's document.
        name: Box<str>,
    },
}

/// How much of a query a result has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchedWords {
    /// Every word, each perhaps as the beginning of a longer one.
    All,
    /// At least one of the words.
    Some,
}

impl MatchedWords {
    /// The word for it in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Some => "some",
        }
    }
}
