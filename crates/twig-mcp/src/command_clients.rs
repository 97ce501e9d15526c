//! Which requests come from clients that use a prompt as the template of a command.
//! [`twig_clients::command_guard`] knows what they would run or replace in its text.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

pub(crate) use twig_clients::command_guard::{CommandGuard, error};
use twig_clients::command_guard::{asks_with_marks, is_command_client, is_other_client};
use twig_core::Prompt;

use crate::call::Call;
use crate::client;

/// The guard of a request, if its client is one of these. Values that are marks may be replaced by
/// their stand-ins.
pub(crate) fn guard(
    call: &Call<'_>,
    prompt: &Prompt,
    given: &mut [(Cow<'_, str>, Cow<'_, str>)],
) -> Option<CommandGuard> {
    let said = client::name(call.meta.client_info());
    let name = said.as_deref().or(call.initialized.name.as_deref());
    is_guarded(call, name, prompt, given).then(|| CommandGuard::new(prompt, given))
}

/// True if a request comes from such a client: by its name, or by the values of this or an earlier
/// request of the same connection.
fn is_guarded(
    call: &Call<'_>,
    name: Option<&str>,
    prompt: &Prompt,
    given: &[(Cow<'_, str>, Cow<'_, str>)],
) -> bool {
    let configured = || call.server.command_clients.iter().map(String::as_str);
    if name.is_some_and(|name| is_command_client(name, configured())) {
        return true;
    }
    let asks_so = asks_with_marks(prompt, given);
    if (!asks_so && !call.fills_in.load(Ordering::Relaxed)) || name.is_some_and(is_other_client) {
        return false;
    }
    call.fills_in.store(true, Ordering::Relaxed);
    true
}
