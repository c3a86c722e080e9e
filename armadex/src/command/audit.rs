//! `armadex audit`: asks for an audit of one cluster, waits for it and prints it.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};
use armadex_crds::{
    AUDIT_ANNOTATION, AUDIT_REQUEST_CHARS, ClusterAudit, PediaCluster, PediaClusterStatus,
};
use clap::Args;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{self, await_condition};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::control_plane::ControlPlaneFlags;
use crate::visible::visible_name;

/// Compare what is stored of a cluster with the cluster itself, and print what came of it.
///
/// The synchro that looks after the cluster does it: every synced resource is listed by keys and versions and compared with the store; what
/// differs is listed anew and compared once more. It does the same every `--audit-every` by itself. This sets the annotation
/// `armadex.dev/audit` of the PediaCluster and waits for its status. If somebody else asks meanwhile, the audit that answers both counts. Fails if
/// something could not be compared, or differs still.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Name of the PediaCluster.
    name: String,
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    /// How long to wait, in seconds. Where something differs, the member's next bookmark is waited for, up to a minute for each resource.
    #[arg(long, value_name = "SECONDS", default_value_t = 15 * 60)]
    timeout: u64,
}

/// Asks, waits, prints.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let Flags {
        name,
        control_plane,
        timeout,
    } = flags;
    let api = Api::<PediaCluster>::all(control_plane.client().await?);
    let asking = || format!("cannot ask for an audit of the PediaCluster {name}");
    let before = asked_for(&api.get(&name).await.with_context(asking)?);
    let request = new_request();
    let patch = json!({"metadata": {"annotations": {AUDIT_ANNOTATION: request}}});
    api.patch(&name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .with_context(asking)?;
    let answered = await_condition(api.clone(), &name, |object: Option<&PediaCluster>| {
        object.is_none_or(|object| answer(object, &request, &before).is_some())
    });
    let waited = tokio::time::timeout(Duration::from_secs(timeout), answered).await;
    let object = match waited {
        Ok(Ok(object)) => object.with_context(|| format!("the PediaCluster {name} is gone"))?,
        Ok(Err(error)) => return Err(cannot_watch(error, &name)),
        Err(_) => bail!(no_answer(
            &name,
            timeout,
            api.get_opt(&name).await?.as_ref()
        )),
    };
    let status = object.status.unwrap_or_default();
    let audit = status.audit.clone();
    let audit = audit.with_context(|| format!("the PediaCluster {name} has no audit"))?;
    print(&name, &status, &audit).context("cannot print the audit")?;
    verdict(&name, &audit)
}

/// An audit of nothing proves nothing.
fn verdict(name: &str, audit: &ClusterAudit) -> anyhow::Result<()> {
    let ClusterAudit {
        proved,
        unproved,
        message,
        ..
    } = audit;
    let words = match message.as_str() {
        "" => String::new(),
        words => format!(": {words}"),
    };
    ensure!(
        *unproved == 0,
        "{unproved} of {} resources of {name} are not proved to be as the cluster has them{words}",
        unproved + proved
    );
    ensure!(*proved > 0, "nothing of {name} could be compared{words}");
    Ok(())
}

/// A text that no request before had.
fn new_request() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!(
        "{}-{}",
        now.unwrap_or_default().as_nanos(),
        std::process::id()
    )
}

/// The request that the annotation makes, as a status tells it.
fn asked_for(object: &PediaCluster) -> String {
    let asked = object.annotations().get(AUDIT_ANNOTATION);
    let asked = asked.map_or("", String::as_str).chars();
    asked.take(AUDIT_REQUEST_CHARS).collect()
}

/// The answer to this request, or to one that somebody made after it: the annotation was `before` when this one was made.
fn answer<'a>(object: &'a PediaCluster, request: &str, before: &str) -> Option<&'a ClusterAudit> {
    let audit = object.status.as_ref()?.audit.as_ref()?;
    let asked = asked_for(object);
    let is_later = asked != before && !asked.is_empty() && audit.request == asked;
    (audit.request == request || is_later).then_some(audit)
}

fn cannot_watch(error: wait::Error, name: &str) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot watch the PediaCluster {name}"))
}

/// Why there may be no answer.
fn no_answer(name: &str, seconds: u64, object: Option<&PediaCluster>) -> String {
    if object.is_some_and(|object| asked_for(object).is_empty()) {
        return format!(
            "no audit of {name} within {seconds} s; somebody took the annotation {AUDIT_ANNOTATION} away"
        );
    }
    let conditions = object.and_then(|object| object.status.as_ref());
    let conditions = conditions.map_or(&[][..], |status| status.conditions.as_slice());
    let ready = conditions.iter().find(|known| known.type_ == "Ready");
    let ready = match ready {
        Some(ready) if ready.status == "True" => "it is ready".to_owned(),
        Some(ready) => format!("it is not ready: {}", ready.message),
        None => "no synchro looks after it".to_owned(),
    };
    format!("no audit of {name} within {seconds} s; {ready}")
}

fn print(name: &str, status: &PediaClusterStatus, audit: &ClusterAudit) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let lines = lines(name, status, audit);
    let mut shown = lines.iter().map(|line| visible_name(line));
    shown.try_for_each(|line| writeln!(out, "{line}"))
}

