//! A computed template on its way to a render worker, and what comes back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bundle::Bundle;
use super::engine::{Engine, Failure, Lines, Links, Room};
use super::values::Values;

/// Everything that a worker needs to render one prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputedJob {
    bundles: Vec<JobBundle>,
    values: Vec<(String, Option<String>)>,
    /// What the texts may take.
    room: Room,
    /// How long the worker may take before it is killed.
    pub millis: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct JobBundle {
    main: String,
    lines: Lines,
    sources: Vec<(String, String)>,
    links: Vec<(String, String, String)>,
}

/// What came of a job: a text for each message, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobOutcome {
    /// One text a message.
    Texts(Vec<String>),
    /// The first failure.
    Failed(Box<Failure>),
}

impl ComputedJob {
    /// Packs what the worker needs.
    pub(crate) fn new(
        bundles: &[Arc<Bundle>],
        values: &Values<'_>,
        room: Room,
        millis: u64,
    ) -> Self {
        let bundles = bundles.iter().map(|bundle| JobBundle {
            main: bundle.main().to_owned(),
            lines: bundle.lines,
            sources: bundle
                .sources()
                .iter()
                .map(|s| (s.name.clone(), s.text.to_string()))
                .collect(),
            links: bundle
                .links()
                .iter()
                .map(|((parent, name), target)| (parent.clone(), name.clone(), target.clone()))
                .collect(),
        });
        Self {
            bundles: bundles.collect(),
            values: values
                .iter()
                .map(|(n, v)| (n.to_owned(), v.map(str::to_owned)))
                .collect(),
            room,
            millis,
        }
    }

    /// Bytes of text that it holds.
    pub fn held(&self) -> usize {
        let bundles = self.bundles.iter().flat_map(|bundle| &bundle.sources);
        let sources: usize = bundles.map(|(_, text)| text.len()).sum();
        let values = self.values.iter().filter_map(|(_, value)| value.as_ref());
        sources + values.map(String::len).sum::<usize>()
    }
}

impl JobOutcome {
    /// The job ended without an answer: it ran into a limit and its process was killed.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::Failed(Box::new(Failure::limit(message)))
    }

    pub(crate) fn into_result(self) -> Result<Vec<String>, Failure> {
        match self {
            Self::Texts(texts) => Ok(texts),
            Self::Failed(failure) => Err(*failure),
        }
    }
}

/// Renders a job. Only for a process that may be killed: a computed template can take all the
/// memory and time that it is given.
pub fn run(job: &ComputedJob) -> JobOutcome {
    let values = Values::new(job.values.iter().map(|(n, v)| (n.as_str(), v.as_deref())));
    let mut room = job.room;
    let mut texts = Vec::with_capacity(job.bundles.len());
    for bundle in &job.bundles {
        let sources: Vec<(&str, &str)> = bundle
            .sources
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let links: Links = bundle
            .links
            .iter()
            .map(|(parent, name, target)| ((parent.clone(), name.clone()), target.clone()))
            .collect();
        let rendered = Engine::computed(&sources, links)
            .and_then(|engine| engine.render(&bundle.main, &values, room));
        match rendered {
            Ok(text) => {
                room.take(text.len());
                texts.push(text);
            }
            Err(failure) => {
                let failure = failure.seen_from(&bundle.main, bundle.lines);
                return JobOutcome::Failed(Box::new(failure));
            }
        }
    }
    JobOutcome::Texts(texts)
}
