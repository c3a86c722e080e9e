//! The command lines of kube-apiserver and kube-controller-manager.
//!
//! Pure: takes where things are, gives arguments.

use serde::{Deserialize, Serialize};

use crate::etcd::Etcd;
use crate::pki::Pki;

/// What a cluster is there for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// To keep objects. Pods are objects, too: nobody runs them.
    #[default]
    Objects,
    /// To run pods as well, which its controllers make and a [`crate::kubelet`] runs.
    Pods,
}

/// What Armadex and Karmada's control plane need of the controller manager, and nothing that schedules or runs anything.
const CONTROLLERS: [&str; 5] = [
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "clusterrole-aggregation-controller",
];

/// What makes pods, and what they need, of what a chart may have.
const CONTROLLERS_OF_PODS: [&str; 8] = [
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "job-controller",
    "endpointslice-controller",
    "disruption-controller",
    "root-ca-certificate-publisher-controller",
    "persistentvolumeclaim-protection-controller",
];

/// The arguments of kube-apiserver.
pub(crate) fn apiserver(port: u16, etcd: &Etcd, pki: &Pki, work: Work) -> Vec<String> {
    let mut arguments = of_every_apiserver(port, etcd, pki);
    if work == Work::Objects {
        // Pods are never run, so none waits for its token.
        arguments.push("--disable-admission-plugins=ServiceAccount".to_owned());
    }
    arguments
}

fn of_every_apiserver(port: u16, etcd: &Etcd, pki: &Pki) -> Vec<String> {
    let file = |name: &str| pki.file(name).display().to_string();
    vec![
        format!("--etcd-servers={}", etcd.url),
        format!("--etcd-prefix={}", etcd.prefix),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        // Endpoints on loopback are refused, and nothing here looks for the `kubernetes` Service.
        "--endpoint-reconciler-type=none".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/12".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        format!("--service-account-key-file={}", file("service-account.pub")),
        format!(
            "--service-account-signing-key-file={}",
            file("service-account.key")
        ),
        format!("--client-ca-file={}", file("ca.crt")),
        format!("--tls-cert-file={}", file("server.crt")),
        format!("--tls-private-key-file={}", file("server.key")),
        format!(
            "--requestheader-client-ca-file={}",
            file("front-proxy-ca.crt")
        ),
        "--requestheader-allowed-names=front-proxy-client".to_owned(),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
        format!(
            "--proxy-client-cert-file={}",
            file("front-proxy-client.crt")
        ),
        format!("--proxy-client-key-file={}", file("front-proxy-client.key")),
        "--profiling=false".to_owned(),
    ]
}

/// The arguments of kube-controller-manager.
pub(crate) fn controller_manager(kubeconfig: &str, pki: &Pki, work: Work) -> Vec<String> {
    let of_pods = match work {
        Work::Objects => &[][..],
        Work::Pods => &CONTROLLERS_OF_PODS,
    };
    vec![
        format!("--kubeconfig={kubeconfig}"),
        format!(
            "--controllers={}",
            [&CONTROLLERS, of_pods].concat().join(",")
        ),
        "--leader-elect=false".to_owned(),
        // It serves nobody; its work is seen through the apiserver.
        "--secure-port=0".to_owned(),
        format!("--root-ca-file={}", pki.file("ca.crt").display()),
        format!(
            "--service-account-private-key-file={}",
            pki.file("service-account.key").display()
        ),
        "--profiling=false".to_owned(),
    ]
}
