//! Root's privileges: a function started by root gives them up.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Reading a library that belongs to another user; Landlock decides which files, and that none is
/// written.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH);

/// Gives up every privilege for good: with "no new privileges" set, no program that it starts gets
/// one back.
pub(super) fn drop_all() -> Result<(), String> {
    let wrong = |error| format!("privileges cannot be dropped: {error}");
    let has = capabilities(None).map_err(wrong)?;
    let kept = CapabilitySets {
        effective: has.effective & KEPT,
        permitted: has.permitted & KEPT,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept).map_err(wrong)
}
