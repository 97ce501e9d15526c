//! Servers, and how a client comes to one and leaves it.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr};

use crate::client::Person;
use crate::home::Home;

/// A connected client.
pub(crate) type Client = RunningService<RoleClient, Person>;

/// Long enough for a slow machine; waits end as soon as what they wait for is there.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Stdio,
    Http,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
    /// Whichever the client finds.
    Either,
}

/// A home, and how its server is visited.
pub(crate) struct Visit {
    pub(crate) home: Home,
    pub(crate) over: Over,
    pub(crate) era: Era,
}

/// A server that runs; killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    /// Kept open, since a server may go on talking.
    talk: Option<BufReader<ChildStderr>>,
    url: String,
}

impl Visit {
    pub(crate) fn new(over: Over, era: Era) -> Self {
        let home = Home::new();
        Self { home, over, era }
    }

    /// Starts a server and comes in.
    pub(crate) async fn come(&self, person: Person) -> (Client, Server) {
        match self.over {
            Over::Stdio => self.come_over_stdio(person).await,
            Over::Http => {
                let server = Server::over_http(&self.home, None).await;
                let client = self.come_over_http(&server, person, None).await;
                (client.expect("a connection"), server)
            }
        }
    }

    /// The SDK is handed the pipes; a process that it starts itself hides its exit code.
    async fn come_over_stdio(&self, person: Person) -> (Client, Server) {
        let mut child = (self.home.twig().arg("serve"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let pipes = (child.stdout.take(), child.stdin.take());
        let (Some(output), Some(input)) = pipes else {
            panic!("both are piped");
        };
        let client = person.serve_with_lifecycle((output, input), self.era.lifecycle());
        let server = Server {
            child,
            talk: None,
            url: String::new(),
        };
        (client.await.expect("a connection"), server)
    }

    /// Comes in with a token or without.
    pub(crate) async fn come_over_http(
        &self,
        server: &Server,
        person: Person,
        token: Option<&str>,
    ) -> Result<Client, ClientInitializeError> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(&*server.url);
        if let Some(token) = token {
            config = config.auth_header(token);
        }
        let transport = StreamableHttpClientTransport::from_config(config);
        let client = person.serve_with_lifecycle(transport, self.era.lifecycle());
        client.await
    }

    /// Closes the client. Over stdio that ends the server; over HTTP it has to be told.
    pub(crate) async fn leave(&self, client: Client, mut server: Server) {
        client.cancel().await.expect("an orderly end");
        if self.over == Over::Http {
            server.terminate();
        }
        assert!(server.ended().await.success());
    }
}

impl Server {
    pub(crate) async fn over_http(home: &Home, token: Option<&str>) -> Self {
        let mut command = home.twig();
        if let Some(token) = token {
            command.env("TWIG_TOKEN", token);
        }
        let mut child = command
            .args(["serve", "--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut talk = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut url = String::new();
        // The log may speak before.
        while !url.starts_with("http://") {
            url.clear();
            let length = talk.read_line(&mut url).await.expect("text");
            assert!(length > 0, "the server ended");
        }
        Self {
            child,
            talk: Some(talk),
            url: url.trim().to_owned(),
        }
    }

    pub(crate) fn terminate(&self) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        let id = id.and_then(Pid::from_raw).expect("it runs");
        kill_process(id, Signal::TERM).expect("it runs");
    }

    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let status = soon(self.child.wait()).await.expect("it was started");
        drop(self.talk.take());
        status
    }
}

impl Era {
    /// How the SDK opens: with `initialize`, with `server/discover`, or with the second and then,
    /// where that is refused, the first.
    fn lifecycle(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Legacy => ClientLifecycleMode::Initialize,
            Self::Modern => ClientLifecycleMode::Discover { preferred_versions },
            Self::Either => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: None,
            },
        }
    }

    pub(crate) fn version(self) -> ProtocolVersion {
        match self {
            Self::Legacy => ProtocolVersion::V_2025_11_25,
            Self::Modern | Self::Either => ProtocolVersion::V_2026_07_28,
        }
    }
}

/// What comes within the deadline.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    let within = tokio::time::timeout(PATIENCE, work).await;
    within.expect("it comes in time")
}
