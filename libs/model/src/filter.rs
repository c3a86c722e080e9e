//! A restriction on a name (cluster, namespace or object name), as values instead of SQL.

use std::collections::BTreeSet;

/// Which names pass: all, those of a set, or all but those of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NameFilter {
    /// Every name passes.
    #[default]
    Any,
    /// Only these pass; an empty set lets nothing through.
    In(BTreeSet<String>),
    /// All but these pass.
    NotIn(BTreeSet<String>),
}

impl NameFilter {
    /// Lets exactly one name through.
    pub fn only(name: impl Into<String>) -> Self {
        Self::In(BTreeSet::from([name.into()]))
    }

    /// Whether `name` passes.
    #[must_use]
    pub fn admits(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::In(names) => names.contains(name),
            Self::NotIn(names) => !names.contains(name),
        }
    }

    /// What passes both filters.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, filter) | (filter, Self::Any) => filter,
            (Self::In(mut a), Self::In(b)) => {
                a.retain(|name| b.contains(name));
                Self::In(a)
            }
            (Self::In(mut a), Self::NotIn(b)) | (Self::NotIn(b), Self::In(mut a)) => {
                a.retain(|name| !b.contains(name));
                Self::In(a)
            }
            // Moved, not copied: a selector may add name after name.
            (Self::NotIn(mut a), Self::NotIn(b)) => {
                a.extend(b);
                Self::NotIn(a)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filters() -> impl Strategy<Value = NameFilter> {
        let names = proptest::collection::btree_set("[abc]", 0..3);
        prop_oneof![
            Just(NameFilter::Any),
            names.clone().prop_map(NameFilter::In),
            names.prop_map(NameFilter::NotIn),
        ]
    }

    proptest! {
        #[test]
        fn a_conjunction_admits_what_both_admit(a in filters(), b in filters(), name in "[abcd]") {
            let both = a.admits(&name) && b.admits(&name);
            prop_assert_eq!(a.and(b).admits(&name), both);
        }
    }
}
