//! Everything else: services, endpoint slices, leases, namespaces, volumes, ingresses, custom resources.

use super::{Metadata, labels, owner, some};
use crate::objects::Fleet;

/// One object of a kind without a family.
pub(crate) fn generic(fleet: &mut Fleet) -> String {
    let app = fleet.app();
    let namespace = fleet.namespace();
    let labels = labels(fleet, &app);
    let (owner, rest) = match fleet.below(7) {
        0 => (String::new(), service(fleet, &app)),
        1 => (
            owner(fleet, "v1", "Service", &app),
            endpoints(fleet, &namespace),
        ),
        2 => (String::new(), lease(fleet)),
        3 => (
            String::new(),
            format!(
                r#""spec":{{"finalizers":["kubernetes"]}},"status":{{"phase":"{}"}}"#,
                fleet.one_of(&["Active", "Active", "Terminating"])
            ),
        ),
        4 => (String::new(), claim(fleet)),
        5 => (String::new(), ingress(fleet, &app)),
        _ => (String::new(), custom(fleet)),
    };
    let metadata = Metadata {
        name: &app,
        namespace: Some(&namespace),
        labels: &labels,
        annotations: "",
        owner: &owner,
    };
    format!("{},{rest}}}", metadata.body(fleet))
}

fn service(fleet: &mut Fleet, app: &str) -> String {
    let ip = fleet.ip();
    let port = 80 + fleet.below(9000);
    format!(
        r#""spec":{{"ports":[{{"name":"http","protocol":"TCP","port":{port},"targetPort":{port}}}],"selector":{{"app":"{app}"}},"clusterIP":"{ip}","clusterIPs":["{ip}"],"type":"{}","sessionAffinity":"None","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","internalTrafficPolicy":"Cluster"}},"status":{{"loadBalancer":{{}}}}"#,
        fleet.one_of(&["ClusterIP", "NodePort", "LoadBalancer"])
    )
}

fn endpoints(fleet: &mut Fleet, namespace: &str) -> String {
    let list = some(fleet, 5, |f| {
        let name = format!("{}-{}-{}", f.app(), f.hex(9), f.suffix());
        format!(
            r#"{{"addresses":["{}"],"conditions":{{"ready":true,"serving":true,"terminating":false}},"targetRef":{{"kind":"Pod","namespace":"{namespace}","name":"{name}","uid":"{}"}},"nodeName":"{}","zone":"eu-west-1a"}}"#,
            f.ip(),
            f.uid(),
            f.node()
        )
    });
    format!(
        r#""addressType":"IPv4","endpoints":[{list}],"ports":[{{"name":"http","port":{},"protocol":"TCP"}}]"#,
        80 + fleet.below(9000)
    )
}

fn lease(fleet: &mut Fleet) -> String {
    let (acquired, renewed) = (fleet.time(), fleet.time());
    format!(
        r#""spec":{{"holderIdentity":"{}","leaseDurationSeconds":40,"acquireTime":"{acquired}","renewTime":"{renewed}","leaseTransitions":{}}}"#,
        fleet.node(),
        fleet.below(50)
    )
}

fn claim(fleet: &mut Fleet) -> String {
    let size = 1 + fleet.below(500);
    format!(
        r#""spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"{size}Gi"}}}},"volumeName":"pvc-{}","storageClassName":"{}","volumeMode":"Filesystem"}},"status":{{"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{{"storage":"{size}Gi"}}}}"#,
        fleet.uid(),
        fleet.one_of(&["standard", "gp3", "premium-rwo"])
    )
}

fn ingress(fleet: &mut Fleet, app: &str) -> String {
    let host = format!("{app}.{}.example", fleet.team());
    format!(
        r#""spec":{{"ingressClassName":"nginx","tls":[{{"hosts":["{host}"],"secretName":"{app}-tls"}}],"rules":[{{"host":"{host}","http":{{"paths":[{{"path":"/","pathType":"Prefix","backend":{{"service":{{"name":"{app}","port":{{"number":{}}}}}}}}}]}}}}]}},"status":{{"loadBalancer":{{"ingress":[{{"ip":"{}"}}]}}}}"#,
        80 + fleet.below(9000),
        fleet.ip()
    )
}

fn custom(fleet: &mut Fleet) -> String {
    let spec = some(fleet, 6, |f| format!(r#""{}":"{}""#, f.key(), f.prose(2)));
    let at = fleet.time();
    format!(
        r#""spec":{{{spec}}},"status":{{"observedGeneration":{},"conditions":[{{"type":"Ready","status":"True","observedGeneration":1,"lastTransitionTime":"{at}","reason":"Reconciled","message":"{}"}}]}}"#,
        1 + fleet.below(9),
        fleet.prose(5)
    )
}
