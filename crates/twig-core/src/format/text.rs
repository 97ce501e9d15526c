//! What a file says, without what it says about itself.

use std::borrow::Cow;

use crate::front_matter;
use crate::model::{Kind, Role};

/// One message as a file has it, its marks still in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken<'t> {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub text: Cow<'t, str>,
}

/// The messages of a file of some kind; the error is a sentence that reads on after its path.
pub fn bodies(_kind: Kind, text: &str) -> Result<Vec<Spoken<'_>>, String> {
    // Markdown files are one message each, whatever the kind.
    Ok(vec![Spoken {
        role: Role::User,
        text: Cow::Borrowed(front_matter::split(text).body),
    }])
}
