//! The tools that write to the project: the change is sent as a job, and the reply reports its
//! result.

use std::fmt::Write as _;

use twig_core::store::{
    Author, Change, GivenContent as Content, ItemDraft, ItemKind, ItemWrite, Operation, Patch,
    StoreError, StoreName, Write, Written, mime_or_plain,
};

use super::given::ToolArguments;
use super::tool::Verb;
use super::{ToolAnswer, reply, sentence};
use crate::call::{Call, CallOutcome};
use crate::client;
use crate::in_flight::PendingJob;
use crate::json::Object;

/// A write in progress: what its answer will say.
#[derive(Debug)]
struct WriteCall {
    verb: Verb,
    kind: ItemKind,
    project: StoreName,
    name: StoreName,
    /// The URI and type of a new resource.
    resource: Option<(Box<str>, Box<str>)>,
}

/// Starts the change.
pub(super) fn call(
    call: &Call<'_>,
    kind: ItemKind,
    verb: Verb,
    given: &ToolArguments<'_>,
) -> ToolAnswer {
    let project = call.server.tools.project.clone();
    let project = project.ok_or("No project is selected")?;
    let name = StoreName::parse(kind.noun(), given.text("name"));
    let name = name.map_err(|error| error.to_string())?;
    let text = |name: &str| given.maybe_text(name).map(Box::from);
    let content = || given.maybe_text("content");
    let content = content().map(|text| Content::Text(text.to_owned()));
    let description = text("description");
    let mut resource = None;
    let change = match verb {
        Verb::Create => {
            let mut draft = ItemDraft {
                content: content.ok_or("Missing required argument: content")?,
                description,
                uri: None,
                mime: None,
            };
            if kind == ItemKind::Resource {
                let uri: Box<str> = given.text("uri").into();
                let mime: Box<str> = mime_or_plain(given.maybe_text("mime_type")).into();
                draft.uri = Some(uri.clone());
                draft.mime = Some(mime.clone());
                resource = Some((uri, mime));
            }
            Change::Create(draft)
        }
        Verb::Update => Change::Update(Patch {
            content,
            description,
            uri: None,
            mime: text("mime_type"),
        }),
        Verb::Delete => Change::Delete,
        Verb::Restore => Change::Restore {
            version: given.number("version"),
        },
    };
    let write = ItemWrite {
        project: project.clone(),
        kind,
        name: name.clone(),
        change,
        expected: given.number("expected_version"),
        author: author(call),
    };
    let call = WriteCall {
        verb,
        kind,
        project,
        name,
        resource,
    };
    let write = Write::Item(Box::new(write));
    let job = PendingJob::write(write, move |outcome, result| call.finish(outcome, result));
    Ok(CallOutcome::Job(Box::new(job)))
}

/// The author of the write.
pub(super) fn author(call: &Call<'_>) -> Author {
    let said = client::name(call.meta.client_info());
    let said = said.or_else(|| call.initialized.name.clone());
    Author::Client(said.unwrap_or_else(|| client::UNKNOWN.into()))
}

impl WriteCall {
    /// Writes its result.
    fn finish(self, outcome: Result<Written, StoreError>, result: &mut Object<'_>) {
        let Self { kind, name, .. } = &self;
        match outcome {
            Ok(written) => {
                let (verb, place) = match self.verb {
                    Verb::Create => ("Created", "in"),
                    Verb::Update => ("Updated", "in"),
                    Verb::Delete => ("Deleted", "from"),
                    Verb::Restore => ("Restored", "in"),
                };
                let (kind, project) = (kind.as_str(), &self.project);
                let mut sentence = format!("{verb} {kind} '{name}' {place} project '{project}'");
                if let (Verb::Restore, Some(Operation::Restore { from })) =
                    (self.verb, written.operation)
                {
                    let version = written.version;
                    // Writing to a `String` cannot fail.
                    let _ = write!(
                        sentence,
                        " from version {from}: it is version {version} now"
                    );
                }
                reply::says(&sentence, result);
                result.object("structuredContent", |content| {
                    self.content(&written, content);
                });
                result.flag("isError", false);
            }
            Err(error) => reply::failed(&sentence(&error), result),
        }
    }

    fn content(&self, written: &Written, content: &mut Object<'_>) {
        content.text("project", self.project.as_str());
        content.text("name", self.name.as_str());
        if let Some((uri, mime)) = &self.resource {
            content.text("uri", uri);
            content.text("mimeType", mime);
        }
        content.number("version", written.version);
        content.flag("changed", written.is_new);
    }
}
