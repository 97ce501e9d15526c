//! Every refusal of the protocol: its sentence, its code, and its data for the client.

use twig_core::limits::TOO_MANY_WAIT;
use twig_core::parse::library::MANIFEST;
use twig_core::problem::shorten;
use twig_core::render::RenderError;
use twig_core::{BodyError, PromptRef, RelativePath};

use crate::era::{Era, MODERN, SUPPORTED_VERSIONS};
use crate::json::Object;

/// The longest part of a client's own text that a sentence repeats, in characters.
const QUOTED: usize = 200;

/// Why a message is answered with an error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("The message is not valid JSON: {}", shorten(.0, QUOTED))]
    Parse(String),
    #[error("{0}")]
    Invalid(&'static str),
    #[error(
        "The host `{host}` is not allowed: start the server with `--allow-host {host}` to answer to it",
        host = shorten(.0, QUOTED)
    )]
    Host(String),
    #[error("The message nests deeper than the limit of {0} levels")]
    TooDeep(usize),
    #[error("The message is longer than the limit of {0} bytes")]
    TooLong(usize),
    #[error("Method not found: {}", shorten(.0, QUOTED))]
    Method(String),
    #[error(
        "Method not found: initialize (it was removed in {}; versions spoken here: {})",
        SUPPORTED_VERSIONS[0],
        SUPPORTED_VERSIONS.join(", ")
    )]
    ModernInitialize,
    #[error("{}", shorten(.0, 2 * QUOTED))]
    Params(String),
    /// A member that every modern request needs is missing or invalid.
    #[error("{0}")]
    Meta(String),
    /// A header does not match the message.
    #[error("{}", shorten(.0, 2 * QUOTED))]
    Header(String),
    #[error("{}", not_found("Prompt", .name, .project.as_deref()))]
    Prompt {
        name: String,
        /// The project that was searched, if it could have had such a prompt.
        project: Option<Box<str>>,
        suggestions: Vec<String>,
    },
    /// `name@label` of a prompt that does not have this label: a whole sentence.
    #[error("{sentence}")]
    Label {
        sentence: String,
        /// The names with the labels that it has.
        suggestions: Vec<String>,
    },
    #[error("Prompt `{}` is in several libraries: {}", shorten(.name, QUOTED), .names.join(", "))]
    Ambiguous { name: String, names: Vec<String> },
    #[error("{}", not_found("Resource", .uri, .project.as_deref()))]
    Resource {
        uri: String,
        /// The project that was searched.
        project: Option<Box<str>>,
        suggestions: Vec<String>,
    },
    #[error("Resource {} {error}", shorten(.uri, QUOTED))]
    Document { uri: String, error: BodyError },
    #[error("Resource template not found: {}", shorten(.uri, QUOTED))]
    Template {
        uri: String,
        suggestions: Vec<String>,
    },
    #[error("Skill not found: {}", shorten(.uri, QUOTED))]
    Skill {
        uri: String,
        suggestions: Vec<String>,
    },
    #[error(
        "{} is {}",
        shorten(.uri, QUOTED),
        if *.is_document { "not a directory: read it with `resources/read`" } else { "no directory that is served here" }
    )]
    Directory {
        uri: String,
        /// True if it is a document.
        is_document: bool,
        suggestions: Vec<String>,
    },
    #[error("Unknown tool: {}{}", shorten(.name, QUOTED), .hint.unwrap_or_default())]
    Tool {
        name: String,
        /// How to enable it; follows its name.
        hint: Option<&'static str>,
        suggestions: Vec<String>,
    },
    #[error("The cursor is not valid, or no longer: list again from the start")]
    Cursor,
    #[error(
        "Protocol version `{}` is not supported here: use {}, or `initialize` with an older one",
        shorten(.requested, QUOTED),
        SUPPORTED_VERSIONS[0]
    )]
    Version { requested: String },
    #[error("{0}")]
    Render(RenderError, Option<Box<RenderPlace>>),
    #[error("The limit of {0} requests under way at once is reached: ask again in a moment")]
    Busy(usize),
    #[error("The limit of {0} open subscriptions is reached: end one first")]
    Subscriptions(usize),
    #[error("There is no such session, or no longer: send `initialize` again")]
    Session,
    #[error("The limit of {0} sessions is reached: end one, or try again later")]
    Sessions(usize),
    #[error("{TOO_MANY_WAIT}")]
    TooManyWait,
    #[error("Internal error")]
    Panic,
}

