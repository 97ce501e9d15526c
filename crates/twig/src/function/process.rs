//! A running function, seen from the server: its input, its output, and its end in time.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use twig_core::{FunctionCall, FunctionOutcome, OutputForm};

use super::cause::SandboxCause;
use super::group::{Excess, GroupWatch};
use super::task::{REFUSED, StartRefusal, Task};
use crate::ui::{one_line, visible};
use crate::worker::own_binary;

/// Where functions find programs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How much of standard error is kept: its end, where programs say why they stop.
const TALK: usize = 64 * 1024;
/// How many characters and lines of it a message quotes: enough for a traceback.
const QUOTED: usize = 2000;
const QUOTED_LINES: usize = 20;
/// How a program that runs from a copy in memory is called in its own messages.
const IN_MEMORY: &str = "/proc/self/fd/";
/// How often to check for the end where the system cannot wake us for it.
const TICK: Duration = Duration::from_millis(10);
/// How long the pipes may take to close after everything was killed.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long its child processes may take to end, and the pause between two checks.
const REAPING: Duration = Duration::from_secs(2);
const MOMENT: Duration = Duration::from_millis(1);

/// Ends a function from another thread, before it starts or while it runs.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    state: Mutex<Stopping>,
}

#[derive(Debug, Default)]
struct Stopping {
    is_stopped: bool,
    /// The process, from its start until it is reaped: until then its id is not reused.
    running: Option<Pid>,
}

impl Stop {
    /// Ends the function with all its children, or prevents its start.
    pub(crate) fn now(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        if let Some(pid) = state.running {
            kill_all(pid);
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    fn lock(&self) -> MutexGuard<'_, Stopping> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The process leads its own session once it runs; just before, it is alone.
fn kill_all(pid: Pid) {
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = kill_process(pid, Signal::KILL);
}

/// Ends a process that will not be used, and reaps it so that it does not stay a zombie.
fn give_up(mut child: Child, pid: Pid, stop: &Stop) {
    kill_all(pid);
    stop.lock().running = None;
    let _ = child.wait();
}

/// Makes this process the parent of orphaned descendants: another parent may be slow to reap them.
/// The first process of a container is their parent anyway.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Reaps every process of a killed group.
fn reap(group: Pid) {
    let until = Instant::now() + REAPING;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pgid(Some(group)), options) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            // Still ending; a process that waits for a disk may take long.
            Ok(None) if Instant::now() < until => std::thread::sleep(MOMENT),
            _ => return,
        }
    }
}

/// A function that was started.
pub(super) struct FunctionProcess {
    child: Child,
    pid: Pid,
    /// The rest of the input, and the pipe to write it to.
    input: Option<(OwnedFd, Vec<u8>, usize)>,
    output: Pipe,
    talk: Pipe,
    /// Wakes us when the process ends, where the system supports it.
    ended: Option<OwnedFd>,
    deadline: Instant,
}

impl FunctionProcess {
    pub(super) fn start(
        task: &Task,
        input: &str,
        environment: &[(OsString, OsString)],
        stop: &Stop,
    ) -> io::Result<Self> {
        let mut bytes = task.to_bytes()?;
        bytes.extend_from_slice(input.as_bytes());
        let mut command = Command::new(own_binary()?);
        command
            .arg("run-function")
            .env_clear()
            .env("PATH", PATH)
            .env("LANG", "C.UTF-8")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // From now on a call to stop waits until the process id is known.
        let mut state = stop.lock();
        if state.is_stopped {
            return Err(io::Error::other("the request was cancelled"));
        }
        adopt_orphans();
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        state.running = Some(pid);
        drop(state);
        match FunctionPipes::of(&mut child) {
            Ok(pipes) => Ok(Self {
                child,
                pid,
                input: Some((pipes.input, bytes, 0)),
                output: pipes.output,
                talk: pipes.talk,
                ended: end_of(pid),
                deadline: Instant::now(),
            }),
            Err(error) => {
                give_up(child, pid, stop);
                Err(error)
            }
        }
    }

    /// Follows it to its end; afterwards no process of it is left.
    pub(super) fn finish(mut self, cause: &SandboxCause<'_>, stop: &Stop) -> FunctionOutcome {
        let call = cause.call;
        self.deadline = Instant::now() + Duration::from_millis(call.millis);
        let ending = self.follow(call.output);
        // Every process that it started ends with it.
        kill_all(self.pid);
        let drained = self.drain(call.output);
        stop.lock().running = None;
        let status = self.child.wait();
        reap(self.pid);
        let talk = call.without_values(&String::from_utf8_lossy(&self.talk.bytes));
        let talk = with_file_name(&talk, call.function.file().as_str());
        if !talk.trim().is_empty() {
            tracing::info!(prompt = %call.prompt, "a function says: {}", one_line(&talk));
        }
        match ending.and(drained) {
            Ending::TimeIsUp => FunctionOutcome::Failed(format!(
                "took longer than the limit of {} ms and was ended{}",
                call.millis,
                quoted(&talk)
            )),
            Ending::Excess(excess) => {
                FunctionOutcome::Failed(format!("{excess} and was ended{}", quoted(&talk)))
            }
            Ending::Flood => FunctionOutcome::Failed(format!(
                "printed more than the limit of {} bytes and was ended",
                call.output
            )),
            Ending::Ended => match status {
                Ok(status) => said(cause, status.code(), self.output.bytes, &talk),
                Err(error) => FunctionOutcome::Failed(format!("could not be waited for: {error}")),
            },
        }
    }

