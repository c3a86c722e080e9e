//! Reviews of the caller by the caller: `kubectl auth can-i`, `auth can-i --list`, `auth whoami`.
//!
//! They are answered with what this server would decide about such a request below the same view: by the host's answers to the outer and
//! the inner question, and no to what is not served at all.

use armadex_model::{GroupVersionResource, ResourceType};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReviewSpec,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::asked::Asked;
use super::context::Context;
use super::posted::Posted;
use super::view::Seen;
use crate::answer::reply::Reply;
use crate::answer::status::ApiError;
use crate::caller::attributes::{self, Attributes};
use crate::request::protobuf;
use crate::request::target::{Native, Review};

/// What every review has.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Envelope {
    kind: String,
    api_version: String,
    spec: Value,
}

/// Asking about each is two reviews of the host, one after the other.
const MAX_TYPES_REVIEWED: usize = 50;

/// What the list of rules cannot tell.
const INCOMPLETE: &str = "the control plane was asked type by type: what is granted by name, and beyond 50 types, is not listed";
const _: () = assert!(MAX_TYPES_REVIEWED == 50, "the text above names the number");

/// Where a question about one object or type comes from.
#[derive(Clone, Copy)]
struct Subject<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl Context {
    /// Answers a review. `posted` is its body; a review cannot be read.
    pub(super) async fn review(
        &self,
        seen: &Seen,
        review: Review,
        posted: Option<&Posted>,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let Some(posted) = posted else {
            return Err(ApiError::method_not_allowed(
                "the server does not allow this method on the requested resource: a review is posted",
            ));
        };
        let written = asked.plain()?;
        let spec = spec_of(review, posted)?;
        let status = match review {
            Review::Access => self.access(seen, &parsed(&spec)?, asked).await?,
            Review::Rules => self.rules(seen, &spec, asked).await?,
            Review::Identity => identity(asked),
        };
        let mut answer = json!({
            "kind": review.kind(),
            "apiVersion": format!("{}/v1", review.group()),
            "metadata": {},
            "spec": spec,
            "status": status,
        });
        if review == Review::Identity {
            answer["metadata"] = json!({"creationTimestamp": (self.clock)().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()});
        }
        Ok(Reply::created(
            answer.to_string().into_bytes(),
            written.notation,
        ))
    }

    /// The status of a `SelfSubjectAccessReview`.
    async fn access(
        &self,
        seen: &Seen,
        spec: &SelfSubjectAccessReviewSpec,
        asked: &Asked<'_>,
    ) -> Result<Value, ApiError> {
        let refused = match (&spec.resource_attributes, &spec.non_resource_attributes) {
            (Some(what), None) => self.refused_resource(seen, what, asked).await?,
            (None, Some(what)) => self.refused_path(what, asked).await?,
            _ => {
                return Err(ApiError::bad_request(
                    "spec: exactly one of nonResourceAttributes or resourceAttributes must be specified",
                ));
            }
        };
        Ok(match refused {
            None => json!({"allowed": true}),
            Some("") => json!({"allowed": false}),
            Some(reason) => json!({"allowed": false, "reason": reason}),
        })
    }

