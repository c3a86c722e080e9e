//! From a request to an answer.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::{
    Host, ServedType,
    store::{Addressed, Apply, Refused, Store},
};

/// How long an answer takes that is late.
pub(super) const LATE: Duration = Duration::from_secs(10);

/// What a watch lasts that does not say for how long: an hour, as a kube-apiserver's does at the most.
const LASTS: Duration = Duration::from_secs(3600);

/// A body of an answer.
pub(super) type Answer = UnsyncBoxBody<Bytes, Infallible>;

/// The parameters of a request that mean something here.
struct Parameters {
    watch: bool,
    /// How long a watch lasts.
    lasts: Duration,
    since: u64,
    name: Option<String>,
    /// Objects of this `type` are left out.
    not_of: Option<String>,
    dry_run: bool,
    apply: Apply,
}

impl Host {
    pub(super) async fn answer(&self, request: Request<Body>) -> Response<Answer> {
        let (head, body) = request.into_parts();
        let sent = body.collect_bytes().await.unwrap_or_default();
        let sent: Value = serde_json::from_slice(&sent).unwrap_or_default();
        let path = head.uri.path().to_owned();
        let parameters = Parameters::of(head.uri.query().unwrap_or_default());
        if path.starts_with("/apis/events.k8s.io/") {
            // One that is said again is a patch.
            let verb = if head.method == Method::POST {
                "create"
            } else {
                "patch"
            };
            self.lock().asked.push((verb, "events".to_owned()));
            return whole(Ok(sent));
        }
        let found = self.lock().place(&path);
        let Some(place) = found else {
            return whole(self.lock().discovery(&path));
        };
        let verb = verb(&head.method, &place, &parameters);
        self.come_to(verb, &place.resource());
        let admitted = self.lock().admit(verb, &place);
        match admitted {
            Admitted::Yes => {}
            Admitted::Slow(takes) => tokio::time::sleep(takes).await,
            Admitted::Refused(refused) => return whole(Err(refused)),
            Admitted::Late(refused) => {
                tokio::time::sleep(LATE).await;
                return whole(Err(refused));
            }
            Admitted::Hanging => return std::future::pending().await,
        }
        let content = head.headers.get(http::header::CONTENT_TYPE);
        let content = content
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        match verb {
            "watch" => self.watch(place, parameters),
            "list" => whole(Ok(self.lock().listed(&place, &parameters))),
            "get" => whole(self.lock().found(&place)),
            "delete" => {
                let conditions = &sent["preconditions"];
                whole(self.change(|store| store.delete(&place, conditions)))
            }
            "create" => whole(self.change(|store| store.create(&place, &sent))),
            "update" => whole(self.change(|store| store.replace(&place, &sent))),
            _ if parameters.dry_run => {
                let mut copy = self.lock().clone();
                whole(copy.apply(&place, &sent, &parameters.apply))
            }
            _ => whole(self.change(|store| match content {
                "application/apply-patch+yaml" => store.apply(&place, &sent, &parameters.apply),
                "application/json-patch+json" => store.finalizers(&place, &sent),
                _ => store.merge(&place, &sent),
            })),
        }
    }

    /// Events until its time is over or its type is gone, or until it breaks as a test says. Who is not allowed to watch any more is not asked before the next one.
    fn watch(&self, place: Addressed, parameters: Parameters) -> Response<Answer> {
        let begun_at = Instant::now();
        let over = begun_at + parameters.lasts;
        let lives = self.lock().lives_of_watches(&place.resource());
        let begun = (self.clone(), self.changes.subscribe(), parameters.since);
        let lines = stream::unfold(begun, move |(host, mut changes, since)| {
            let place = place.clone();
            let (name, not_of) = (parameters.name.clone(), parameters.not_of.clone());
            async move {
                loop {
                    // What comes between the look and the wait is seen by the wait.
                    changes.borrow_and_update();
                    let of = (name.as_deref(), not_of.as_deref());
                    let seen = host.lock().next_of(&place, of, since)?;
                    if let Some((version, line)) = seen {
                        return Some((line, (host, changes, version)));
                    }
                    changes.changed().await.ok()?;
                }
            }
        });
        let over = lives.map_or(over, |lives| begun_at + lives);
        let broken = stream::iter(lives.map(|_| broken()));
        let lines = lines.take_until(sleep_until(over)).chain(broken);
        let frames = lines.map(|line| Ok(Frame::data(Bytes::from(format!("{line}\n")))));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }
}

/// What a watch brings in the end that breaks.
fn broken() -> Value {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                        "reason": "Forbidden", "message": "forbidden", "code": 403});
    json!({"type": "ERROR", "object": status})
}

