//! What is asked of which member. Pure: paths in, values out.

use crate::served::value;

/// Where the members are: `/members/NUMBER` comes before what a Kubernetes API has.
pub(super) const MEMBERS: &str = "/members/";
/// The group of all kinds.
pub(super) const GROUP: &str = "bench.armadex.dev";

/// The collections that tell which types there are.
pub(super) const TYPES: [&str; 2] = [
    "apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "apis/apiregistration.k8s.io/v1/apiservices",
];

/// What is asked of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Health,
    Version,
    Identity,
    CoreDiscovery,
    Discovery,
    /// A page of a list.
    List {
        kind: usize,
        limit: usize,
        token: Option<Token>,
    },
    /// A watch from this version on, for so many seconds.
    Watch {
        kind: usize,
        version: u64,
        seconds: u64,
    },
    /// What tells which types there are, CRDs or APIServices: their version, or a watch for so many seconds.
    Types {
        which: usize,
        seconds: Option<u64>,
    },
    /// A collection of another group.
    OtherGroup,
    Unknown,
}

/// Where a list goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Of the next object.
    pub(super) start: usize,
    /// Of the list.
    pub(super) version: u64,
    /// When the list began, in seconds of the members' clock.
    pub(super) begun: u64,
}

impl Token {
    /// As it is given to a client.
    pub(super) fn text(self) -> String {
        let Self {
            start,
            version,
            begun,
        } = self;
        format!("{start}.{version}.{begun}")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(str::parse);
        Some(Self {
            start: usize::try_from(parts.next()?.ok()?).ok()?,
            version: parts.next()?.ok()?,
            begun: parts.next()?.ok()?,
        })
    }
}

/// The plural of a kind.
pub(super) fn plural(kind: usize) -> String {
    format!("things{kind:02}")
}

/// The member that is asked, and what; `None` where there are no members.
pub(super) fn read(path: &str, query: &str) -> Option<(usize, Asked)> {
    let (number, path) = path.strip_prefix(MEMBERS)?.split_once('/')?;
    let asked = match path {
        "readyz" => Asked::Health,
        "version" => Asked::Version,
        "api/v1/namespaces/kube-system" => Asked::Identity,
        "api" => Asked::CoreDiscovery,
        "apis" => Asked::Discovery,
        path if TYPES.contains(&path) => types(path, query).unwrap_or(Asked::Unknown),
        path if is_of_other_group(path) => Asked::OtherGroup,
        path => collection(path, query).unwrap_or(Asked::Unknown),
    };
    Some((number.parse().ok()?, asked))
}

fn is_of_other_group(path: &str) -> bool {
    let of_group = path.strip_prefix("apis/");
    of_group.is_some_and(|of_group| !of_group.starts_with(GROUP))
}

fn types(path: &str, query: &str) -> Option<Asked> {
    let which = TYPES.iter().position(|known| *known == path)?;
    let seconds = match value(query, "watch") {
        Some(_) => Some(value(query, "timeoutSeconds")?.parse().ok()?),
        None => None,
    };
    Some(Asked::Types { which, seconds })
}

fn collection(path: &str, query: &str) -> Option<Asked> {
    let of_group = path.strip_prefix("apis/")?.strip_prefix(GROUP)?;
    let kind = of_group.strip_prefix("/v1/things")?.parse().ok()?;
    let value = |name| value(query, name);
    if value("watch") == Some("true") {
        return Some(Asked::Watch {
            kind,
            version: value("resourceVersion")?.parse().ok()?,
            seconds: value("timeoutSeconds")?.parse().ok()?,
        });
    }
    let token = match value("continue") {
        Some(text) => Some(Token::parse(text)?),
        None => None,
    };
    let limit = value("limit")?.parse().ok()?;
    Some(Asked::List { kind, limit, token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, query: &str, want: Asked) {
        assert_eq!(read(path, query), Some((7, want)), "{path}?{query}");
    }

    #[test]
    fn every_question_of_a_synchro_is_understood() {
        check("/members/7/readyz", "", Asked::Health);
        check("/members/7/apis", "", Asked::Discovery);
        let things = "/members/7/apis/bench.armadex.dev/v1/things05";
        assert!(things.ends_with(&plural(5)));
        let token = Token {
            start: 20,
            version: 9,
            begun: 3,
        };
        let (kind, limit) = (5, 500);
        let list = |token| Asked::List { kind, limit, token };
        check(things, "limit=500", list(None));
        let query = format!("limit=500&continue={}", token.text());
        check(things, &query, list(Some(token)));
        let query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion=42";
        let watch = Asked::Watch {
            kind,
            version: 42,
            seconds: 290,
        };
        check(things, query, watch);
        let types = |which, seconds| Asked::Types { which, seconds };
        let path = |which: usize| format!("/members/7/{}", TYPES[which]);
        check(&path(0), "limit=1", types(0, None));
        check(&path(1), query, types(1, Some(290)));
    }

    #[test]
    fn what_is_not_understood_is_not_taken_for_something_else() {
        let deployments = "/members/7/apis/apps/v1/deployments";
        check(deployments, "limit=1", Asked::OtherGroup);
        let things = "/members/7/apis/bench.armadex.dev/v1/things05";
        check(things, "limit=500&continue=odd", Asked::Unknown);
        check(things, "watch=true", Asked::Unknown);
        assert_eq!(read("/api", ""), None);
        assert_eq!(read("/members/x/api", ""), None);
    }
}
