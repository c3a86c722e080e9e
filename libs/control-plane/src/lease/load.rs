//! What one of those who share work says of his share of it, in an annotation of his Lease: `weight=90 cost=12345`. Pure.

use std::fmt;

use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt;

/// The annotation.
pub(super) const LOAD: &str = "armadex.dev/load";

/// A share of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// What he weighs beside the others, in percent of what everybody does who says nothing: who weighs half has half as much of the work.
    pub weight: u32,
    /// What it costs him, by a measure that all of them have.
    pub cost: u64,
}

impl Load {
    /// What a Lease says. What cannot be read counts as nothing that is said.
    pub(super) fn of(lease: &Lease) -> Self {
        let said = lease.annotations().get(LOAD);
        said.and_then(|said| Self::parse(said)).unwrap_or_default()
    }

    /// What later releases say behind it is passed over.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let weight = words.next()?.strip_prefix("weight=")?.parse().ok()?;
        let cost = words.next()?.strip_prefix("cost=")?.parse().ok()?;
        (weight > 0).then_some(Self { weight, cost })
    }
}

impl Default for Load {
    fn default() -> Self {
        Self {
            weight: 100,
            cost: 0,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { weight, cost } = self;
        write!(formatter, "weight={weight} cost={cost}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_read_as_it_is_written_and_what_is_none_counts_for_nothing() {
        let load = Load {
            weight: 90,
            cost: 12345,
        };
        assert_eq!(load.to_string(), "weight=90 cost=12345");
        assert_eq!(Load::parse(&load.to_string()), Some(load));
        assert_eq!(Load::parse("weight=90 cost=12345 more=1"), Some(load));
        for none in [
            "",
            "90",
            "weight=90",
            "weight=0 cost=1",
            "weight=-1 cost=1",
            "cost=1 weight=90",
        ] {
            assert_eq!(Load::parse(none), None, "{none}");
        }
    }
}
