//! The query string of a GET, parsed: text in, a list, a watch or a get out.
//!
//! Every parameter is served, or known to be without effect on a kube-apiserver too, or refused by name; one that nobody knows is
//! left out and told ([`Ignored`]), because a client of tomorrow sends parameters of tomorrow. A restriction on clusters, namespaces or
//! names that is given in several ways follows Clusterpedia: the path beats the URL parameter, which beats the search label. Requirements on
//! the labels of clusters hold together with those, and with each other, however they are given.

pub(crate) mod invalid;
pub(crate) mod names;
pub(crate) mod raw;

use std::num::NonZeroU64;
use std::time::Duration;

use crate::cluster_selector;
use crate::label::parse::{label_clauses, shorten};
use crate::query::{Limits, Scope, Searched};
use crate::search::{self, SearchLabels};
use crate::{ClusterName, GroupVersionResource, NameFilter, Query, field_selector};

pub use invalid::InvalidParams;
pub use names::Ignored;
pub use raw::RawParams;

use invalid::{malformed, not_a_number};

/// What a path says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathParams {
    /// The cluster named in the path.
    pub cluster: Option<ClusterName>,
    /// The namespace named in the path.
    pub namespace: Option<String>,
    /// The object named in the path; without one the path names a collection.
    pub name: Option<String>,
}

/// What a GET asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A collection as it is.
    List(ListParams),
    /// A collection as it changes.
    Watch(WatchParams),
    /// One object.
    Get(GetParams),
}

/// A parsed request, and what was left out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// What is asked for.
    pub request: Request,
    /// What the client has to be told.
    pub ignored: Ignored,
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

/// A parsed watch request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchParams {
    /// What is watched; its scope is [`Scope::Everything`] until the caller is authorised.
    pub query: Query,
    /// Where the watch begins.
    pub revision: Revision,
    /// Whether the objects that are there already are wanted first.
    pub initial_events: bool,
    /// Whether the client understands bookmarks.
    pub bookmarks: bool,
    /// When the client wants the watch to end.
    pub timeout: Option<Duration>,
    /// Whether objects are wanted without anything but their metadata.
    pub only_metadata: bool,
    /// What a Table carries beside its cells.
    pub include_object: IncludeObject,
}

/// A parsed get request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetParams {
    /// Which revisions of the store may answer.
    pub revision: Revision,
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

/// Which revisions of the store may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// Any.
    Any,
    /// This one or a later one.
    AtLeast(u64),
    /// This one alone.
    Exactly(u64),
}

/// Parses the query string of a GET.
///
/// ```
/// use armadex_model::params::{PathParams, RawParams, Request, parse};
/// use armadex_model::{GroupVersionResource, NameFilter};
///
/// let raw = RawParams::from_query("clusters=a&labelSelector=app%3Dweb&shiny=1");
/// let pods = GroupVersionResource::new("", "v1", "pods");
/// let parsed = parse(pods, &PathParams::default(), &raw).unwrap();
/// let Request::List(list) = parsed.request else { panic!("not a list") };
/// assert_eq!(list.query.clusters, NameFilter::only("a"));
/// assert_eq!(list.query.labels[0].to_string(), "app in (web)");
/// assert!(parsed.ignored.unknown.contains("shiny"));
/// ```
pub fn parse(
    resource: GroupVersionResource,
    place: &PathParams,
    raw: &RawParams,
) -> Result<Parsed, InvalidParams> {
    if place.name.is_some() {
        let ignored = raw.check(&names::GET)?;
        let request = Request::Get(get(raw)?);
        return Ok(Parsed { request, ignored });
    }
    let ignored = raw.check(&names::LIST)?;
    // A name in the path makes it a get, whatever else is asked, as on a kube-apiserver.
    let request = if raw.flag("watch").unwrap_or(false) {
        Request::Watch(watch(resource, place, raw)?)
    } else {
        Request::List(list(resource, place, raw)?)
    };
    Ok(Parsed { request, ignored })
}