impl Refusal {
    /// The JSON-RPC code.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Self::Parse(_) => -32700,
            Self::Invalid(_)
            | Self::Host(_)
            | Self::TooDeep(_)
            | Self::TooLong(_)
            | Self::Session => -32600,
            Self::Method(_) | Self::ModernInitialize => -32601,
            Self::Render(
                RenderError::Limit(_)
                | RenderError::Function(_)
                | RenderError::FunctionOutput { .. }
                | RenderError::Body {
                    error: BodyError::Store(_) | BodyError::Lost(_),
                    ..
                },
                _,
            )
            | Self::Document {
                error: BodyError::TooLarge { .. } | BodyError::Store(_) | BodyError::Lost(_),
                ..
            }
            | Self::Busy(_)
            | Self::TooManyWait
            | Self::Subscriptions(_)
            | Self::Sessions(_)
            | Self::Panic => -32603,
            Self::Params(_)
            | Self::Meta(_)
            | Self::Prompt { .. }
            | Self::Label { .. }
            | Self::Ambiguous { .. }
            | Self::Resource { .. }
            | Self::Document { .. }
            | Self::Template { .. }
            | Self::Skill { .. }
            | Self::Directory { .. }
            | Self::Tool { .. }
            | Self::Cursor
            | Self::Render(..) => -32602,
            Self::Header(_) => -32020,
            Self::Version { .. } => -32022,
        }
    }

    /// The HTTP status. A refusal by a handler is an ordinary answer.
    pub(crate) fn status(&self, era: Era) -> u16 {
        match self {
            Self::Parse(_)
            | Self::Invalid(_)
            | Self::TooDeep(_)
            | Self::Meta(_)
            | Self::Header(_)
            | Self::Version { .. } => 400,
            Self::TooLong(_) => 413,
            Self::TooManyWait => 503,
            Self::Method(_) | Self::ModernInitialize if era == Era::Modern => 404,
            _ => 200,
        }
    }

    /// Writes the members of the error object.
    pub(crate) fn write(&self, error: &mut Object<'_>) {
        let sentence = self.to_string();
        error.number("code", self.code());
        error.text("message", &sentence);
        error.object("data", |data| {
            data.text("details", &sentence);
            match self {
                Self::Prompt { suggestions, .. }
                | Self::Label { suggestions, .. }
                | Self::Tool { suggestions, .. } => {
                    data.texts("suggestions", suggestions);
                }
                Self::Ambiguous { names, .. } => data.texts("suggestions", names),
                Self::Resource {
                    uri, suggestions, ..
                }
                | Self::Template { uri, suggestions }
                | Self::Skill { uri, suggestions }
                | Self::Directory {
                    uri, suggestions, ..
                } => {
                    data.text("uri", &shorten(uri, 2048));
                    data.texts("suggestions", suggestions);
                }
                Self::Document { uri, .. } => data.text("uri", &shorten(uri, 2048)),
                Self::Render(error, place) => {
                    if let RenderError::MissingDocument { uri } = error {
                        data.text("uri", &shorten(uri, 2048));
                    }
                    if let Some(place) = place {
                        place.write(data);
                    }
                }
                Self::Version { requested } => {
                    // Older versions are agreed on by `initialize`: a client that put one of them
                    // here would be refused again.
                    data.texts("supported", [MODERN]);
                    data.text("requested", &shorten(requested, QUOTED));
                }
                _ => {}
            }
        });
    }
}

impl From<RenderError> for Refusal {
    fn from(error: RenderError) -> Self {
        Self::Render(error, None)
    }
}

/// Where a prompt could not be rendered.
#[derive(Debug, Clone)]
pub(crate) struct RenderPlace {
    prompt: Box<str>,
    /// Its library: the name, and the folder in messages.
    library: (Box<str>, Box<str>),
    /// Its folder of documents in the project, if it is not in the library's: from that of the
    /// library, and in messages here and on other machines.
    beside: Option<(RelativePath, Box<str>)>,
    /// The file, from the folder of the library.
    file: Option<Box<str>>,
    line: Option<u32>,
}

