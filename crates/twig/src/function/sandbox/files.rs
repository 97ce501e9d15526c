//! Landlock: which files a function can reach.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};

/// Programs, their libraries and the files that those read.
const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/opt",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/alternatives",
];
/// Devices that may be read. A process that may write to `/dev/zero` could get shared memory from
/// it.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];
/// The one device that may be written to.
const NULL: &str = "/dev/null";

/// What looking up hosts and checking certificates needs. Private keys are not among it.
const NETWORK: [&str; 16] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
];

/// A file or folder that a function may read, opened.
pub(in crate::function) struct GrantedFile {
    file: OwnedFd,
    is_folder: bool,
}

impl GrantedFile {
    /// Opens a real path; `None` if nothing is there, and an error if a symlink leads elsewhere.
    pub(in crate::function) fn open(path: &str) -> Result<Option<Self>, String> {
        let Ok(file) = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else {
            return Ok(None);
        };
        // What was opened, not what the path leads to now.
        let place = format!("/proc/self/fd/{}", file.as_raw_fd());
        let real = readlinkat(CWD, place, Vec::new()).map_err(|error| error.to_string())?;
        if real.as_bytes() != path.as_bytes() {
            let real = real.to_string_lossy();
            return Err(format!("{path} is {real} now"));
        }
        let found = fstat(&file).map_err(|error| error.to_string())?;
        let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        Ok(Some(Self { file, is_folder }))
    }
}

/// Whether a function is prevented from signalling other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    Scoped,
    Open,
}

/// Restricts this process to reading its library, the system's programs and what was granted.
pub(super) fn restrict(
    root: &Path,
    granted: Vec<GrantedFile>,
    network: bool,
) -> Result<Signals, String> {
    let status = rules(root, granted, network).map_err(|error| match error {
        RulesetError::HandleAccesses(_) => "Landlock is missing or older than Linux 6.2".to_owned(),
        error => format!("Landlock: {error}"),
    })?;
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        return Err("Landlock is not switched on".to_owned());
    };
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err("Landlock is not enforced".to_owned());
    }
    Ok(if effective_abi >= ABI::V6 {
        Signals::Scoped
    } else {
        Signals::Open
    })
}

fn rules(
    root: &Path,
    granted: Vec<GrantedFile>,
    network: bool,
) -> Result<RestrictionStatus, RulesetError> {
    // Even with a network nothing listens.
    let refused = if network {
        AccessNet::BindTcp.into()
    } else {
        AccessNet::from_all(ABI::V4)
    };
    let created = Ruleset::default()
        // Every way to change or create a file; without these there is no sandbox.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        // Devices, networks and signals: seccomp restricts them where Landlock does not.
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(refused)?
        .scope(Scope::from_all(ABI::V6))?
        .create()?;
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let mut rules = allow(created, root, read)?;
    for path in SYSTEM {
        rules = allow(rules, Path::new(path), read)?;
    }
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    for path in NETWORK.iter().filter(|_| network) {
        rules = allow(rules, Path::new(path), read)?;
    }
    for granted in granted {
        // Programs there are read, not started.
        let access = if granted.is_folder {
            read
        } else {
            AccessFs::ReadFile.into()
        };
        rules = rules.add_rule(PathBeneath::new(granted.file, access))?;
    }
    for path in DEVICES {
        rules = allow(rules, Path::new(path), AccessFs::ReadFile.into())?;
    }
    rules = allow(rules, Path::new(NULL), AccessFs::WriteFile.into())?;
    rules.restrict_self()
}

/// Adds a rule. A path that does not exist needs none.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(path) else {
        return Ok(rules);
    };
    // Folder rights on a file would make the rule only partly enforced.
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(ABI::V5)
    };
    rules.add_rule(PathBeneath::new(fd, access))
}
