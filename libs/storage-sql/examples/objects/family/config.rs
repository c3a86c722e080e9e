//! ConfigMaps, Secrets without values, service accounts and RBAC.

use super::{Metadata, labels, some};
use crate::objects::Fleet;

/// One object of configuration or access.
pub(crate) fn config(fleet: &mut Fleet) -> String {
    let app = fleet.app();
    let namespace = fleet.namespace();
    let labels = labels(fleet, &app);
    let annotations = format!(
        r#""meta.helm.sh/release-name":"{app}","meta.helm.sh/release-namespace":"{namespace}","#
    );
    let metadata = Metadata {
        name: &app,
        namespace: Some(&namespace),
        labels: &labels,
        annotations: &annotations,
        owner: "",
    };
    let head = metadata.body(fleet);
    let rest = match fleet.below(5) {
        0 => format!(
            r#""data":{{{}}}"#,
            some(fleet, 6, |f| format!(
                r#""{}.yaml":"{}:\n  {}: {}\n""#,
                f.key(),
                f.key(),
                f.key(),
                f.prose(6)
            ))
        ),
        1 => format!(
            r#""data":{{{}}},"type":"{}""#,
            some(fleet, 4, |f| format!(r#""{}":"""#, f.key())),
            fleet.one_of(&[
                "Opaque",
                "kubernetes.io/tls",
                "kubernetes.io/dockerconfigjson",
                "helm.sh/release.v1",
                "kubernetes.io/service-account-token"
            ])
        ),
        2 => format!(r#""rules":[{}]"#, some(fleet, 5, rule)),
        3 => format!(
            r#""subjects":[{{"kind":"ServiceAccount","name":"{app}","namespace":"{namespace}"}}],"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"{}","name":"{app}"}}"#,
            fleet.one_of(&["Role", "ClusterRole"])
        ),
        _ => format!(
            r#""secrets":[{{"name":"{app}-token"}}],"imagePullSecrets":[{{"name":"{}"}}],"automountServiceAccountToken":false"#,
            fleet.key()
        ),
    };
    format!("{head},{rest}}}")
}

fn rule(fleet: &mut Fleet) -> String {
    let verbs = fleet.one_of(&[
        r#""get","list","watch""#,
        r#""get","list","watch","create","update","patch","delete""#,
        r#""*""#,
        r#""create","patch""#,
    ]);
    let group = fleet.one_of(&[
        "",
        "apps",
        "batch",
        "rbac.authorization.k8s.io",
        "networking.k8s.io",
        "coordination.k8s.io",
    ]);
    let resources = fleet.one_of(&[
        r#""pods","pods/log""#,
        r#""deployments","replicasets""#,
        r#""configmaps","secrets""#,
        r#""events""#,
        r#""leases""#,
        r#""services","endpoints""#,
    ]);
    format!(r#"{{"verbs":[{verbs}],"apiGroups":["{group}"],"resources":[{resources}]}}"#)
}
