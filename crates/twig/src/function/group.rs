//! What all processes of a function use together, according to `/proc`.
//!
//! The system limits the memory of each process, and for root not even the number of processes. A
//! function cannot leave its process group, so looking at the group finds all of its processes.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::sandbox::limits::MEMORY;

/// Threads of all processes together.
const THREADS: u64 = 128;
/// The minimum where a container has hardly any left; an ordinary script needs this many.
const FEW_THREADS: u64 = 16;
/// How often to look at a group.
const LOOK: Duration = Duration::from_millis(25);
/// How often to check for a reason to look at once.
const GLANCE: Duration = Duration::from_millis(2);
/// Looking takes at most this fraction of the time.
const LOOK_PART: u32 = 20;

/// What a group has too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "nothing tells of it")
    )]
    Memory,
    /// More threads than this.
    Threads(u64),
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => {
                let limit = MEMORY / (1024 * 1024);
                write!(
                    f,
                    "needed more memory than the limit of {limit} MiB for all its processes together"
                )
            }
            Self::Threads(limit) => {
                write!(
                    f,
                    "started more processes and threads than the limit of {limit}"
                )
            }
        }
    }
}

/// Threads that a function may have: fewer where a container limits their number. Half of the
/// container's remaining threads stay for other processes.
pub(super) fn most_threads() -> u64 {
    left_in_container().map_or(THREADS, |left| (left / 2).clamp(FEW_THREADS, THREADS))
}

/// Checks a group from time to time.
#[derive(Debug)]
pub(super) struct GroupWatch {
    group: Pid,
    most_threads: u64,
    next: Instant,
    /// The smallest number of threads on the machine since the last reason to look. Only set where
    /// nothing but this watch limits them.
    fewest: Option<u64>,
}

impl GroupWatch {
    pub(super) fn new(group: Pid) -> Self {
        let is_root = rustix::process::getuid().is_root();
        Self {
            group,
            most_threads: most_threads(),
            next: Instant::now() + LOOK,
            fewest: is_root.then(threads_on_machine).flatten(),
        }
    }

    /// How long to wait until the next look.
    pub(super) fn time_left(&self, now: Instant) -> Duration {
        let left = self.next.saturating_duration_since(now);
        match self.fewest {
            Some(_) => left.min(GLANCE),
            None => left,
        }
    }

    /// What the group has too much of, if it is time to look.
    pub(super) fn look(&mut self, now: Instant) -> Option<Excess> {
        if self.has_grown() && has_youngest(self.group, self.most_threads) {
            return Some(Excess::Threads(self.most_threads));
        }
        if now < self.next {
            return None;
        }
        let excess = excess(self.group, self.most_threads);
        self.next = now + LOOK.max(now.elapsed() * LOOK_PART);
        excess
    }

    /// Whether the machine gained so many threads that this group may have too many.
    fn has_grown(&mut self) -> bool {
        let (Some(fewest), Some(threads)) = (&mut self.fewest, threads_on_machine()) else {
            return false;
        };
        let has_grown = threads.saturating_sub(*fewest) > self.most_threads;
        // If these belong to other processes, look again only after as many more.
        *fewest = if has_grown {
            threads
        } else {
            threads.min(*fewest)
        };
        has_grown
    }
}

#[cfg(not(target_os = "linux"))]
fn left_in_container() -> Option<u64> {
    None
}

#[cfg(not(target_os = "linux"))]
fn threads_on_machine() -> Option<u64> {
    None
}

#[cfg(not(target_os = "linux"))]
fn has_youngest(_group: Pid, _most_threads: u64) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn excess(_group: Pid, _most_threads: u64) -> Option<Excess> {
    None
}

