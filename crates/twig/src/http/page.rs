//! The page: a shell that everyone may have, and behind a key the HTML of what its holder may read.
//!
//! The shell and its files hold no data. Every other request needs a page key in a header, which a
//! browser gets for a code that works once, for the key of a person or for the token. Nothing is
//! kept in cookies, and no answer but the shell can be shown as a document of its own.

mod answers;
mod beside;
mod client_lines;
mod connect;
mod draft;
mod edit;
mod entrance;
mod events;
mod history;
mod item;
mod keys;
mod new_prompt;
mod own_commands;
mod preview;
mod save;
mod scope;
mod suggest;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::task::block_in_place;
use twig_core::store::{hex, read_hex};
use twig_core::template::Templates;
use twig_core::{Limits, Problem};
use twig_mcp::http::HttpRefusal;
use twig_sources::ReplacedFiles;

use self::entrance::{RunningServer, use_code};
pub(crate) use self::entrance::{address_here, new_code, redirect_file, running};
pub(crate) use self::keys::forget_keys;
use self::keys::{PageHolder, PageKeys};
pub(crate) use self::scope::PageRules;
use self::scope::{PageScope, VisitorAnswer};
use super::Shared;
use super::caller::Caller;
use super::doorkeeper::Admission;
use super::endpoint::{refuse_caller, respond, turn_away, unknown_caller};
use super::headers::{one, with_headers};
use super::routes::{App, peer};

/// The addresses of screens; each is the same shell.
const SCREENS: [&str; 10] = [
    "/",
    "/p/{*name}",
    "/d/{*uri}",
    "/s/{*file}",
    "/edit",
    "/edit/{*name}",
    "/new",
    "/problems",
    "/sources",
    "/connect",
];

/// The longest body of a request to the page.
const BODY: usize = 2 * 1024 * 1024;

/// What may run and be loaded: the page's own files alone, and no text becomes a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
    img-src 'self' data: blob:; connect-src 'self'; form-action 'none'; base-uri 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types twig";

/// What every answer of the page says.
const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "clipboard-write=(self), camera=(), microphone=(), geolocation=()",
    ),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// What all requests to the page share.
pub(super) struct PageState {
    folder: Option<PathBuf>,
    address: String,
    keys: PageKeys,
    rules: PageRules,
    /// Where files go that the page replaces.
    replaced: Option<ReplacedFiles>,
    /// Templates that are not saved yet.
    drafts: Templates,
    /// Commands of this program that buttons run, one at a time.
    own_commands: tokio::sync::Mutex<()>,
    /// The problems that were found last; only one request at a time finds them again.
    problems: tokio::sync::Mutex<Option<FoundProblems>>,
    _entry: Option<RunningServer>,
}

/// The problems of a catalog.
struct FoundProblems {
    view: u64,
    fingerprint: [u8; 32],
    /// The number of [`twig_sources::LiveCatalog::texts`] before they were read.
    texts: u64,
    at: Instant,
    found: Arc<Vec<Problem>>,
}

impl PageState {
    /// The page of a server that is reached at this address; what it keeps is in a folder for it.
    pub(super) fn new(
        folder: Option<PathBuf>,
        replaced: Option<PathBuf>,
        address: String,
        rules: PageRules,
        limits: &Limits,
    ) -> Self {
        let entry = folder.as_ref().and_then(|folder| {
            let entry = RunningServer::new(folder, &address);
            let failed =
                |error: &_| tracing::debug!("`twig page` does not find this server: {error}");
            entry.inspect_err(failed).ok()
        });
        Self {
            keys: PageKeys::new(folder.as_deref()),
            rules,
            replaced: replaced.map(ReplacedFiles::new),
            drafts: Templates::new(limits.clone()),
            folder,
            address,
            own_commands: tokio::sync::Mutex::default(),
            problems: tokio::sync::Mutex::default(),
            _entry: entry,
        }
    }
}

/// Adds the routes of the page.
pub(super) fn route(mut routes: Router<Arc<App>>) -> Router<Arc<App>> {
    for path in SCREENS {
        routes = routes.route(path, any(shell));
    }
    routes
        .route("/page/assets/{name}", any(asset))
        .route("/page/enter", any(enter))
        .route("/page/{*what}", any(data))
}

/// The shell. A person may get here from anywhere, such as from a link in a chat; it holds nothing.
async fn shell(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(trouble) = app.door.check_page(&parts, true) {
        return refused(trouble, &parts, body).await;
    }
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return secured(StatusCode::METHOD_NOT_ALLOWED.into_response());
    }
    let html = twig_page::shell().into_string();
    secured(typed("text/html; charset=utf-8", html.into()))
}