/// One for each resource that has anything to say, one for what was asked for and is no resource, and the sum.
fn lines(name: &str, status: &PediaClusterStatus, audit: &ClusterAudit) -> Vec<String> {
    let ClusterAudit {
        proved,
        unproved,
        objects,
        differences,
        mended,
        message,
        ..
    } = audit;
    let mut lines = of_resources(status);
    // The other words of the message are those of the resources.
    let words = message.split("; ");
    let missing = words.filter(|words| words.starts_with("not synced: "));
    lines.extend(missing.map(str::to_owned));
    lines.push(format!(
        "{name}: {objects} objects of {} resources, {differences} differed, {mended} mended, {unproved} resources not proved",
        proved + unproved
    ));
    lines
}

fn of_resources(status: &PediaClusterStatus) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &status.sync_resources {
        for resource in &group.resources {
            let audits = resource.sync_conditions.iter();
            let words = audits.filter_map(|condition| condition.audit.as_ref());
            let words = words.filter(|audit| !audit.message.is_empty());
            let name = match group.group.as_str() {
                "" => resource.name.clone(),
                group => format!("{}.{group}", resource.name),
            };
            lines.extend(words.map(|audit| format!("{name}: {}", audit.message)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(status: &serde_json::Value) -> PediaCluster {
        asking_for("1", status)
    }

    fn asking_for(asked: &str, status: &serde_json::Value) -> PediaCluster {
        let annotations = json!({AUDIT_ANNOTATION: asked});
        let object = json!({"metadata": {"name": "m", "annotations": annotations},
            "spec": {"syncResources": []}, "status": status});
        serde_json::from_value(object).unwrap()
    }

    fn audit(request: &str) -> serde_json::Value {
        json!({"request": request, "time": "2026-04-02T10:11:12Z", "proved": 1, "objects": 5})
    }

    #[test]
    fn only_an_answer_to_this_request_or_to_a_later_one_counts() {
        let is_answered = |asked: &str, answered: &str| {
            let object = asking_for(asked, &json!({"audit": audit(answered)}));
            answer(&object, "2", "1").is_some()
        };
        assert!(is_answered("2", "2"));
        assert!(!is_answered("2", "1"));
        assert!(!is_answered("1", "1"), "an object of before");
        // Somebody else asked.
        assert!(is_answered("3", "2") && is_answered("3", "3"));
        assert!(!is_answered("3", "1"));
        let long = "x".repeat(AUDIT_REQUEST_CHARS);
        assert!(is_answered(&format!("{long}y"), &long));
        assert!(!is_answered("", ""));
        assert!(answer(&object(&json!({})), "", "").is_none());
        assert_ne!(new_request(), "");
    }

    #[test]
    fn an_audit_of_nothing_fails_as_one_that_could_not_compare_does() {
        let check = |proved: u64, unproved: u64, message: &str| {
            let audit = json!({"request": "1", "time": "2026-04-02T10:11:12Z", "proved": proved, "unproved": unproved,
                "objects": 0, "message": message});
            let verdict = verdict("m", &serde_json::from_value(audit).unwrap());
            verdict.map_err(|error| error.to_string())
        };
        assert_eq!(check(2, 0, "not synced: shops"), Ok(()));
        let unproved = "1 of 3 resources of m are not proved to be as the cluster has them: pods: not compared: why";
        assert_eq!(
            check(2, 1, "pods: not compared: why"),
            Err(unproved.to_owned())
        );
        let nothing = "nothing of m could be compared: not synced: shops";
        assert_eq!(check(0, 0, "not synced: shops"), Err(nothing.to_owned()));
    }

    #[test]
    fn what_has_something_to_say_is_named_as_people_write_it() {
        let condition = |message: &str| {
            json!([{"version": "v1", "status": "Syncing", "lastTransitionTime": "2026-04-02T10:11:12Z",
            "audit": {"objects": 5, "message": message}}])
        };
        let resource = |name: &str, message: &str| json!({"name": name, "kind": "", "namespaced": true, "syncConditions": condition(message)});
        let words = "pods: 1 differed: n/a; deployments.apps: not compared: it is not followed now; not synced: deploymnets.apps, shops";
        let status = json!({"audit": {"request": "1", "time": "2026-04-02T10:11:12Z", "proved": 2, "unproved": 1,
            "objects": 9, "differences": 1, "message": words}, "syncResources": [
            {"group": "", "resources": [resource("pods", "1 differed: n/a"), resource("nodes", "")]},
            {"group": "apps", "resources": [resource("deployments", "not compared: it is not followed now")]},
        ]});
        let status = object(&status).status.unwrap();
        assert_eq!(
            lines("m", &status, status.audit.as_ref().unwrap()),
            [
                "pods: 1 differed: n/a",
                "deployments.apps: not compared: it is not followed now",
                "not synced: deploymnets.apps, shops",
                "m: 9 objects of 3 resources, 1 differed, 0 mended, 1 resources not proved",
            ]
        );
    }

    #[test]
    fn who_waits_in_vain_is_told_how_the_cluster_is() {
        assert_eq!(
            no_answer("m", 5, Some(&object(&json!({})))),
            "no audit of m within 5 s; no synchro looks after it"
        );
        assert_eq!(
            no_answer("m", 5, Some(&asking_for("", &json!({})))),
            "no audit of m within 5 s; somebody took the annotation armadex.dev/audit away"
        );
        let condition = json!({"type": "Ready", "status": "False", "reason": "NotReady", "message": "no route",
            "lastTransitionTime": "2026-04-02T10:11:12Z"});
        let away = object(&json!({"conditions": [condition]}));
        assert_eq!(
            no_answer("m", 5, Some(&away)),
            "no audit of m within 5 s; it is not ready: no route"
        );
    }
}