    fn follow(&mut self, limit: usize) -> Ending {
        let mut watch = GroupWatch::new(self.pid);
        loop {
            if self.has_ended() {
                return Ending::Ended;
            }
            let now = Instant::now();
            let left = self.deadline.saturating_duration_since(now);
            if left.is_zero() {
                return Ending::TimeIsUp;
            }
            if let Some(excess) = watch.look(now) {
                return Ending::Excess(excess);
            }
            let left = left.min(watch.time_left(now));
            let tick = if self.ended.is_some() {
                left
            } else {
                left.min(TICK)
            };
            self.wait(tick);
            self.send();
            self.output.read(limit + 1);
            self.talk.read_last(TALK);
            if self.output.bytes.len() > limit {
                return Ending::Flood;
            }
        }
    }

    /// Reads the rest of the pipes, now that no process is left to write more.
    fn drain(&mut self, limit: usize) -> Ending {
        let until = Instant::now() + LAST_WORDS;
        self.input = None;
        self.ended = None;
        loop {
            self.output.read(limit + 1);
            self.talk.read_last(TALK);
            if self.output.bytes.len() > limit {
                return Ending::Flood;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || (!self.output.is_open && !self.talk.is_open) {
                return Ending::Ended;
            }
            self.wait(left);
        }
    }

    /// Checks without reaping: until then the id stays its own.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(
            waitid(WaitId::Pid(self.pid), options),
            Ok(None) | Err(Errno::INTR)
        )
    }

    fn wait(&self, time: Duration) {
        let mut fds = Vec::with_capacity(4);
        for pipe in [&self.output, &self.talk] {
            if pipe.is_open {
                fds.push(PollFd::new(&pipe.fd, PollFlags::IN));
            }
        }
        if let Some((fd, _, _)) = &self.input {
            fds.push(PollFd::new(fd, PollFlags::OUT));
        }
        if let Some(ended) = &self.ended {
            fds.push(PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN));
        }
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let _ = poll(&mut fds, Some(&Timespec::try_from(time).unwrap_or(none)));
    }

    /// Writes as much as the pipe accepts. A function does not have to read its input.
    fn send(&mut self) {
        let Some((fd, bytes, sent)) = &mut self.input else {
            return;
        };
        match rustix::io::write(&*fd, &bytes[*sent..]) {
            Ok(count) => *sent += count,
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(_) => *sent = bytes.len(),
        }
        if *sent >= bytes.len() {
            self.input = None;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Ended,
    TimeIsUp,
    Flood,
    Excess(Excess),
}

impl Ending {
    fn and(self, later: Self) -> Self {
        if self == Self::Ended { later } else { self }
    }
}

/// Our ends of a process's pipes; none of them blocks.
struct FunctionPipes {
    input: OwnedFd,
    output: Pipe,
    talk: Pipe,
}

impl FunctionPipes {
    fn of(child: &mut Child) -> io::Result<Self> {
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("it has no pipes"));
        };
        let input = OwnedFd::from(stdin);
        rustix::io::ioctl_fionbio(&input, true)?;
        Ok(Self {
            input,
            output: Pipe::new(stdout.into())?,
            talk: Pipe::new(stderr.into())?,
        })
    }
}

/// One end of a pipe and the bytes read from it.
struct Pipe {
    fd: OwnedFd,
    bytes: Vec<u8>,
    is_open: bool,
}

impl Pipe {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Self {
            fd,
            bytes: Vec::new(),
            is_open: true,
        })
    }

    /// Reads the available bytes, at most `most` in all.
    fn read(&mut self, most: usize) {
        while self.is_open && self.bytes.len() < most {
            let room = (most - self.bytes.len()).min(64 * 1024);
            if !self.read_chunk(room) {
                return;
            }
        }
    }

    /// Reads the available bytes for a moment, and keeps the last ones.
    fn read_last(&mut self, kept: usize) {
        for _ in 0..16 {
            if !self.is_open || !self.read_chunk(64 * 1024) {
                break;
            }
            let surplus = self.bytes.len().saturating_sub(kept);
            self.bytes.drain(..surplus);
        }
    }

    /// Returns whether there may be more.
    fn read_chunk(&mut self, room: usize) -> bool {
        let start = self.bytes.len();
        self.bytes.resize(start + room, 0);
        let read = rustix::io::read(&self.fd, &mut self.bytes[start..]);
        self.bytes.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => self.is_open = false,
            Ok(_) | Err(Errno::INTR) => return true,
            Err(Errno::AGAIN) => {}
            Err(_) => self.is_open = false,
        }
        false
    }
}

