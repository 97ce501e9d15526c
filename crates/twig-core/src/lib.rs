//! The pure heart of Twig.
//!
//! Text comes in, a [`Catalog`] comes out, and prompts are rendered from it. Nothing here touches
//! files, the clock, the environment or a terminal: what a body says is asked through the
//! [`Bodies`] port, and templates that could misbehave are handed back as a
//! [`template::ComputedJob`] for somebody else to run, as programs are as a [`FunctionCall`].

mod argument_rules;
pub mod body;
pub mod braces;
pub mod catalog;
pub mod check;
pub mod depth;
pub mod document;
pub mod front_matter;
pub mod function;
pub mod hidden;
pub mod limits;
pub mod marks;
pub mod media;
mod message;
pub mod model;
pub mod name;
pub mod parse;
pub mod problem;
pub mod remote;
pub mod render;
mod render_error;
pub mod search;
pub mod slug;
pub mod spoken;
pub mod store;
pub mod suggest;
pub mod template;
pub mod world;

pub use body::{Blob, Bodies, Body, BodyError, FileRole, NotAFile, Stamp};
pub use braces::{Braces, UriPattern};
pub use catalog::{
    Catalog, Child, DocumentRef, Lookup, PromptRef, Revisions, SkillRef, TemplateRef,
};
pub use document::{Contents, Document, DocumentSource, UriTemplate};
pub use function::{FunctionCall, FunctionOutcome};
pub use limits::Limits;
pub use media::{Media, MediaKind};
pub use model::{
    Argument, ClientFiles, Content, Dialect, FileForm, Function, FunctionSource, Library,
    LibraryKind, LibraryOrigin, Marks, MessageSource, Prompt, Role, Skill, SkillFile,
    StoredVersion, TextForm,
};
pub use name::{LibraryName, PromptName, RelativePath};
pub use problem::{Excerpt, Problem, ProblemCode, Severity};
pub use render::{Block, Message, RenderError, Rendering, render};
pub use world::{Latest, World};
