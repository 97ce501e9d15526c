//! `twig completions`: the script that makes a shell ask Twig what could be typed next, printed or
//! put where the shell looks for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::complete;
use crate::command_error::{CommandError, ErrorKind, reason};
use crate::places::{self, Places};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to complete for; by default the one of $SHELL
    shell: Option<CompletedShell>,

    /// Write the script where the shell looks for it, instead of printing it
    #[arg(long)]
    install: bool,
}

/// A shell that can ask Twig.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompletedShell {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell", alias = "pwsh")]
    PowerShell,
    Zsh,
}

impl CompletedShell {
    /// The shell that a program is.
    fn from_program(path: &Path) -> Option<Self> {
        let name = path.file_stem()?.to_str()?;
        Self::from_str(name, true).ok()
    }

    fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("completions/twig.bash"),
            Self::Elvish => include_str!("completions/twig.elv"),
            Self::Fish => include_str!("completions/twig.fish"),
            Self::PowerShell => include_str!("completions/twig.ps1"),
            Self::Zsh => include_str!("completions/twig.zsh"),
        }
    }

    /// Where the shell looks for the script.
    fn file(self, home: &Path) -> PathBuf {
        let base = |variable, otherwise: &str| {
            let named = places::variable(variable).map(PathBuf::from);
            let named = named.filter(|path| path.is_absolute());
            named.unwrap_or_else(|| home.join(otherwise))
        };
        match self {
            Self::Bash => {
                base("XDG_DATA_HOME", ".local/share").join("bash-completion/completions/twig")
            }
            Self::Elvish => base("XDG_CONFIG_HOME", ".config").join("elvish/lib/twig.elv"),
            Self::Fish => base("XDG_CONFIG_HOME", ".config").join("fish/completions/twig.fish"),
            Self::PowerShell => base("XDG_CONFIG_HOME", ".config").join("powershell/twig.ps1"),
            Self::Zsh => base("ZDOTDIR", "").join(".zfunc/_twig"),
        }
    }

    /// What is left for the user to do.
    fn next_step(self, shown: &str) -> String {
        match self {
            Self::Bash => format!(
                "open a new shell; if Tab completes nothing there, add `source {shown}` to ~/.bashrc"
            ),
            Self::Elvish => "add `use twig` to ~/.config/elvish/rc.elv".to_owned(),
            Self::Fish => "open a new shell".to_owned(),
            Self::PowerShell => format!("add `. {shown}` to the file that `$PROFILE` names"),
            Self::Zsh => {
                "add `fpath+=~/.zfunc; autoload -U compinit; compinit` to ~/.zshrc, unless it is there, and open a new shell".to_owned()
            }
        }
    }
}

pub(super) fn run(options: &CompletionsArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let Some(shell) = options.shell.or_else(current_shell) else {
        let message = "say which shell: bash, elvish, fish, powershell or zsh";
        return Err(CommandError::new(ErrorKind::Usage, message));
    };
    if !options.install {
        ui.raw(shell.script())?;
        return Ok(ExitCode::SUCCESS);
    }
    let places = Places::from_environment();
    let Some(home) = places.home.as_deref() else {
        let error = CommandError::fixable("there is no home folder to install into");
        return Err(error.hint("set HOME to an absolute path"));
    };
    let file = shell.file(home);
    let shown = places.shown(&file);
    let write = || {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&file, shell.script())
    };
    write().map_err(|error| {
        let why = reason(&error);
        CommandError::fixable(format!("{shown} could not be written: {why}"))
    })?;
    complete::remember_names();
    ui.line(file.display().to_string())?;
    ui.say(format!("hint: {}", shell.next_step(&shown)));
    Ok(ExitCode::SUCCESS)
}

fn current_shell() -> Option<CompletedShell> {
    CompletedShell::from_program(Path::new(&places::variable("SHELL")?))
}
