//! The values that a template sees: every declared argument, given or not.

/// Declared arguments and what was given for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values<'a> {
    pairs: Vec<(&'a str, Option<&'a str>)>,
}

impl<'a> Values<'a> {
    /// Takes every declared argument; `None` is one without a value.
    pub fn new(pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        Self {
            pairs: pairs.into_iter().collect(),
        }
    }

    /// The pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + '_ {
        self.pairs.iter().copied()
    }
}