fn list(
    resource: GroupVersionResource,
    place: &PathParams,
    raw: &RawParams,
) -> Result<ListParams, InvalidParams> {
    if raw.text("sendInitialEvents").is_some() {
        return Err(InvalidParams::Conflict(
            "sendInitialEvents is forbidden for a list",
        ));
    }
    let labels = search_labels(raw)?;
    let start = start(raw, labels.offset)?;
    Ok(ListParams {
        limits: Limits {
            page: page_limit(raw)?,
            total: labels.limit,
        },
        revision: list_revision(raw, &start)?,
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
        query: query(resource, place, raw, labels)?,
    })
}

fn watch(
    resource: GroupVersionResource,
    place: &PathParams,
    raw: &RawParams,
) -> Result<WatchParams, InvalidParams> {
    let labels = search_labels(raw)?;
    let initial_events = raw.flag("sendInitialEvents");
    match (raw.text("resourceVersionMatch"), initial_events) {
        (None, None) | (Some("NotOlderThan"), Some(_)) => {}
        (_, Some(_)) => {
            return Err(InvalidParams::Conflict(
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
        (Some(_), None) => {
            return Err(InvalidParams::Conflict(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
    }
    Ok(WatchParams {
        revision: not_older_than(raw)?,
        initial_events: initial_events.unwrap_or(false),
        bookmarks: raw.flag("allowWatchBookmarks").unwrap_or(false),
        timeout: seconds(raw, "timeoutSeconds")?,
        only_metadata: raw.flag("onlyMetadata").unwrap_or(false),
        include_object: include_object(raw)?,
        query: query(resource, place, raw, labels)?,
    })
}

fn get(raw: &RawParams) -> Result<GetParams, InvalidParams> {
    Ok(GetParams {
        revision: not_older_than(raw)?,
        include_object: include_object(raw)?,
        pretty: pretty(raw),
    })
}

/// What is searched.
fn query(
    resource: GroupVersionResource,
    place: &PathParams,
    raw: &RawParams,
    labels: SearchLabels,
) -> Result<Query, InvalidParams> {
    let fields = field_terms(&resource, raw)?;
    let clusters = cluster_selector::parse(raw.text("clusterSelector").unwrap_or_default())?;
    Ok(Query {
        types: vec![Searched {
            resource,
            scope: Scope::Everything,
        }],
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
        cluster_labels: cluster_selector::all(labels.cluster_labels, clusters)?,
        labels: labels.labels,
        fields: fields.requirements,
        order: match raw.text("orderby") {
            Some(text) => search::order(text)?,
            None => labels.order,
        },
    })
}

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

fn list_revision(raw: &RawParams, start: &Continue) -> Result<Revision, InvalidParams> {
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
    if version.is_none() && matching.is_some() {
        return Err(InvalidParams::Conflict(
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ));
    }
    match (matching, not_older_than(raw)?) {
        (None | Some("NotOlderThan"), revision) => Ok(revision),
        (Some("Exact"), Revision::AtLeast(number)) => Ok(Revision::Exactly(number)),
        (Some("Exact"), _) => Err(InvalidParams::Conflict(
            "resourceVersionMatch Exact is forbidden for resourceVersion 0",
        )),
        (Some(other), _) => Err(malformed(
            "resourceVersionMatch",
            format!("{:?} is neither Exact nor NotOlderThan", shorten(other)),
        )),
    }
}

/// `resourceVersion` by itself: none and `0` take what there is, a number what is at least as new.
fn not_older_than(raw: &RawParams) -> Result<Revision, InvalidParams> {
    let Some(text) = raw.text("resourceVersion") else {
        return Ok(Revision::Any);
    };
    match text.parse() {
        Ok(0) => Ok(Revision::Any),
        Ok(number) => Ok(Revision::AtLeast(number)),
        Err(_) => Err(not_a_number("resourceVersion", text)),
    }
}

fn seconds(raw: &RawParams, name: &str) -> Result<Option<Duration>, InvalidParams> {
    let Some(text) = raw.text(name) else {
        return Ok(None);
    };
    let seconds: u32 = text.parse().map_err(|_| not_a_number(name, text))?;
    Ok(Some(Duration::from_secs(seconds.into())))
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

#[cfg(test)]
mod tests;
