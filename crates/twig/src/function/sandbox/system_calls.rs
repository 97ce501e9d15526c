//! seccomp: system calls that a function does not get.
//!
//! Most of them answer "not permitted". `clone3` answers "no such call", because what it asks for
//! cannot be seen from here, and programs then use `clone`, where it can.

use std::collections::BTreeMap;

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Never needed to make a text, and a way to other processes, the kernel or the network.
const NEVER: &[c_long] = &[
    // Networks, and sockets of other programs on this machine.
    libc::SYS_socket,
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
    // What outlives a program, counts towards no limit of it, and may be another program's.
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
    // Hearing of what others do with their files.
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
    // Leaving the group that is killed as one.
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
    libc::SYS_fanotify_init,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // What Landlock leaves alone: whose a file is, its times, its marks.
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

/// The same, too new for every `libc` to have a name; these numbers are one on all machines.
const NEVER_NEW: &[c_long] = &[
    // fchmodat2, setxattrat, removexattrat, open_tree_attr, file_setattr.
    452, 463, 466, 467, 469,
];

/// The same, by names that only older machines have.
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
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_OLD: &[c_long] = &[];

/// Calls that may be about the caller only: the argument at this place has to be 0.
const ON_ITSELF: &[(c_long, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
];

/// Signals to others, where Landlock does not keep them in: the own group is 0.
const SIGNALS: &[(c_long, u8)] = &[(libc::SYS_kill, 0)];
const SIGNALS_NEVER: &[c_long] = &[
    libc::SYS_tkill,
    // Takes `abort` its signal, too; that then dies of an instruction that is none.
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

/// x86-64 has every call a second time, under a number with this bit.
#[cfg(target_arch = "x86_64")]
const X32: c_long = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Takes these calls from this process and all that it starts.
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
        others.extend_from_slice(SIGNALS);
        for call in SIGNALS_NEVER {
            insert(&mut rules, *call, Vec::new());
        }
    }
    for (call, place) in others {
        let (length, operator) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Ne);
        let condition = SeccompCondition::new(place, length, operator, 0)?;
        insert(&mut rules, call, vec![SeccompRule::new(vec![condition])?]);
    }
    let mut namespaces = Vec::with_capacity(NAMESPACES.len());
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        let operator = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, operator, flag)?;
        namespaces.push(SeccompRule::new(vec![condition])?);
    }
    insert(&mut rules, libc::SYS_clone, namespaces);
    // Calls that have another number there, `ptrace` among them.
    #[cfg(target_arch = "x86_64")]
    for call in 512..548 {
        rules.insert(X32 | call, Vec::new());
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

    /// A filter holds for the thread that takes it on, and for nobody else.
    #[test]
    fn without_landlocks_help_signals_stay_in_the_group() {
        let tried = std::thread::spawn(|| {
            restrict(false).expect("this system has seccomp");
            let parent = getppid().expect("somebody started the tests");
            (test_kill_process(parent), test_kill_current_process_group())
        });
        let (parent, group) = tried.join().expect("it ends well");
        assert_eq!(parent, Err(Errno::PERM));
        assert_eq!(group, Ok(()));
    }

    /// Shells work without signals to others, and who aborts still ends, if in another way.
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
}
