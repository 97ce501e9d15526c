//! Front matter: the block between two `---` lines at the top of a Markdown file.

/// A file cut in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split<'a> {
    /// The text between the fences; `None` where there is no front matter.
    pub front: Option<&'a str>,
    /// What follows.
    pub body: &'a str,
}

/// Cuts a file into front matter and body.
pub fn split(text: &str) -> Split<'_> {
    Split {
        front: None,
        body: text,
    }
}
