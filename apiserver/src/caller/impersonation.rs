//! Acting as somebody else: the `Impersonate-*` headers, honoured after the reviews that a kube-apiserver asks.
//!
//! An aggregator resolves and strips them before it passes a request on. Headers that arrive nevertheless, from whomever, are the
//! caller's wish, and the caller is who was authenticated: a front proxy's user as well as that of a token.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use crate::answer::status::ApiError;
use crate::caller::attributes::Attributes;
use crate::caller::authz::Authorizer;
use crate::caller::identity::{Caller, Identity, service_account};

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";

/// Each asks for a review. Nobody writes so many by hand, and a directory's user has some dozens of groups.
const MAX_REVIEWS: usize = 100;

/// Headers that say nothing that could be reviewed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum InvalidImpersonation {
    #[error("requested {0} without impersonating a user name")]
    NoUser(String),
    #[error("the header {0} is not UTF-8")]
    NotText(String),
    #[error("{0} impersonation headers are too many: at most {MAX_REVIEWS} are reviewed")]
    TooMany(usize),
}

/// The caller that a request is made as: who was authenticated, or whom they want to be and may, on their account.
pub(crate) async fn assume(
    authorizer: &Authorizer,
    caller: Identity,
    headers: &HeaderMap,
) -> Result<Caller, ApiError> {
    let caller = Caller::from(caller);
    let wanted =
        Wanted::from_headers(headers).map_err(|error| ApiError::bad_request(error.to_string()))?;
    let Some(wanted) = wanted else {
        return Ok(caller);
    };
    for question in wanted.questions() {
        authorizer.require(&caller, &question).await?;
    }
    let (user, identity) = (caller.identity.user, wanted.identity());
    tracing::debug!(
        user,
        assumed = identity.user,
        "{user} acts as {}",
        identity.user
    );
    Ok(Caller {
        identity,
        account: caller.account,
    })
}

/// Whom the headers name, as they name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wanted {
    user: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

impl Wanted {
    /// `None` if nobody is named.
    fn from_headers(headers: &HeaderMap) -> Result<Option<Self>, InvalidImpersonation> {
        let mut wanted = Self {
            user: first(headers, USER)?,
            uid: first(headers, UID)?,
            groups: Vec::new(),
            extra: BTreeMap::new(),
        };
        for (name, value) in headers {
            if name == GROUP {
                wanted.groups.push(text(name.as_str(), value)?);
            } else if let Some(key) = name.as_str().strip_prefix(EXTRA) {
                let values = wanted.extra.entry(decoded(key)).or_default();
                values.push(text(name.as_str(), value)?);
            }
        }
        let reviews = wanted.reviews();
        if reviews > MAX_REVIEWS {
            return Err(InvalidImpersonation::TooMany(reviews));
        }
        match (wanted.user.is_empty(), reviews) {
            (true, 0) => Ok(None),
            (true, _) => Err(InvalidImpersonation::NoUser(wanted.besides_the_user())),
            (false, _) => Ok(Some(wanted)),
        }
    }

    /// How many names there are to review.
    fn reviews(&self) -> usize {
        let named = |text: &String| usize::from(!text.is_empty());
        let extra: usize = self.extra.values().map(Vec::len).sum();
        named(&self.user) + named(&self.uid) + self.groups.len() + extra
    }

    fn besides_the_user(&self) -> String {
        let kinds = [
            ("a uid", !self.uid.is_empty()),
            ("groups", !self.groups.is_empty()),
            ("extra fields", !self.extra.is_empty()),
        ];
        let named: Vec<&str> = kinds
            .iter()
            .filter_map(|(kind, is_there)| is_there.then_some(*kind))
            .collect();
        named.join(" and ")
    }