impl RenderPlace {
    /// The file of a prompt.
    pub(crate) fn new(found: PromptRef<'_>) -> Self {
        let content = found.prompt.messages.first().map(|it| &it.content);
        let content = content.filter(|it| it.stored().is_none());
        let file = content.map(|it| it.file().map_or(MANIFEST, RelativePath::as_str));
        let library = found.library;
        Self {
            prompt: found.prompt.full_name.clone(),
            library: (library.name.as_str().into(), library.shown_root.clone()),
            beside: library.documents_beside.clone().map(|folder| {
                let shown = library.shown_path_of(&folder);
                (folder, shown.into())
            }),
            file: file.map(Into::into),
            line: None,
        }
    }

    /// The refusal for an error of this prompt. The file and the line are where the mistake is;
    /// mistakes of the caller are in no file.
    pub(crate) fn refusal(mut self, error: RenderError) -> Refusal {
        let (library, _) = &self.library;
        match &error {
            RenderError::Template {
                place: Some(place), ..
            } => {
                self.line = place.line;
                self.file = Some(if *place.library == **library {
                    place.file.as_str().into()
                } else {
                    format!("{}:{}", place.library, place.file).into()
                });
            }
            RenderError::Body { path: named, .. } => {
                self.file = self.named_file(named).or(self.file);
            }
            RenderError::Unavailable(named) => {
                self.file = self.named_file(named).or(self.file);
            }
            RenderError::Template { .. }
            | RenderError::MissingDocument { .. }
            | RenderError::Function(_)
            | RenderError::FunctionOutput { .. } => {}
            _ => self.file = None,
        }
        Refusal::Render(error, Some(Box::new(self)))
    }

    /// The file that a sentence names, from the folder of the library.
    fn named_file(&self, sentence: &str) -> Option<Box<str>> {
        let (library, root) = &self.library;
        let own = file_in(sentence, root).or_else(|| file_in(sentence, library));
        own.or_else(|| {
            let (folder, shown) = self.beside.as_ref()?;
            let here = file_in(sentence, shown);
            let file = here.or_else(|| file_in(sentence, folder.in_project()?))?;
            Some(format!("{folder}/{file}").into())
        })
    }

    fn write(&self, data: &mut Object<'_>) {
        data.text("prompt", &self.prompt);
        data.maybe("file", self.file.as_deref());
        if let Some(line) = self.line {
            data.number("line", line);
        }
    }
}

/// The path of a file that a sentence names, from a library's folder. A remote client gets the name
/// of the library instead of its folder.
fn file_in(sentence: &str, folder: &str) -> Option<Box<str>> {
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once(folder) {
        let starts = !before.ends_with(|last: char| last.is_alphanumeric() || last == '/');
        if let (true, Some(path)) = (starts, after.strip_prefix('/')) {
            let path = path.split_whitespace().next().unwrap_or_default();
            let path = path.trim_end_matches(['.', ',', ';', ':', '`', '\'', '"', ')']);
            return (!path.is_empty()).then(|| path.into());
        }
        rest = after;
    }
    None
}

fn not_found(noun: &str, name: &str, project: Option<&str>) -> String {
    let name = shorten(name, QUOTED);
    match project {
        Some(project) => format!("{noun} '{name}' not found in project '{project}'"),
        None => format!("{noun} not found: {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_beside_a_project_is_named_from_the_library_on() {
        let folder = RelativePath::beside("../docs")
            .expect("beside")
            .expect("a path");
        let place = RenderPlace {
            prompt: "plan".into(),
            library: ("shop".into(), "~/shop/.twig".into()),
            beside: Some((folder, "~/shop/docs".into())),
            file: Some(MANIFEST.into()),
            line: None,
        };
        for (sentence, file) in [
            ("~/shop/docs/adr/1.md", Some("../docs/adr/1.md")),
            // As a client on another machine gets it.
            ("docs/adr/1.md", Some("../docs/adr/1.md")),
            ("~/shop/.twig/docs/1.md", Some("docs/1.md")),
            ("shop/prompts/a.md", Some("prompts/a.md")),
            ("/elsewhere/docs/1.md", None),
        ] {
            assert_eq!(place.named_file(sentence).as_deref(), file, "{sentence}");
        }
    }
}
