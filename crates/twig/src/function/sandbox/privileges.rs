//! What root may do beyond others: a function started by root does without.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Reading the library of whoever it belongs to; Landlock says which files, and that none is
/// written.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH);

/// Gives up every privilege for good: without new privileges no program that is started gets one
/// back.
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
