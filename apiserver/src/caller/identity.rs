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
    /// That of who was authenticated: acting as somebody else takes up nothing of theirs.
    pub(crate) account: String,
}

impl From<Identity> for Caller {
    fn from(identity: Identity) -> Self {
        Self {
            account: account_of(&identity.user).to_owned(),
            identity,
        }
    }
}

/// On whose account a user's requests are served, and shared out with those of others. The service accounts of one namespace have one: whoever may
/// make one of them there may make as many as they like.
pub(crate) fn account_of(user: &str) -> &str {
    match service_account(user) {
        Some((_, name)) => &user[..user.len() - name.len()],
        None => user,
    }
}

/// Namespace and name of a service account; `None` if the user is none.
pub(super) fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user
        .strip_prefix("system:serviceaccount:")?
        .split_once(':')?;
    let is_label = |text: &str| {
        let is_inner =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&text.len())
            && text.bytes().all(is_inner)
            && !text.starts_with('-')
            && !text.ends_with('-')
    };
    let is_subdomain = name.len() <= 253 && name.split('.').all(is_label);
    (is_label(namespace) && is_subdomain).then_some((namespace, name))
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

    #[test]
    fn a_user_is_a_service_account_by_its_whole_name() {
        for (user, expected) in [
            ("system:serviceaccount:a:b", Some(("a", "b"))),
            ("system:serviceaccount:a:b.c-d", Some(("a", "b.c-d"))),
            ("system:serviceaccount:a", None),
            ("system:serviceaccount:a:b:c", None),
            ("system:serviceaccount:A:b", None),
            ("system:serviceaccount::b", None),
            ("system:serviceaccount:a:", None),
            ("system:serviceaccount:a.b:c", None),
            ("system:serviceaccount:-a:c", None),
            ("bob", None),
        ] {
            assert_eq!(service_account(user), expected, "{user}");
        }
    }

    #[test]
    fn the_service_accounts_of_a_namespace_have_one_account() {
        for (user, expected) in [
            ("system:serviceaccount:a:b", "system:serviceaccount:a:"),
            ("system:serviceaccount:a:c.d", "system:serviceaccount:a:"),
            ("system:serviceaccount:b:b", "system:serviceaccount:b:"),
            ("system:serviceaccount:a:B", "system:serviceaccount:a:B"),
            ("alice", "alice"),
        ] {
            assert_eq!(account_of(user), expected);
        }
    }
}
