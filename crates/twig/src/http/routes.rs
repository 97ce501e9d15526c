//! The routes, and the checks in front of them.
//!
//! A browser sends the origin of its page. Its answers need CORS headers, and some of its requests
//! ask only for those. Other clients skip that step.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Extensions, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;
use twig_mcp::http::{Headers, HttpRefusal};

use super::Shared;
use super::door::Door;
use super::endpoint::{endpoint, respond, turn_away};
use super::headers::{METHOD, NAME, SESSION, VERSION};
use super::hook;
use super::hub;
use super::metrics::{MeasuredCall, measure};
#[cfg(feature = "page")]
use super::page;
use super::peers::HttpPeer;

/// The state of every handler.
pub(super) struct App {
    pub(super) shared: Arc<Shared>,
    pub(super) door: Door,
}

/// Dispatches requests to their handlers.
#[derive(Clone)]
pub(super) struct Routes {
    short: TowerToHyperService<Router>,
    for_pages: TowerToHyperService<Router>,
}

impl Routes {
    pub(super) fn new(shared: Arc<Shared>, door: Door) -> Self {
        let cors = CorsLayer::new()
            .allow_origin(door.origins())
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers([
                header::ACCEPT,
                header::AUTHORIZATION,
                header::CONTENT_TYPE,
                HeaderName::from_static("last-event-id"),
                SESSION,
                VERSION,
                METHOD,
                NAME,
            ])
            .expose_headers([SESSION]);
        let (has_hub, has_hook) = (shared.hub.is_some(), shared.hook.is_some());
        let app = Arc::new(App { shared, door });
        let panicked = CatchPanicLayer::custom(|_| {
            let reply = HttpRefusal::Panic.reply(&Headers::default());
            respond(reply)
        });
        let mut routes = Router::new()
            .route("/mcp", any(endpoint))
            .route("/mcp/{workspace}/{project}", any(endpoint))
            .route("/healthz", get(health));
        if has_hub {
            routes = hub::route(routes);
        }
        if has_hook {
            routes = hook::route(routes);
        }
        let routes = routes.fallback(nowhere).with_state(Arc::clone(&app));
        let for_pages = routes
            .clone()
            .layer(cors)
            .layer(from_fn_with_state(Arc::clone(&app), look_at_place));
        // The page is for its own origin alone: its answers have no CORS headers.
        #[cfg(feature = "page")]
        let (routes, for_pages) = if app.shared.page.is_some() {
            let page = page::route(Router::new()).with_state(app);
            (routes.merge(page.clone()), for_pages.merge(page))
        } else {
            (routes, for_pages)
        };
        Self {
            short: TowerToHyperService::new(routes.layer(panicked)),
            for_pages: TowerToHyperService::new(for_pages.layer(panicked)),
        }
    }
}

impl Routes {
    /// The routes for one connection.
    pub(super) fn of(self, peer: Arc<HttpPeer>, shared: Arc<Shared>) -> ConnectionRoutes {
        ConnectionRoutes {
            routes: self,
            peer,
            shared,
        }
    }
}

/// The routes for one connection; they attach its peer to every request.
pub(super) struct ConnectionRoutes {
    routes: Routes,
    peer: Arc<HttpPeer>,
    shared: Arc<Shared>,
}

impl Service<hyper::Request<Incoming>> for ConnectionRoutes {
    type Response = Response;
    type Error = Infallible;
    type Future =
        MeasuredCall<<TowerToHyperService<Router> as Service<hyper::Request<Incoming>>>::Future>;

    fn call(&self, mut request: hyper::Request<Incoming>) -> Self::Future {
        self.peer.ask();
        request.extensions_mut().insert(Arc::clone(&self.peer));
        let call = if request.headers().contains_key(header::ORIGIN) {
            self.routes.for_pages.call(request)
        } else {
            self.routes.short.call(request)
        };
        measure(&self.shared, &self.peer, call)
    }
}

/// A page that is refused gets no headers that say otherwise.
async fn look_at_place(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match app.door.check_place(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(trouble) => turn_away(trouble, &parts, body).await,
    }
}

/// Answers whatever host is named: probes name an address, and there is nothing to learn here.
async fn health(request: Request) -> Response {
    let mut response = "ok\n".into_response();
    close_unless_known(request.extensions(), &mut response);
    response
}

async fn nowhere(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match app.door.check_place(&parts) {
        Ok(()) => {
            let mut response = StatusCode::NOT_FOUND.into_response();
            close_unless_known(&parts.extensions, &mut response);
            response
        }
        Err(trouble) => turn_away(trouble, &parts, body).await,
    }
}

/// The peer that sent a request.
pub(super) fn peer(extensions: &Extensions) -> Option<&Arc<HttpPeer>> {
    extensions.get()
}

/// Closes a connection on which no request was accepted; its client has no need for a second
/// request.
pub(super) fn close_unless_known(extensions: &Extensions, response: &mut Response) {
    if !peer(extensions).is_some_and(|peer| peer.is_known()) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
}
