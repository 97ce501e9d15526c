//! `[documents]`: where a library's documents are and the prefix of their URIs.

use super::Manifest;
use super::fields::ManifestFields;
use crate::body::{BodyError, NotAFile};
use crate::document::UriTemplate;
use crate::name::RelativePath;
use crate::parse::documents::DocumentLayout;
use crate::parse::toml::{TomlItem, TomlValue};
use crate::problem::{ProblemCode, shorten};
use crate::uri::encode;

/// Where documents are by default.
const FOLDERS: [&str; 2] = ["docs", "mcp/resources"];
/// The maximum number of templates of a library, and their maximum length in bytes.
const TEMPLATES: usize = 16;
const TEMPLATE: usize = 256;
/// Schemes with another meaning, to clients or to Twig itself.
const TAKEN: [&str; 10] = [
    "about",
    "blob",
    "data",
    "file",
    "ftp",
    "http",
    "https",
    "javascript",
    "skill",
    "twig",
];

impl DocumentLayout {
    /// Documents in the default folders, under URIs with this prefix.
    pub fn usual(prefix: &str, templates: Vec<UriTemplate>) -> Self {
        let folders = FOLDERS.into_iter();
        Self {
            folders: folders
                .filter_map(|path| RelativePath::parse(path).ok())
                .collect(),
            prefix: prefix.into(),
            templates,
        }
    }
}

impl Manifest<'_> {
    /// The default documents of a library.
    pub(super) fn usual(&self) -> DocumentLayout {
        let prefix = format!("twig://{}/", encode(self.folder.name.as_str()));
        DocumentLayout::usual(&prefix, Vec::new())
    }

    /// Reads the table and reports its mistakes.
    pub(super) fn documents(
        &mut self,
        item: Option<&TomlItem<'_>>,
        mut layout: DocumentLayout,
    ) -> DocumentLayout {
        let Some(item) = item else {
            return layout;
        };
        let TomlValue::Table(table) = &item.value else {
            self.wrong_type("documents", "a table: [documents]", item);
            return layout;
        };
        let mut fields = ManifestFields::new(table);
        if let Some(item) = fields.take("folder") {
            // An invalid folder means no documents, rather than the wrong ones.
            layout.folders.clear();
            layout.folders.extend(self.documents_folder(item));
        }
        if let Some(item) = fields.take("scheme") {
            match &item.value {
                TomlValue::Text(scheme) if is_scheme(scheme) => {
                    layout.prefix = format!("{scheme}://").into();
                    // The default templates have the default scheme.
                    layout.templates.clear();
                }
                TomlValue::Text(scheme) => {
                    let what = if TAKEN.contains(&&**scheme) {
                        "means something else already; choose another scheme"
                    } else {
                        "is no scheme: use letters a to z, digits and `-`, such as \"team\""
                    };
                    let scheme = shorten(scheme, 64);
                    let message = format!("`{}` {what}", scheme.escape_debug());
                    self.error(ProblemCode::BadScheme, item.span.clone(), message);
                }
                _ => {
                    self.wrong_type("scheme", "a string", item);
                }
            }
        }
        if let Some(item) = fields.take("templates") {
            layout.templates = self.templates(&layout.prefix, item);
        }
        self.unknown(&fields, "[documents]");
        layout
    }

    /// `folder`: a folder of the library. A project's own folder may also name one that is beside it,
    /// so that documents stay where the project has them.
    fn documents_folder(&mut self, item: &TomlItem<'_>) -> Option<RelativePath> {
        let is_project = self.folder.is_project();
        let path = match &item.value {
            TomlValue::Text(text) if is_project => RelativePath::beside(text).map(|path| {
                path.map_err(|error| {
                    let message = format!("`{}` {error}", shorten(text, 64).escape_debug());
                    self.error(ProblemCode::OutsideLibrary, item.span.clone(), message)
                })
            }),
            _ => None,
        };
        let Ok(path) = path.unwrap_or_else(|| self.path_field("folder", item)) else {
            let help = if is_project {
                "name a folder in .twig, or a folder of the project, such as \"../docs\""
            } else {
                "name a folder of the library; only a project's .twig may name one beside it"
            };
            if matches!(item.value, TomlValue::Text(_)) {
                self.help(help.to_owned());
            }
            return None;
        };
        self.look_at_folder(&path, item).then_some(path)
    }

    /// Reports a folder that cannot be used; false if it must not be tried again.
    fn look_at_folder(&mut self, path: &RelativePath, item: &TomlItem<'_>) -> bool {
        let looked = self.files.look(path);
        let is_refused = looked == Err(BodyError::OutsideProject);
        let (code, what) = match looked {
            Err(BodyError::NotAFile(NotAFile::Folder)) => return true,
            Err(BodyError::NotFound) => (ProblemCode::MissingFolder, "is not there".to_owned()),
            Ok(()) => (
                ProblemCode::NotAFolder,
                "is a file, not a folder".to_owned(),
            ),
            Err(BodyError::Outside) => {
                (ProblemCode::OutsideLibrary, BodyError::Outside.to_string())
            }
            Err(error @ BodyError::OutsideProject) => {
                (ProblemCode::OutsideLibrary, error.to_string())
            }
            Err(error) => (ProblemCode::UnreadableFolder, error.to_string()),
        };
        let message = format!("the documents folder {path} {what}");
        self.error(code, item.span.clone(), message);
        !is_refused
    }

    fn templates(&mut self, prefix: &str, item: &TomlItem<'_>) -> Vec<UriTemplate> {
        let TomlValue::List(items) = &item.value else {
            self.wrong_type("templates", "a list of strings", item);
            return Vec::new();
        };
        let mut templates: Vec<UriTemplate> = Vec::new();
        for item in items {
            let TomlValue::Text(source) = &item.value else {
                self.wrong_type("templates", "a list of strings", item);
                continue;
            };
            let template = match UriTemplate::parse(source) {
                _ if source.len() > TEMPLATE => Err(format!("is longer than {TEMPLATE} bytes")),
                _ if templates.len() == TEMPLATES => {
                    Err(format!("is one too many: the limit is {TEMPLATES}"))
                }
                Ok(_) if !source.starts_with(prefix) => {
                    Err(format!("has to begin with `{prefix}`, as the documents do"))
                }
                Ok(template) if template.variables().next().is_none() => {
                    Err("has no variable such as `{name}`".to_owned())
                }
                other => other,
            };
            match template {
                Ok(template) if templates.contains(&template) => {}
                Ok(template) => templates.push(template),
                Err(what) => {
                    let source = shorten(source, 64);
                    let message = format!("the template `{}` {what}", source.escape_debug());
                    self.error(ProblemCode::BadTemplate, item.span.clone(), message);
                }
            }
        }
        templates
    }
}

fn is_scheme(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.len() <= 32
        && text.bytes().all(is_letter)
        && !TAKEN.contains(&text)
}
