//! The pure heart of Twig.
//!
//! Text comes in, a [`Catalog`] comes out, and prompts are rendered from it. Nothing here touches
//! files, the clock, the environment or a terminal: bodies are read through the [`Bodies`] port, and
//! the caller runs templates that could misbehave ([`template::ComputedJob`]) and programs
//! ([`FunctionCall`]).

// Who uses a server: keys, roles, and what they allow where.
pub mod access;
// Arguments of prompts, and the patterns that their values have to match.
pub mod argument;
// The rules that an author gives an argument, and whether a value keeps them.
mod argument_rules;
// The chain of a log of changes: digests, and where the chain breaks.
pub mod audit;
// The port through which bodies are read on first use, and why a file cannot be read.
pub mod body;
// The `{{name}}` and `{{resource:URI}}` dialect of definitions, parsed once into nodes.
pub mod braces;
// The immutable value that every request is answered from: lookup, order, fingerprint, revisions.
pub mod catalog;
// Everything that the server would refuse, found by the functions that the server uses.
pub mod check;
// Counts how deep TOML and JSON nest before a parser sees them.
pub mod depth;
// Documents: URIs, titles, types, URI templates, and contents kept within a bound.
pub mod document;
// Contents of documents: read through the bodies port, kept until their files change, within a bound.
pub mod document_cache;
// The block between two `---` lines, read as people really write it.
pub mod front_matter;
// Prompt functions: the input of a program, and the prompt that its output makes.
pub mod function;
// What functions ask for beyond their library: files, the network, variables.
mod grants;
// Characters that hide text from people: control, invisible and direction characters.
pub mod hidden;
// Text as it stands inside a JSON string.
pub mod json_text;
// Every limit that protects the server, with its default.
pub mod limits;
// Where the argument marks of each client's syntax are in a text.
pub mod marks;
// Images and audio, recognized by file name.
pub mod media;
// Messages, the result of rendering.
mod message;
// Libraries, prompts and arguments as plain values.
pub mod model;
// Names and paths that are checked once, when they are made.
pub mod name;
// A hash over a list of parts.
pub mod parts_hash;
// Parsers of `twig.toml`, `prompts.json`, definitions and `config.toml`.
pub mod parse;
// What rows a write makes in any store, or why it is refused; the log of changes.
pub mod plan;
// Mistakes in files: code, severity, location, excerpt, message and help.
pub mod problem;
// Removes the server's folders from messages for clients on other machines.
pub mod remote;
// Checks values, renders plain templates, embeds documents, and hands computed work out as jobs.
pub mod render;
// Why a prompt cannot be rendered, in sentences for the caller.
mod render_error;
// Search queries and hits; `twig-sources` keeps the index.
pub mod search;
// Commands and files that a client puts into its own prompt files.
pub mod shell_lines;
// Names that every client accepts, made from titles and file names in any script.
pub mod slug;
// The messages in a client's file, without its front matter.
pub mod spoken;
// A fast hash that tells one state of a library from the next.
pub mod state_hash;
// Projects: names, versions, the decision about each write, and the port to the database.
pub mod store;
// Which version in a store a prompt or document is.
mod stored_version;
// Near names for "did you mean".
pub mod suggest;
// Jinja: scans, gathers, compiles, caches and renders templates. The only user of minijinja.
pub mod template;
// Names of files as parts of URIs, and back.
pub mod uri;
// The catalog and the ports that one request is answered from.
pub mod world;

pub use argument::Argument;
pub use body::{Blob, Bodies, Body, BodyError, FileRole, NotAFile, Stamp};
pub use braces::{Braces, UriPattern};
pub use catalog::{
    Catalog, CatalogFilter, Child, DocumentRef, ListView, Lookup, MissingLabel, PromptRef,
    Revisions, ShownPrompts, SkillRef, TemplateRef,
};
pub use document::{Contents, Document, DocumentSource, UriTemplate};
pub use function::{FunctionCall, FunctionOutcome};
pub use grants::{Grant, Grants};
pub use limits::Limits;
pub use media::{Media, MediaKind};
pub use model::{
    AppendedForm, ClientFiles, ClientListing, Content, Dialect, FileForm, Function, FunctionSource,
    LabelledPrompt, Library, LibraryKind, LibraryOrigin, LibraryPackage, ListingRules,
    ListingSettings, Marks, MessageSource, OutputForm, Prompt, Role, Skill, SkillFile, TextForm,
};
pub use name::{LibraryName, PromptName, RelativePath};
pub use problem::{Excerpt, Problem, ProblemCode, Severity};
pub use render::{Block, Message, RenderError, Rendering, render};
pub use stored_version::{StoredVersion, VersionAuthor};
pub use world::{Latest, World};
