//! Search for prompts and documents: the query and the results. Another crate keeps the index.

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Words, or the beginnings of words; each has to be found.
    pub text: String,
    /// What to look through.
    pub scope: SearchScope,
    /// The most that is wanted.
    pub limit: usize,
}

/// What is looked through.
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
    /// Where the words stand, with `…` for what was left out.
    pub snippet: Box<str>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchTarget {
    /// A prompt, by its full name.
    Prompt(Box<str>),
    /// A document.
    Document {
        /// By what it is read.
        uri: Box<str>,
        /// By what a project's document is changed.
        name: Box<str>,
    },
}