    /// What has to be granted, in a kube-apiserver's order.
    fn questions(&self) -> Vec<Attributes> {
        let user = match service_account(&self.user) {
            Some((namespace, name)) => question(CORE, "serviceaccounts", "", namespace, name),
            None => question(CORE, "users", "", "", &self.user),
        };
        let groups = self
            .groups
            .iter()
            .map(|group| question(CORE, "groups", "", "", group));
        let extra = self.extra.iter().flat_map(|(key, values)| {
            let ask = move |value: &String| question(AUTHENTICATION, "userextras", key, "", value);
            values.iter().map(ask)
        });
        let uid =
            (!self.uid.is_empty()).then(|| question(AUTHENTICATION, "uids", "", "", &self.uid));
        std::iter::once(user)
            .chain(groups)
            .chain(extra)
            .chain(uid)
            .collect()
    }

    fn identity(self) -> Identity {
        let Self {
            user,
            uid,
            mut groups,
            extra,
        } = self;
        // Groups that are named are the authority; those of a service account are known without being named.
        if groups.is_empty()
            && let Some((namespace, _)) = service_account(&user)
        {
            groups.push("system:serviceaccounts".to_owned());
            groups.push(format!("system:serviceaccounts:{namespace}"));
        }
        Identity {
            user,
            uid,
            groups,
            extra,
        }
        .assumed()
    }
}

/// Group and version of a question.
type Api = (&'static str, &'static str);
const CORE: Api = ("", "");
const AUTHENTICATION: Api = ("authentication.k8s.io", "v1");

