//! Detects the format of a file by its name and its first lines.

use super::front::{split_and_read, split_preamble};
use super::minipuft::is_manifest;
use super::{ImportFormat, SourceFile, go_template, langfuse, minipuft, prompts_chat};
use twig_core::limits::Limits;

/// The format of a file; the error says why it has none.
pub fn detect(file: &SourceFile) -> Result<ImportFormat, String> {
    let path = file.path.as_str();
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    match end.to_ascii_lowercase().as_str() {
        "csv" if prompts_chat::is_catalogue(&file.text) => Ok(ImportFormat::PromptsChat),
        "csv" => Err("its first row names no columns `act` and `prompt`".to_owned()),
        "json" | "jsonl" if langfuse::is_export(&file.text) => Ok(ImportFormat::Langfuse),
        "json" | "jsonl" => Err("there is no object with `name` and `prompt` in it".to_owned()),
        "prompty" => Ok(ImportFormat::Prompty),
        "mdc" => Ok(ImportFormat::CursorRules),
        "prompt" => Ok(prompt_file(file)),
        "yaml" | "yml" if is_manifest(name) || minipuft::is_prompt(&file.text) => {
            Ok(ImportFormat::Minipuft)
        }
        _ if !go_template::end_of(path).is_empty() => Ok(ImportFormat::GoTemplates),
        _ => Err("the format is not recognised; give it with `--format`".to_owned()),
    }
}

/// True if a file in a folder is read: others are there for other reasons.
pub fn is_candidate(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let end = end.to_ascii_lowercase();
    matches!(
        end.as_str(),
        "csv" | "json" | "jsonl" | "prompty" | "mdc" | "prompt" | "yaml" | "yml" | "md"
    ) || !go_template::end_of(path).is_empty()
}

/// True if a file's name fits a format.
pub(super) fn fits(format: ImportFormat, path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
    match format {
        ImportFormat::PromptsChat => ends(&[".csv"]),
        ImportFormat::Langfuse => ends(&[".json", ".jsonl"]),
        ImportFormat::Prompty => ends(&[".prompty"]),
        ImportFormat::Dotprompt | ImportFormat::Continue => ends(&[".prompt"]),
        ImportFormat::CursorRules => ends(&[".mdc"]),
        ImportFormat::GoTemplates => !go_template::end_of(&path).is_empty(),
        ImportFormat::Minipuft => {
            let name = path.rsplit('/').next().unwrap_or(&path);
            ends(&[".yaml", ".yml"]) && !matches!(name, "category.yaml" | "category.yml")
        }
    }
}

/// Two tools use `.prompt`: dotprompt files have an opening line or no front matter at all.
fn prompt_file(file: &SourceFile) -> ImportFormat {
    let limits = Limits::default();
    let is_home = |part: &str| matches!(part, ".continue" | ".prompts");
    let front = split_and_read(&file.text, &limits);
    let dotprompt = [
        "model", "input", "output", "config", "tools", "toolDefs", "variant", "metadata", "ext",
    ];
    if dotprompt.iter().any(|key| front.fields.get(key).is_some()) {
        return ImportFormat::Dotprompt;
    }
    if front.fields.get("invokable").is_some() || file.path.split('/').any(is_home) {
        return ImportFormat::Continue;
    }
    if !front.is_there && split_preamble(&file.text, &limits).is_some() {
        return ImportFormat::Continue;
    }
    if file.text.contains("{{{ input }}}") || file.text.contains("<system>") {
        return ImportFormat::Continue;
    }
    ImportFormat::Dotprompt
}
