//! `twig new prompt` in a library of definitions: one more JSON file.

use std::path::Path;

use serde_json::Value;
use twig_core::{Argument, Library, PromptName, RelativePath};

use super::super::manifest_file::create;
use super::prompt::PromptDraft;
use crate::command_error::{CommandError, ErrorKind};
use crate::places::Places;

/// Writes a starter definition and returns its file.
pub(super) fn write(
    places: &Places,
    library: &Library,
    name: &str,
    draft: &PromptDraft<'_>,
) -> Result<(PromptName, String), CommandError> {
    let prompt = PromptName::of_definition(name).map_err(|_| {
        let message = format!("the name `{name}` has more than lower-case letters, digits and `-`");
        CommandError::new(ErrorKind::Usage, message).hint("such as `review-code`")
    })?;
    if library.prompts.iter().any(|known| known.name == prompt) {
        let message = format!("library `{}` has a prompt `{prompt}` already", library.name);
        return Err(CommandError::fixable(message).hint("choose another name"));
    }
    let mut arguments = draft.arguments.iter();
    if let Some(argument) = arguments.find(|argument| !argument.choices.is_empty()) {
        let message = format!(
            "argument `{}` has choices, which a definition in JSON cannot hold",
            argument.name
        );
        let hint = format!("give `--arg {}` without choices", argument.name);
        return Err(CommandError::fixable(message).hint(hint));
    }
    let root = Path::new(&*library.root);
    let path = Path::new(folder_of(library)).join(format!("{prompt}.json"));
    create(places, root, &path, starter(&prompt, draft))?;
    Ok((prompt, root.join(path).display().to_string()))
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

fn starter(prompt: &PromptName, draft: &PromptDraft<'_>) -> String {
    let input = [Argument {
        name: "input".into(),
        description: Some("What to work on".into()),
        required: true,
        ..Argument::default()
    }];
    let arguments = match (draft.arguments, &draft.text) {
        ([], None) => &input,
        (arguments, _) => arguments,
    };
    let text = draft.text.clone().unwrap_or_else(|| {
        let names = arguments
            .iter()
            .map(|it| format!("\n\n{{{{{}}}}}", it.name));
        let names: String = names.collect();
        format!("Write what `{prompt}` should say here.{names}")
    });
    let arguments = arguments.iter().map(|argument| {
        let description = argument.description.as_deref();
        let description = description.unwrap_or("Say what to put here");
        format!(
            "\n    {{\"name\": {}, \"description\": {}, \"required\": {}}}",
            Value::from(&*argument.name),
            Value::from(description),
            argument.required
        )
    });
    let arguments: Vec<String> = arguments.collect();
    let arguments = if arguments.is_empty() {
        "[]".to_owned()
    } else {
        format!("[{}\n  ]", arguments.join(","))
    };
    let title = draft.title.map(|title| Value::from(title).to_string());
    let title = title.map(|title| format!("\n  \"title\": {title},"));
    format!(
        r#"{{
  "name": "{prompt}",{}
  "description": {},
  "arguments": {arguments},
  "messages": [
    {{
      "role": "user",
      "content": {{
        "type": "text",
        "text": {}
      }}
    }}
  ]
}}
"#,
        title.unwrap_or_default(),
        Value::from(draft.description.unwrap_or("Say what this prompt does")),
        Value::from(text),
    )
}
