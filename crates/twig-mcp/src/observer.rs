//! Tells the program which requests were answered, for a log of reads and for counts of use. Neither
//! arguments nor contents are passed on.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use twig_core::problem::shorten;

/// The longest name of something that does not exist, in characters.
const LONGEST_NAME: usize = 200;

/// What wants to know about answered requests.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Microseconds of a clock that never goes back, from any start.
    fn clock(&self) -> u64;

    /// Called once for each request that was answered. It must not block.
    fn answered(&self, request: &ObservedRequest<'_>);
}

/// A request that was answered: one that reads or uses something, or one that was refused.
#[derive(Debug, Clone, Copy)]
pub struct ObservedRequest<'a> {
    /// The person who asked, if the transport knows one.
    pub actor: Option<&'a str>,
    /// The client, by the name that it gives itself.
    pub client: Option<&'a str>,
    /// The method.
    pub method: &'a str,
    /// The tool of `tools/call`.
    pub tool: Option<&'a str>,
    /// The full name of a prompt, or the URI of a document.
    pub name: Option<&'a str>,
    /// True if it is a prompt.
    pub is_prompt: bool,
    /// Its version, if it is in a store.
    pub version: Option<u64>,
    /// True if a program was run for it.
    pub is_function: bool,
    /// What became of it.
    pub outcome: ObservedOutcome,
    /// How long it took, in microseconds.
    pub micros: u64,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservedOutcome {
    /// It has its result.
    Done,
    /// A tool said what went wrong.
    Failed,
    /// An error with this code.
    Refused(i32),
}

/// What is noted of a request while it is answered.
#[derive(Debug, Default)]
pub(crate) struct UseNote(Mutex<NotedUse>);

/// The same, once it is answered or waits for a job.
#[derive(Debug, Default)]
pub(crate) struct NotedUse {
    /// When it began, by the observer's clock.
    pub(crate) began: u64,
    pub(crate) method: Box<str>,
    pub(crate) client: Option<Box<str>>,
    pub(crate) tool: Option<Box<str>>,
    pub(crate) name: Option<Box<str>>,
    pub(crate) is_prompt: bool,
    pub(crate) version: Option<u64>,
    pub(crate) is_function: bool,
}

impl UseNote {
    /// Notes something.
    pub(crate) fn set(&self, note: impl FnOnce(&mut NotedUse)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What was noted; the next request starts with nothing.
    pub(crate) fn take(&self) -> NotedUse {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *noted)
    }
}

impl NotedUse {
    /// Notes a name that a client asked for, whether it exists or not.
    pub(crate) fn asked(&mut self, name: &str, is_prompt: bool) {
        self.name = Some(shorten(name, LONGEST_NAME).into());
        self.is_prompt = is_prompt;
    }

    /// Reports the request, if it reads or uses something, or was refused.
    pub(crate) fn report(
        &self,
        observer: &dyn Observer,
        actor: Option<&str>,
        outcome: ObservedOutcome,
    ) {
        let is_read = matches!(
            &*self.method,
            "prompts/get" | "resources/read" | "skills/get" | "tools/call"
        );
        if !is_read && !matches!(outcome, ObservedOutcome::Refused(_)) {
            return;
        }
        observer.answered(&ObservedRequest {
            actor,
            client: self.client.as_deref(),
            method: &self.method,
            tool: self.tool.as_deref(),
            name: self.name.as_deref(),
            is_prompt: self.is_prompt,
            version: self.version,
            is_function: self.is_function,
            outcome,
            micros: observer.clock().saturating_sub(self.began),
        });
    }
}

/// The outcome of a result that was written. A text in it cannot look like the member.
pub(crate) fn outcome(method: &str, result: &[u8]) -> ObservedOutcome {
    const FAILED: &[u8] = b"\"isError\":true";
    let is_failed =
        method == "tools/call" && result.windows(FAILED.len()).any(|part| part == FAILED);
    if is_failed {
        ObservedOutcome::Failed
    } else {
        ObservedOutcome::Done
    }
}
