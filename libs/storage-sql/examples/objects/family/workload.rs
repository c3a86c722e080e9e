//! Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs.

use super::pod::{containers_of, pod_spec};
use super::{Metadata, labels, owner};
use crate::objects::Fleet;

/// One object that makes pods.
pub(crate) fn workload(fleet: &mut Fleet) -> String {
    let app = fleet.app();
    let namespace = fleet.namespace();
    let labels = labels(fleet, &app);
    let revision = fleet.below(40);
    let annotations = format!(
        r#""deployment.kubernetes.io/revision":"{revision}","meta.helm.sh/release-name":"{app}","meta.helm.sh/release-namespace":"{namespace}","#
    );
    let (name, spec, status, owner) = match fleet.below(5) {
        0 | 1 => deployment(fleet, &app),
        2 => replica_set(fleet, &app),
        3 => stateful(fleet, &app),
        _ => job(fleet, &app),
    };
    let metadata = Metadata {
        name: &name,
        namespace: Some(&namespace),
        labels: &labels,
        annotations: &annotations,
        owner: &owner,
    };
    format!(
        r#"{},"spec":{{{spec}}},"status":{{{status}}}}}"#,
        metadata.body(fleet)
    )
}

type Parts = (String, String, String, String);

fn template(fleet: &mut Fleet, app: &str, extra: &str) -> String {
    let labels = labels(fleet, app);
    let names = containers_of(fleet, app);
    let spec = pod_spec(fleet, &names, None);
    format!(
        r#""selector":{{"matchLabels":{{"app":"{app}"{extra}}}}},"template":{{"metadata":{{"labels":{{{labels}{extra}}}}},"spec":{{{spec}}}}}"#
    )
}

fn deployment(fleet: &mut Fleet, app: &str) -> Parts {
    let replicas = fleet.below(12);
    let (at, then) = (fleet.time(), fleet.time());
    let hash = fleet.hex(9);
    let spec = format!(
        r#""replicas":{replicas},{},"strategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxUnavailable":"25%","maxSurge":"25%"}}}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600"#,
        template(fleet, app, "")
    );
    let status = format!(
        r#""observedGeneration":{},"replicas":{replicas},"updatedReplicas":{replicas},"readyReplicas":{replicas},"availableReplicas":{replicas},"conditions":[{{"type":"Available","status":"True","lastUpdateTime":"{at}","lastTransitionTime":"{at}","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."}},{{"type":"Progressing","status":"True","lastUpdateTime":"{then}","lastTransitionTime":"{at}","reason":"NewReplicaSetAvailable","message":"ReplicaSet \"{app}-{hash}\" has successfully progressed."}}]"#,
        1 + fleet.below(9)
    );
    (app.to_owned(), spec, status, String::new())
}

fn replica_set(fleet: &mut Fleet, app: &str) -> Parts {
    let hash = fleet.hex(9);
    let replicas = if fleet.chance(70) { 0 } else { fleet.below(9) };
    let spec = format!(
        r#""replicas":{replicas},{}"#,
        template(fleet, app, &format!(r#","pod-template-hash":"{hash}""#))
    );
    let status = format!(
        r#""replicas":{replicas},"fullyLabeledReplicas":{replicas},"readyReplicas":{replicas},"availableReplicas":{replicas},"observedGeneration":{}"#,
        1 + fleet.below(5)
    );
    let owner = owner(fleet, "apps/v1", "Deployment", app);
    (format!("{app}-{hash}"), spec, status, owner)
}

fn stateful(fleet: &mut Fleet, app: &str) -> Parts {
    let replicas = 1 + fleet.below(5);
    let revision = format!("{app}-{}", fleet.hex(9));
    let spec = format!(
        r#""replicas":{replicas},{},"volumeClaimTemplates":[{{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{{"name":"data"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"{}Gi"}}}},"volumeMode":"Filesystem"}},"status":{{"phase":"Pending"}}}}],"serviceName":"{app}","podManagementPolicy":"OrderedReady","updateStrategy":{{"type":"RollingUpdate","rollingUpdate":{{"partition":0}}}},"revisionHistoryLimit":10"#,
        template(fleet, app, ""),
        1 + fleet.below(100)
    );
    let status = format!(
        r#""observedGeneration":1,"replicas":{replicas},"readyReplicas":{replicas},"currentReplicas":{replicas},"updatedReplicas":{replicas},"currentRevision":"{revision}","updateRevision":"{revision}","collisionCount":0,"availableReplicas":{replicas}"#
    );
    (app.to_owned(), spec, status, String::new())
}

fn job(fleet: &mut Fleet, app: &str) -> Parts {
    let uid = fleet.uid();
    let (start, end) = (fleet.time(), fleet.time());
    let number = 29_000_000 + fleet.below(900_000);
    let spec = format!(
        r#""parallelism":1,"completions":1,"backoffLimit":6,{},"completionMode":"NonIndexed","suspend":false,"podReplacementPolicy":"TerminatingOrFailed""#,
        template(
            fleet,
            app,
            &format!(
                r#","batch.kubernetes.io/controller-uid":"{uid}","batch.kubernetes.io/job-name":"{app}-{number}""#
            )
        )
    );
    let status = format!(
        r#""conditions":[{{"type":"SuccessCriteriaMet","status":"True","lastProbeTime":"{end}","lastTransitionTime":"{end}","reason":"CompletionsReached","message":"Reached expected number of succeeded pods"}},{{"type":"Complete","status":"True","lastProbeTime":"{end}","lastTransitionTime":"{end}","reason":"CompletionsReached","message":"Reached expected number of succeeded pods"}}],"startTime":"{start}","completionTime":"{end}","succeeded":1,"terminating":0,"uncountedTerminatedPods":{{}},"ready":0"#
    );
    let owner = owner(fleet, "batch/v1", "CronJob", app);
    (format!("{app}-{number}"), spec, status, owner)
}