/// What becomes of a request before it is looked at.
enum Admitted {
    Yes,
    /// It is carried out, after this.
    Slow(Duration),
    Refused(Refused),
    /// After a while.
    Late(Refused),
    Hanging,
}

impl Store {
    fn admit(&mut self, verb: &'static str, place: &Addressed) -> Admitted {
        let resource = place.resource();
        self.asked.push((verb, resource.clone()));
        let is_among = |all: &[(&str, &str)]| {
            let mut all = all.iter();
            all.any(|(known, on)| *known == verb && *on == resource)
        };
        let is_update = verb == "patch" && self.is_there(place);
        let hangs = is_update && self.hanging_updates.contains(&resource.as_str());
        if hangs || is_among(&self.hanging) {
            return Admitted::Hanging;
        }
        if is_among(&self.failing) {
            let message = "failed calling webhook: context deadline exceeded".to_owned();
            return Admitted::Late((500, "InternalError", message));
        }
        let mut slow = self.slow.iter();
        let is_it = |slow: &&(&str, &str, Duration)| slow.0 == verb && slow.1 == resource;
        if let Some((.., takes)) = slow.find(is_it) {
            return Admitted::Slow(*takes);
        }
        let mut throttled = self.throttled.iter();
        if let Some(next) = throttled.position(|(known, on)| *known == verb && *on == resource) {
            self.throttled.remove(next);
            let message = "too many requests, please try again later".to_owned();
            return Admitted::Refused((429, "TooManyRequests", message));
        }
        let mut of_one = self.forbidden_of.iter();
        let is_forbidden = is_among(&self.forbidden)
            || of_one
                .any(|(known, on, name)| *known == verb && *on == resource && *name == place.name);
        if !is_forbidden {
            return Admitted::Yes;
        }
        let message = format!(
            "{resource} is forbidden: User \"armadex\" cannot {verb} resource \"{resource}\""
        );
        Admitted::Refused((403, "Forbidden", message))
    }

    /// How long watches of a resource live that break.
    fn lives_of_watches(&self, resource: &str) -> Option<Duration> {
        let mut breaking = self.breaking_watches.iter();
        let known = breaking.find(|(known, _)| *known == resource);
        known.map(|(_, lives)| *lives)
    }

    /// The next event for a watch after a version; `None` if it ends.
    fn next_of(
        &self,
        place: &Addressed,
        (name, not_of): (Option<&str>, Option<&str>),
        since: u64,
    ) -> Option<Option<(u64, Value)>> {
        let served = place.served;
        let is_served = self.types.iter().any(|known| {
            (known.group, known.version, known.resource)
                == (served.group, served.version, served.resource)
        });
        if self.is_too_old(served.resource, since) {
            let gone = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                              "reason": "Expired", "message": "too old", "code": 410});
            return Some(Some((u64::MAX, json!({"type": "ERROR", "object": gone}))));
        }
        if !is_served {
            return None;
        }
        let is_next = |change: &&super::store::Change| {
            change.version > since
                && place.holds(&change.key, name)
                && is_other(&change.object, not_of)
        };
        let next = self.history.iter().find(is_next).map(|change| {
            let object = served.as_served(change.object.clone());
            (
                change.version,
                json!({"type": change.type_, "object": object}),
            )
        });
        Some(next)
    }

    fn listed(&self, place: &Addressed, parameters: &Parameters) -> Value {
        let mut items = self.list(place, parameters.name.as_deref());
        items.retain(|object| is_other(object, parameters.not_of.as_deref()));
        json!({"kind": "List", "apiVersion": "v1", "items": items,
               "metadata": {"resourceVersion": self.version.to_string()}})
    }

    fn found(&self, place: &Addressed) -> Result<Value, Refused> {
        let found = self.list(place, Some(&place.name)).into_iter().next();
        found.ok_or_else(|| (404, "NotFound", format!("\"{}\" not found", place.name)))
    }

    /// `/apis/GROUP`, `/apis/GROUP/VERSION` and `/api/VERSION`.
    fn discovery(&self, path: &str) -> Result<Value, Refused> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let of = |group: &str, version: Option<&str>| -> Vec<ServedType> {
            let is_it = |known: &&ServedType| {
                known.group == group && version.is_none_or(|version| known.version == version)
            };
            self.types.iter().filter(is_it).copied().collect()
        };
        let (found, document) = match parts[..] {
            ["apis", group] => (of(group, None), group_document(group, &of(group, None))),
            ["apis", group, version] => {
                let found = of(group, Some(version));
                (found.clone(), resources_document(&found))
            }
            ["api", version] => {
                let found = of("", Some(version));
                (found.clone(), resources_document(&found))
            }
            _ => (Vec::new(), Value::Null),
        };
        if found.is_empty() {
            let message = "the server could not find the requested resource".to_owned();
            return Err((404, "NotFound", message));
        }
        Ok(document)
    }
}

