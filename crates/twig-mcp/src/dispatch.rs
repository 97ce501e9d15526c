//! From a method's name to the function that answers it, once its era allows it.

use std::cell::Cell;
use std::sync::Arc;

use crate::completion;
use crate::envelope::Request;
use crate::era::{Era, Meta};
use crate::error::Refusal;
use crate::in_flight::Errand;
use crate::json::Object;
use crate::lifecycle;
use crate::logging;
use crate::outbox::SharedPart;
use crate::pages::{self, List};
use crate::params::{self, Fields, GetParams, Members};
use crate::prompts;
use crate::resources;
use crate::server::{Host, Server};
use crate::skills;
use crate::subscriptions::{self, Wish};
use crate::tools;

/// A request on its way to its answer.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    pub(crate) host: Host<'a>,
    pub(crate) era: Era,
    pub(crate) meta: Meta<'a>,
    /// What a legacy client called itself before.
    pub(crate) client: Option<&'a str>,
    /// Whether a client that nobody knows asked for a prompt as `command_clients` do.
    pub(crate) fills_in: &'a Cell<bool>,
}

/// What became of a request, beside what was written as its result.
pub(crate) enum Outcome {
    /// The result is complete.
    Complete,
    /// The same, and it is this version of what a store holds.
    Stored(u64),
    /// The same, and something that replies share belongs into it.
    Shared {
        part: SharedPart,
        version: Option<u64>,
    },
    /// The result is complete, and a legacy version was agreed on with a client of this name.
    Initialized { client: Option<Box<str>> },
    /// The result asks the client for more.
    InputRequired,
    /// The result is this page, nothing else.
    Page(Arc<Vec<u8>>),
    /// There is no result before a job was run.
    Elsewhere(Box<Errand>),
    /// There is no result before the subscription ends.
    Listen(Wish),
    /// The result is empty, and the client hears of this document from now on.
    Subscribe(Box<str>),
    /// The result is empty, and the client hears of this document no more.
    Unsubscribe(Box<str>),
}

/// A request whose params were read and whose era is known.
pub(crate) struct Ready<'a> {
    method: Result<Method, Refusal>,
    params: Params<'a>,
    meta: Meta<'a>,
}

enum Params<'a> {
    Get(GetParams<'a>),
    Other(Fields<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Complete,
    DirectoryRead,
    Discover,
    Initialize,
    Listen,
    Ping,
    PromptsGet,
    PromptsList,
    ResourcesList,
    ResourcesRead,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    SetLevel,
    SkillsGet,
    SkillsList,
    TemplatesList,
    ToolsCall,
    ToolsList,
}

/// Reads the params of a request.
pub(crate) fn read<'a>(request: &Request<'a>) -> Result<Ready<'a>, Refusal> {
    let method = Method::parse(&request.method);
    let params = match method {
        Ok(Method::PromptsGet) => params::read(request.params).map(Params::Get),
        _ => params::read(request.params).map(Params::Other),
    };
    match params {
        Ok(params) => {
            let meta = match &params {
                Params::Get(params) => &params.meta,
                Params::Other(fields) => &fields.meta,
            };
            let meta = meta.as_ref().map(|Members(meta)| *meta);
            Ok(Ready {
                method,
                params,
                meta: meta.unwrap_or_default(),
            })
        }
        // What params an unknown method takes is unknown, too.
        Err(refusal) => Err(method.err().unwrap_or(refusal)),
    }
}

impl<'a> Ready<'a> {
    pub(crate) fn era(&self) -> Era {
        self.meta.era()
    }

    /// Answers the request: members of the result are written to `result`.
    pub(crate) fn answer(
        self,
        server: &'a Server,
        host: Host<'a>,
        client: Option<&'a str>,
        fills_in: &'a Cell<bool>,
        result: &mut Object<'_>,
    ) -> Result<Outcome, Refusal> {
        self.meta.check_version()?;
        let method = self.method?;
        method.check_era(&self.meta)?;
        self.meta.check_capabilities()?;
        let call = &Call {
            server,
            host,
            era: self.meta.era(),
            meta: self.meta,
            client,
            fills_in,
        };
        let fields = &match self.params {
            Params::Get(params) => return prompts::get(call, params, result),
            Params::Other(fields) => fields,
        };
        match method {
            Method::Complete => completion::complete(call, fields, result),
            Method::DirectoryRead => skills::read_directory(call, fields, result),
            Method::Discover => Ok(lifecycle::discover(call, result)),
            Method::Initialize => lifecycle::initialize(call, fields, result),
            Method::Listen => subscriptions::read(call, fields).map(Outcome::Listen),
            Method::Ping => Ok(Outcome::Complete),
            Method::PromptsGet => prompts::get(call, GetParams::default(), result),
            Method::PromptsList => pages::list(call, fields, List::Prompts),
            Method::ResourcesList => pages::list(call, fields, List::Documents),
            Method::ResourcesRead => resources::read(call, fields, result),
            Method::ResourcesSubscribe => resources::subscribe(call, fields),
            Method::ResourcesUnsubscribe => resources::unsubscribe(fields),
            Method::SetLevel => logging::set_level(fields),
            Method::SkillsGet => skills::get(call, fields, result),
            Method::SkillsList => pages::list(call, fields, List::Skills),
            Method::TemplatesList => pages::list(call, fields, List::Templates),
            Method::ToolsCall => tools::call(call, fields, result),
            Method::ToolsList => tools::list(call, fields, result),
        }
    }
}

impl Method {
    fn parse(name: &str) -> Result<Self, Refusal> {
        Ok(match name {
            "completion/complete" => Self::Complete,
            "initialize" => Self::Initialize,
            "logging/setLevel" => Self::SetLevel,
            "ping" => Self::Ping,
            "prompts/get" => Self::PromptsGet,
            "prompts/list" => Self::PromptsList,
            "resources/directory/read" => Self::DirectoryRead,
            "resources/list" => Self::ResourcesList,
            "resources/read" => Self::ResourcesRead,
            "resources/subscribe" => Self::ResourcesSubscribe,
            "resources/templates/list" => Self::TemplatesList,
            "resources/unsubscribe" => Self::ResourcesUnsubscribe,
            "server/discover" => Self::Discover,
            "skills/get" => Self::SkillsGet,
            "skills/list" => Self::SkillsList,
            "subscriptions/listen" => Self::Listen,
            "tools/call" => Self::ToolsCall,
            "tools/list" => Self::ToolsList,
            unknown => return Err(Refusal::Method(unknown.to_owned())),
        })
    }

    /// Refuses what the request's era does not have.
    fn check_era(self, meta: &Meta<'_>) -> Result<(), Refusal> {
        let removed = match self {
            Self::Discover | Self::Listen => return meta.check_modern(),
            Self::Initialize => Refusal::ModernInitialize,
            Self::Ping => Refusal::Method("ping".to_owned()),
            Self::ResourcesSubscribe => Refusal::Method("resources/subscribe".to_owned()),
            Self::ResourcesUnsubscribe => Refusal::Method("resources/unsubscribe".to_owned()),
            Self::SetLevel => Refusal::Method("logging/setLevel".to_owned()),
            _ => return Ok(()),
        };
        match meta.era() {
            Era::Modern => Err(removed),
            Era::Legacy => Ok(()),
        }
    }
}