/// A file of the page. Its name has a part of its digest, so it never changes.
async fn asset(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(trouble) = app.door.check_page(&parts, false) {
        return refused(trouble, &parts, body).await;
    }
    let Some(found) = twig_page::asset(&name) else {
        return secured(StatusCode::NOT_FOUND.into_response());
    };
    let mut response = secured(typed(found.mime, Body::from(found.bytes)));
    let headers = response.headers_mut();
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, kept);
    if found.is_gzip {
        // Every browser that knows the page's script accepts it.
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// What a browser comes in with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnterRequest {
    code: Option<String>,
    secret: Option<String>,
}

/// What it gets.
#[derive(Serialize)]
struct EnterAnswer<'a> {
    key: String,
    #[serde(flatten)]
    visitor: VisitorAnswer<'a>,
}

/// Exchanges a code, the key of a person or the token for a page key.
async fn enter(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(trouble) = app.door.check_page(&parts, false) {
        return refused(trouble, &parts, body).await;
    }
    if parts.method != Method::POST {
        return refused(HttpRefusal::Method, &parts, body).await;
    }
    let shared = &app.shared;
    let Some(state) = &shared.page else {
        return secured(StatusCode::NOT_FOUND.into_response());
    };
    let asked: EnterRequest = match read_json(shared, &parts, body).await {
        Ok(asked) => asked,
        Err(response) => return response,
    };
    let found = block_in_place(|| state.admit(shared, &asked));
    let Some((holder, admission)) = found else {
        // A guess counts as one, though there is no header.
        if let Some(peer) = peer(&parts.extensions) {
            shared.delay_guess(peer).await;
        }
        return refused(HttpRefusal::Token, &parts, Body::empty()).await;
    };
    let scope = state.rules.scope(&holder, &admission);
    let made = block_in_place(|| state.keys.make(holder));
    match made {
        Ok(key) => {
            peer(&parts.extensions).inspect(|peer| peer.know());
            let visitor = scope.answer(name_of(&admission));
            json(&EnterAnswer { key, visitor })
        }
        Err(error) => {
            tracing::error!("a page key cannot be kept: {error}");
            refused(HttpRefusal::Panic, &parts, Body::empty()).await
        }
    }
}

impl PageState {
    /// What somebody who comes in becomes.
    fn admit(&self, shared: &Shared, asked: &EnterRequest) -> Option<(PageHolder, Admission)> {
        if let Some(code) = &asked.code {
            let folder = self.folder.as_deref()?;
            let is_good = use_code(folder, code, &self.address);
            return is_good.then_some((PageHolder::Owner, Admission::Owner));
        }
        let secret = asked.secret.as_deref()?.trim();
        let admission = shared.doorkeeper.admit_secret(secret)?;
        let holder = match &admission {
            Admission::Person(person) => {
                let (id, digest) = person.key();
                PageHolder::Person(id.to_owned(), hex(digest))
            }
            Admission::Token => PageHolder::Token(digest_of(secret)),
            Admission::Local | Admission::Owner => return None,
        };
        Some((holder, admission))
    }

    /// Who has a page key now; `None` if it does not work.
    fn visitor(&self, shared: &Shared, key: &str) -> Option<PageVisitor> {
        let holder = self.keys.holder(key)?;
        let admission = match &holder {
            // This user can read all files themselves.
            PageHolder::Owner => Admission::Owner,
            PageHolder::Token(digest) => {
                let digest = read_hex(digest)?;
                shared
                    .doorkeeper
                    .has_token(&digest)
                    .then_some(Admission::Token)?
            }
            PageHolder::Person(id, digest) => {
                shared.doorkeeper.holder_of(id, &read_hex(digest)?)?
            }
        };
        Some(PageVisitor {
            scope: self.rules.scope(&holder, &admission),
            is_owner: holder == PageHolder::Owner,
            admission,
        })
    }
}

/// The name of a person; nobody else has one.
fn name_of(admission: &Admission) -> Option<&str> {
    admission.person().map(|person| &**person.name())
}

/// Somebody with a page key.
struct PageVisitor {
    admission: Admission,
    /// True if this server is theirs, and its paths are of their machine.
    is_owner: bool,
    scope: PageScope,
}

/// Who shows a page key.
fn visitor(shared: &Shared, parts: &Parts) -> Option<PageVisitor> {
    let shown = one(&parts.headers, header::AUTHORIZATION)?;
    let shown = shown.strip_prefix("Bearer ")?;
    let state = shared.page.as_ref()?;
    block_in_place(|| state.visitor(shared, shown))
}

impl answers::PageVisit {
    /// The same visitor after the rest of a request has come; `None` if the key ended meanwhile.
    fn still(mut self, parts: &Parts) -> Option<Self> {
        let visitor = visitor(&self.shared, parts)?;
        self.caller = self.caller.renewed(&self.shared)?;
        (self.scope, self.is_owner) = (visitor.scope, visitor.is_owner);
        Some(self)
    }
}

/// A header that may occur once.
fn headers_one(parts: &Parts, name: HeaderName) -> Option<&str> {
    one(&parts.headers, name)
}

