//! The web page: HTML made of a catalog, of rendered messages and of problems.
//!
//! Pure, like the protocol: values come in, text goes out. Nothing here knows files, sockets or who
//! asks. All text of libraries reaches HTML through the escaping of `maud`, or through `markdown`,
//! which writes raw HTML as text.

// The script, the style and the fonts, as they were built.
mod assets;
// How clients are connected.
mod connect;
// The difference of two texts, line by line.
mod diff;
// A document, rendered if it is Markdown, and the files of its skill.
mod document;
// The editor: a text, what is wrong with it, and a preview.
mod edit;
// The fields for the arguments of a prompt.
mod form;
// The versions of a prompt or resource, and two of them compared.
mod history;
// The list of prompts and documents with its filters.
mod library;
// Addresses of screens.
mod link;
// Markdown as HTML, within what a sanitizer would leave.
mod markdown;
// Images, shown from memory.
mod media;
// What a prompt was rendered to, with the given values marked.
mod messages;
// The form of a new prompt in a project.
mod new_prompt;
// Packages and what other commands say of them, and of clients.
mod packages;
// What the palette offers.
mod palette;
// A prompt beside the list.
mod peek;
// Problems by file, the worst first.
mod problems;
// One prompt: its fields, its text, and where it comes from.
mod prompt;
// The page without any data.
mod shell;
// The libraries and where they come from.
mod sources;
// A text that two people changed.
mod three_way;
// Text with its hidden characters drawn.
mod visible;

pub use assets::{PageAsset, asset};
pub use connect::{ClientState, RemoteClient, ShownClient, connect, connect_remote};
pub use diff::{TextComparison, compare};
pub use document::{DocumentView, document, skill_file};
pub use edit::{EditView, EditedText, draft, edit};
pub use history::{
    ComparedVersions, FileHistoryView, FileRestore, HistoryItem, HistoryView, ReplacedFile,
    ShownVersions, file_history, history,
};
pub use library::{ListKind, ListQuery, TroubledFiles, list, rows};
pub use markdown::markdown;
pub use maud::Markup;
pub use media::IMAGES;
pub use messages::{PreviewBlock, PreviewMessage, TextSpan, preview};
pub use new_prompt::{ProjectChoice, new_prompt};
pub use packages::{PackageCheck, PackageUpdate, ReachedClient, reached, updates, verified};
pub use palette::palette;
pub use peek::{peek, peek_document};
pub use problems::{ProblemPlace, ShownProblem, problems};
pub use prompt::{PromptText, PromptView, prompt};
pub use shell::shell;
pub use sources::{ShownSource, SourcesView, sources};
pub use three_way::{ThreeWayComparison, compare_three};
