//! Calls the function that answers a method, if its era allows the method.

use twig_core::World;

use crate::call::{Call, CallOutcome, CallerState, LegacyForm};
use crate::completion;
use crate::cursor::List;
use crate::envelope::Request;
use crate::era::Era;
use crate::error::Refusal;
use crate::json::Object;
use crate::lifecycle;
use crate::lists;
use crate::logging;
use crate::meta::Meta;
use crate::params::{self, GetParams, ObjectMembers, ParamFields};
use crate::prompts;
use crate::resources;
use crate::server::Server;
use crate::skills;
use crate::subscriptions;
use crate::tools;

/// The methods of requests that are answered here, in either era.
pub const METHODS: [&str; 18] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "skills/get",
    "skills/list",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// A request whose params were read and whose era is known.
pub(crate) struct ReadyRequest<'a> {
    asked: Result<Asked<'a>, Refusal>,
    meta: Meta<'a>,
}

/// The parsed params: `prompts/get` has params of its own.
enum Asked<'a> {
    PromptsGet(GetParams<'a>),
    Other(Method, ParamFields<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Complete,
    DirectoryRead,
    Discover,
    Initialize,
    Listen,
    Ping,
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
pub(crate) fn read<'a>(request: &Request<'a>) -> Result<ReadyRequest<'a>, Refusal> {
    let (asked, meta) = if request.method == "prompts/get" {
        let params: GetParams<'_> = params::read(request.params)?;
        let meta = meta(params.meta.as_ref());
        (Ok(Asked::PromptsGet(params)), meta)
    } else {
        let method = Method::parse(&request.method);
        match params::read::<ParamFields<'_>>(request.params) {
            Ok(fields) => {
                let meta = meta(fields.meta.as_ref());
                (method.map(|method| Asked::Other(method, fields)), meta)
            }
            // The params of an unknown method are unknown, too.
            Err(refusal) => return Err(method.err().unwrap_or(refusal)),
        }
    };
    Ok(ReadyRequest { asked, meta })
}

fn meta<'a>(meta: Option<&ObjectMembers<Meta<'a>>>) -> Meta<'a> {
    meta.map(|ObjectMembers(meta)| *meta).unwrap_or_default()
}

impl<'a> ReadyRequest<'a> {
    pub(crate) fn era(&self) -> Era {
        self.meta.era()
    }

    /// Answers the request: members of the result are written to `result`.
    pub(crate) fn answer(
        self,
        server: &'a Server,
        world: World<'a>,
        client: CallerState<'a>,
        form: LegacyForm<'a>,
        result: &mut Object<'_>,
    ) -> Result<CallOutcome, Refusal> {
        self.meta.check_version()?;
        let asked = self.asked?;
        if let Asked::Other(method, _) = &asked {
            method.check_era(&self.meta)?;
        }
        self.meta.check_capabilities()?;
        let call = &Call {
            server,
            world,
            era: self.meta.era(),
            meta: self.meta,
            initialized: client.initialized,
            fills_in: client.fills_in,
            note: client.note,
            form,
        };
        call.note(|note| note.client = call.client_name().map(|name| (&*name).into()));
        let (method, fields) = match asked {
            Asked::PromptsGet(params) => return prompts::get(call, params, result),
            Asked::Other(method, fields) => (method, fields),
        };
        let fields = &fields;
        match method {
            Method::Complete => completion::complete(call, fields, result),
            Method::DirectoryRead => skills::read_directory(call, fields, result),
            Method::Discover => Ok(lifecycle::discover(call, result)),
            Method::Initialize => lifecycle::initialize(call, fields, result),
            Method::Listen => {
                let limit = server.limits.subscriptions;
                subscriptions::read(call.world.catalog, limit, fields).map(CallOutcome::Listen)
            }
            Method::Ping => Ok(CallOutcome::Complete),
            Method::PromptsList => lists::list(call, fields, List::Prompts),
            Method::ResourcesList => lists::list(call, fields, List::Documents),
            Method::ResourcesRead => resources::read(call, fields, result),
            Method::ResourcesSubscribe => resources::subscribe(call, fields),
            Method::ResourcesUnsubscribe => resources::unsubscribe(fields),
            Method::SetLevel => logging::set_level(fields),
            Method::SkillsGet => skills::get(call, fields, result),
            Method::SkillsList => lists::list(call, fields, List::Skills),
            Method::TemplatesList => lists::list(call, fields, List::Templates),
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

    /// Refuses methods that the request's era does not have.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_that_is_answered_is_in_the_list() {
        let parsed: Vec<Method> = METHODS
            .iter()
            .filter_map(|name| Method::parse(name).ok())
            .collect();
        // `prompts/get` has params of its own, so it is no such method.
        assert_eq!(parsed.len(), METHODS.len() - 1);
        let lines = include_str!("dispatch.rs").lines().map(str::trim_start);
        let arms = lines.filter(|line| line.starts_with('"') && line.contains(" => Self::"));
        assert_eq!(arms.count(), parsed.len());
    }
}
