//! The text of a file without its metadata.

pub mod toml_prompt;
pub mod yaml_messages;

use std::borrow::Cow;

use crate::front_matter;
use crate::model::{FileForm, LibraryKind, Role};

/// One message as a file has it, with its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMessage<'t> {
    /// Its role.
    pub role: Role,
    /// Its text.
    pub text: Cow<'t, str>,
}

/// The messages of a file of some kind; the error is a sentence that follows its path.
pub fn bodies(kind: LibraryKind, text: &str) -> Result<Vec<FileMessage<'_>>, String> {
    let form = match kind {
        LibraryKind::Client(files) => files.form,
        _ => FileForm::Markdown,
    };
    let text = match form {
        FileForm::Yaml => {
            let prompt = yaml_messages::read(text).map_err(|error| error.why)?;
            return Ok(prompt.spoken());
        }
        FileForm::Toml => toml_prompt::read(text).map_err(|error| error.why)?.prompt,
        // A `---` line at its top is text.
        FileForm::Whole => Cow::Borrowed(text),
        FileForm::Markdown => Cow::Borrowed(front_matter::split(text).body),
    };
    let role = Role::User;
    Ok(vec![FileMessage { role, text }])
}
