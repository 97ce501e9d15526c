//! What takes longer than a look: other commands of this program, run when their button is pressed,
//! with what they print as JSON.
//!
//! Only the user whose server this is may do so, and one at a time. Nothing of a request becomes an
//! argument, and none of the commands changes anything.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::block_in_place;
use twig_page::{PackageCheck, PackageUpdate, ReachedClient};

use super::answers::PageVisit;
use super::{said, secured, typed};

/// How long a command may take; hosts of packages are far away.
const LONGEST: Duration = Duration::from_secs(90);
/// The most bytes that a command may print.
const PRINTED: u64 = 4 * 1024 * 1024;

/// A command that a button runs.
#[derive(Debug, Clone, Copy)]
enum OwnCommand {
    /// Whether each client reaches Twig.
    Doctor,
    /// What updates of packages would change.
    Plan,
    /// Whether the files of packages are those of the lock, and signed.
    Verify,
}

impl OwnCommand {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "reach" => Some(Self::Doctor),
            "updates" => Some(Self::Plan),
            "verify" => Some(Self::Verify),
            _ => None,
        }
    }

    fn args(self) -> &'static [&'static str] {
        match self {
            Self::Doctor => &["doctor", "--json"],
            Self::Plan => &["update", "--plan", "--json"],
            Self::Verify => &["verify", "--json"],
        }
    }

    /// The same as people type it.
    fn typed(self) -> &'static str {
        match self {
            Self::Doctor => "twig doctor",
            Self::Plan => "twig update --plan",
            Self::Verify => "twig verify",
        }
    }
}

impl PageVisit {
    /// Runs a command and answers with its result as HTML.
    pub(super) async fn own_command(&self, word: &str) -> Response {
        let command = OwnCommand::parse(word).filter(|_| self.is_owner);
        let (Some(command), Some(state)) = (command, self.shared.page.as_ref()) else {
            return secured(StatusCode::NOT_FOUND.into_response());
        };
        let _turn = state.own_commands.lock().await;
        let printed = match printed(command.args()).await {
            Ok(printed) => printed,
            Err(why) => {
                tracing::debug!("`{}` for the page: {why}", command.typed());
                let why = format!("This failed: run `{}` in a terminal.", command.typed());
                return said(StatusCode::CONFLICT, &why);
            }
        };
        let html = block_in_place(|| match command {
            OwnCommand::Doctor => {
                let rows = rows::<ReachedClient>(printed.get("clients")?);
                Some(twig_page::reached(&rows?).into_string())
            }
            OwnCommand::Plan => {
                Some(twig_page::updates(&rows::<PackageUpdate>(&printed)?).into_string())
            }
            OwnCommand::Verify => {
                Some(twig_page::verified(&rows::<PackageCheck>(&printed)?).into_string())
            }
        });
        match html {
            Some(html) => secured(typed("text/html; charset=utf-8", html.into())),
            None => secured(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        }
    }
}

fn rows<T: DeserializeOwned>(printed: &Value) -> Option<Vec<T>> {
    let rows = serde_json::from_value(printed.clone());
    let failed = |error: &_| tracing::warn!("the page does not read what Twig prints: {error}");
    rows.inspect_err(failed).ok()
}

/// Runs this program to its end. What it prints counts, whatever its exit code says.
async fn printed(args: &[&str]) -> Result<Value, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = EndedChild(child.map_err(|error| error.to_string())?);
    let out = child.0.stdout.take().ok_or("it has no output")?;
    let (done, bytes) = oneshot::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = out.take(PRINTED).read_to_end(&mut bytes);
        let _ = done.send(read.map(|_| bytes));
    });
    let bytes = tokio::time::timeout(LONGEST, bytes).await;
    let bytes = bytes.map_err(|_| "it took too long")?;
    let bytes = bytes.map_err(|_| "it was not read")?;
    let bytes = bytes.map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

/// A process that ends with the request that needs it.
struct EndedChild(Child);

impl Drop for EndedChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
