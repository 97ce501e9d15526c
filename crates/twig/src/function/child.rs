//! The process between the server and a program: checks the files, enters the sandbox, starts the
//! program, and kills it and all its children if the server dies.

use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, getppid, kill_current_process_group, setsid};
use signal_hook::consts::{SIGCHLD, SIGTERM};
use twig_sources::{CodeFiles, Trust, TrustVerdict, examine, program, were_read_from, why_not_own};

use super::sandbox;
use super::task::{ApprovedFiles, FunctionProgram, REFUSED, StartRefusal, Task};
use crate::command_error::{CommandError, reason};

/// How often to check for the server where no signal reports its end.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 500_000_000,
};

/// The script is entirely ours: the path of the function's file and its name come as arguments. It
/// reads the input before it sources the file, which could read it otherwise.
const BASH: &str = r#"twig_input=$(cat) || exit
. "$1" || exit
if ! declare -F "$2" >/dev/null; then
  printf 'there is no function %s in prompts.bash\n' "$2" >&2
  exit 127
fi
printf '%s\n' "$twig_input" | "$2" "$twig_input""#;

/// Runs one function.
pub(crate) fn run() -> Result<ExitCode, CommandError> {
    let task = Task::receive()?;
    // From here on one kill reaches this process and all that it starts.
    setsid().map_err(io::Error::from)?;
    let pipe = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK);
    let (news, writer) = pipe.map_err(io::Error::from)?;
    for signal in [SIGTERM, SIGCHLD] {
        signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
    }
    follow_parent(&task)?;
    match start(&task) {
        Ok(program) => wait(program, &task, &news),
        Err(refused) => {
            let mut output = io::stdout().lock();
            output.write_all(&serde_json::to_vec(&refused)?)?;
            output.flush()?;
            Ok(ExitCode::from(u8::try_from(REFUSED).unwrap_or(1)))
        }
    }
}

/// Asks for a signal when the server's waiting thread ends; that thread waits until this process
/// ends.
fn follow_parent(task: &Task) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    if is_orphan(task) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    Ok(())
}

fn is_orphan(task: &Task) -> bool {
    getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != task.parent)
}

fn start(task: &Task) -> Result<Child, StartRefusal> {
    // From here on the working directory is the folder itself: the folder that is checked, allowed
    // and worked in stays the same, even if its path is replaced meanwhile.
    std::env::set_current_dir(&task.root).map_err(|error| {
        StartRefusal::Unreadable(format!("its folder cannot be opened: {}", reason(&error)))
    })?;
    let root = Path::new(".");
    let copy = approved_copy(task, root)?;
    let place = copy.place();
    let mut command = match &task.program {
        FunctionProgram::Command { arguments, .. } => {
            let mut command = Command::new(&place);
            command.args(arguments);
            command
        }
        FunctionProgram::Bash { function, .. } => {
            let mut command = Command::new("bash");
            command.args(["--noprofile", "--norc", "-c", BASH, "bash"]);
            command.args([&place, function]);
            command
        }
    };
    let files = sandbox::open_granted(&task.granted).map_err(StartRefusal::Grant)?;
    if let Err(why) = sandbox::enter(root, files, task.granted.network)
        && !task.unsandboxed
    {
        return Err(StartRefusal::NoSandbox(why));
    }
    command.spawn().map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => {
                "it, or the interpreter in its first line, does not exist".to_owned()
            }
            _ if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => {
                "it is a script without a first line such as `#!/bin/sh`".to_owned()
            }
            _ => reason(&error),
        };
        StartRefusal::NotStarted(why)
    })
}

/// A copy of the program in sealed memory that no process can write to: the program that runs is
/// the one that was checked.
struct Copy {
    #[cfg(target_os = "linux")]
    memory: OwnedFd,
    #[cfg(not(target_os = "linux"))]
    path: String,
}

impl Copy {
    #[cfg(target_os = "linux")]
    fn place(&self) -> String {
        format!("/proc/self/fd/{}", self.memory.as_raw_fd())
    }

    #[cfg(not(target_os = "linux"))]
    fn place(&self) -> String {
        self.path.clone()
    }
}

