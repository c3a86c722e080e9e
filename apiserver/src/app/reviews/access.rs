//! `SelfSubjectAccessReview`: whether the caller may make one request.

use armadex_model::GroupVersionResource;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReviewSpec,
};
use serde_json::{Value, json};

use super::grants::{EVERY, Read, Subject, Verdict, below_the_view};
use crate::answer::status::ApiError;
use crate::app::asked::Asked;
use crate::app::context::Context;
use crate::app::view::Seen;
use crate::caller::attributes;
use crate::request::target::{self, Native, Review, Target};

/// Said of every verb that would change something.
const ONLY_READS: &str = "the server only reads";

impl Context {
    /// The status of a `SelfSubjectAccessReview`.
    pub(super) async fn access(
        &self,
        seen: &Seen,
        spec: &SelfSubjectAccessReviewSpec,
        asked: &Asked<'_>,
    ) -> Result<Value, ApiError> {
        let verdict = match (&spec.resource_attributes, &spec.non_resource_attributes) {
            (Some(what), None) => self.on_resource(seen, what, asked).await?,
            (None, Some(what)) => self.on_path(seen, what, asked).await?,
            _ => {
                return Err(ApiError::bad_request(
                    "spec: exactly one of nonResourceAttributes or resourceAttributes must be specified",
                ));
            }
        };
        Ok(match verdict {
            Verdict::Granted => json!({"allowed": true}),
            Verdict::Denied => json!({"allowed": false}),
            Verdict::NotServed(reason) => json!({"allowed": false, "reason": reason}),
        })
    }

    /// About a request for objects.
    async fn on_resource(
        &self,
        seen: &Seen,
        what: &ResourceAttributes,
        asked: &Asked<'_>,
    ) -> Result<Verdict, ApiError> {
        let text = |field: &'_ Option<String>| field.clone().unwrap_or_default();
        let (verb, group, resource) = (text(&what.verb), text(&what.group), text(&what.resource));
        let version = text(&what.version);
        if verb == "create"
            && let Some(review) = Review::named(&group, &resource)
            && ["", EVERY, "v1"].contains(&version.as_str())
        {
            return self.on_review(review, asked).await;
        }
        if !text(&what.subresource).is_empty() {
            return Ok(not_served(
                "subresources are not served: ask the member itself",
            ));
        }
        let read = match verb.as_str() {
            "get" => Read::Get,
            "list" => Read::List,
            "watch" => return Ok(not_served("watch is not served")),
            _ => return Ok(not_served(ONLY_READS)),
        };
        let (namespace, name) = (text(&what.namespace), text(&what.name));
        let subject = Subject {
            namespace: &namespace,
            name: &name,
        };
        if group == EVERY || resource == EVERY {
            let types = (group.as_str(), resource.as_str());
            return self.verdict_on_all(seen, read, types, subject, asked).await;
        }
        let gvr = meant(seen, &group, &version, &resource);
        self.verdict(seen, read, &gvr, subject, asked).await
    }

    /// About another review of the caller.
    async fn on_review(&self, review: Review, asked: &Asked<'_>) -> Result<Verdict, ApiError> {
        let path = ["apis", review.group(), "v1", review.resource()].map(str::to_owned);
        let question = attributes::outer_create(&below_the_view(asked, &path));
        let allowed = self.authorizer.allows(asked.caller, &question).await?;
        Ok(granted_if(allowed))
    }

    /// About a request for a path that is no object.
    async fn on_path(
        &self,
        seen: &Seen,
        what: &NonResourceAttributes,
        asked: &Asked<'_>,
    ) -> Result<Verdict, ApiError> {
        let verb = what.verb.as_deref().unwrap_or_default();
        if !verb.eq_ignore_ascii_case("get") {
            return Ok(not_served(ONLY_READS));
        }
        let unknown = || not_served("this path is not served");
        let path = what.path.as_deref().unwrap_or_default();
        let Some(below) = target::segments(path) else {
            return Ok(unknown());
        };
        let native = match Target::parse(&below_the_view(asked, &below), &self.group) {
            Some(Target::View(_, native)) if native.is_document() => native,
            _ => return Ok(unknown()),
        };
        if !self.may_read(&below, asked).await? {
            return Ok(Verdict::Denied);
        }
        Ok(match has(seen, &native) {
            true => Verdict::Granted,
            false => unknown(),
        })
    }
}

/// The type that is meant: kubectl names no version, and all versions of a type are the same to who grants.
fn meant(seen: &Seen, group: &str, version: &str, resource: &str) -> GroupVersionResource {
    let any = version.is_empty() || version == EVERY;
    let version = match seen.types_of(group, resource).next() {
        Some(found) if any => &found.gvr.version,
        None if any => "v1",
        _ => version,
    };
    GroupVersionResource::new(group, version, resource)
}

/// Whether a view has a document.
fn has(seen: &Seen, document: &Native) -> bool {
    match document {
        Native::Group(group) => seen.types().has_group(group),
        Native::Resources { group, version } => seen.types().has_version(group, version),
        _ => true,
    }
}

fn granted_if(allowed: bool) -> Verdict {
    match allowed {
        true => Verdict::Granted,
        false => Verdict::Denied,
    }
}

fn not_served(reason: &str) -> Verdict {
    Verdict::NotServed(reason.to_owned())
}
