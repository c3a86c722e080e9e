//! Which of what a member serves is custom: said by its CustomResourceDefinitions, for what it says of what it serves does not tell these from what is served by another API
//! server. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use armadex_member::Discovery;

/// The custom resources of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Customs {
    /// Nobody asked, or it is being asked.
    #[default]
    Unasked,
    /// These, by group.
    Named(BTreeMap<String, BTreeSet<String>>),
    /// It does not say, and why.
    Untold(String),
}

impl Customs {
    /// The custom resources of a group.
    pub(super) fn of_group(&self, group: &str) -> Option<&BTreeSet<String>> {
        match self {
            Self::Named(groups) => groups.get(group),
            Self::Unasked | Self::Untold(_) => None,
        }
    }

    /// Why it is not known which they are, in words.
    pub(super) fn unknown(&self) -> Option<&str> {
        match self {
            Self::Named(_) => None,
            Self::Unasked => Some("it is not known yet which resources are custom"),
            Self::Untold(why) => Some(why),
        }
    }
}

/// What a member serves, and which of it is custom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served<'a> {
    pub(crate) discovery: &'a Discovery,
    pub(crate) customs: &'a Customs,
}

impl<'a> Deref for Served<'a> {
    type Target = Discovery;

    fn deref(&self) -> &'a Discovery {
        self.discovery
    }
}
