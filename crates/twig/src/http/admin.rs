//! The admin listener: probes and metrics, for the platform that runs the server.
//!
//! It has no token and no check of the `Host`, since those who ask (a kubelet, a load balancer,
//! Prometheus) send neither. So it answers three paths and nothing of the catalog but numbers.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::service::Service;
use serde::Serialize;

use super::Shared;
use super::metrics::Metrics;
use super::peers::HttpPeer;
use super::served_database::ServedDatabase;

/// Connections at once.
pub(super) const ADMIN_CONNECTIONS: usize = 16;

/// The routes of the admin listener for one connection.
pub(super) struct AdminRoutes {
    pub(super) shared: Arc<Shared>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) peer: Arc<HttpPeer>,
}

/// The answer of `/readyz`.
#[derive(Serialize)]
struct Readiness {
    ready: bool,
    reasons: Vec<&'static str>,
}

impl Service<hyper::Request<Incoming>> for AdminRoutes {
    type Response = Response;
    type Error = Infallible;
    type Future = Ready<Result<Response, Infallible>>;

    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        self.peer.ask();
        ready(Ok(self.answer(request.method(), request.uri().path())))
    }
}

impl AdminRoutes {
    fn answer(&self, method: &Method, path: &str) -> Response {
        match path {
            // It runs on the thread that serves clients, so an answer means that this thread runs.
            "/livez" => self.if_read(method, || (StatusCode::OK, "text/plain", "ok\n".to_owned())),
            "/readyz" => self.if_read(method, || self.readiness()),
            "/metrics" => self.if_read(method, || {
                let kind = "text/plain; version=0.0.4; charset=utf-8";
                (StatusCode::OK, kind, self.metrics.text(&self.shared))
            }),
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn readiness(&self) -> (StatusCode, &'static str, String) {
        // There is no listener before the catalog is loaded.
        let draining = self.shared.is_draining().then_some(("draining", false));
        let database = self.shared.database.as_ref();
        let database = database.and_then(ServedDatabase::reason);
        let reasons = || draining.into_iter().chain(database);
        let ready = reasons().all(|(_, is_ready)| is_ready);
        let reasons: Vec<_> = reasons().map(|(reason, _)| reason).collect();
        let status = if ready {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        };
        let readiness = Readiness { ready, reasons };
        let text = serde_json::to_string(&readiness).unwrap_or_default();
        (status, "application/json", text + "\n")
    }

    /// Answers GET and HEAD.
    fn if_read(
        &self,
        method: &Method,
        answer: impl FnOnce() -> (StatusCode, &'static str, String),
    ) -> Response {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut response = StatusCode::METHOD_NOT_ALLOWED.into_response();
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(header::ALLOW, allowed);
            return response;
        }
        // It may ask again on this connection.
        self.peer.know();
        let (status, kind, text) = answer();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        let none = HeaderValue::from_static("no-store");
        headers.insert(header::CACHE_CONTROL, none);
        response
    }
}