fn question(
    (group, version): Api,
    resource: &str,
    subresource: &str,
    namespace: &str,
    name: &str,
) -> Attributes {
    Attributes::Resource {
        verb: "impersonate",
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn first(headers: &HeaderMap, name: &'static str) -> Result<String, InvalidImpersonation> {
    headers
        .get(name)
        .map_or(Ok(String::new()), |value| text(name, value))
}

fn text(name: &str, value: &http::HeaderValue) -> Result<String, InvalidImpersonation> {
    std::str::from_utf8(value.as_bytes())
        .map(str::to_owned)
        .map_err(|_| InvalidImpersonation::NotText(name.to_owned()))
}

/// The key of an extra field; what is not encoded is taken as it is.
fn decoded(key: &str) -> String {
    percent_decode_str(key)
        .decode_utf8()
        .map_or_else(|_| key.to_owned(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::caller::authz::AccessReviewer;
    use crate::testing::Rules;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("a value"));
        }
        headers
    }

    fn alice() -> Identity {
        Identity {
            user: "alice".to_owned(),
            groups: vec!["dev".to_owned()],
            ..Identity::default()
        }
    }

    /// Whom alice becomes, or what she is told.
    async fn becomes(rules: &[&'static str], pairs: &[(&'static str, &str)]) -> String {
        let rules: Arc<dyn AccessReviewer> = Arc::new(Rules::new(rules.iter().copied()));
        let assumed = assume(&Authorizer::new(rules), alice(), &headers(pairs)).await;
        match assumed.map(|caller| caller.identity) {
            Ok(Identity {
                user,
                uid,
                groups,
                extra,
            }) => format!("{user}({uid}) {groups:?} {extra:?}"),
            Err(error) => {
                let status: serde_json::Value =
                    serde_json::from_slice(&error.body()).expect("a Status");
                format!(
                    "{} {}",
                    status["code"],
                    status["message"].as_str().unwrap_or_default()
                )
            }
        }
    }

    const ALL: &[&str] = &["everybody may do everything"];

    #[tokio::test]
    async fn without_headers_a_caller_stays_who_they_are() {
        assert_eq!(becomes(&[], &[]).await, r#"alice() ["dev"] {}"#);
        assert_eq!(
            becomes(&[], &[("impersonate-user", "")]).await,
            r#"alice() ["dev"] {}"#
        );
    }

    #[tokio::test]
    async fn nothing_of_the_caller_is_left_in_whom_they_become() {
        assert_eq!(
            becomes(ALL, &[("impersonate-user", "bob")]).await,
            r#"bob() ["system:authenticated"] {}"#
        );
        let everything = &[
            ("impersonate-user", "bob"),
            ("impersonate-uid", "u-1"),
            ("impersonate-group", "ops"),
            ("impersonate-group", "dev"),
            ("impersonate-extra-acme.com%2fproject", "p1"),
            ("impersonate-extra-scopes", "a"),
            ("impersonate-extra-scopes", "b"),
        ];
        assert_eq!(
            becomes(ALL, everything).await,
            r#"bob(u-1) ["ops", "dev", "system:authenticated"] {"acme.com/project": ["p1"], "scopes": ["a", "b"]}"#
        );
    }

    #[tokio::test]
    async fn the_group_of_the_authenticated_is_added_as_a_kube_apiserver_adds_it() {
        for (user, group, expected) in [
            ("bob", "system:authenticated", r#"["system:authenticated"]"#),
            (
                "bob",
                "system:unauthenticated",
                r#"["system:unauthenticated"]"#,
            ),
            (
                "system:anonymous",
                "x",
                r#"["x", "system:unauthenticated"]"#,
            ),
            (
                "system:anonymous",
                "system:unauthenticated",
                r#"["system:unauthenticated"]"#,
            ),
        ] {
            let pairs = &[("impersonate-user", user), ("impersonate-group", group)];
            assert_eq!(
                becomes(ALL, pairs).await,
                format!("{user}() {expected} {{}}")
            );
        }
    }

    #[tokio::test]
    async fn a_service_account_has_its_groups_unless_others_are_named() {
        let user = ("impersonate-user", "system:serviceaccount:prod:web.v1");
        assert_eq!(
            becomes(&["alice impersonate serviceaccounts in prod"], &[user]).await,
            r#"system:serviceaccount:prod:web.v1() ["system:serviceaccounts", "system:serviceaccounts:prod", "system:authenticated"] {}"#
        );
        assert_eq!(
            becomes(ALL, &[user, ("impersonate-group", "ops")]).await,
            r#"system:serviceaccount:prod:web.v1() ["ops", "system:authenticated"] {}"#
        );
    }

    #[tokio::test]
    async fn each_name_is_reviewed_and_the_refusal_is_a_kube_apiservers() {
        let may_be_users = &["alice impersonate users in *"];
        let user = ("impersonate-user", "bob");
        for (rules, pairs, expected) in [
            (
                &[][..],
                &[user][..],
                r#"403 users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope"#,
            ),
            (
                may_be_users,
                &[user, ("impersonate-group", "system:masters")],
                r#"403 groups "system:masters" is forbidden: User "alice" cannot impersonate resource "groups" in API group "" at the cluster scope"#,
            ),
            (
                may_be_users,
                &[user, ("impersonate-extra-scopes", "all")],
                r#"403 userextras.authentication.k8s.io "all" is forbidden: User "alice" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope"#,
            ),
            (
                may_be_users,
                &[user, ("impersonate-uid", "u-1")],
                r#"403 uids.authentication.k8s.io "u-1" is forbidden: User "alice" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope"#,
            ),
            (
                may_be_users,
                &[("impersonate-user", "system:serviceaccount:prod:web")],
                r#"403 serviceaccounts "web" is forbidden: User "alice" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "prod""#,
            ),
        ] {
            assert_eq!(becomes(rules, pairs).await, expected);
        }
    }

    #[tokio::test]
    async fn headers_without_a_user_are_refused_and_never_ignored() {
        for (pairs, expected) in [
            (&[("impersonate-group", "dev")][..], "groups"),
            (&[("impersonate-uid", "u-1")], "a uid"),
            (
                &[("impersonate-extra-x", "y"), ("impersonate-group", "")],
                "groups and extra fields",
            ),
        ] {
            assert_eq!(
                becomes(ALL, pairs).await,
                format!("400 requested {expected} without impersonating a user name")
            );
        }
    }

    #[tokio::test]
    async fn reviews_of_one_request_are_bounded() {
        let mut many = vec![("impersonate-user", "bob")];
        many.resize(MAX_REVIEWS + 1, ("impersonate-group", "dev"));
        assert_eq!(
            becomes(ALL, &many).await,
            "400 101 impersonation headers are too many: at most 100 are reviewed"
        );
    }
}
