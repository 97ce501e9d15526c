//! What a file says, without what it says about itself.

pub mod toml_prompt;
pub mod yaml_messages;

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
pub fn bodies(kind: Kind, text: &str) -> Result<Vec<Spoken<'_>>, String> {
    let text = match kind {
        Kind::Models => {
            let prompt = yaml_messages::read(text).map_err(|error| error.why)?;
            return Ok(prompt.spoken());
        }
        Kind::Gemini => toml_prompt::read(text).map_err(|error| error.why)?.prompt,
        // A pattern has no front matter: a rule at its top is text.
        Kind::Fabric => Cow::Borrowed(text),
        _ => Cow::Borrowed(front_matter::split(text).body),
    };
    let role = Role::User;
    Ok(vec![Spoken { role, text }])
}