impl Parameters {
    fn of(query: &str) -> Self {
        let value = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let mut found = pairs.filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| value.to_owned())
        };
        let number = |name| value(name).and_then(|text: String| text.parse().ok());
        let is_true = |name| value(name).is_some_and(|text| text == "true");
        let decoded = |text: String| {
            text.replace("%3D", "=")
                .replace("%21", "!")
                .replace("%2F", "/")
        };
        let selector = value("fieldSelector").map(decoded);
        let selected = |by: &str| Some(selector.as_ref()?.strip_prefix(by)?.to_owned());
        Self {
            watch: is_true("watch"),
            lasts: number("timeoutSeconds").map_or(LASTS, Duration::from_secs),
            since: number("resourceVersion").unwrap_or_default(),
            name: selected("metadata.name="),
            not_of: selected("type!="),
            dry_run: value("dryRun").is_some(),
            apply: Apply {
                manager: value("fieldManager").unwrap_or_default(),
                force: is_true("force"),
            },
        }
    }
}

/// Whether an object is not of a `type` that is left out.
fn is_other(object: &Value, not_of: Option<&str>) -> bool {
    not_of.is_none_or(|type_| object["type"] != type_)
}

fn verb(method: &Method, place: &Addressed, parameters: &Parameters) -> &'static str {
    match *method {
        Method::GET if parameters.watch => "watch",
        Method::GET if place.name.is_empty() => "list",
        Method::GET => "get",
        Method::DELETE => "delete",
        Method::POST => "create",
        Method::PUT => "update",
        _ => "patch",
    }
}

fn group_document(group: &str, types: &[ServedType]) -> Value {
    let version =
        |version: &str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let mut versions: Vec<&str> = types.iter().map(|served| served.version).collect();
    versions.dedup();
    let preferred = versions.first().copied().unwrap_or_default();
    json!({"kind": "APIGroup", "apiVersion": "v1", "name": group,
           "versions": versions.iter().map(|known| version(known)).collect::<Vec<_>>(),
           "preferredVersion": version(preferred)})
}

fn resources_document(types: &[ServedType]) -> Value {
    let resource = |served: &ServedType| {
        json!({"name": served.resource, "singularName": "", "kind": served.kind,
               "namespaced": served.namespaced, "verbs": ["get", "list", "watch"]})
    };
    let resources: Vec<Value> = types.iter().map(resource).collect();
    json!({"kind": "APIResourceList", "groupVersion": "x", "resources": resources})
}

fn whole(answer: Result<Value, Refused>) -> Response<Answer> {
    let (code, body) = match answer {
        Ok(body) => (200, body),
        Err((code, reason, message)) => {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                                "reason": reason, "message": message, "code": code,
                                "details": {"causes": causes(&message)}});
            (code, status)
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())).boxed_unsync());
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    response
}

/// What a refusal to apply says of whose the fields are.
fn causes(message: &str) -> Vec<Value> {
    let (_, conflict) = message
        .split_once("Apply failed with a ")
        .unwrap_or_default();
    let cause = json!({"reason": "FieldManagerConflict", "message": conflict, "field": ".spec"});
    Vec::from_iter((!conflict.is_empty()).then_some(cause))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::TryStreamExt;
    use k8s_openapi::api::core::v1::Node;
    use kube::{Api, api::WatchParams};

    use super::*;
    use crate::{Trouble, TroubleKind};

    #[tokio::test(start_paused = true)]
    async fn a_watch_goes_on_without_the_right_to_it_until_its_time_is_over() {
        let host = Host::new(&[ServedType::new("", "v1", "nodes", "Node")]);
        let nodes: Api<Node> = Api::all(host.client());
        let (params, begun) = (WatchParams::default().timeout(10), Instant::now());
        let mut events = pin!(nodes.watch(&params, "1").await.unwrap());
        host.forbid("watch", "nodes");
        host.put("/api/v1/nodes/east", json!({}));
        assert!(events.try_next().await.unwrap().is_some());
        assert!(events.try_next().await.unwrap().is_none());
        assert_eq!(begun.elapsed(), Duration::from_secs(10));
        let refused = nodes.watch(&params, "1").await.err().map(Trouble::from);
        assert_eq!(
            refused.map(|trouble| trouble.kind),
            Some(TroubleKind::Forbidden)
        );
    }
}
