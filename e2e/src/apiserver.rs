//! The command lines of kube-apiserver and kube-controller-manager.
//!
//! Pure: takes where things are, gives arguments.

use crate::etcd::Etcd;
use crate::pki::Pki;

/// What Armadex and Karmada's control plane need of the controller manager, and nothing that schedules or runs anything.
const CONTROLLERS: [&str; 5] = [
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "clusterrole-aggregation-controller",
];

/// The arguments of kube-apiserver.
pub(crate) fn apiserver(port: u16, etcd: &Etcd, pki: &Pki) -> Vec<String> {
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
        // Pods are never run, so none waits for its token.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
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
pub(crate) fn controller_manager(kubeconfig: &str, pki: &Pki) -> Vec<String> {
    vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--controllers={}", CONTROLLERS.join(",")),
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
