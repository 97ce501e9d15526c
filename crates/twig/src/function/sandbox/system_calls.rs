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
    // Servers, of a network or on this machine.
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
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

/// Networks, and sockets of other programs on this machine: refused unless a network is granted.
/// Even then [`other_sockets`] and [`other_options`] are refused. Messages could also pass descriptors; options could make larger buffers, which are memory that
/// no limit counts.
const WITHOUT_NETWORK: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_setsockopt,
];

/// The families, types and protocols of the sockets that a network needs: TCP and UDP. Sockets of
/// this machine's own services are never among them.
const FAMILIES: [c_int; 2] = [libc::AF_INET, libc::AF_INET6];
const SOCKETS: [c_int; 2] = [libc::SOCK_STREAM, libc::SOCK_DGRAM];
const PROTOCOLS: [c_int; 3] = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];

/// The options of sockets that clients set, by level.
const OPTIONS: &[(c_int, &[c_int])] = &[
    (
        libc::SOL_SOCKET,
        &[
            libc::SO_REUSEADDR,
            libc::SO_KEEPALIVE,
            libc::SO_LINGER,
            libc::SO_RCVTIMEO,
            libc::SO_SNDTIMEO,
        ],
    ),
    (
        libc::IPPROTO_IP,
        &[
            libc::IP_TOS,
            libc::IP_TTL,
            libc::IP_RECVERR,
            libc::IP_MTU_DISCOVER,
        ],
    ),
    (
        libc::IPPROTO_IPV6,
        &[
            libc::IPV6_V6ONLY,
            libc::IPV6_RECVERR,
            libc::IPV6_TCLASS,
            libc::IPV6_MTU_DISCOVER,
        ],
    ),
    (
        libc::IPPROTO_TCP,
        &[
            libc::TCP_NODELAY,
            libc::TCP_CORK,
            libc::TCP_KEEPIDLE,
            libc::TCP_KEEPINTVL,
            libc::TCP_KEEPCNT,
            libc::TCP_QUICKACK,
            libc::TCP_USER_TIMEOUT,
            libc::TCP_NOTSENT_LOWAT,
        ],
    ),
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
pub(super) fn restrict(signals_are_scoped: bool, network: bool) -> Result<(), String> {
    let wrong = |error: &dyn std::fmt::Display| format!("seccomp: {error}");
    let mut missing = Rules::new();
    insert(&mut missing, libc::SYS_clone3, Vec::new());
    let not_permitted = rules(signals_are_scoped, network).map_err(|error| wrong(&error))?;
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

fn rules(signals_are_scoped: bool, network: bool) -> Result<Rules, seccompiler::BackendError> {
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
    if network {
        insert(&mut rules, libc::SYS_socket, other_sockets()?);
        insert(&mut rules, libc::SYS_setsockopt, other_options()?);
    } else {
        for call in WITHOUT_NETWORK {
            insert(&mut rules, *call, Vec::new());
        }
        // The destination: the two ends of a pair know each other.
        let (length, operator) = (SeccompCmpArgLen::Qword, SeccompCmpOp::Ne);
        let condition = SeccompCondition::new(4, length, operator, 0)?;
        let addressed = vec![SeccompRule::new(vec![condition])?];
        insert(&mut rules, libc::SYS_sendto, addressed);
    }
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

/// Sockets other than TCP and UDP: those of services of this machine, raw ones, the kernel's.
fn other_sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = vec![
        all_but(0, FAMILIES.iter().map(|family| family.unsigned_abs()))?,
        all_but(2, PROTOCOLS.iter().map(|protocol| protocol.unsigned_abs()))?,
    ];
    for kind in (0..=0xf).filter(|kind| !SOCKETS.iter().any(|known| known.unsigned_abs() == *kind))
    {
        rules.push(only(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?);
    }
    Ok(rules)
}

/// Options of sockets that no client needs.
fn other_options() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let levels = OPTIONS.iter().map(|(level, _)| level.unsigned_abs());
    let mut rules = vec![all_but(1, levels)?];
    for (level, options) in OPTIONS {
        let dword = |place: u8, operator: SeccompCmpOp, value: c_int| {
            let value = u64::from(value.unsigned_abs());
            SeccompCondition::new(place, SeccompCmpArgLen::Dword, operator, value)
        };
        let mut conditions = vec![dword(1, SeccompCmpOp::Eq, *level)?];
        for option in *options {
            conditions.push(dword(2, SeccompCmpOp::Ne, *option)?);
        }
        rules.push(SeccompRule::new(conditions)?);
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
            restrict(false, false).expect("this system has seccomp");
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
            restrict(false, false).expect("this system has seccomp");
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
            restrict(true, false).expect("this system has seccomp");
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
    fn a_network_is_tcp_and_udp_and_no_service_of_this_machine() {
        use rustix::net::{AddressFamily, SocketType, ipproto, socket, sockopt};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let tried = std::thread::spawn(move || {
            restrict(true, true).expect("this system has seccomp");
            let tcp = std::net::TcpStream::connect(address);
            let tcp = tcp.map(|stream| {
                let buffer = sockopt::set_socket_recv_buffer_size(&stream, 1 << 20);
                (stream.set_nodelay(true).is_ok(), buffer)
            });
            let unix = std::os::unix::net::UnixStream::connect("/no/socket").map(drop);
            let listen = std::net::TcpListener::bind("127.0.0.1:0").map(drop);
            let raw = socket(AddressFamily::INET, SocketType::RAW, None).map(drop);
            let ping = socket(AddressFamily::INET, SocketType::DGRAM, Some(ipproto::ICMP));
            let kernel = socket(AddressFamily::NETLINK, SocketType::RAW, None).map(drop);
            let pair = std::os::unix::net::UnixDatagram::pair().map(drop);
            (tcp, [unix, listen, pair], [raw, ping.map(drop), kernel])
        });
        let (tcp, refused, also) = tried.join().expect("it ends well");
        let (nodelay, buffer) = tcp.expect("TCP works");
        assert!(nodelay);
        assert_eq!(buffer, Err(Errno::PERM));
        for refused in refused {
            let kind = refused.expect_err("no way there").kind();
            assert_eq!(kind, std::io::ErrorKind::PermissionDenied);
        }
        assert_eq!(also, [Err(Errno::PERM); 3]);
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
            restrict(true, false).expect("this system has seccomp");
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
            restrict(true, false).expect("this system has seccomp");
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
