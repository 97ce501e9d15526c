//! dotprompt: `#` lines, front matter with a schema, and Handlebars.

use super::draft::ImportDraft;
use super::front::split_and_read;
use super::picoschema;
use super::turns::{Speaker, fold};
use super::{ImportBatch, ImportItem, SourceFile, handlebars, logic, stem, wished_name};
use twig_core::argument::Argument;

/// The ending of the files' names.
const END: &str = ".prompt";

/// Reads one file; partials are only included in others.
pub(super) fn read(batch: ImportBatch<'_>, file: &SourceFile) -> Vec<ImportItem> {
    if stem(&file.path, END).starts_with('_') {
        let why = "a partial: it is included in the prompts that use it";
        return vec![ImportItem::left(&file.path, why)];
    }
    let front = split_and_read(&file.text, batch.limits);
    let fields = &front.fields;
    let name = fields.text("name");
    let wished = match (name, fields.text("variant")) {
        (Some(name), Some(variant)) => format!("{name}.{variant}"),
        (Some(name), None) => name.to_owned(),
        (None, _) => wished_name(&file.path, END),
    };
    let mut draft = ImportDraft::new(&file.path, &wished, front.body, batch.limits);
    draft.title = name.map(Into::into);
    draft.description = fields.text("description").map(Into::into);
    draft.repairs = front.repairs;
    if ["tools", "toolDefs", "output"]
        .iter()
        .any(|key| fields.get(key).is_some())
    {
        let note = "has its own tools or outputs, which are not imported";
        draft.notes.push(note.to_owned());
    }
    let input = fields.get("input");
    if let Some(schema) = input.and_then(|input| input.get("schema")) {
        for (path, argument) in picoschema::inputs(schema) {
            draft.arguments.declare(&path, argument);
        }
    }
    if let Some(defaults) = input.and_then(|input| input.get("default")?.entries()) {
        for (name, value) in defaults {
            if !draft.arguments.offer_default(name, &value.to_text()) {
                let argument = Argument {
                    default: Some(value.to_text().into()),
                    ..Argument::default()
                };
                draft.arguments.declare(name, argument);
            }
        }
    }
    let partials = |name: &str| partial(batch, file, name);
    let length = draft.check_length(batch.limits);
    let steps = length.and_then(|()| handlebars::parse(front.body, &partials, &mut draft.changes));
    let turns = steps.and_then(|steps| {
        let ImportDraft {
            arguments, changes, ..
        } = &mut draft;
        logic::write(&steps, Speaker::User, arguments, changes)
    });
    match turns {
        Ok(turns) => draft.messages = fold(turns, &mut draft.changes),
        Err(why) => draft.keep_as_it_is(&why, batch.limits),
    }
    draft.arguments.drop_unused_parts();
    vec![draft.finish(batch.limits)]
}

/// The text of a partial: beside the file, or anywhere in the import.
fn partial(batch: ImportBatch<'_>, file: &SourceFile, name: &str) -> Option<String> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = name.strip_prefix('_').unwrap_or(name);
    let beside = if folder.is_empty() {
        format!("_{name}{END}")
    } else {
        format!("{folder}/_{name}{END}")
    };
    let anywhere = || {
        let wanted = format!("_{name}");
        let mut files = batch.files.iter();
        files.find(|file| stem(&file.path, END) == wanted)
    };
    let found = batch.file(&beside).or_else(anywhere)?;
    let body = split_and_read(&found.text, batch.limits).body;
    // The final line end of a partial does not belong in the middle of a line.
    let body = body.strip_suffix('\n').unwrap_or(body);
    Some(body.strip_suffix('\r').unwrap_or(body).to_owned())
}
