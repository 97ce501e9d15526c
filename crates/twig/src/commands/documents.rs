//! Documents on the command line: `twig list --documents` and `twig show URI`.

use serde::Serialize;
use twig_core::document::rfc3339;
use twig_core::{Contents, DocumentRef};

use super::check::counted;
use super::opened_catalog::OpenedCatalog;
use super::origin::{OriginRow, project_flags};
use crate::command_error::CommandError;
use crate::ui::Ui;

/// One document as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct DocumentRow<'c> {
    uri: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    short_uri: Option<&'c str>,
    name: &'c str,
    title: &'c str,
    mime_type: &'c str,
    size: u64,
    last_modified: Option<String>,
    #[serde(flatten)]
    origin: OriginRow<'c>,
}

#[derive(Debug, Serialize)]
struct ShownDocument<'c> {
    #[serde(flatten)]
    row: DocumentRow<'c>,
    /// Absent if the document is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'c str>,
}

/// Prints every document, as a table or as JSON.
pub(super) fn list(opened: &OpenedCatalog, json: bool, ui: &mut Ui) -> Result<(), CommandError> {
    let catalog = opened.live.snapshot();
    if json {
        ui.json(&catalog.documents(0).map(row).collect::<Vec<_>>())?;
        return Ok(());
    }
    let cells = catalog.documents(0).map(|found| {
        let document = found.document;
        let cells = [&*document.uri, &*document.mime, document.shown_title()];
        cells.map(str::to_owned).to_vec()
    });
    ui.table(&cells.collect::<Vec<_>>())?;
    if catalog.document_count() == 0 {
        let hint = match &*project_flags(&catalog) {
            "" => "put files into the `docs` folder of a library".to_owned(),
            flags => format!("add one with `twig resource add NAME{flags} --uri URI -c TEXT`"),
        };
        ui.say(format!("no documents\nhint: {hint}"));
    }
    Ok(())
}

/// Prints the content of a document.
pub(super) fn show(
    opened: &OpenedCatalog,
    uri: &str,
    json: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let catalog = opened.live.snapshot();
    let Some(found) = catalog.document(uri) else {
        let error = CommandError::fixable(format!("there is no document `{uri}`"));
        let known = catalog.documents(0).map(|found| &*found.document.uri);
        let hint = twig_core::suggest::did_you_mean(uri, known);
        let flags = project_flags(&catalog);
        let hint = hint.unwrap_or_else(|| format!("run `twig list --documents{flags}`"));
        return Err(error.hint(hint));
    };
    let (library, document) = (found.library, found.document);
    let is_stored = document.stored().is_some();
    let limit = opened.config.limits.document;
    let cache = opened.templates.documents();
    let read = cache.read(&opened.live, library, document, limit);
    let read = read.map_err(|error| {
        let shown = if is_stored {
            format!("`{uri}` of {}", library.shown_root)
        } else {
            library.shown_path_of(document.place())
        };
        CommandError::fixable(format!("{shown} {error}"))
    })?;
    if json {
        let text = read.text();
        let row = row(found);
        ui.json(&ShownDocument { row, text })?;
        return Ok(());
    }
    match &*read {
        Contents::Text(text) => {
            ui.page();
            ui.text(text)?;
        }
        Contents::Bytes(bytes) => {
            let count = counted(bytes.len(), "byte", "bytes");
            ui.say(format!("{uri} is not text: {count} of {}", document.mime));
            ui.say(if is_stored {
                let (name, flags) = (&document.name, project_flags(&catalog));
                format!("hint: `twig resource show {name}{flags} > FILE` writes it to a file")
            } else {
                let file = library.shown_path_of(document.place());
                format!("hint: the file is {file}")
            });
        }
    }
    Ok(())
}

pub(super) fn row(found: DocumentRef<'_>) -> DocumentRow<'_> {
    let document = found.document;
    DocumentRow {
        uri: &document.uri,
        short_uri: document.short_uri.as_deref(),
        name: &document.name,
        title: document.shown_title(),
        mime_type: &document.mime,
        size: document.size,
        last_modified: document.modified.and_then(rfc3339),
        origin: OriginRow::of_document(found.library, document),
    }
}
