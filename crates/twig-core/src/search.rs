//! Search for prompts and documents: the query and the results. Another crate keeps the index.

/// A search query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Words, or the beginnings of words; each has to be found.
    pub text: String,
    /// What to search.
    pub scope: SearchScope,
    /// The maximum number of results.
    pub limit: usize,
}

/// What is searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchScope {
    /// Prompts and documents.
    #[default]
    All,
    /// Prompts alone.
    Prompts,
    /// Documents alone.
    Documents,
}

/// A prompt or a document that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Which one.
    pub target: SearchTarget,
    /// A name for people.
    pub title: Option<Box<str>>,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// The text around the words, with `…` for what was left out.
    pub snippet: Box<str>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchTarget {
    /// A prompt, by its full name.
    Prompt(Box<str>),
    /// A document.
    Document {
        /// Its URI, to read it.
        uri: Box<str>,
        /// Its name, to change a project's document.
        name: Box<str>,
    },
}