    /// Why a request for objects would be refused; an empty reason is the host's.
    async fn refused_resource(
        &self,
        seen: &Seen,
        what: &ResourceAttributes,
        asked: &Asked<'_>,
    ) -> Result<Option<&'static str>, ApiError> {
        let text = |field: &'_ Option<String>| field.clone().unwrap_or_default();
        let (verb, group, resource) = (text(&what.verb), text(&what.group), text(&what.resource));
        if verb == "create"
            && Review::ALL
                .iter()
                .any(|one| one.is_named(&group, &resource))
        {
            return Ok(None);
        }
        if !text(&what.subresource).is_empty() {
            return Ok(Some("subresources are not served: ask the member itself"));
        }
        let verb = match verb.as_str() {
            "get" => "get",
            "list" => "list",
            "watch" => return Ok(Some("watch is not served")),
            _ => return Ok(Some("the server only reads")),
        };
        let (version, name) = (text(&what.version), text(&what.name));
        let namespace = text(&what.namespace);
        let is_cluster_scoped = seen
            .types_of(&group, &resource)
            .any(|found| !found.namespaced);
        let subject = Subject {
            group: &group,
            version: &version,
            resource: &resource,
            // kubectl always sends a namespace.
            namespace: if is_cluster_scoped { "" } else { &namespace },
            name: &name,
        };
        let allowed = self.may(verb, subject, asked).await?;
        Ok((!allowed).then_some(""))
    }

    /// Why a request for a path that is no object would be refused.
    async fn refused_path(
        &self,
        what: &NonResourceAttributes,
        asked: &Asked<'_>,
    ) -> Result<Option<&'static str>, ApiError> {
        let path = what.path.as_deref().unwrap_or_default();
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        if !what
            .verb
            .as_deref()
            .is_some_and(|verb| verb.eq_ignore_ascii_case("get"))
        {
            return Ok(Some("the server only reads"));
        }
        if !Native::is_document(&segments) {
            return Ok(Some("this path is not served"));
        }
        let allowed = self.may_read(&segments, asked).await?;
        Ok((!allowed).then_some(""))
    }

    /// The status of a `SelfSubjectRulesReview`. The host lists rules for its own callers only, so it is asked about one type after
    /// the other, which also keeps one list from crowding out the reviews of others.
    async fn rules(&self, seen: &Seen, spec: &Value, asked: &Asked<'_>) -> Result<Value, ApiError> {
        let namespace = spec["namespace"].as_str().unwrap_or_default();
        if namespace.is_empty() {
            return Err(ApiError::bad_request("no namespace on request"));
        }
        let everything = Subject {
            group: "*",
            version: "*",
            resource: "*",
            namespace,
            name: "",
        };
        let mut rules: Vec<Value> = Review::ALL
            .iter()
            .map(|one| rule(&["create"], one.group(), one.resource()))
            .collect();
        let verbs = self.verbs(everything, asked).await?;
        let is_complete = verbs.len() == READ.len();
        if is_complete {
            rules.push(rule(&verbs, "*", "*"));
        } else {
            rules.extend(self.rules_by_type(seen, namespace, asked).await?);
        }
        let mut status = json!({
            "resourceRules": rules,
            "nonResourceRules": self.rules_by_path(asked).await?,
            "incomplete": !is_complete,
        });
        if !is_complete {
            status["evaluationError"] = json!(INCOMPLETE);
        }
        Ok(status)
    }

    async fn rules_by_type(
        &self,
        seen: &Seen,
        namespace: &str,
        asked: &Asked<'_>,
    ) -> Result<Vec<Value>, ApiError> {
        let mut types: Vec<&ResourceType> = seen.resources().collect();
        // Versions are all the same to who grants.
        types.dedup_by(|a, b| same_to_who_grants(&a.gvr, &b.gvr));
        let mut rules = Vec::new();
        for one in types.into_iter().take(MAX_TYPES_REVIEWED) {
            let subject = Subject {
                group: &one.gvr.group,
                version: &one.gvr.version,
                resource: &one.gvr.resource,
                namespace: if one.namespaced { namespace } else { "" },
                name: "",
            };
            let verbs = self.verbs(subject, asked).await?;
            if !verbs.is_empty() {
                rules.push(rule(&verbs, &one.gvr.group, &one.gvr.resource));
            }
        }
        Ok(rules)
    }

    async fn rules_by_path(&self, asked: &Asked<'_>) -> Result<Vec<Value>, ApiError> {
        let mut paths = Vec::new();
        for document in DOCUMENTS {
            if self.may_read(document, asked).await? {
                paths.push(format!("/{}", document.join("/")));
            }
        }
        Ok(if paths.is_empty() {
            Vec::new()
        } else {
            vec![json!({"verbs": ["get"], "nonResourceURLs": paths})]
        })
    }

    async fn verbs(
        &self,
        subject: Subject<'_>,
        asked: &Asked<'_>,
    ) -> Result<Vec<&'static str>, ApiError> {
        let mut verbs = Vec::new();
        for verb in READ {
            if self.may(verb, subject, asked).await? {
                verbs.push(verb);
            }
        }
        Ok(verbs)
    }

    /// Whether the caller may read objects of a type: the outer question first, then the inner one.
    async fn may(
        &self,
        verb: &'static str,
        subject: Subject<'_>,
        asked: &Asked<'_>,
    ) -> Result<bool, ApiError> {
        let Subject {
            group,
            version,
            resource,
            namespace,
            name,
        } = subject;
        let below = match group {
            "" => ["api", if version.is_empty() { "v1" } else { version }],
            group => ["apis", group],
        };
        if !self.may_read(&below, asked).await? {
            return Ok(false);
        }
        let inner = Attributes::Resource {
            verb,
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        Ok(self.authorizer.allows(asked.caller, &inner).await?)
    }

    /// Whether the outer question about a path below the view is granted.
    async fn may_read(&self, below: &[&str], asked: &Asked<'_>) -> Result<bool, ApiError> {
        let base = &asked.segments[..asked.segments.len().saturating_sub(REVIEW_SEGMENTS)];
        let below = below.iter().map(|&segment| segment.to_owned());
        let segments: Vec<String> = base.iter().cloned().chain(below).collect();
        let outer = attributes::outer(&segments);
        Ok(self.authorizer.allows(asked.caller, &outer).await?)
    }
}