/// Checks that the library is the trusted one, and copies the program.
fn approved_copy(task: &Task, root: &Path) -> Result<Copy, StartRefusal> {
    let survey = examine(root).map_err(StartRefusal::Unreadable)?;
    let approved = match &task.approved {
        ApprovedFiles::Trusted(files) => files,
        ApprovedFiles::Own { data } => {
            let data = data.as_deref().map(Path::new);
            if let Some(why) = why_not_own(root, data, &survey) {
                return Err(StartRefusal::NotOwn(why));
            }
            &survey.files
        }
    };
    // The server's memory says what to run: it must have been read from the trusted files.
    were_read_from(&task.sources, approved).map_err(StartRefusal::Changed)?;
    let file = task.program.file();
    let (bytes, digest) = program(root, file).map_err(StartRefusal::Unreadable)?;
    let trusted = approved.get(file);
    if !trusted.is_some_and(|trusted| trusted.ends_with(&digest)) {
        return Err(StartRefusal::Changed(vec![file.to_owned()]));
    }
    still_trusted(root, approved, &survey.files)?;
    copy(root, file, &bytes).map_err(|error| StartRefusal::NotStarted(error.to_string()))
}

fn still_trusted(root: &Path, approved: &CodeFiles, files: &CodeFiles) -> Result<(), StartRefusal> {
    let mut trust = Trust::default();
    let known = trust.trust(root, approved.clone());
    known.map_err(|error| StartRefusal::Unreadable(error.to_string()))?;
    match trust.verdict(root, files) {
        TrustVerdict::Trusted => Ok(()),
        TrustVerdict::Changed(files) => Err(StartRefusal::Changed(files)),
        _ => Err(StartRefusal::Changed(Vec::new())),
    }
}

#[cfg(target_os = "linux")]
fn copy(_root: &Path, _file: &str, bytes: &[u8]) -> io::Result<Copy> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    /// Not the file's own: the system refuses long ones as it refuses flags it does not know.
    const NAME: &str = "function";
    // It stays open in the program: a script's interpreter opens it again.
    let flags = MemfdFlags::ALLOW_SEALING;
    let memory = match memfd_create(NAME, flags | MemfdFlags::EXEC) {
        // Kernels before 6.3 do not know this flag and always allow execution.
        Err(Errno::INVAL) => memfd_create(NAME, flags)?,
        memory => memory?,
    };
    let mut writer = std::fs::File::from(memory);
    writer.write_all(bytes)?;
    let memory = OwnedFd::from(writer);
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&memory, seals)?;
    // A reader that opens it again starts at the beginning.
    Ok(Copy { memory })
}

#[cfg(not(target_os = "linux"))]
fn copy(root: &Path, file: &str, _bytes: &[u8]) -> io::Result<Copy> {
    Ok(Copy {
        path: root.join(file).display().to_string(),
    })
}

/// Waits for the end of the program or of the server.
fn wait(mut program: Child, task: &Task, news: &OwnedFd) -> Result<ExitCode, CommandError> {
    loop {
        if let Some(status) = program.try_wait()? {
            let code = match (status.code(), status.signal()) {
                (Some(code), _) => code,
                (None, Some(signal)) => 128 + signal,
                (None, None) => 1,
            };
            return Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)));
        }
        if is_orphan(task) {
            // All of the group, this process too.
            let _ = kill_current_process_group(Signal::KILL);
        }
        let mut fds = [PollFd::new(news, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&LOOK));
        let mut bytes = [0; 16];
        let _ = rustix::io::read(news, &mut bytes[..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(digest: &str) -> CodeFiles {
        CodeFiles::from([("run".to_owned(), digest.to_owned())])
    }

    #[test]
    fn only_the_very_files_that_were_trusted_are() {
        let root = Path::new("/");
        assert!(still_trusted(root, &files("1"), &files("1")).is_ok());
        let changed = still_trusted(root, &files("1"), &files("2"));
        assert!(matches!(changed, Err(StartRefusal::Changed(files)) if files == ["run"]));
    }

    #[test]
    fn what_cannot_be_recorded_is_not_trusted() {
        use std::os::unix::ffi::OsStrExt;
        let root = Path::new(std::ffi::OsStr::from_bytes(b"/\xff"));
        let refused = still_trusted(root, &files("1"), &files("1"));
        assert!(matches!(refused, Err(StartRefusal::Unreadable(_))));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_may_have_a_long_path() {
        assert!(copy(Path::new("/"), &"x/".repeat(500), b"#!/bin/sh").is_ok());
    }
}
