//! Landlock: which files a function reaches.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// Programs, their libraries and what those want to read.
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
/// What may be read of devices. Who may write to `/dev/zero` has shared memory of it.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];
/// The one that may be written to.
const NULL: &str = "/dev/null";

/// Whether a function is kept from signalling others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    Scoped,
    Open,
}

/// Leaves this process its library and the system's programs, for reading.
pub(super) fn restrict(root: &Path) -> Result<Signals, String> {
    let status = rules(root).map_err(|error| match error {
        RulesetError::HandleAccesses(_) => "Landlock is missing or older than Linux 6.2".to_owned(),
        error => format!("Landlock: {error}"),
    })?;
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        return Err("Landlock is not switched on".to_owned());
    };
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err("Landlock does not hold".to_owned());
    }
    Ok(if effective_abi >= ABI::V6 {
        Signals::Scoped
    } else {
        Signals::Open
    })
}

fn rules(root: &Path) -> Result<RestrictionStatus, RulesetError> {
    let created = Ruleset::default()
        // Every way to change a file or to make one; without these there is no sandbox.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        // Devices, networks and signals: seccomp sees to them where Landlock does not.
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?;
    let read: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let mut rules = allow(created, root, read)?;
    for path in SYSTEM {
        rules = allow(rules, Path::new(path), read)?;
    }
    for path in DEVICES {
        rules = allow(rules, Path::new(path), AccessFs::ReadFile.into())?;
    }
    rules = allow(rules, Path::new(NULL), AccessFs::WriteFile.into())?;
    rules.restrict_self()
}

/// What is not there need not be allowed.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(path) else {
        return Ok(rules);
    };
    // Rights of folders on a file would make the rule one that holds in part only.
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(ABI::V5)
    };
    rules.add_rule(PathBeneath::new(fd, access))
}
