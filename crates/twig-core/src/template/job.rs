//! A job for a render worker: a computed template, and its result.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bundle::Bundle;
use super::engine::{Engine, EngineError, Links, TemplateLines, TextRoom};
use super::values::TemplateValues;

/// Everything that a worker needs to render one prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputedJob {
    /// The template of each message, by its name.
    mains: Vec<(String, TemplateLines)>,
    /// All templates and what they refer to, each once.
    sources: BTreeMap<String, String>,
    links: Vec<(String, String, String)>,
    values: Vec<(String, Option<String>)>,
    /// The bytes that the texts may have.
    room: TextRoom,
    /// How long the worker may take before it is killed.
    pub millis: u64,
}

/// The result of a job: a text for each message, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobOutcome {
    /// One text per message.
    Texts(Vec<String>),
    /// The first failure.
    Failed(Box<EngineError>),
}

impl ComputedJob {
    /// Packs what the worker needs.
    pub(crate) fn new(
        bundles: &[Arc<Bundle>],
        values: &TemplateValues<'_>,
        room: TextRoom,
        millis: u64,
    ) -> Self {
        let mains = bundles.iter();
        let mains = mains.map(|bundle| (bundle.main().to_owned(), bundle.lines));
        let mut sources = BTreeMap::new();
        let mut links = Links::new();
        for bundle in bundles {
            for source in bundle.sources() {
                if !sources.contains_key(&source.name) {
                    sources.insert(source.name.clone(), source.text.to_string());
                }
            }
            let own = bundle.links().iter();
            links.extend(own.map(|(from, to)| (from.clone(), to.clone())));
        }
        let links = links.into_iter();
        Self {
            mains: mains.collect(),
            sources,
            links: links
                .map(|((parent, name), target)| (parent, name, target))
                .collect(),
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
        let sources: usize = self.sources.values().map(String::len).sum();
        let values = self.values.iter().filter_map(|(_, value)| value.as_ref());
        sources + values.map(String::len).sum::<usize>()
    }
}

impl JobOutcome {
    /// The job ended without an answer: it reached a limit and its process was killed.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::Failed(Box::new(EngineError::limit(message)))
    }

    pub(crate) fn into_result(self) -> Result<Vec<String>, EngineError> {
        match self {
            Self::Texts(texts) => Ok(texts),
            Self::Failed(failure) => Err(*failure),
        }
    }
}

/// Renders a job. Only for a process that can be killed: a computed template can take all the
/// memory and time that it gets.
pub fn run(job: &ComputedJob) -> JobOutcome {
    let values = TemplateValues::new(job.values.iter().map(|(n, v)| (n.as_str(), v.as_deref())));
    let mut room = job.room;
    let mut texts = Vec::with_capacity(job.mains.len());
    let sources = job.sources.iter();
    let sources: Vec<(&str, &str)> = sources
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let links = job.links.iter();
    let links =
        links.map(|(parent, name, target)| ((parent.clone(), name.clone()), target.clone()));
    let engine = match Engine::computed(&sources, links.collect()) {
        Ok(engine) => engine,
        Err(failure) => return JobOutcome::Failed(Box::new(failure)),
    };
    for (main, lines) in &job.mains {
        match engine.render(main, &values, room) {
            Ok(text) => {
                room.take(text.len());
                texts.push(text);
            }
            Err(failure) => {
                let failure = failure.seen_from(main, *lines);
                return JobOutcome::Failed(Box::new(failure));
            }
        }
    }
    JobOutcome::Texts(texts)
}