/// `apis`, group, version and resource: what follows the view in the path of a review.
const REVIEW_SEGMENTS: usize = 4;

/// The verbs that are served.
const READ: [&str; 2] = ["get", "list"];

/// What can be read below a view beside objects.
const DOCUMENTS: [&[&str]; 7] = [
    &["api"],
    &["api", "v1"],
    &["apis"],
    &["healthz"],
    &["livez"],
    &["readyz"],
    &["version"],
];

fn rule(verbs: &[&str], group: &str, resource: &str) -> Value {
    json!({"verbs": verbs, "apiGroups": [group], "resources": [resource]})
}

fn same_to_who_grants(a: &GroupVersionResource, b: &GroupVersionResource) -> bool {
    (&a.group, &a.resource) == (&b.group, &b.resource)
}

/// The status of a `SelfSubjectReview`.
fn identity(asked: &Asked<'_>) -> Value {
    let caller = asked.caller;
    let mut user = json!({"username": caller.user, "groups": caller.groups});
    if !caller.uid.is_empty() {
        user["uid"] = json!(caller.uid);
    }
    if !caller.extra.is_empty() {
        user["extra"] = json!(caller.extra);
    }
    json!({"userInfo": user})
}

/// The `spec` of what was posted, if it is the review that its path names.
fn spec_of(review: Review, posted: &Posted) -> Result<Value, ApiError> {
    let envelope: Envelope = match posted {
        Posted::Json(bytes) => serde_json::from_slice(bytes)
            .map_err(|error| ApiError::bad_request(format!("the body is not a review: {error}")))?,
        Posted::Protobuf(bytes) => {
            let value = protobuf::review(bytes)
                .ok_or_else(|| ApiError::bad_request("the body is not a review"))?;
            parsed(&value)?
        }
    };
    let api_version = format!("{}/v1", review.group());
    if envelope.kind != review.kind() || envelope.api_version != api_version {
        let kind = review.kind();
        return Err(ApiError::bad_request(format!(
            "the body is not a {kind} of {api_version}"
        )));
    }
    Ok(if envelope.spec.is_null() {
        json!({})
    } else {
        envelope.spec
    })
}

fn parsed<T: DeserializeOwned>(spec: &Value) -> Result<T, ApiError> {
    T::deserialize(spec).map_err(|error| ApiError::bad_request(format!("invalid spec: {error}")))
}
