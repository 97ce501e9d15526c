//! `label`: moves a label of a prompt or resource of the project to a version.

use twig_core::store::{LabelChange, LabelName, LabelWrite, StoreName, Write};

use super::given::ToolArguments;
use super::write::author;
use super::{ToolAnswer, kind, reply, sentence};
use crate::call::{Call, CallOutcome};
use crate::in_flight::PendingJob;

/// Starts the change. A client is no administrator: protected labels stay where they are.
pub(super) fn call(call: &Call<'_>, given: &ToolArguments<'_>) -> ToolAnswer {
    let project = call.server.tools.project.clone();
    let project = project.ok_or("No project is selected")?;
    let kind = kind(given);
    let name = StoreName::parse(kind.noun(), given.text("name"));
    let name = name.map_err(|error| error.to_string())?;
    let label = LabelName::parse(given.text("label")).map_err(|error| error.to_string())?;
    let write = LabelWrite {
        project: project.clone(),
        kind,
        name: name.clone(),
        label: label.clone(),
        change: LabelChange::Set {
            version: given.number("version"),
        },
        is_admin: false,
        author: author(call),
    };
    let write = Write::Label(Box::new(write));
    let job = PendingJob::write(write, move |outcome, result| match outcome {
        Ok(written) => {
            let (noun, version) = (kind.as_str(), written.version);
            let said = format!(
                "Label '{label}' of {noun} '{name}' in project '{project}' names version {version}"
            );
            reply::says(&said, result);
            result.object("structuredContent", |content| {
                content.text("project", project.as_str());
                content.text("name", name.as_str());
                content.text("label", label.as_str());
                content.number("version", version);
                content.flag("changed", written.is_new);
            });
            result.flag("isError", false);
        }
        Err(error) => reply::failed(&sentence(&error), result),
    });
    Ok(CallOutcome::Job(Box::new(job)))
}
