//! What a request would have to be granted: the questions that it would raise below the same view, asked without making it.

use std::collections::BTreeSet;

use armadex_model::{GroupVersionResource, NameFilter, Query};
use http::StatusCode;

use crate::answer::status::ApiError;
use crate::app::asked::Asked;
use crate::app::context::Context;
use crate::app::permitted::gettable;
use crate::app::view::Seen;
use crate::caller::attributes::{self, Attributes};

/// What this server would say to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It would be served.
    Granted,
    /// The host does not grant it.
    Denied,
    /// It would not be served, whoever asks.
    NotServed(String),
}

/// How objects are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Get,
    List,
}

impl Read {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
        }
    }

    /// How objects of a view are read: single ones below a cluster only.
    pub(super) fn of(seen: &Seen) -> &'static [Self] {
        match seen.cluster {
            Some(_) => &[Self::Get, Self::List],
            None => &[Self::List],
        }
    }
}

/// Which objects. Empty texts stand for all.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

/// Stands for all groups, versions or types.
pub(super) const EVERY: &str = "*";

/// The groups of one view that are asked about at most: each is a review of the host, one after the other.
const MAX_GROUPS: usize = 50;

/// `apis`, group, version and resource: what follows the view in the path of a review.
const REVIEW_SEGMENTS: usize = 4;

impl Context {
    /// What would be said to a request for objects of one type.
    pub(super) async fn verdict(
        &self,
        seen: &Seen,
        read: Read,
        gvr: &GroupVersionResource,
        subject: Subject<'_>,
        asked: &Asked<'_>,
    ) -> Result<Verdict, ApiError> {
        if !self.may_read(&path_of(gvr), asked).await? {
            return Ok(Verdict::Denied);
        }
        // kubectl sends the namespace of its context, whatever the type.
        let is_namespaced = seen
            .resource(gvr, false)
            .is_some_and(|found| found.namespaced);
        let namespace =
            (is_namespaced && !subject.namespace.is_empty()).then_some(subject.namespace);
        let said = match read {
            Read::Get => match gettable(seen, gvr) {
                Ok(_) => {
                    self.may_get(gvr, namespace, subject.name, asked.caller)
                        .await
                }
                Err(error) => Err(error),
            },
            Read::List => {
                let mut query = Query::all(gvr.clone());
                if !subject.name.is_empty() {
                    query.names = NameFilter::only(subject.name);
                }
                let listed = self.permit_list(seen, gvr, namespace, asked.caller, &mut query);
                listed.await.map(drop)
            }
        };
        verdict(said)
    }

    /// What would be said to requests for objects of every type, or of every type of one group.
    pub(super) async fn verdict_on_all(
        &self,
        seen: &Seen,
        read: Read,
        (group, resource): (&str, &str),
        subject: Subject<'_>,
        asked: &Asked<'_>,
    ) -> Result<Verdict, ApiError> {
        if !Read::of(seen).contains(&read) {
            return Ok(Verdict::NotServed(
                "single objects are served below their cluster only".to_owned(),
            ));
        }
        let is_meant = |one: &str| group == EVERY || group == one;
        let groups: BTreeSet<&str> = seen
            .resources()
            .map(|one| one.gvr.group.as_str())
            .filter(|one| is_meant(one))
            .collect();
        // Below a cluster or the whole fleet's proxy they are all the same question.
        let mut distinct: Vec<Attributes> = Vec::new();
        for group in groups {
            let question = outer(
                asked,
                &path_of(&GroupVersionResource::new(group, "v1", EVERY)),
            );
            if !distinct.contains(&question) {
                distinct.push(question);
            }
        }
        if distinct.len() > MAX_GROUPS {
            return Ok(Verdict::NotServed(format!(
                "more than {MAX_GROUPS} groups would have to be asked about: name one"
            )));
        }
        let inner = Attributes::Resource {
            verb: read.verb(),
            group: group.to_owned(),
            version: EVERY.to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            namespace: subject.namespace.to_owned(),
            name: subject.name.to_owned(),
        };
        for question in distinct.iter().chain([&inner]) {
            if !self.authorizer.allows(asked.caller, question).await? {
                return Ok(Verdict::Denied);
            }
        }
        Ok(Verdict::Granted)
    }

    /// Whether the outer question about a path below the view is granted.
    pub(super) async fn may_read(
        &self,
        below: &[String],
        asked: &Asked<'_>,
    ) -> Result<bool, ApiError> {
        let question = outer(asked, below);
        Ok(self.authorizer.allows(asked.caller, &question).await?)
    }
}

/// The outer question of a GET below the view.
fn outer(asked: &Asked<'_>, below: &[String]) -> Attributes {
    attributes::outer(&below_the_view(asked, below))
}

/// A path below the view that a review was posted below.
pub(super) fn below_the_view(asked: &Asked<'_>, below: &[String]) -> Vec<String> {
    let view = asked.segments.len().saturating_sub(REVIEW_SEGMENTS);
    [&asked.segments[..view], below].concat()
}

/// The path of a type's collection.
fn path_of(gvr: &GroupVersionResource) -> Vec<String> {
    let GroupVersionResource {
        group,
        version,
        resource,
    } = gvr;
    let segments = match group.as_str() {
        "" => vec!["api", version, resource],
        group => vec!["apis", group, version, resource],
    };
    segments.into_iter().map(str::to_owned).collect()
}

/// What a refusal comes to; a failure is none.
fn verdict(said: Result<(), ApiError>) -> Result<Verdict, ApiError> {
    match said {
        Ok(()) => Ok(Verdict::Granted),
        Err(error) => match error.code {
            StatusCode::FORBIDDEN => Ok(Verdict::Denied),
            StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST => {
                Ok(Verdict::NotServed(error.message().to_owned()))
            }
            _ => Err(error),
        },
    }
}
