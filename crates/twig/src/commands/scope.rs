//! `--scope`: whose files of a client are meant.

use clap::Args;

use super::old_spelling::renamed;
use crate::connect::ConfigScope;
use crate::ui::Ui;

// Whose files of a client are meant.
#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    /// Whose files: `user` for yours, in every folder, or `project` for those of this folder, which
    /// everyone who works in it shares (-C DIR for another folder)
    #[arg(long, value_enum, value_name = "SCOPE", hide_possible_values = true)]
    scope: Option<ConfigScope>,

    /// The old spelling of `--scope user`.
    #[arg(long, hide = true, conflicts_with = "scope")]
    user: bool,
}

impl ScopeArgs {
    /// The scope, or the default of the command.
    pub(super) fn get(&self, default: ConfigScope, ui: &mut Ui) -> ConfigScope {
        if self.user {
            renamed("--user", "--scope user", ui);
            return ConfigScope::User;
        }
        self.scope.unwrap_or(default)
    }
}
