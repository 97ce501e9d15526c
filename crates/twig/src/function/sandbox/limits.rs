//! Limits that the system enforces for each process.

use rlimit::{Resource, getrlimit, setrlimit};

/// The memory of one process; `group` holds all of them together to the same limit.
pub(in crate::function) const MEMORY: u64 = 512 * 1024 * 1024;
/// Seconds of processor time; one second later the system kills the process.
const PROCESSOR: u64 = 5;
const OPEN_FILES: u64 = 64;
#[cfg(target_os = "linux")]
const TIMERS: u64 = 256;

/// The niceness of a function that root runs: until it is found to start too many processes,
/// nothing else keeps them from using all processors.
#[cfg(target_os = "linux")]
const NICER: i32 = 10;

pub(super) fn set() -> Result<(), String> {
    let limits = [
        (Resource::CPU, PROCESSOR, PROCESSOR + 1),
        (Resource::CORE, 0, 0),
        (Resource::FSIZE, 0, 0),
        (Resource::NOFILE, OPEN_FILES, OPEN_FILES),
        (Resource::AS, MEMORY, MEMORY),
        // No higher scheduling priority.
        #[cfg(target_os = "linux")]
        (Resource::NICE, 0, 0),
        #[cfg(target_os = "linux")]
        (Resource::RTPRIO, 0, 0),
        // All processes of a user share one number of pending timers and signals.
        #[cfg(target_os = "linux")]
        (Resource::SIGPENDING, TIMERS, TIMERS),
    ];
    #[cfg(target_os = "linux")]
    if let Some(running) = running() {
        // This limit does not apply to root; `group` counts for every user.
        let most = running + crate::function::group::most_threads();
        // A limit that is lower already is fine.
        let _ = setrlimit(Resource::NPROC, most, most);
    }
    #[cfg(target_os = "linux")]
    if rustix::process::getuid().is_root() {
        let _ = rustix::process::nice(NICER);
    }
    for (resource, soft, hard) in limits {
        // A limit that is lower already cannot be raised, and need not be.
        let most = getrlimit(resource).map_or(hard, |(_, most)| most.min(hard));
        setrlimit(resource, soft.min(most), most)
            .map_err(|error| format!("the limit {resource:?} cannot be set: {error}"))?;
    }
    Ok(())
}

/// The threads of this user, which is what the system counts.
#[cfg(target_os = "linux")]
fn running() -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::getuid().as_raw();
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let threads = processes.filter_map(|entry| {
        let name = entry.file_name();
        let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let tasks = is_process.then(|| entry.path().join("task").metadata().ok())??;
        // A folder has two links of its own and one from each folder in it.
        (tasks.uid() == own).then(|| tasks.nlink().saturating_sub(2).max(1))
    });
    Some(threads.sum())
}
