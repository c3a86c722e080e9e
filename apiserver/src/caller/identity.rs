//! Who is calling.

use std::collections::BTreeMap;

use serde::Serialize;

/// Members of this group may do everything, without a review, as on a kube-apiserver.
const MASTERS: &str = "system:masters";
/// Everybody who proved who they are.
const AUTHENTICATED: &str = "system:authenticated";
/// Everybody who did not.
const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user that stands for those.
const ANONYMOUS: &str = "system:anonymous";

/// A caller, as an authentication found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Identity {
    pub(crate) user: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

/// Who a request is made as, and on whose account it is served.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) identity: Identity,
    /// The user who was authenticated: acting as somebody else takes up nothing of theirs.
    pub(crate) account: String,
}

impl From<Identity> for Caller {
    fn from(identity: Identity) -> Self {
        Self {
            account: identity.user.clone(),
            identity,
        }
    }
}

impl Identity {
    /// Adds the group of all who proved who they are, unless a front proxy says that this one did not.
    pub(crate) fn authenticated(mut self) -> Self {
        let is_in = |group: &str| self.groups.iter().any(|one| one == group);
        if self.user != ANONYMOUS && !is_in(UNAUTHENTICATED) && !is_in(AUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    /// Adds the group that somebody whom a caller acts as is in. Nobody has proved anything, so naming one of the two groups is
    /// enough to have the other left out.
    pub(crate) fn assumed(mut self) -> Self {
        let is_in = |group: &str| self.groups.iter().any(|one| one == group);
        if self.user == ANONYMOUS {
            if !is_in(UNAUTHENTICATED) {
                self.groups.push(UNAUTHENTICATED.to_owned());
            }
            return self;
        }
        self.authenticated()
    }

    pub(crate) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(user: &str, groups: &[&str]) -> Vec<String> {
        let identity = Identity {
            user: user.to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            ..Identity::default()
        };
        identity.authenticated().groups
    }

    #[test]
    fn all_but_the_anonymous_are_authenticated() {
        assert_eq!(groups("alice", &["dev"]), ["dev", AUTHENTICATED]);
        assert_eq!(groups("alice", &[AUTHENTICATED]), [AUTHENTICATED]);
        assert_eq!(groups(ANONYMOUS, &[UNAUTHENTICATED]), [UNAUTHENTICATED]);
        assert_eq!(groups(ANONYMOUS, &[]), [""; 0]);
    }
}