/// What a function's end means.
fn said(
    cause: &SandboxCause<'_>,
    code: Option<i32>,
    printed: Vec<u8>,
    talk: &str,
) -> FunctionOutcome {
    let call = cause.call;
    let failed = |what: String| {
        let hint = cause.hint(talk);
        let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {}", one_line(&hint)));
        FunctionOutcome::Failed(format!("{what}{}{hint}", quoted(talk)))
    };
    match code {
        Some(0) => match call.function.output() {
            OutputForm::Json => FunctionOutcome::Printed(printed),
            OutputForm::Text => FunctionOutcome::PrintedText(printed),
        },
        Some(REFUSED) => match serde_json::from_slice(&printed) {
            Ok(refused) => why_refused(call, refused),
            Err(_) => failed(format!("ended with exit code {REFUSED}")),
        },
        // Shells also report a signal as 128 plus its number.
        Some(152) => failed("used more processor time than the limit of 5 s".to_owned()),
        Some(code) if code > 128 => failed(format!("was ended by signal {}", code - 128)),
        Some(code) => failed(format!("ended with exit code {code}")),
        None => failed("was ended from outside".to_owned()),
    }
}

fn why_refused(call: &FunctionCall, refused: StartRefusal) -> FunctionOutcome {
    let (prompt, name) = (&call.prompt, &call.library.name);
    let trust = format!("look at it, then run `twig library trust {name}`");
    FunctionOutcome::Refused(match refused {
        StartRefusal::Changed(files) => format!(
            "Prompt `{prompt}` was not run: library `{name}` changed since it was trusted ({}): {trust}",
            files.join(", ")
        ),
        StartRefusal::NotOwn(why) => format!(
            "Prompt `{prompt}` was not run: library `{name}` cannot be trusted as yours any more: {why}: {trust}"
        ),
        StartRefusal::Grant(why) => {
            // Paths of this machine are not for clients on others.
            tracing::warn!(%prompt, "a function was not run: {why}");
            format!(
                "Prompt `{prompt}` was not run: a path that it was granted is another one now (the log says which): {trust}"
            )
        }
        StartRefusal::Unreadable(why) => {
            format!("Prompt `{prompt}` was not run: library `{name}` cannot be read: {why}")
        }
        StartRefusal::NoSandbox(why) => format!(
            "Prompt `{prompt}` was not run: this system cannot sandbox programs ({why}); start Twig with --allow-unsandboxed-functions to run them with all your permissions"
        ),
        StartRefusal::NotStarted(why) => format!(
            "The function of prompt `{prompt}` could not be started: {}: {why}",
            call.function.file()
        ),
    })
}

/// The end of a function's standard error without control characters: after a colon if it is one
/// line, else as the lines that it printed.
fn quoted(talk: &str) -> String {
    let talk = visible(talk.trim_end()).into_owned();
    let lines: Vec<&str> = talk
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let mut rest = lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n");
    let length = rest.chars().count();
    let is_cut = length > QUOTED || lines.len() > QUOTED_LINES;
    if length > QUOTED {
        rest = rest.chars().skip(length - QUOTED).collect();
    }
    let dots = if is_cut { "…" } else { "" };
    match lines.len() {
        0 => String::new(),
        1 => format!(": {dots}{}", rest.trim_start()),
        _ => format!(":\n{dots}{rest}"),
    }
}

/// The words of a program with the name of its file instead of the place of its copy in memory.
fn with_file_name(talk: &str, file: &str) -> String {
    let mut parts = talk.split(IN_MEMORY);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        text.push_str(if rest.len() < part.len() {
            file
        } else {
            IN_MEMORY
        });
        text.push_str(rest);
    }
    text
}

#[cfg(target_os = "linux")]
fn end_of(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_of(_pid: Pid) -> Option<OwnedFd> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceback_keeps_its_lines_and_the_name_of_the_script() {
        let talk = "Traceback (most recent call last):\n  File \"/proc/self/fd/7\", line 4\n\x1b[31mKeyError\n";
        let shown = quoted(&with_file_name(talk, "bin/x"));
        let expected =
            ":\nTraceback (most recent call last):\n  File \"bin/x\", line 4\n<U+001B>[31mKeyError";
        assert_eq!(shown, expected);
        assert_eq!(with_file_name("/proc/self/fd/x", "a"), "/proc/self/fd/x");
        assert_eq!(quoted("  one\n\n"), ": one");
        assert_eq!(quoted(" \n"), "");
        let many = quoted(&"line\n".repeat(1000));
        assert_eq!(many.lines().count(), QUOTED_LINES + 1);
        assert!(many.starts_with(":\n…line"), "{many}");
        let long = quoted(&"x".repeat(10_000));
        assert_eq!(long.chars().count(), QUOTED + 3);
    }

    #[test]
    fn a_process_that_cannot_be_followed_is_gone() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        assert!(FunctionPipes::of(&mut child).is_err(), "it has no pipes");
        let pid = Pid::from_child(&child);
        let stop = Stop::default();
        stop.lock().running = Some(pid);
        give_up(child, pid, &stop);
        assert_eq!(stop.lock().running, None);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let left = waitid(WaitId::Pid(pid), options);
        assert!(matches!(left, Err(Errno::CHILD)));
    }
}
