//! Landlock: which files a function can reach.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

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

/// Whether a function is prevented from signalling other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    Scoped,
    Open,
}

/// Restricts this process to reading its library and the system's programs.
pub(super) fn restrict(root: &Path) -> Result<Signals, String> {
    let status = rules(root).map_err(|error| match error {
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

fn rules(root: &Path) -> Result<RestrictionStatus, RulesetError> {
    let created = Ruleset::default()
        // Every way to change or create a file; without these there is no sandbox.
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        // Devices, networks and signals: seccomp restricts them where Landlock does not.
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
