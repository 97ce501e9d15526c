//! seccomp: system calls that a function may not make.
//!
//! Most of them fail with "not permitted". `clone3` fails with "no such call", because a filter
//! cannot see its arguments; programs then fall back to `clone`, whose arguments it can see.

use std::collections::BTreeMap;

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Never needed to produce text, and a way to reach other processes, the kernel or the network.
const NEVER: &[c_long] = &[
    // Networks, and sockets of other programs on this machine. Messages could also pass
    // descriptors.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    // Larger buffers, which are memory that no limit counts.
    libc::SYS_setsockopt,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_ioprio_set,
    // IPC objects: they outlive a program, count towards no limit of it, and may belong to another
    // program.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Memory that no limit counts: pages in a pipe, and rings that share one limit.
    libc::SYS_vmsplice,
    libc::SYS_io_setup,
    libc::SYS_io_submit,
    // Making every process wait for the disk.
    libc::SYS_sync,
    libc::SYS_syncfs,
    // Watching what other processes do with their files.
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
    // Leaving the process group, which is killed as one.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // What Landlock does not restrict: a file's owner, mode, times and attributes.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_mknodat,
];

/// The same, too new for every `libc` to have a name; these numbers are the same on all
/// architectures.
const NEVER_NEW: &[c_long] = &[
    // quotactl_fd, process_mrelease.
    443, 448, // fchmodat2, setxattrat, removexattrat, open_tree_attr, file_setattr.
    452, 463, 466, 467, 469,
];

/// The same, by names that only older architectures have.
#[cfg(target_arch = "x86_64")]
const NEVER_OLD: &[c_long] = &[
    libc::SYS_inotify_init,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_mknod,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_kexec_file_load,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_OLD: &[c_long] = &[];

/// Calls that may only be about the caller: the arguments at these positions must be 0.
const ON_ITSELF: &[(c_long, &[u8])] = &[
    (libc::SYS_prlimit64, &[0]),
    // The kind of target and its id: one process, and this one.
    (libc::SYS_setpriority, &[0, 1]),
    (libc::SYS_sched_setaffinity, &[0]),
    (libc::SYS_sched_setscheduler, &[0]),
    (libc::SYS_sched_setparam, &[0]),
    (libc::SYS_sched_setattr, &[0]),
];

/// What `fcntl` may do: duplicates, flags and locks. It may not choose who gets which signal when
/// something can be read, nor watch for changes, nor prevent others from opening a file.
const FCNTL: &[c_int] = &[
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
    libc::F_GETPIPE_SZ,
    libc::F_GET_SEALS,
];

/// What `ioctl` may do: ask whether something is a terminal and how much can be read, and set the
/// flags that `fcntl` sets. File systems take commands this way that Landlock does not see.
const IOCTL: &[u32] = &[
    0x5401,      // TCGETS
    0x802c_542a, // TCGETS2
    0x540f,      // TIOCGPGRP
    0x5413,      // TIOCGWINSZ
    0x541b,      // FIONREAD
    0x5421,      // FIONBIO
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
];

/// The bits of a socket's type that are not flags.
const SOCKET_TYPE: u64 = 0xf;

/// Memory that no process owns: shared without a file, or reserved large pages.
const NO_MEMORY: [(c_int, c_int); 3] = [
    (MAP_KIND, libc::MAP_ANONYMOUS | libc::MAP_SHARED),
    (MAP_KIND, libc::MAP_ANONYMOUS | libc::MAP_SHARED_VALIDATE),
    (libc::MAP_HUGETLB, libc::MAP_HUGETLB),
];
const MAP_KIND: c_int = libc::MAP_ANONYMOUS | libc::MAP_TYPE;

/// Signals to others, where Landlock does not restrict them: the own group is 0.
const SIGNALS: (c_long, &[u8]) = (libc::SYS_kill, &[0]);
const SIGNALS_NEVER: &[c_long] = &[
    libc::SYS_tkill,
    // `abort` uses this signal, too; it then dies of an illegal instruction.
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
];

/// Namespaces that `clone` could make.
const NAMESPACES: [c_int; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWTIME,
];

/// x86-64 has every call twice; the second number has this bit set.
#[cfg(target_arch = "x86_64")]
const X32: c_long = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Denies these calls to this process and every process that it starts.
pub(super) fn restrict(signals_are_scoped: bool) -> Result<(), String> {
    let wrong = |error: &dyn std::fmt::Display| format!("seccomp: {error}");
    let mut missing = Rules::new();
    insert(&mut missing, libc::SYS_clone3, Vec::new());
    let not_permitted = rules(signals_are_scoped).map_err(|error| wrong(&error))?;
    for (rules, errno) in [(not_permitted, libc::EPERM), (missing, libc::ENOSYS)] {
        let program = program(rules, errno.unsigned_abs()).map_err(|error| wrong(&error))?;
        apply_filter(&program).map_err(|error| wrong(&error))?;
    }
    Ok(())
}

fn program(rules: Rules, errno: u32) -> Result<BpfProgram, seccompiler::BackendError> {
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno),
        TargetArch::try_from(std::env::consts::ARCH)?,
    )?;
    BpfProgram::try_from(filter)
}

