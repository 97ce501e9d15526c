//! Whoever sent a request: who they are, where, and what they see there.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use axum::http::request::Parts;
use twig_core::Catalog;
use twig_core::access::Verbs;
use twig_core::store::Write;
use twig_mcp::Connection;
use twig_mcp::http::HttpRefusal;
use twig_sources::ViewScope;

use super::Shared;
use super::doorkeeper::Admission;
use super::sealed_id::SessionOwner;
use super::views::{HttpView, scope_of};

/// A caller who was let in, with what they see at the address of the request.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) admission: Admission,
    scope: ViewScope,
    pub(super) view: Arc<HttpView>,
}

/// Why a caller gets no answer.
pub(super) enum CallerRefusal {
    /// It is not there, or not for this caller.
    Refused(HttpRefusal),
    /// The next request is answered after this many seconds.
    Later(u64),
}

impl Caller {
    /// The caller of a request whose credentials were accepted.
    pub(super) fn new(
        admission: Admission,
        parts: &Parts,
        shared: &Shared,
    ) -> Result<Self, CallerRefusal> {
        let path = parts.uri.path();
        let no_address = CallerRefusal::Refused(HttpRefusal::NoAddress);
        let scope = scope_of(path).ok_or(no_address)?;
        Self::at(admission, scope, shared)
    }

    /// The caller of a page that shows all that they may read.
    pub(super) fn everywhere(admission: Admission, shared: &Shared) -> Result<Self, CallerRefusal> {
        Self::at(admission, ViewScope::Everything, shared)
    }

    fn at(admission: Admission, scope: ViewScope, shared: &Shared) -> Result<Self, CallerRefusal> {
        if let Some(person) = admission.person()
            && let Err(wait) = person.allowance.take(Instant::now())
        {
            return Err(CallerRefusal::Later(wait.as_secs() + 1));
        }
        let found = shared.views.find(&admission, &scope, &shared.service);
        let view = found.map_err(CallerRefusal::Refused)?;
        Ok(Self {
            admission,
            scope,
            view,
        })
    }

    /// The same caller as of now; `None` if nothing is there for them any more.
    pub(super) fn renewed(&self, shared: &Shared) -> Option<Self> {
        let admission = shared.doorkeeper.readmit(&self.admission)?;
        let found = shared.views.find(&admission, &self.scope, &shared.service);
        Some(Self {
            scope: self.scope.clone(),
            admission,
            view: found.ok()?,
        })
    }

    /// The caller after the rest of a request has come, perhaps long after its head; `None` if there is
    /// nothing for them any more.
    pub(super) fn still<'c>(&'c self, shared: &Shared) -> Option<Cow<'c, Self>> {
        match (shared.doorkeeper.readmit(&self.admission)?, &self.admission) {
            (Admission::Person(now), Admission::Person(before)) if !Arc::ptr_eq(&now, before) => {
                self.renewed(shared).map(Cow::Owned)
            }
            _ => Some(Cow::Borrowed(self)),
        }
    }

    /// The owner of the caller's sessions at this address.
    pub(super) fn owner(&self) -> SessionOwner {
        let address = match &self.scope {
            ViewScope::Everything => String::new(),
            ViewScope::Project(workspace, project) => format!("{workspace}/{project}"),
        };
        SessionOwner::new(self.admission.id(), &address)
    }

    /// A connection to the caller.
    pub(super) fn connection(&self) -> Connection {
        self.named(Connection::new(Arc::clone(&self.view.server)))
    }

    /// The connection of a session that goes on.
    pub(super) fn resumed(&self, state: &[u8]) -> Connection {
        self.named(Connection::resumed(Arc::clone(&self.view.server), state))
    }

    fn named(&self, connection: Connection) -> Connection {
        match self.admission.person() {
            Some(person) => connection.for_actor(Arc::clone(person.name())),
            None => connection,
        }
    }

    /// A write, made by this caller.
    pub(super) fn author_of(&self, write: &mut Write) {
        let Some(person) = self.admission.person() else {
            return;
        };
        let author = write.author_mut();
        *author = author.clone().with_person(person.name());
        if let (Write::Label(label), ViewScope::Project(workspace, project)) = (write, &self.scope)
        {
            let rights = self.admission.rights();
            let verbs = rights.map(|rights| rights.on_project(workspace, project));
            label.is_admin = verbs.is_some_and(|verbs| verbs.has(Verbs::ADMIN));
        }
    }

    /// What the caller sees now.
    pub(super) fn catalog(&self, shared: &Shared) -> Arc<Catalog> {
        self.view.catalog(&shared.service)
    }
}