#[cfg(target_os = "linux")]
use linux::{excess, has_youngest, left_in_container, threads_on_machine};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{Excess, MEMORY, Pid};

    /// What one end of a pipe or socket pair may buffer without counting towards any limit.
    const BUFFER: u64 = 208 * 1024;

    /// How many of the most recently started threads are checked.
    const YOUNGEST: usize = 512;

    /// What a group has too much of, if anything. `None` where `/proc` does not say.
    pub(super) fn excess(group: Pid, most_threads: u64) -> Option<Excess> {
        let group = group.as_raw_nonzero().get();
        let mut threads = 0;
        let mut members = Vec::new();
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let name = entry.file_name();
            if !name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
                continue;
            }
            let folder = entry.path();
            let Some(count) = threads_in(&folder, group) else {
                continue;
            };
            threads += count;
            if threads > most_threads {
                return Some(Excess::Threads(most_threads));
            }
            members.push(folder);
        }
        let sum = |used: fn(&Path) -> u64| members.iter().map(|folder| used(folder)).sum::<u64>();
        let buffers = sum(descriptors) * BUFFER;
        // Count shared memory fully for each process first. Only if that is too much, count it
        // proportionally, which takes far longer.
        let is_too_much = |used| buffers + sum(used) > MEMORY;
        (is_too_much(resident) && is_too_much(proportional)).then_some(Excess::Memory)
    }

    pub(super) fn threads_on_machine() -> Option<u64> {
        load().map(|(threads, _)| threads)
    }

    /// The number of threads, and the id of the last one that was started.
    fn load() -> Option<(u64, u64)> {
        // Such as `0.20 0.18 0.12 1/80 11206`: one thread runs of 80.
        let load = fs::read_to_string("/proc/loadavg").ok()?;
        let mut words = load.split_ascii_whitespace().skip(3);
        let (_, threads) = words.next()?.split_once('/')?;
        Some((threads.parse().ok()?, words.next()?.parse().ok()?))
    }

    /// Whether more than `most_threads` of the most recently started threads belong to the group.
    ///
    /// This finds a function that starts thousands of threads at once; looking at all threads would
    /// take long.
    pub(super) fn has_youngest(group: Pid, most_threads: u64) -> bool {
        let group = group.as_raw_nonzero().get();
        let last = load().map_or(0, |(_, last)| last);
        let youngest = (1..=last).rev().take(YOUNGEST);
        let folders = youngest.map(|number| PathBuf::from(format!("/proc/{number}")));
        let ours = folders.filter(|folder| threads_in(folder, group).is_some());
        ours.zip(0..=most_threads).count() as u64 > most_threads
    }

    /// How many descriptors a process has open.
    fn descriptors(folder: &Path) -> u64 {
        fs::metadata(folder.join("fd")).map_or(0, |metadata| metadata.len())
    }

    /// The threads of a process, if it belongs to the group.
    fn threads_in(folder: &Path, group: i32) -> Option<u64> {
        /// Field positions after the name, which may contain any character: `proc(5)`.
        const GROUP: usize = 2;
        const THREADS: usize = 17;
        let stat = fs::read(folder.join("stat")).ok()?;
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        if fields.nth(GROUP)?.parse() != Ok(group) {
            return None;
        }
        let threads = fields.nth(THREADS - GROUP - 1)?.parse().ok()?;
        Some(u64::max(threads, 1))
    }

    fn resident(folder: &Path) -> u64 {
        kibibytes(&folder.join("status"), &["VmRSS:", "VmSwap:"]).unwrap_or(0)
    }

    /// Its proportional share of shared memory. A process can prevent reading this, and gains
    /// nothing by it.
    fn proportional(folder: &Path) -> u64 {
        let shared = kibibytes(&folder.join("smaps_rollup"), &["Pss:", "SwapPss:"]);
        shared.unwrap_or_else(|| resident(folder))
    }

    /// The sum of these lines, in bytes.
    fn kibibytes(path: &Path, names: &[&str]) -> Option<u64> {
        let text = fs::read_to_string(path).ok()?;
        let value = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let is_wanted = names.contains(&words.next()?);
            is_wanted.then(|| words.next()?.parse::<u64>().ok())?
        };
        let values: Vec<u64> = text.lines().filter_map(value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<u64>() * 1024)
    }

    /// How many more threads the processes of this container may start.
    pub(super) fn left_in_container() -> Option<u64> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let left = groups.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let base = match parts.next()? {
                "" => "/sys/fs/cgroup",
                "pids" => "/sys/fs/cgroup/pids",
                _ => return None,
            };
            let path = parts.next()?.trim_start_matches('/');
            let number = |name: &str| {
                let path: PathBuf = [base, path, name].iter().collect();
                fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
            };
            // No number: no limit.
            let most = number("pids.max")?;
            Some(most.saturating_sub(number("pids.current")?))
        });
        left.min()
    }

    #[cfg(test)]
    mod tests {
        use std::os::unix::process::CommandExt;
        use std::process::Command;

        use super::*;

        #[test]
        fn the_processes_of_a_group_are_counted() {
            let mut command = Command::new("sh");
            command.args(["-c", "sleep 600 & sleep 600 & read line"]);
            let mut child = command
                .process_group(0)
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let group = Pid::from_child(&child);
            while excess(group, 2).is_none() {
                std::thread::yield_now();
            }
            assert_eq!(excess(group, 2), Some(Excess::Threads(2)));
            assert_eq!(excess(group, 3), None, "three small processes");
            assert!(has_youngest(group, 2) && !has_youngest(group, 3));
            assert!(threads_on_machine().is_some_and(|threads| threads > 3));
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = child.wait();
        }

        #[test]
        fn memory_and_descriptors_are_counted() {
            let own = Path::new("/proc/self");
            assert!(resident(own) > 0);
            assert!(proportional(own) > 0 && proportional(own) <= resident(own));
            assert!(descriptors(own) >= 3);
        }
    }
}
