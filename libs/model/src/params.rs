//! The query string of a list or a get, parsed: text in, a [`Query`] and what belongs to it out.
//!
//! Every parameter is served, or known to be without effect on a kube-apiserver too, or refused by name. A restriction on
//! clusters, namespaces or names that is given in several ways follows Clusterpedia: the path beats the URL parameter, which
//! beats the search label.

mod raw;

use std::num::NonZeroU64;

use crate::label::parse::{label_clauses, shorten};
use crate::query::{Limits, Scope};
use crate::search::{self, SearchLabels};
use crate::{ClusterName, GroupVersionResource, NameFilter, Query, field_selector};

pub use raw::RawParams;
pub(crate) use raw::is_true;

/// A query string that cannot be served. All but [`InvalidParams::Watch`] are mistakes of the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidParams {
    /// A value that does not follow its grammar.
    #[error("invalid {parameter}: {reason}")]
    Malformed {
        /// The URL parameter or search label.
        parameter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something that Clusterpedia or Kubernetes knows and this server does not serve.
    #[error("{0} is not served")]
    NotServed(String),
    /// A parameter that nobody knows.
    #[error("unknown query parameter {0:?}")]
    Unknown(String),
    /// A parameter that stands for one value and occurs twice.
    #[error("query parameter {0:?} is given more than once")]
    Repeated(String),
    /// Parameters that exclude each other.
    #[error("{0}")]
    Conflict(&'static str),
    /// The request is a watch.
    #[error("watch is not served")]
    Watch,
}

/// What the path of a list says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The cluster named in the path.
    pub cluster: Option<ClusterName>,
    /// The namespace named in the path.
    pub namespace: Option<String>,
}

/// A parsed list request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListParams {
    /// What is searched; its scope is [`Scope::Everything`] until the caller is authorised.
    pub query: Query,
    /// How much of the answer is wanted.
    pub limits: Limits,
    /// Where the page begins.
    pub start: Continue,
    /// Whether a token for the next page is wanted; on unless it was switched off.
    pub with_continue: bool,
    /// Whether the number of rows after this page is wanted.
    pub with_remaining_count: bool,
    /// Whether objects are wanted without anything but their metadata.
    pub only_metadata: bool,
    /// What a Table carries beside its cells.
    pub include_object: IncludeObject,
    /// Whether the answer is to be indented.
    pub pretty: bool,
    /// Which revisions of the store may answer.
    pub revision: Revision,
}

/// A parsed get request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetParams {
    /// What a Table carries beside its cells.
    pub include_object: IncludeObject,
    /// Whether the answer is to be indented.
    pub pretty: bool,
}

/// Where a client wants its page to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Continue {
    /// With the first row.
    Beginning,
    /// After this many rows.
    Offset(u64),
    /// Where this token says.
    Token(String),
}

/// What a row of a Table carries beside its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// The object's metadata.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

/// Which revisions of the store may answer a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// Any.
    Any,
    /// This one or a later one.
    AtLeast(u64),
    /// This one alone.
    Exactly(u64),
}

/// Parameters of Clusterpedia that are refused by name, rather than as unknown.
const NOT_SERVED: [&str; 14] = [
    "since",
    "before",
    "ownerUID",
    "ownerName",
    "ownerGR",
    "ownerSeniority",
    "injectEvents",
    "whereSQL",
    "whereSQLStatement",
    "whereSQLParam",
    "whereSQLJSONParams",
    "groups",
    "resources",
    "shardSelector",
];

/// Parameters that a kube-apiserver accepts on a list and that change nothing about its answer. A time-out is kept by the
/// client, which hangs up.
const WITHOUT_EFFECT: [&str; 3] = ["allowWatchBookmarks", "timeout", "timeoutSeconds"];

/// Parses the query string of a list.
///
/// ```
/// use armadex_model::params::{Place, RawParams, parse_list};
/// use armadex_model::{GroupVersionResource, NameFilter};
///
/// let raw = RawParams::from_query("clusters=a&labelSelector=app%3Dweb");
/// let pods = GroupVersionResource::new("", "v1", "pods");
/// let list = parse_list(pods, &Place::default(), &raw).unwrap();
/// assert_eq!(list.query.clusters, NameFilter::only("a"));
/// assert_eq!(list.query.labels[0].to_string(), "app in (web)");
/// ```
pub fn parse_list(
    resource: GroupVersionResource,
    place: &Place,
    raw: &RawParams,
) -> Result<ListParams, InvalidParams> {
    raw.check(|name| LIST_PARAMETERS.contains(&name) || WITHOUT_EFFECT.contains(&name))?;
    if raw.flag("watch").unwrap_or(false) {
        return Err(InvalidParams::Watch);
    }
    if raw.text("sendInitialEvents").is_some() {
        return Err(InvalidParams::Conflict(
            "sendInitialEvents is forbidden for a list",
        ));
    }
    let labels = search_labels(raw)?;
    let fields = field_terms(&resource, raw)?;
    let start = start(raw, labels.offset)?;
    Ok(ListParams {
        query: Query {
            scope: Scope::Everything,
            clusters: place_or(
                place.cluster.as_ref().map(ClusterName::as_str),
                raw.names("clusters")?,
                labels.clusters,
            ),
            namespaces: place_or(
                place.namespace.as_deref(),
                raw.names("namespaces")?,
                labels.namespaces,
            )
            .and(fields.namespaces),
            names: place_or(None, raw.names("names")?, labels.names).and(fields.names),
            labels: labels.labels,
            fields: fields.requirements,
            order: match raw.text("orderby") {
                Some(text) => search::order(text)?,
                None => labels.order,
            },
            resource,
        },
        limits: Limits {
            page: page_limit(raw)?,
            total: labels.limit,
        },
        revision: revision(raw, &start)?,
        start,
        with_continue: raw
            .flag("withContinue")
            .or(labels.with_continue)
            .unwrap_or(true),
        with_remaining_count: raw
            .flag("withRemainingCount")
            .or(labels.with_remaining_count)
            .unwrap_or(false),
        only_metadata: raw.flag("onlyMetadata").unwrap_or(false),
        include_object: include_object(raw)?,
        pretty: pretty(raw),
    })
}

