//! `twig new prompt` in a library of definitions: one more JSON file.

use std::path::Path;

use serde_json::Value;
use twig_core::{Library, PromptName, RelativePath};

use super::{base_of, is_inside, outside, write_new};
use crate::command_error::{CommandError, ErrorKind};
use crate::places::Places;

/// Writes a starter definition and returns its file.
pub(super) fn write(
    places: &Places,
    library: &Library,
    name: &str,
    description: &str,
) -> Result<(PromptName, String), CommandError> {
    let prompt = PromptName::of_definition(name).map_err(|_| {
        let message = format!("the name `{name}` has more than lower-case letters, digits and `-`");
        CommandError::new(ErrorKind::Usage, message).hint("such as `review-code`")
    })?;
    if library.prompts.iter().any(|known| known.name == prompt) {
        let message = format!("library `{}` has a prompt `{prompt}` already", library.name);
        return Err(CommandError::fixable(message).hint("choose another name"));
    }
    let root = Path::new(&*library.root);
    let folder = root.join(folder_of(library));
    let file = folder.join(format!("{prompt}.json"));
    if file.exists() {
        let message = format!("{} is already there", places.shown(&file));
        return Err(CommandError::fixable(message));
    }
    if folder.exists() && !is_inside(&folder, root) {
        return Err(outside(&places.shown(&folder)));
    }
    let (base, inner) = base_of(root);
    let path = inner
        .join(folder_of(library))
        .join(format!("{prompt}.json"));
    write_new(places, base, &path, &starter(&prompt, description))?;
    Ok((prompt, file.display().to_string()))
}

/// The folder that has the library's definitions.
fn folder_of(library: &Library) -> &str {
    let files = library.prompts.iter().filter_map(|prompt| {
        let content = &prompt.messages.first()?.content;
        content.file().map(RelativePath::folder)
    });
    let mut known = files.filter(|folder| folder.ends_with("prompts"));
    known.next().unwrap_or("prompts")
}

fn starter(prompt: &PromptName, description: &str) -> String {
    let description = match description {
        "" => "Say what this prompt does",
        description => description,
    };
    let description = Value::from(description);
    format!(
        r#"{{
  "name": "{prompt}",
  "description": {description},
  "arguments": [
    {{"name": "input", "description": "What to work on", "required": true}}
  ],
  "messages": [
    {{
      "role": "user",
      "content": {{
        "type": "text",
        "text": "Write what `{prompt}` should say here.\n\n{{{{input}}}}"
      }}
    }}
  ]
}}
"#
    )
}
