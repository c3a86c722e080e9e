//! PriorityLevelConfigurations of `flowcontrol.apiserver.k8s.io` before `v1`.

use crate::step::{Object, Step, Unconvertible, strip};

/// `v1beta1` and `v1beta2`: the shares had another name.
pub(crate) const ASSURED_SHARES: &[Step] = &[Step::Move(
    "spec.limited.assuredConcurrencyShares",
    "spec.limited.nominalConcurrencyShares",
)];

/// `v1beta3`, in which no shares had to be said twice.
pub(crate) const ZERO_SHARES: &[Step] = &[Step::By(zero_shares)];

fn zero_shares(level: &mut Object) -> Result<(), Unconvertible> {
    strip(
        level,
        "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares",
    )
}