fn rules(signals_are_scoped: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for call in NEVER.iter().chain(NEVER_NEW).chain(NEVER_OLD) {
        insert(&mut rules, *call, Vec::new());
    }
    let mut others = ON_ITSELF.to_vec();
    if !signals_are_scoped {
        others.push(SIGNALS);
        for call in SIGNALS_NEVER {
            insert(&mut rules, *call, Vec::new());
        }
    }
    for (call, places) in others {
        let not_zero = |place: &u8| only(*place, SeccompCmpOp::Ne, 0);
        let conditions: Result<_, _> = places.iter().map(not_zero).collect();
        insert(&mut rules, call, conditions?);
    }
    let fcntl = FCNTL.iter().map(|command| command.unsigned_abs());
    insert(&mut rules, libc::SYS_fcntl, vec![all_but(1, fcntl)?]);
    let ioctl = IOCTL.iter().copied();
    insert(&mut rules, libc::SYS_ioctl, vec![all_but(1, ioctl)?]);
    insert(&mut rules, libc::SYS_socketpair, other_pairs()?);
    // The destination: the two ends of a pair know each other.
    let (length, operator) = (SeccompCmpArgLen::Qword, SeccompCmpOp::Ne);
    let condition = SeccompCondition::new(4, length, operator, 0)?;
    let addressed = vec![SeccompRule::new(vec![condition])?];
    insert(&mut rules, libc::SYS_sendto, addressed);
    let mut mappings = Vec::with_capacity(NO_MEMORY.len());
    for (mask, flags) in NO_MEMORY {
        let mask = SeccompCmpOp::MaskedEq(u64::from(mask.unsigned_abs()));
        mappings.push(only(3, mask, flags.unsigned_abs())?);
    }
    insert(&mut rules, libc::SYS_mmap, mappings);
    let mut namespaces = Vec::with_capacity(NAMESPACES.len());
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        let operator = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, operator, flag)?;
        namespaces.push(SeccompRule::new(vec![condition])?);
    }
    insert(&mut rules, libc::SYS_clone, namespaces);
    // Calls with another number there, `ptrace` among them.
    #[cfg(target_arch = "x86_64")]
    for call in 512..548 {
        rules.insert(X32 | call, Vec::new());
    }
    Ok(rules)
}

/// A rule on one argument.
fn only(
    place: u8,
    operator: SeccompCmpOp,
    value: u32,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let (length, value) = (SeccompCmpArgLen::Dword, u64::from(value));
    SeccompRule::new(vec![SeccompCondition::new(place, length, operator, value)?])
}

/// A rule on one argument that is none of these.
fn all_but(
    place: u8,
    allowed: impl Iterator<Item = u32>,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = |value: u32| {
        let (length, operator) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Ne);
        SeccompCondition::new(place, length, operator, value.into())
    };
    let conditions: Result<_, _> = allowed.map(condition).collect();
    SeccompRule::new(conditions?)
}

/// Socket pairs other than local streams: those could also reach any other local socket.
fn other_pairs() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let family = libc::AF_UNIX.unsigned_abs();
    let stream = libc::SOCK_STREAM.unsigned_abs();
    let mut rules = vec![only(0, SeccompCmpOp::Ne, family)?];
    for kind in (0..=0xf).filter(|kind| *kind != stream) {
        rules.push(only(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?);
    }
    Ok(rules)
}

