//! State that all connections share: the server's identity, its limits, and pages of recent
//! listings.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use twig_core::remote::without_folders;
use twig_core::store::StoreName;
use twig_core::{Library, Limits, RenderError};

use crate::json;
use crate::long_documents::LongDocuments;
use crate::observer::{ObservedOutcome, ObservedRequest, Observer};
use crate::pages::Pages;

/// The identity of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The program's name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its version.
    pub version: String,
}

/// Which tools there are, and how they are described to models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    /// The project that tools write to; without one there are no such tools.
    pub project: Option<StoreName>,
    /// True if they may write.
    pub writes: bool,
    /// The prefix of a prompt's name in a message that invokes it; `:` if this is empty.
    pub trigger: String,
}

impl Tools {
    /// The prefix of a prompt's name in a message that invokes it.
    pub(crate) fn trigger(&self) -> &str {
        match &*self.trigger {
            "" => ":",
            trigger => trigger,
        }
    }
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            project: None,
            writes: true,
            trigger: ":".to_owned(),
        }
    }
}

/// What all connections of one server share.
#[derive(Debug)]
pub struct Server {
    pub(crate) limits: Limits,
    pub(crate) tools: Tools,
    /// Names of clients that the person added to the [`crate::command_clients`].
    pub(crate) command_clients: Vec<String>,
    /// Whether clients may be on other machines.
    pub(crate) is_remote: bool,
    /// Whether other servers may answer requests of a legacy session that began here.
    pub(crate) shares_sessions: bool,
    identity: ServerIdentity,
    /// Name, title and version as a JSON object.
    pub(crate) info: Box<str>,
    pages: Mutex<Pages>,
    pub(crate) long_documents: LongDocuments,
    /// What wants to know about answered requests, if anything does.
    pub(crate) observer: Option<Arc<dyn Observer>>,
    /// Failed prompts that were logged, each with its message; functions only with the prompt.
    told: Mutex<BTreeSet<(String, String)>>,
}

/// The maximum number of template mistakes that are logged: each once, since clients ask
/// repeatedly.
const TOLD: usize = 256;

impl Server {
    /// A server before its first answer.
    pub fn new(identity: &ServerIdentity, limits: Limits, tools: Tools) -> Self {
        let mut info = Vec::new();
        json::object(&mut info, |info| {
            info.text("name", &identity.name);
            info.text("title", &identity.title);
            info.text("version", &identity.version);
        });
        Self {
            pages: Mutex::new(Pages::new(&limits)),
            long_documents: LongDocuments::default(),
            told: Mutex::default(),
            observer: None,
            limits,
            tools,
            command_clients: Vec::new(),
            is_remote: false,
            shares_sessions: false,
            identity: identity.clone(),
            info: String::from_utf8_lossy(&info).into(),
        }
    }

    /// Who the server is.
    pub fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    /// The same, with further clients that use prompts as templates of commands.
    #[must_use]
    pub fn with_command_clients(mut self, names: Vec<String>) -> Self {
        self.command_clients = names;
        self
    }

    /// The same, with something that wants to know about answered requests.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The same, for clients that may be on other machines: messages name libraries, not the
    /// folders of this machine.
    #[must_use]
    pub fn for_remote_clients(mut self) -> Self {
        self.is_remote = true;
        self
    }

    /// The same, for one of several servers that answer the requests of a legacy session in any order:
    /// what only one of them would know (subscriptions, open questions) is not offered to it.
    #[must_use]
    pub fn with_shared_sessions(mut self) -> Self {
        self.shares_sessions = true;
        self
    }

    /// Reports a request that a transport refused before it was read, with a code of the transport.
    pub fn observe_refusal(&self, method: &str, code: i32) {
        if let Some(observer) = &self.observer {
            observer.answered(&ObservedRequest {
                actor: None,
                client: None,
                method,
                tool: None,
                name: None,
                is_prompt: false,
                version: None,
                is_function: false,
                outcome: ObservedOutcome::Refused(code),
                micros: 0,
            });
        }
    }

    /// An error of a prompt as clients may read it; mistakes in the prompt are logged.
    pub(crate) fn report<'l>(
        &self,
        prompt: &str,
        libraries: impl IntoIterator<Item = &'l Arc<Library>>,
        error: RenderError,
    ) -> RenderError {
        self.log(prompt, &error);
        if !self.is_remote {
            return error;
        }
        let libraries: Vec<&Library> = libraries.into_iter().map(|it| &**it).collect();
        error.reworded(|text| without_folders(libraries.iter().copied(), text))
    }

    /// Locks the pages of recent listings.
    pub(crate) fn pages(&self) -> MutexGuard<'_, Pages> {
        // After a panic with the lock held, at worst a page has to be written again.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs what is wrong with a prompt, the first time that it comes up. Mistakes of the caller
    /// are not logged.
    fn log(&self, prompt: &str, error: &RenderError) {
        if !self.is_news(prompt, error) {
            return;
        }
        match error {
            // The caller gets the full message. It may quote values, which must not be in the log.
            RenderError::FunctionOutput { .. } => {
                tracing::warn!(
                    "prompt `{prompt}` could not be rendered: its function printed no valid prompt; run `twig render` to see the mistake"
                );
            }
            error => tracing::warn!("prompt `{prompt}` could not be rendered: {error}"),
        }
    }

    fn is_news(&self, prompt: &str, error: &RenderError) -> bool {
        use RenderError::{Body, Function, FunctionOutput, Limit, Template};
        let what = match error {
            Body { .. } | Limit(_) | Template { .. } => error.to_string(),
            // The output of a program can differ each time, and would fill the set.
            Function(_) | FunctionOutput { .. } => String::new(),
            _ => return false,
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < TOLD && told.insert((prompt.to_owned(), what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_fails_in_many_ways_leaves_room_for_others() {
        let identity = ServerIdentity {
            name: String::new(),
            title: String::new(),
            version: String::new(),
        };
        let server = Server::new(&identity, Limits::default(), Tools::default());
        let failed = |at: usize| RenderError::Function(format!("failed: {at}"));
        let news = (0..2 * TOLD).filter(|at| server.is_news("f:fails", &failed(*at)));
        assert_eq!(news.count(), 1);
        assert!(server.is_news("f:other", &failed(0)));
        let limit = RenderError::Limit("too long".to_owned());
        assert!(server.is_news("f:fails", &limit));
        assert!(!server.is_news("f:fails", &limit));
    }
}
