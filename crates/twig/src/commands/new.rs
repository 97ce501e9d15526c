//! `twig new`: a library or a prompt to start from. Nothing that exists is ever overwritten.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use twig_core::parse::library::MANIFEST;
use twig_core::parse::{Value, read_toml};
use twig_core::{Kind, LibraryName, PromptName};

use super::Opened;
use crate::cli::{New, Sources};
use crate::command_error::{CommandError, ErrorKind};
use crate::places::{Places, on_disk};
use crate::ui::Ui;

pub(super) fn run(what: New, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    match what {
        New::Library { name, folder } => library(&name, folder, ui)?,
        New::Prompt {
            name,
            description,
            sources,
        } => prompt(&name, &description, &sources, ui)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn library(name: &str, folder: Option<PathBuf>, ui: &mut Ui) -> Result<(), CommandError> {
    let places = Places::from_environment();
    let is_plain = !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    let Some(library) = LibraryName::from_folder(name).filter(|_| is_plain) else {
        let message = format!("`{name}` cannot be a library's name");
        let error = CommandError::new(ErrorKind::Usage, message);
        return Err(error.hint("use letters, digits and `_`, such as `my_prompts`"));
    };
    let Some(parent) = folder
        .map(|folder| on_disk(&folder))
        .or_else(|| places.data.clone())
    else {
        return Err(
            CommandError::fixable("there is no home folder to put a library in")
                .hint("name a folder with `--in FOLDER`, or set TWIG_DATA_DIR"),
        );
    };
    let root = parent.join(name);
    if root.exists() {
        let message = format!("{} is already there", places.shown(&root));
        return Err(CommandError::fixable(message)
            .hint(format!("add to it with `twig new prompt {library}:NAME`")));
    }
    fs::create_dir_all(root.join("prompts"))?;
    write_new(&root.join(MANIFEST), STARTER_MANIFEST)?;
    write_new(&root.join("prompts/hello.md"), STARTER_PROMPT)?;
    ui.line(places.shown(&root))?;
    ui.say(format!(
        "made library `{library}` with one prompt; try `twig render {library}:hello name=you`"
    ));
    Ok(())
}

fn prompt(
    name: &str,
    description: &str,
    sources: &Sources,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let opened = Opened::new(sources)?;
    let separator = opened.config.separator.as_str();
    let Some((library_name, prompt_name)) = name.split_once(separator) else {
        let message = format!("`{name}` does not name a library");
        let error = CommandError::new(ErrorKind::Usage, message);
        return Err(error.hint(format!("write LIBRARY{separator}{name}")));
    };
    let prompt = PromptName::parse(prompt_name).map_err(|error| {
        CommandError::new(
            ErrorKind::Usage,
            format!("the prompt name `{prompt_name}` {error}"),
        )
    })?;
    let catalog = opened.live.snapshot();
    let Some(library) = catalog
        .library(library_name)
        .filter(|l| l.kind == Kind::Twig)
    else {
        let names = catalog
            .libraries()
            .iter()
            .map(|library| library.name.as_str());
        let near = twig_core::suggest::did_you_mean(library_name, names);
        let hint =
            near.unwrap_or_else(|| format!("make it with `twig new library {library_name}`"));
        return Err(
            CommandError::fixable(format!("there is no library `{library_name}`")).hint(hint),
        );
    };
    let root = Path::new(&*library.root);
    let manifest = root.join(MANIFEST);
    let text = fs::read_to_string(&manifest)?;
    let file = root.join("prompts").join(format!("{prompt}.md"));
    if is_declared(&text, prompt.as_str()) || file.exists() {
        let message = format!("`{name}` is already there: {}", opened.places.shown(&file));
        return Err(CommandError::fixable(message));
    }
    fs::create_dir_all(root.join("prompts"))?;
    write_new(&file, &format!("Write what `{prompt}` should say here.\n"))?;
    let description = if description.is_empty() {
        "Say what this prompt does"
    } else {
        description
    };
    let table = format!(
        "{}\n[prompts.{}]\ndescription = {}\n",
        if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        },
        key(prompt.as_str()),
        basic_string(description),
    );
    OpenOptions::new()
        .append(true)
        .open(&manifest)?
        .write_all(table.as_bytes())?;
    ui.line(opened.places.shown(&file))?;
    ui.say(format!(
        "made prompt `{name}`; edit the file, then try `twig render {name}`"
    ));
    Ok(())
}

fn is_declared(manifest: &str, prompt: &str) -> bool {
    let Ok(table) = read_toml(manifest) else {
        return false;
    };
    match table.get("prompts").map(|item| &item.value) {
        Some(Value::Table(prompts)) => prompts.get(prompt).is_some(),
        _ => false,
    }
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), CommandError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| {
            CommandError::fixable(format!("{} cannot be made: {error}", path.display()))
        })?;
    file.write_all(text.as_bytes())?;
    Ok(())
}

/// A TOML key: bare where that is possible.
fn key(name: &str) -> String {
    let bare = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if bare {
        name.to_owned()
    } else {
        basic_string(name)
    }
}

fn basic_string(text: &str) -> String {
    // JSON's escapes are a part of TOML's.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

const STARTER_MANIFEST: &str = r#"[library]
description = "Prompts of my own"

[prompts.hello]
title = "Hello"
description = "Greet somebody and offer help"

[[prompts.hello.arguments]]
name = "name"
description = "Who to greet"
required = true

[[prompts.hello.arguments]]
name = "tone"
description = "How to say it"
default = "friendly"
choices = ["friendly", "formal"]
"#;

const STARTER_PROMPT: &str =
    "Greet {{ name }} in a {{ tone }} tone and ask what to work on today.\n";