fn insert(rules: &mut Rules, call: c_long, conditions: Vec<SeccompRule>) {
    #[cfg(target_arch = "x86_64")]
    rules.insert(call | X32, conditions.clone());
    rules.insert(call, conditions);
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use rustix::process::{getppid, test_kill_current_process_group, test_kill_process};

    use super::*;

    /// A filter applies only to the thread that installs it.
    #[test]
    fn without_landlocks_help_signals_stay_in_the_group() {
        let tried = std::thread::spawn(|| {
            restrict(false).expect("this system has seccomp");
            let parent = getppid().expect("the tests have a parent process");
            (test_kill_process(parent), test_kill_current_process_group())
        });
        let (parent, group) = tried.join().expect("it ends well");
        assert_eq!(parent, Err(Errno::PERM));
        assert_eq!(group, Ok(()));
    }

    /// Shells work without signals to others, and a process that aborts still ends, if in another
    /// way.
    #[test]
    fn without_landlocks_help_programs_live_and_die() {
        let tried = std::thread::spawn(|| {
            restrict(false).expect("this system has seccomp");
            let run = |program: &str, script: &str| {
                let mut command = std::process::Command::new(program);
                command.args(["-c", script]).output().ok()
            };
            (
                run("bash", "sleep 0 & wait; echo well | cat; kill -0 0"),
                run("python3", "import os; os.abort()"),
            )
        });
        let (lived, died) = tried.join().expect("it ends well");
        // A machine may lack either program.
        if let Some(lived) = lived {
            assert_eq!(lived.stdout, b"well\n", "{lived:?}");
            assert!(lived.status.success(), "{lived:?}");
        }
        if let Some(died) = died {
            assert!(!died.status.success(), "{died:?}");
        }
    }

    #[test]
    fn what_is_not_needed_is_not_permitted() {
        let tried = std::thread::spawn(|| {
            restrict(true).expect("this system has seccomp");
            let limits = rlimit::Resource::NOFILE.get().is_ok();
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").map(|_| ());
            let thread = std::thread::Builder::new().spawn(|| ());
            let thread = thread.is_ok_and(|thread| thread.join().is_ok());
            (
                limits,
                socket.map_err(|error| error.kind()),
                thread,
                rustix::process::setsid(),
            )
        });
        let (limits, socket, thread, session) = tried.join().expect("it ends well");
        assert!(limits && thread, "a program lives on");
        assert_eq!(socket, Err(std::io::ErrorKind::PermissionDenied));
        assert_eq!(session, Err(Errno::PERM));
    }

    #[test]
    fn local_services_are_out_of_reach_and_pairs_are_not() {
        use std::os::unix::net::{UnixDatagram, UnixStream};
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("socket");
        let listener = UnixDatagram::bind(&place).expect("a socket");
        listener.set_nonblocking(true).expect("a socket");
        let tried = std::thread::spawn(move || {
            // As if it had existed before.
            let (old, _other) = UnixDatagram::pair().expect("a pair");
            restrict(true).expect("this system has seccomp");
            let new = UnixDatagram::pair().map(|_| ());
            let sent = old.send_to(b"x", &place).map(|_| ());
            let connected = old.connect(&place);
            let (one, mut two) = UnixStream::pair().expect("streams stay");
            let written = std::io::Write::write(&mut &one, b"x");
            let mut byte = [0];
            std::io::Read::read_exact(&mut two, &mut byte).expect("it was written");
            ([new, sent, connected], written.is_ok())
        });
        let (refused, works) = tried.join().expect("it ends well");
        for refused in refused {
            let kind = refused.expect_err("no way there").kind();
            assert_eq!(kind, std::io::ErrorKind::PermissionDenied);
        }
        assert!(works, "a pair of streams works");
        assert!(listener.recv(&mut [0]).is_err(), "nothing came");
    }

    #[test]
    fn nobody_elses_priority_is_changed() {
        use rustix::process::{setpriority_process, setpriority_user};
        let tried = std::thread::spawn(|| {
            restrict(true).expect("this system has seccomp");
            let own = rustix::process::getpriority_process(None).expect("a priority");
            (
                setpriority_process(None, own),
                setpriority_process(getppid(), own),
                setpriority_user(rustix::process::Uid::ROOT, own),
                rustix::process::setpriority_pgrp(None, own),
            )
        });
        let (own, parent, user, group) = tried.join().expect("it ends well");
        assert_eq!(own, Ok(()));
        assert_eq!([parent, user, group], [Err(Errno::PERM); 3]);
    }
}