/// Everything that needs a page key.
async fn data(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(trouble) = app.door.check_page(&parts, false) {
        return refused(trouble, &parts, body).await;
    }
    let shared = &app.shared;
    let Some(visitor) = visitor(shared, &parts) else {
        let response = unknown_caller(shared, HttpRefusal::Token, &parts, body).await;
        return secured(response);
    };
    let caller = match Caller::everywhere(visitor.admission, shared) {
        Ok(caller) => caller,
        Err(refusal) => return secured(refuse_caller(refusal, &parts, body).await),
    };
    peer(&parts.extensions).inspect(|peer| peer.know());
    let what = parts
        .uri
        .path()
        .strip_prefix("/page/")
        .unwrap_or_default()
        .to_owned();
    let visit = answers::PageVisit {
        shared: Arc::clone(shared),
        caller,
        is_owner: visitor.is_owner,
        scope: visitor.scope,
        peer: peer(&parts.extensions).cloned(),
    };
    if edit::answers(&what, &parts.method) {
        return edit::answer(visit, &what, &parts, body).await;
    }
    match (&*what, &parts.method) {
        ("events", &Method::GET) => secured(events::stream(visit)),
        ("visitor", &Method::GET) => json(&visit.scope.answer(name_of(&visit.caller.admission))),
        ("render", &Method::POST) => {
            let asked = match read_json(shared, &parts, body).await {
                Ok(asked) => asked,
                Err(response) => return response,
            };
            preview::answer(&visit, asked).await
        }
        (word @ ("reach" | "updates" | "verify"), &Method::POST) => {
            let word = word.to_owned();
            visit.own_command(&word).await
        }
        ("restore", &Method::POST) => match read_json(shared, &parts, body).await {
            Ok(asked) => visit.restore(asked).await,
            Err(response) => response,
        },
        ("complete", &Method::POST) => match read_json(shared, &parts, body).await {
            Ok(asked) => block_in_place(|| visit.complete(&asked)),
            Err(response) => response,
        },
        ("media", &Method::GET) => visit.media(parts.uri.query().unwrap_or_default()),
        ("connect", &Method::GET) => match visit.connect(&parts) {
            Ok(html) => fragment(&parts, html),
            Err(status) => secured(status.into_response()),
        },
        (what, &Method::GET) => {
            let answered = visit
                .answer(what, parts.uri.query().unwrap_or_default())
                .await;
            match answered {
                Ok(html) => fragment(&parts, html),
                Err(status) => secured(status.into_response()),
            }
        }
        _ => refused(HttpRefusal::Method, &parts, body).await,
    }
}

/// Why something was not done: an answer that the page shows.
#[derive(Serialize)]
struct SaidAnswer<'a> {
    why: &'a str,
}

/// Answers in one sentence.
fn said(status: StatusCode, why: &str) -> Response {
    let mut response = json(&SaidAnswer { why });
    *response.status_mut() = status;
    response
}

/// Reads a body of JSON; the error is the answer.
async fn read_json<T: for<'de> Deserialize<'de>>(
    shared: &Shared,
    parts: &Parts,
    body: Body,
) -> Result<T, Response> {
    let refuse = |trouble: &HttpRefusal| {
        secured(respond(with_headers(&parts.headers, |read| {
            trouble.reply(read)
        })))
    };
    let kind = one(&parts.headers, header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.starts_with("application/json")) {
        return Err(refused(HttpRefusal::MediaType, parts, body).await);
    }
    let body = shared.bodies.read(&parts.headers, body, BODY).await;
    let body = body.map_err(|trouble| refuse(&trouble))?;
    serde_json::from_slice(body.bytes())
        .map_err(|_| secured(StatusCode::BAD_REQUEST.into_response()))
}

/// HTML for the script, which has it already if nothing changed.
fn fragment(parts: &Parts, html: String) -> Response {
    let tag = format!("\"{}\"", &digest_of(&html)[..24]);
    let known = one(&parts.headers, header::IF_NONE_MATCH);
    let mut response = if known == Some(&tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        typed("text/html; charset=utf-8", html.into())
    };
    if let Ok(tag) = HeaderValue::try_from(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    secured(response)
}

fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => secured(typed("application/json", bytes.into())),
        Err(_) => secured(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
    }
}

fn typed(mime: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    let mime = HeaderValue::from_static(mime);
    response.headers_mut().insert(header::CONTENT_TYPE, mime);
    response
}

async fn refused(trouble: HttpRefusal, parts: &Parts, body: Body) -> Response {
    secured(turn_away(trouble, parts, body).await)
}

/// Adds what every answer of the page says.
fn secured(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    let kept = headers.entry(header::CACHE_CONTROL);
    kept.or_insert(HeaderValue::from_static("no-store"));
    response
}

fn digest_of(text: &str) -> String {
    hex(&Sha256::digest(text).into())
}
