//! `/hooks/git`: a git host says that something was pushed. It is a hint and no more: the thread that
//! follows packages looks at their sources now instead of later.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::time::sleep;

use super::endpoint::{respond, turn_away};
use super::headers::with_headers;
use super::routes::{App, close_unless_known, peer};
use crate::command_error::{CommandError, reason};
use crate::follow_signals::FollowSignals;

/// The longest body, in bytes.
const BODY: usize = 64 * 1024;

/// The shortest secret, in characters: a shorter one can be guessed.
const SECRET: usize = 16;

/// How GitHub signs a body.
const SIGNATURE: &str = "x-hub-signature-256";

/// How GitLab says the secret itself.
const TOKEN: &str = "x-gitlab-token";

/// The secret that a git host shares with this server.
pub(super) struct HookSecret(Vec<u8>);

/// What takes the news of git hosts.
pub(super) struct GitHook {
    pub(super) secret: HookSecret,
    pub(super) signals: Arc<FollowSignals>,
}

impl HookSecret {
    /// Reads the secret in a file.
    pub(super) fn read(path: &Path) -> Result<Self, CommandError> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| {
            let why = reason(&error);
            CommandError::fixable(format!(
                "could not read the secret of webhooks in {shown}: {why}"
            ))
        })?;
        let secret = text.trim();
        if secret.len() < SECRET || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!(
                "the secret of webhooks in {shown} has to be one word of at least {SECRET} ASCII characters"
            );
            return Err(CommandError::fixable(message).hint("make one with `openssl rand -hex 32`"));
        }
        Ok(Self(secret.into()))
    }

    /// Whether a request has the secret or a signature that was made with it. The time that this takes
    /// says nothing about either.
    fn admits(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let one = |name: &str| {
            let mut values = headers.get_all(name).iter();
            let value = values.next()?.to_str().ok()?;
            values.next().is_none().then_some(value)
        };
        let mac = |text: &[u8]| {
            let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
            mac.update(text);
            Some(mac)
        };
        if let Some(signature) = one(SIGNATURE) {
            let bytes = signature.strip_prefix("sha256=").and_then(from_hex);
            let checked = bytes.zip(mac(body)).map(|(it, mac)| mac.verify_slice(&it));
            return matches!(checked, Some(Ok(())));
        }
        let token = one(TOKEN).and_then(|token| mac(token.as_bytes()));
        let own = mac(&self.0).map(|it| it.finalize().into_bytes());
        let checked = token.zip(own).map(|(it, own)| it.verify_slice(&own));
        matches!(checked, Some(Ok(())))
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|it| it.len() == 64)?;
    let bytes = digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok());
    bytes.collect()
}

/// Adds the route.
pub(super) fn route(routes: Router<Arc<App>>) -> Router<Arc<App>> {
    routes.route("/hooks/git", post(hook))
}

async fn hook(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(trouble) = app.door.check_place(&parts) {
        return turn_away(trouble, &parts, body).await;
    }
    let shared = &app.shared;
    let Some(hook) = &shared.hook else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut response = match shared.bodies.read(&parts.headers, body, BODY).await {
        Err(trouble) => respond(with_headers(&parts.headers, |headers| {
            trouble.reply(headers)
        })),
        Ok(whole) if hook.secret.admits(&parts.headers, whole.bytes()) => {
            hook.signals.hint();
            StatusCode::ACCEPTED.into_response()
        }
        Ok(_) => {
            let network = peer(&parts.extensions).and_then(|peer| peer.network());
            let delay = shared.wrong_tokens.delay(network, Instant::now());
            sleep(delay).await;
            StatusCode::UNAUTHORIZED.into_response()
        }
    };
    close_unless_known(&parts.extensions, &mut response);
    response
}
