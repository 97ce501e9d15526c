//! The hub: what other programs fetch of a server to install skills, and to find the server itself.
//!
//! It publishes the shown prompts of a catalog as skills: an index with digests, the files and archives
//! that the index leads to, a marketplace of plugins, a catalog of all this, and the server card.
//! Nothing of it is routed unless the configuration says so. A handler answers from one catalog, so
//! that a caller gets only what that caller may read.

mod archives;
mod page;
mod reply;
mod settings;
mod skills;
mod texts;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use tokio::task::block_in_place;
use tokio::time::timeout;
use twig_core::{Bodies, Catalog};
use twig_mcp::http::HttpRefusal;

use self::archives::HubArchives;
use self::page::HubPage;
use self::reply::HubReply;
pub(crate) use self::settings::{HubSettings, parse_hub_url};
use self::skills::KnownNames;
use self::texts::HubTexts;
use super::Shared;
use super::caller::Caller;
use super::endpoint::{refuse_caller, respond, turn_away, unknown_caller};
use super::headers::{one, with_headers};
use super::routes::{App, close_unless_known, peer};

/// The paths of the hub.
const ROUTES: [&str; 6] = [
    "/.well-known/agent-skills/{*path}",
    "/.well-known/skills/{*path}",
    "/.well-known/ai-catalog.json",
    "/.well-known/mcp/server-card.json",
    "/.claude-plugin/{*path}",
    "/mcp/server-card",
];

/// What all requests to the hub share.
pub(super) struct Hub {
    settings: HubSettings,
    archives: HubArchives,
    names: KnownNames,
    is_end_logged: AtomicBool,
    /// Archives are made one at a time. Installers ask for all of them at once, more than may wait for
    /// heavy work, so they wait here, without a thread.
    turn: tokio::sync::Mutex<()>,
    /// How long a request may wait for its turn.
    wait: Duration,
}

/// Why a request is not answered.
enum HubRefusal {
    /// There is no such page for this caller.
    Missing,
    /// The page needs an archive that has to be made first.
    NotMade,
    Busy,
}

impl Hub {
    pub(super) fn new(settings: HubSettings, wait: Duration) -> Self {
        Self {
            settings,
            archives: HubArchives::default(),
            names: KnownNames::default(),
            is_end_logged: AtomicBool::new(false),
            turn: tokio::sync::Mutex::default(),
            wait,
        }
    }
}

/// Adds the routes of the hub.
pub(super) fn route(mut routes: Router<Arc<App>>) -> Router<Arc<App>> {
    for path in ROUTES {
        routes = routes.route(path, any(hub));
    }
    routes
}

/// Any page of the hub, for clients that name this server as host and send the token.
async fn hub(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(trouble) = app.door.check_place(&parts) {
        return turn_away(trouble, &parts, body).await;
    }
    let peer = peer(&parts.extensions);
    let shared = &app.shared;
    let admission = match shared.doorkeeper.admit(&parts.headers) {
        Ok(admission) => admission,
        Err(trouble) => return unknown_caller(shared, trouble, &parts, body).await,
    };
    let caller = match Caller::everywhere(admission, shared) {
        Ok(caller) => caller,
        Err(refusal) => return refuse_caller(refusal, &parts, body).await,
    };
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return reply::wrong_method();
    }
    let answered = answer(shared, &parts, &caller).await;
    let mut response = match answered {
        Ok(reply) => {
            peer.inspect(|peer| peer.know());
            match reply.respond(&parts, &app.shared.replies).await {
                Ok(response) => response,
                Err(trouble) => refused(&trouble, &parts),
            }
        }
        Err(HubRefusal::Missing) => StatusCode::NOT_FOUND.into_response(),
        Err(HubRefusal::NotMade | HubRefusal::Busy) => refused(&HttpRefusal::Busy, &parts),
    };
    close_unless_known(&parts.extensions, &mut response);
    tracing::debug!(path = %parts.uri.path(), status = response.status().as_u16(), "answered");
    response
}

fn refused(trouble: &HttpRefusal, parts: &Parts) -> Response {
    respond(with_headers(&parts.headers, |headers| {
        trouble.reply(headers)
    }))
}

/// Answers from what a caller may read.
async fn answer(shared: &Shared, parts: &Parts, caller: &Caller) -> Result<HubReply, HubRefusal> {
    let catalog = caller.catalog(shared);
    let hub = shared.hub.as_ref().ok_or(HubRefusal::Missing)?;
    let page = HubPage::parse(parts.uri.path()).ok_or(HubRefusal::Missing)?;
    let host = one(&parts.headers, header::HOST).unwrap_or_default();
    let texts = HubTexts {
        base: hub.settings.base(host),
        settings: &hub.settings,
        needs_token: shared.doorkeeper.asks(),
        identity: shared.service.server.identity(),
    };
    if page == HubPage::ServerCard {
        return Ok(texts.server_card());
    }
    if !page.is_list() {
        let made = block_in_place(|| make(shared, caller, &texts, &page, &catalog, false));
        if !matches!(made, Err(HubRefusal::NotMade)) {
            return made;
        }
    }
    // A list waits in the queue for heavy work, in which addresses take turns.
    let _turn = if page.is_list() {
        None
    } else {
        let turn = timeout(hub.wait, hub.turn.lock()).await;
        Some(turn.map_err(|_| HubRefusal::Busy)?)
    };
    let files = caller.view.files(&shared.service);
    let bodies = shared.disk.for_request(files, peer(&parts.extensions));
    let mut made = Err(HubRefusal::Busy);
    bodies.aside("hub", &mut || {
        made = make(shared, caller, &texts, &page, &catalog, true);
    });
    made
}

/// Makes a page; without `may_build`, only if no archive has to be made for it.
fn make(
    shared: &Shared,
    caller: &Caller,
    texts: &HubTexts<'_>,
    page: &HubPage,
    catalog: &Arc<Catalog>,
    may_build: bool,
) -> Result<HubReply, HubRefusal> {
    let hub = shared.hub.as_ref().ok_or(HubRefusal::Missing)?;
    let skills = skills::HubSkills {
        files: caller.view.files(&shared.service),
        templates: caller.view.templates(&shared.service),
        archives: &hub.archives,
        names: &hub.names,
        is_end_logged: &hub.is_end_logged,
        may_build,
    };
    skills.with(catalog, |offered| texts.page(page, &skills, offered))
}
