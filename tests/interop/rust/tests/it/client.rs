//! Who sits at the client: what the SDK asks a person, and what it tells them.

use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
};
use rmcp::service::{NotificationContext, RequestContext};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A person, who may be shown a form.
#[derive(Debug)]
pub(crate) struct Person {
    forms: Forms,
    changed: UnboundedSender<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forms {
    /// The client cannot show any.
    None,
    /// The name is `Ada`.
    Filled,
    Declined,
}

impl Person {
    pub(crate) fn with(forms: Forms) -> Self {
        Self::who_listens(forms).0
    }

    /// A person, and what they hear of changes to the list that nobody subscribed to.
    pub(crate) fn who_listens(forms: Forms) -> (Self, UnboundedReceiver<()>) {
        let (changed, heard) = unbounded_channel();
        (Self { forms, changed }, heard)
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.forms != Forms::None {
            let form = FormElicitationCapability::default();
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        }
        ClientConfig::new(capabilities, Implementation::new("twig-interop", "0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } = request
        else {
            panic!("a form was declared: {request:?}");
        };
        assert_eq!(message, "`greetings:greet` needs a value to continue");
        assert_eq!(
            requested_schema.required.as_deref(),
            Some(&["name".into()][..])
        );
        assert!(requested_schema.properties.contains_key("name"));
        Ok(match self.forms {
            Forms::Filled => {
                ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"}))
            }
            Forms::Declined => ElicitResult::new(ElicitationAction::Decline),
            Forms::None => panic!("no form was declared"),
        })
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        let _ = self.changed.send(());
    }
}
