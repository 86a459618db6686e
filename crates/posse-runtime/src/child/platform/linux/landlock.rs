//! Landlock: what the kernel offers, and a fence around this process. Which paths are inside is decided by the caller.

use std::io;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::seccomp;
use crate::guard::wire::Fence;

/// Without truncation (ABI 3, Linux 6.2) a file outside could be emptied: anything older is refused.
const ABI_MIN: ABI = ABI::V3;
/// The newest that this code knows; what the kernel does not know of it is left out.
const ABI_MAX: ABI = ABI::V9;

/// Versions that differ in what a fence holds, newest first.
const LEVELS: [(ABI, u32); 5] = [(ABI::V9, 9), (ABI::V6, 6), (ABI::V5, 5), (ABI::V4, 4), (ABI_MIN, 3)];

/// The version of Landlock that this kernel can enforce, as far as it makes a difference here; or why there is none.
pub fn landlock_in_force() -> Result<u32, String> {
    let holds = |abi: ABI| {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = ruleset.handle_access(AccessFs::from_all(abi))?;
        let scopes = Scope::from_all(abi);
        let ruleset = if scopes.is_empty() { ruleset } else { ruleset.scope(scopes)? };
        ruleset.create().map(|_| ())
    };
    let found = LEVELS.iter().find(|(abi, _)| holds(*abi).is_ok());
    found.map(|(_, level)| *level).ok_or_else(|| "this kernel has no Landlock, or one before 6.2".to_owned())
}

/// Holds this thread and everything it starts to the fence, for good.
pub fn fence_in(fence: &Fence) -> io::Result<()> {
    let status = restrict(fence).map_err(|error| io::Error::other(format!("landlock: {error}")))?;
    if status == RulesetStatus::NotEnforced {
        return Err(io::Error::other("landlock: nothing is enforced"));
    }
    give_up_capabilities()?;
    if fence.offline { seccomp::go_offline() } else { Ok(()) }
}

/// Some capabilities of root go past Landlock: one of them reads the variables of any process. They do not come back,
/// since a fenced process cannot gain any.
fn give_up_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

fn restrict(fence: &Fence) -> Result<RulesetStatus, landlock::RulesetError> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI_MIN))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI_MAX))?
        .scope(Scope::from_all(ABI_MAX))?
        .create()?
        .add_rules(path_beneath_rules(&fence.readable, AccessFs::from_read(ABI_MAX)))?
        .add_rules(path_beneath_rules(&fence.writable, AccessFs::from_all(ABI_MAX)))?
        .restrict_self()?;
    Ok(status.ruleset)
}
