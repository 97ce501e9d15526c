//! `--copy`: puts a text on the clipboard, through the terminal (OSC 52, which also works over SSH)
//! and through the program of the desktop, because many terminals ignore OSC 52 silently.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::check::counted;
use crate::command_error::{CommandError, reason};
use crate::places::{self, ClientPlaces};
use crate::ui::Ui;

/// The longest text that is sent to a terminal: xterm takes 100,000 bytes of base64 at most.
const LONGEST_SEQUENCE: usize = 74_000;

/// A program that copies its standard input, with its flags, and the variable that is set where it
/// works.
struct CopyProgram {
    name: &'static str,
    flags: &'static [&'static str],
    variable: Option<&'static str>,
}

const PROGRAMS: [CopyProgram; 3] = [
    CopyProgram {
        name: "wl-copy",
        flags: &[],
        variable: Some("WAYLAND_DISPLAY"),
    },
    CopyProgram {
        name: "pbcopy",
        flags: &[],
        variable: None,
    },
    CopyProgram {
        name: "xclip",
        flags: &["-selection", "clipboard"],
        variable: Some("DISPLAY"),
    },
];

/// Copies a text, and says how much and by which way.
pub(super) fn copy(text: &str, ui: &mut Ui) -> Result<(), CommandError> {
    let by_terminal = send_to_terminal(text)?;
    let by_program = run_program(text)?;
    let ways = [
        by_terminal.then(|| "the terminal".to_owned()),
        by_program.map(|name| format!("`{name}`")),
    ];
    let ways: Vec<String> = ways.into_iter().flatten().collect();
    let characters = counted(text.chars().count(), "character", "characters");
    if ways.is_empty() {
        let why = if text.len() > LONGEST_SEQUENCE {
            format!("{characters} are too many for a terminal")
        } else {
            "there is no terminal".to_owned()
        };
        let message =
            format!("nothing was copied: {why}, and no `wl-copy`, `pbcopy` or `xclip` can be run");
        return Err(CommandError::fixable(message).hint("leave --copy out to print the text"));
    }
    ui.say(format!(
        "copied {characters} through {}",
        ways.join(" and ")
    ));
    Ok(())
}

/// Asks the terminal to put the text on its clipboard. It gives no answer.
fn send_to_terminal(text: &str) -> io::Result<bool> {
    if text.len() > LONGEST_SEQUENCE {
        return Ok(false);
    }
    let sequence = format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(text));
    if io::stderr().is_terminal() {
        io::stderr().write_all(sequence.as_bytes())?;
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    let terminal = OpenOptions::new().write(true).open("/dev/tty");
    Ok(terminal.is_ok_and(|mut terminal| terminal.write_all(sequence.as_bytes()).is_ok()))
}

/// Runs the first program that works here, and returns its name.
fn run_program(text: &str) -> Result<Option<&'static str>, CommandError> {
    let places = ClientPlaces::from_environment();
    for program in &PROGRAMS {
        let is_set = |name| places::variable(name).is_some_and(|value| !value.is_empty());
        if !program.variable.is_none_or(is_set) {
            continue;
        }
        if let Some(path) = places.program(program.name) {
            feed(&path, program, text)?;
            return Ok(Some(program.name));
        }
    }
    Ok(None)
}

fn feed(path: &Path, program: &CopyProgram, text: &str) -> Result<(), CommandError> {
    let cannot = |why: String| CommandError::fixable(format!("`{}` failed: {why}", program.name));
    let mut child = Command::new(path)
        .args(program.flags)
        .stdin(Stdio::piped())
        // `xclip` stays and would hold pipes of ours open.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| cannot(reason(&error)))?;
    if let Some(mut input) = child.stdin.take() {
        // A program that ended early says why with its status.
        let _ = input.write_all(text.as_bytes());
    }
    let status = child.wait().map_err(|error| cannot(reason(&error)))?;
    if status.success() {
        Ok(())
    } else {
        Err(cannot(status.to_string()))
    }
}
