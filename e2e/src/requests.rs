//! What Armadex asked of its control plane, as the control plane itself wrote it down.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;

use crate::account;
use crate::folder::Folder;

/// A kind of request: two that differ in nothing else are one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// The account that asked.
    pub account: String,
    /// `get`, `list`, ...
    pub verb: String,
    /// The group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource behind a slash.
    pub resource: String,
    /// The namespace; empty for all of them, and where there is none.
    pub namespace: String,
    /// The object, where one is named.
    pub name: String,
    /// The code of the answer.
    pub code: u16,
}

impl Asked {
    /// Whether a right to it was missing.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.code == 403
    }

    /// The verbs that the control plane reviewed: what makes an object by a patch needs the right to create it too.
    #[must_use]
    pub fn verbs(&self) -> BTreeSet<&str> {
        let made = (self.verb == "patch" && self.code == 201).then_some("create");
        made.into_iter().chain([self.verb.as_str()]).collect()
    }
}

/// Arguments by which a kube-apiserver writes down what Armadex asks, and nothing of anybody else.
pub(crate) fn arguments(folder: &Folder) -> Result<Vec<String>> {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "users": account::users()}, {"level": "None"}],
    });
    let path = folder.root().join("state/requests-policy.json");
    std::fs::write(&path, policy.to_string())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(vec![
        format!("--audit-policy-file={}", path.display()),
        format!("--audit-log-path={}", folder.log("requests").display()),
    ])
}

/// The kinds of requests so far.
pub fn read(folder: &Folder) -> Result<BTreeSet<Asked>> {
    let path = folder.log("requests");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let asked = text.lines().filter_map(|line| parse(line).transpose());
    asked.collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    verb: String,
    user: User,
    object_ref: Option<Reference>,
    response_status: Option<Response>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Reference {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
struct Response {
    code: u16,
}

/// What is about no object, discovery, everybody may ask.
fn parse(line: &str) -> Result<Option<Asked>> {
    let line: Line = serde_json::from_str(line).context("a line of the requests is no JSON")?;
    let (Some(object), Some(response)) = (line.object_ref, line.response_status) else {
        return Ok(None);
    };
    let mut resource = object.resource;
    if !object.subresource.is_empty() {
        resource = format!("{resource}/{}", object.subresource);
    }
    let user = &line.user.username;
    let account =
        account::of_user(user).with_context(|| format!("{user} is no account of ours"))?;
    Ok(Some(Asked {
        account: account.to_owned(),
        verb: line.verb,
        group: object.api_group,
        resource,
        namespace: object.namespace,
        name: object.name,
        code: response.code,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_kind_of_request() {
        let user = json!({"username": "system:serviceaccount:clusterpedia-system:armadex-synchro"});
        let line = json!({
            "verb": "patch", "requestURI": "/apis/x", "responseStatus": {"metadata": {}, "code": 201}, "user": user,
            "objectRef": {"resource": "pediaclusters", "name": "a", "apiGroup": "cluster.clusterpedia.io",
                          "apiVersion": "v1alpha2", "subresource": "status"},
        });
        let asked = parse(&line.to_string()).unwrap().unwrap();
        assert_eq!(asked.resource, "pediaclusters/status");
        assert_eq!(asked.account, "armadex-synchro");
        assert_eq!(asked.verbs(), BTreeSet::from(["create", "patch"]));
        let discovery = json!({"verb": "get", "requestURI": "/api", "responseStatus": {"code": 200}, "user": user});
        assert_eq!(parse(&discovery.to_string()).unwrap(), None);
    }
}
