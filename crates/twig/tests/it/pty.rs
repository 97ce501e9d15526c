//! Commands on a terminal: a pseudo-terminal, what is typed there, and what it shows.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Output};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use twig_testkit::TestEnv;

/// Longer than any command takes, even on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

/// Both ends of a terminal; what is written to the first is typed on the second.
pub(crate) fn terminal() -> (File, File) {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&near).expect("ours");
    unlockpt(&near).expect("ours");
    let name = ptsname(&near, Vec::new()).expect("it has a name");
    let far = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(rustix::fs::OFlags::NOCTTY.bits().cast_signed())
        .open(name.to_str().expect("text"))
        .expect("the other end");
    (near.into(), far)
}

/// Runs a command whose input is a terminal, and types an answer.
pub(crate) fn answered(env: &TestEnv, args: &[&str], answer: &str) -> Output {
    let (mut near, far) = terminal();
    near.write_all(answer.as_bytes()).expect("typed");
    let mut command: Command = env.command(args.iter().copied());
    command.stdin(far).output().expect("the binary ends")
}

/// A command that runs on a terminal of its own, with all three streams unless the caller set one.
pub(crate) struct OnTerminal {
    pub(crate) child: Child,
    keyboard: File,
    /// The far end, which stays open so that what the command wrote last can be read.
    far: Option<File>,
    shown: Receiver<Vec<u8>>,
    pub(crate) screen: String,
}

/// Which streams are the terminal; the others stay as the command has them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Streams {
    All,
    /// Standard output is a pipe, as in `$(twig …)`.
    AllButOutput,
}

impl OnTerminal {
    /// Starts a command on a terminal of 80 columns and 24 rows.
    pub(crate) fn start(command: Command, streams: Streams) -> Self {
        Self::sized(command, streams, 80, 24)
    }

    pub(crate) fn sized(mut command: Command, streams: Streams, columns: u16, rows: u16) -> Self {
        let (near, far) = terminal();
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&near, size).expect("a size");
        let end = || far.try_clone().expect("a descriptor");
        command.stdin(end()).stderr(end());
        match streams {
            Streams::All => command.stdout(end()),
            Streams::AllButOutput => command.stdout(std::process::Stdio::piped()),
        };
        let child = command.spawn().expect("the binary starts");
        let (sender, shown) = channel();
        let mut screen = near.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading fails when the last far end is closed.
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keyboard: near,
            far: Some(far),
            shown,
            screen: String::new(),
        }
    }

    /// Waits until the terminal has shown a text since the last wait.
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        let mut seen = String::new();
        while !seen.contains(text) {
            match self.shown.recv_timeout(LONGEST) {
                Ok(bytes) => {
                    let more = String::from_utf8_lossy(&bytes);
                    seen.push_str(&more);
                    self.screen.push_str(&more);
                }
                Err(error) => panic!("{error}: no {text:?} in {seen:?}"),
            }
        }
        self
    }

    /// Gives the terminal another size, and tells the command.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&self.keyboard, size).expect("a size");
        // The terminal does not control the command, so the system does not send the signal.
        kill_process(Pid::from_child(&self.child), Signal::WINCH).expect("ours");
        self
    }

    pub(crate) fn press(&mut self, keys: &str) -> &mut Self {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
        self
    }

    /// The far end, to look at the settings of the terminal.
    pub(crate) fn far(&self) -> &File {
        self.far.as_ref().expect("open until the end")
    }

    /// Waits for the end; the exit code, standard output if it is a pipe, and everything that was
    /// shown.
    pub(crate) fn end(mut self) -> (i32, String, String) {
        let mut printed = String::new();
        if let Some(mut output) = self.child.stdout.take() {
            output.read_to_string(&mut printed).expect("text");
        }
        let status = self.child.wait().expect("the binary ends");
        drop(self.far.take());
        loop {
            match self.shown.recv_timeout(LONGEST) {
                Ok(bytes) => self.screen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the terminal stays open"),
            }
        }
        let screen = self.screen.replace("\r\n", "\n");
        (status.code().unwrap_or(-1), printed, screen)
    }
}

/// Runs a command on a terminal, types, and returns its exit code and all that the terminal shows.
pub(crate) fn shown(env: &TestEnv, args: &[&str], typed: &str) -> (i32, String) {
    let mut running = OnTerminal::start(env.command(args.iter().copied()), Streams::All);
    running.press(typed);
    let (code, _, screen) = running.end();
    (code, screen)
}