/// Parses the query string of a get.
pub fn parse_get(raw: &RawParams) -> Result<GetParams, InvalidParams> {
    raw.check(|name| GET_PARAMETERS.contains(&name) || name == "timeout")?;
    match raw.text("resourceVersion") {
        None | Some("0") => {}
        Some(_) => {
            return Err(InvalidParams::NotServed(
                "a get at a resourceVersion other than 0".to_owned(),
            ));
        }
    }
    Ok(GetParams {
        include_object: include_object(raw)?,
        pretty: pretty(raw),
    })
}

/// Everything that [`parse_list`] reads.
const LIST_PARAMETERS: [&str; 18] = [
    "clusters",
    "continue",
    "fieldSelector",
    "includeObject",
    "labelSelector",
    "limit",
    "names",
    "namespaces",
    "onlyMetadata",
    "orderby",
    "pretty",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
    "withContinue",
    "withRemainingCount",
];

/// Everything that [`parse_get`] reads.
const GET_PARAMETERS: [&str; 3] = ["includeObject", "pretty", "resourceVersion"];

fn search_labels(raw: &RawParams) -> Result<SearchLabels, InvalidParams> {
    let text = raw.text("labelSelector").unwrap_or_default();
    let clauses =
        label_clauses(text).map_err(|error| malformed("labelSelector", error.to_string()))?;
    SearchLabels::from_clauses(clauses)
}

fn field_terms(
    resource: &GroupVersionResource,
    raw: &RawParams,
) -> Result<field_selector::FieldTerms, InvalidParams> {
    let text = raw.text("fieldSelector").unwrap_or_default();
    field_selector::parse(resource, text)
}

fn place_or(path: Option<&str>, url: Option<NameFilter>, label: NameFilter) -> NameFilter {
    path.map(NameFilter::only).or(url).unwrap_or(label)
}

fn page_limit(raw: &RawParams) -> Result<Option<NonZeroU64>, InvalidParams> {
    let Some(text) = raw.text("limit") else {
        return Ok(None);
    };
    search::limit(text).ok_or_else(|| not_a_number("limit", text))
}

fn start(raw: &RawParams, label_offset: Option<u64>) -> Result<Continue, InvalidParams> {
    let Some(text) = raw.text("continue") else {
        return Ok(match label_offset {
            None | Some(0) => Continue::Beginning,
            Some(rows) => Continue::Offset(rows),
        });
    };
    if !text
        .trim_start_matches('-')
        .bytes()
        .all(|byte| byte.is_ascii_digit())
    {
        return Ok(Continue::Token(text.to_owned()));
    }
    match text.parse() {
        Ok(0) => Ok(Continue::Beginning),
        Ok(rows) => Ok(Continue::Offset(rows)),
        Err(_) => Err(not_a_number("continue", text)),
    }
}

fn revision(raw: &RawParams, start: &Continue) -> Result<Revision, InvalidParams> {
    let version = raw.text("resourceVersion");
    let matching = raw.text("resourceVersionMatch");
    if matches!(start, Continue::Token(_)) {
        if matching.is_some() {
            return Err(InvalidParams::Conflict(
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if version.is_some_and(|version| version != "0") {
            return Err(InvalidParams::Conflict(
                "resourceVersion is forbidden when continue is provided",
            ));
        }
    }
    let Some(version) = version else {
        return match matching {
            None => Ok(Revision::Any),
            Some(_) => Err(InvalidParams::Conflict(
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            )),
        };
    };
    let number = version
        .parse()
        .map_err(|_| not_a_number("resourceVersion", version))?;
    match (matching, number) {
        (None | Some("NotOlderThan"), 0) => Ok(Revision::Any),
        (None | Some("NotOlderThan"), number) => Ok(Revision::AtLeast(number)),
        (Some("Exact"), 0) => Err(InvalidParams::Conflict(
            "resourceVersionMatch Exact is forbidden for resourceVersion 0",
        )),
        (Some("Exact"), number) => Ok(Revision::Exactly(number)),
        (Some(other), _) => Err(malformed(
            "resourceVersionMatch",
            format!("{:?} is neither Exact nor NotOlderThan", shorten(other)),
        )),
    }
}

fn include_object(raw: &RawParams) -> Result<IncludeObject, InvalidParams> {
    match raw.text("includeObject") {
        None | Some("Metadata") => Ok(IncludeObject::Metadata),
        Some("None") => Ok(IncludeObject::None),
        Some("Object") => Ok(IncludeObject::Object),
        Some(other) => Err(malformed(
            "includeObject",
            format!("{:?} is none of None, Metadata, Object", shorten(other)),
        )),
    }
}

/// Only these words switch indentation on, as on a kube-apiserver.
fn pretty(raw: &RawParams) -> bool {
    let words = ["1", "t", "T", "true", "TRUE", "True"];
    raw.text("pretty")
        .is_some_and(|value| words.contains(&value))
}

pub(crate) fn malformed(parameter: &str, reason: impl Into<String>) -> InvalidParams {
    InvalidParams::Malformed {
        parameter: parameter.to_owned(),
        reason: reason.into(),
    }
}

pub(crate) fn not_a_number(parameter: &str, text: &str) -> InvalidParams {
    malformed(
        parameter,
        format!("{:?} is not a number in range", shorten(text)),
    )
}

#[cfg(test)]
mod tests;
