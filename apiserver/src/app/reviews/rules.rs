//! `SelfSubjectRulesReview`: what the caller may do in a namespace.
//!
//! The host lists rules for its own callers only, so it is asked about one type after the other, which also keeps one list from crowding
//! out the reviews of others.

use std::collections::BTreeMap;

use armadex_model::GroupVersionResource;
use serde_json::{Value, json};

use super::grants::{EVERY, Read, Subject, Verdict};
use crate::answer::status::ApiError;
use crate::app::asked::Asked;
use crate::app::context::Context;
use crate::app::view::Seen;
use crate::request::target::Review;

/// Asking about each is up to three reviews of the host, one after the other.
const MAX_TYPES_REVIEWED: usize = 50;

/// What the list of rules cannot tell.
const INCOMPLETE: &str = "the control plane was asked type by type: what is granted by name, and beyond 50 types, is not listed";
const _: () = assert!(MAX_TYPES_REVIEWED == 50, "the text above names the number");

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

impl Context {
    /// The status of a `SelfSubjectRulesReview`.
    pub(super) async fn rules(
        &self,
        seen: &Seen,
        namespace: &str,
        asked: &Asked<'_>,
    ) -> Result<Value, ApiError> {
        if namespace.is_empty() {
            return Err(ApiError::bad_request("no namespace on request"));
        }
        let mut rules: Vec<Value> = Review::ALL
            .iter()
            .map(|one| rule(&["create"], one.group(), one.resource()))
            .collect();
        let all = self.verbs_on_all(seen, namespace, asked).await?;
        let is_complete = all.len() == Read::of(seen).len();
        if is_complete {
            rules.push(rule(&all, EVERY, EVERY));
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

    /// How the caller may read objects of every type.
    async fn verbs_on_all(
        &self,
        seen: &Seen,
        namespace: &str,
        asked: &Asked<'_>,
    ) -> Result<Vec<&'static str>, ApiError> {
        let mut verbs = Vec::new();
        for &read in Read::of(seen) {
            let verdict = self
                .verdict_on_all(seen, read, (EVERY, EVERY), all_in(namespace), asked)
                .await?;
            if verdict == Verdict::Granted {
                verbs.push(read.verb());
            }
        }
        Ok(verbs)
    }

    async fn rules_by_type(
        &self,
        seen: &Seen,
        namespace: &str,
        asked: &Asked<'_>,
    ) -> Result<Vec<Value>, ApiError> {
        // Versions are all the same to who grants: one stands for all.
        let mut types: BTreeMap<(&str, &str), &GroupVersionResource> = BTreeMap::new();
        for one in seen.resources() {
            let GroupVersionResource {
                group, resource, ..
            } = &one.gvr;
            types.entry((group, resource)).or_insert(&one.gvr);
        }
        let mut rules = Vec::new();
        for ((group, resource), gvr) in types.into_iter().take(MAX_TYPES_REVIEWED) {
            let mut verbs = Vec::new();
            for &read in Read::of(seen) {
                let verdict = self
                    .verdict(seen, read, gvr, all_in(namespace), asked)
                    .await?;
                if verdict == Verdict::Granted {
                    verbs.push(read.verb());
                }
            }
            if !verbs.is_empty() {
                rules.push(rule(&verbs, group, resource));
            }
        }
        Ok(rules)
    }

    async fn rules_by_path(&self, asked: &Asked<'_>) -> Result<Vec<Value>, ApiError> {
        let mut paths = Vec::new();
        for document in DOCUMENTS {
            let below: Vec<String> = document.iter().map(|&segment| segment.to_owned()).collect();
            if self.may_read(&below, asked).await? {
                paths.push(format!("/{}", document.join("/")));
            }
        }
        Ok(if paths.is_empty() {
            Vec::new()
        } else {
            vec![json!({"verbs": ["get"], "nonResourceURLs": paths})]
        })
    }
}

fn all_in(namespace: &str) -> Subject<'_> {
    Subject {
        namespace,
        name: "",
    }
}

fn rule(verbs: &[&str], group: &str, resource: &str) -> Value {
    json!({"verbs": verbs, "apiGroups": [group], "resources": [resource]})
}
