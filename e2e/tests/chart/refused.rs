//! Values that can't be meant: what helm says, and that it says the way out.

use anyhow::Result;

use crate::helm::{Helm, pods, values_named};
use crate::parts::arguments;

#[test]
fn a_misspelt_value_is_refused_by_name() -> Result<()> {
    let helm = Helm::ensure()?;
    for (value, named) in [
        ("modus=parts", "modus"),
        ("apiserver.replica=3", "replica"),
        ("store.passwordSecret.secretName=x", "secretName"),
        ("controlPlane.kubeconfig.secret=x", "'secret'"),
        ("install.editedPolicy=keep", "editedPolicy"),
        ("networkPolicy.egress.rule=x", "'rule'"),
        ("crds.keep=false", "'keep'"),
        ("metrics.serviceMonitor.enable=true", "'enable'"),
        ("apiserver.resources.limit.memory=1Gi", "'limit'"),
        ("policies.karmada.enable=true", "'enable'"),
        ("policies.karmda.enabled=true", "karmda"),
    ] {
        let said = helm.complaint(&["--set", value])?;
        assert!(said.contains(named), "{value}: {said}");
    }
    Ok(())
}

#[test]
fn a_value_of_another_type_or_form_is_refused() -> Result<()> {
    let helm = Helm::ensure()?;
    for value in [
        "mode=three",
        "apiserver.replicas=two",
        "apiserver.replicas=0",
        "store.url=sqlite:/data/x.db",
        "image.digest=0123",
        "certificates.mode=helm",
        "service.type=ExternalName",
        "service.port=70000",
        "synchro.shards={UPPER}",
        "controlPlane.address=https://armadex.example.com",
        "apiserver.extraArgs={max-in-flight}",
        "controlPlane.subject=armadex",
        "controlPlane.credentialNamespaces={kube-system}",
        "controlPlane.namespace=default",
        "controlPlane.servingNamespace=kube-public",
        "controlPlane.kubeconfig.lifetime=7d",
        "controlPlane.kubeconfig.lifetime=3h",
        "controlPlane.kubeconfig.lifetime=87601h",
        "policyRights={karmda}",
        "fullnameOverride=fleet.prod",
        "fullnameOverride=1st",
        "nameOverride=fleet.prod",
        "install.deadlineSeconds=60",
        "certificates.certManager.renewBefore=30d",
        "metrics.serviceMonitor.interval=1m1h",
        "metrics.serviceMonitor.interval=",
    ] {
        let said = helm.complaint(&["--set", value])?;
        assert!(
            said.contains("don't meet the specifications of the schema"),
            "{value}: {said}"
        );
    }
    Ok(())
}

/// Values, and what helm says of the way out; a password is not said again.
fn refused(cases: &[(&str, &str)]) -> Result<()> {
    let helm = Helm::ensure()?;
    for (values, way_out) in cases {
        let said = helm.complaint(&["--set", values])?;
        assert!(said.contains(way_out), "{values}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    Ok(())
}

/// A server, and the parts apart.
const PARTS: &str = "mode=parts,store.url=mysql://u@h/d";

#[test]
fn a_store_that_can_not_be_meant_is_refused_with_the_way_out() -> Result<()> {
    refused(&[
        ("mode=parts", "use mode: all"),
        ("all.replicas=2", "name a PostgreSQL or MySQL in store.url"),
        (
            "store.url=postgres://u@h/d,store.urlSecret.name=s",
            "the store is one of them",
        ),
        ("store.passwordSecret.name=s", "Name a server in store.url"),
        ("store.tlsSecretName=s", "Name one in store.url"),
        (
            "store.url=mysql://u@h/d,store.read.url=mysql://u@h/d",
            "Use mode: parts",
        ),
        (
            "store.url=mysql://u@h/d,store.read.passwordSecret.name=s",
            "Name the replica in store.read.url",
        ),
        (
            "store.migration.enabled=true",
            "name the server in store.migration.url",
        ),
        (
            "store.url=mysql://u@h/d,store.migration.url=mysql://o@h/d",
            "Say store.migration.enabled: true",
        ),
        (
            "store.url=mysql://u@h/d,store.migration.passwordSecret.name=s",
            "Say store.migration.enabled: true",
        ),
        (
            "store.sqlite.emptyDir=true,store.sqlite.existingClaim=c",
            "one of them",
        ),
    ])
}

#[test]
fn a_password_that_everybody_would_see_is_refused() -> Result<()> {
    let secret = "put it into a Secret";
    let read = format!("{PARTS},store.read.url=mysql://u:hunter2@h/d");
    let migration = format!("{PARTS},store.migration.url=mysql://h/d?password=hunter2");
    refused(&[
        ("store.url=postgres://u:hunter2@h/d", secret),
        ("store.url=postgres://u:hun/ter2@h/d", secret),
        ("store.url=postgres://u:hun?ter2@h/d", secret),
        ("store.url=postgres://u:1@h/d", secret),
        ("store.url=postgres://u@h/d?a=b&Password=hunter2", secret),
        (&read, secret),
        (&migration, secret),
        (
            "store.extraArgs={--store=mysql://u:hunter2@h/d}",
            "passwordSecret",
        ),
        (
            "all.extraArgs={--read-store=mysql://u@h/d}",
            "passwordSecret",
        ),
        ("all.extraArgs={--store-password-file=/x}", "passwordSecret"),
    ])?;
    let helm = Helm::ensure()?;
    for url in [
        "postgres://u@h:5432/d?options=a@b",
        "postgres://h:5432/d?options=a@b",
    ] {
        helm.render(
            &values_named("default"),
            &["--set", &format!("store.url={url}")],
        )?;
    }
    Ok(())
}

/// What the chart says of a workload can't be said once more: the program would not start.
#[test]
fn a_flag_that_the_chart_says_is_refused() -> Result<()> {
    let helm = Helm::ensure()?;
    let made = helm.render(&values_named("default"), &[])?;
    let pods = pods(&made);
    let flags = arguments(&pods[0].1).into_iter();
    let flags = flags.filter_map(|flag| Some(flag.split_once('=')?.0));
    let flags: Vec<&str> = flags.collect();
    assert!(flags.len() > 7, "{flags:?}");
    for flag in flags {
        let said = helm.complaint(&["--set", &format!("all.extraArgs={{{flag}=x}}")])?;
        assert!(
            said.contains(&format!("all.extraArgs: {flag} is said by ")),
            "{said}"
        );
    }
    Ok(())
}

#[test]
fn what_somebody_must_mean_of_a_workload_that_does_not_run_is_refused() -> Result<()> {
    let all = format!("{PARTS},all.extraArgs={{--purge-after=0}}");
    refused(&[
        ("synchro.shards={a}", "Use mode: parts"),
        (
            "synchro.extraArgs={--purge-after=0}",
            "say it in all.extraArgs",
        ),
        (
            "controllers.affinity.nodeAffinity.x=y",
            "controllers.affinity",
        ),
        ("apiserver.autoscaling.enabled=true", "Use mode: parts"),
        (&all, "Use mode: all"),
    ])?;
    let both = ["--set", "apiserver.shutdownDelaySeconds=3"];
    Helm::ensure()?.render(&values_named("default"), &both)?;
    Ok(())
}

#[test]
fn an_autoscaler_that_can_not_work_is_refused() -> Result<()> {
    let scaled = format!("{PARTS},apiserver.autoscaling.enabled=true");
    let little = format!("{scaled},apiserver.resources.requests.cpu=0.4");
    let few = format!(
        "{scaled},apiserver.resources.requests.cpu=500m,apiserver.autoscaling.maxReplicas=1"
    );
    refused(&[
        (&scaled, "Request 500m or more"),
        (&little, "Request 500m or more"),
        (&few, "fewer than minReplicas"),
    ])
}

/// Armadex as the administrator of a control plane elsewhere.
const TRY: &str =
    "controlPlane.kubeconfig.secretName=k,controlPlane.kubeconfig.asAdministrator=true";
/// The Jobs would go by the kubeconfig's current context, which may be of another cluster.
const IT_NAMES_NONE: &str =
    "the Secret that install.kubeconfig.secretName names, and it names none";

#[test]
fn a_control_plane_that_can_not_be_meant_is_refused_with_the_way_out() -> Result<()> {
    refused(&[
        ("controlPlane.namespace=other", "install into other"),
        ("controlPlane.address=host", "install.kubeconfig.secretName"),
        ("controlPlane.subject=user:u", "without apart"),
        (
            "controlPlane.kubeconfig.secretName=k,controlPlane.kubeconfig.apart=true",
            "it is for mode: parts",
        ),
        (
            "install.kubeconfig.secretName=k,install.enabled=false",
            "nobody issues a kubeconfig",
        ),
        (
            "install.kubeconfig.secretName=k,controlPlane.kubeconfig.asAdministrator=true",
            "which it issues itself",
        ),
        (
            "install.kubeconfig.secretName=k,controlPlane.kubeconfig.key=config",
            "install.kubeconfig.key",
        ),
        (
            "install.kubeconfig.secretName=k,controlPlane.kubeconfig.context=c",
            "install.kubeconfig.key and context",
        ),
        (
            "install.kubeconfig.secretName=k,controlPlane.subject=user:u",
            "without apart",
        ),
        (
            "controlPlane.kubeconfig.secretName=k",
            "controlPlane.kubeconfig.asAdministrator: true",
        ),
        (
            "controlPlane.kubeconfig.secretName=k,install.kubeconfig.secretName=k",
            "Armadex issues itself another one",
        ),
        (
            "controlPlane.kubeconfig.asAdministrator=true",
            "has accounts of its own",
        ),
        ("install.takeOver=true", "--take-ownership"),
        (
            "controlPlane.servingNamespace=team-a,controlPlane.credentialNamespaces={team-a}",
            "can pass for Armadex",
        ),
        (
            "policies.vcluster.enabled=true",
            "controlPlane.credentialNamespaces",
        ),
        (
            "policies.kubeconfig.enabled=true",
            "controlPlane.credentialNamespaces",
        ),
    ])
}

#[test]
fn what_is_said_of_a_kubeconfig_that_there_is_not_is_refused_with_the_way_out() -> Result<()> {
    refused(&[
        (
            "controlPlane.kubeconfig.context=c",
            "this cluster would be the control plane",
        ),
        (
            "controlPlane.kubeconfig.key=config",
            "this cluster would be the control plane",
        ),
        (
            &format!("{TRY},install.kubeconfig.context=c"),
            IT_NAMES_NONE,
        ),
        (
            &format!("{TRY},install.kubeconfig.key=config"),
            IT_NAMES_NONE,
        ),
        ("install.kubeconfig.context=c", IT_NAMES_NONE),
        (
            "controlPlane.kubeconfig.lifetime=24h",
            "Armadex issues itself, and it issues none",
        ),
        (
            "install.kubeconfig.secretName=a,controlPlane.kubeconfig.secretName=k,controlPlane.kubeconfig.lifetime=24h",
            "--set controlPlane.kubeconfig.lifetime=null",
        ),
        (
            "install.kubeconfig.secretName=a,controlPlane.kubeconfig.secretName=k,install.enabled=false",
            "it is for the Jobs",
        ),
        (
            "install.removePolicies=true,install.enabled=false",
            "delete them yourself before you uninstall",
        ),
    ])
}

/// With the values of before, which an upgrade keeps, nothing can be left out.
#[test]
fn what_is_taken_back_is_as_if_it_had_never_been_said() -> Result<()> {
    let helm = Helm::ensure()?;
    for (values, back) in [
        (
            "default",
            "install.kubeconfig.key=null,controlPlane.kubeconfig.key=null,controlPlane.kubeconfig.lifetime=null",
        ),
        ("try", "controlPlane.kubeconfig.key=null"),
        ("karmada", "install.kubeconfig.key=null"),
    ] {
        let values = values_named(values);
        let made = helm.render(&values, &["--set", back])?;
        assert_eq!(made, helm.render(&values, &[])?, "{back}");
    }
    Ok(())
}

/// Whoever is there beside Armadex would have their Secrets read, and `armadex install` refuses them too.
#[test]
fn a_namespace_that_others_use_is_refused() -> Result<()> {
    let helm = Helm::ensure()?;
    for namespace in ["default", "kube-public"] {
        let said = helm.complaint(&["--namespace", namespace])?;
        assert!(said.contains("--namespace clusterpedia-system"), "{said}");
    }
    let elsewhere = ["--namespace", "default"];
    helm.render(&values_named("karmada"), &elsewhere)?;
    Ok(())
}

#[test]
fn certificates_that_can_not_be_meant_are_refused_with_the_way_out() -> Result<()> {
    let made = "certificates.mode=certManager,certificates.certManager.issuerRef.name=ca,certificates.certManager";
    let late = format!("{made}.duration=1h30m,certificates.certManager.renewBefore=90m");
    let soon = format!("{made}.duration=59m59s,certificates.certManager.renewBefore=10m");
    let hasty = format!("{made}.renewBefore=4m59s");
    refused(&[
        ("certificates.mode=existingSecret", "name the Secret"),
        ("certificates.mode=certManager", "name an issuer"),
        (
            "certificates.existingSecret=s",
            "Say certificates.mode: existingSecret",
        ),
        (
            "certificates.certManager.issuerRef.name=ca",
            "Say certificates.mode: certManager",
        ),
        (&late, "not less than the duration"),
        (&soon, "the hour that cert-manager takes"),
        (&hasty, "the five minutes that cert-manager takes"),
    ])
}

#[test]
fn what_is_said_of_who_comes_and_goes_and_is_not_so_is_refused_with_the_way_out() -> Result<()> {
    refused(&[
        ("service.nodePort=30443", "Say NodePort or LoadBalancer"),
        (
            "service.type=NodePort,service.loadBalancerClass=c",
            "there is no load balancer",
        ),
        (
            "service.loadBalancerSourceRanges={10.0.0.0/8}",
            "networkPolicy.apiFrom",
        ),
        (
            "networkPolicy.enabled=false,metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.interval=5s",
            "metrics.serviceMonitor.scrapeTimeout: 10s is more than the interval, 5s",
        ),
        (
            "networkPolicy.egress.enabled=true",
            "networkPolicy.egress.rules",
        ),
        (
            "networkPolicy.enabled=false,networkPolicy.egress.enabled=true",
            "nothing is closed",
        ),
        (
            "networkPolicy.enabled=false,networkPolicy.apiFrom[0].podSelector.matchLabels.a=b",
            "nothing is closed",
        ),
        (
            "metrics.serviceMonitor.enabled=true",
            "networkPolicy.metricsFrom",
        ),
        (
            "metrics.prometheusRule.enabled=true,metrics.prometheusRule.job=a",
            "networkPolicy.metricsFrom",
        ),
        (
            "metrics.prometheusRule.disabled={ArmadexDwn}",
            "there is no alert ArmadexDwn, but ArmadexDown",
        ),
        (
            "commonLabels.app\\.kubernetes\\.io/name=x",
            "Call yours otherwise",
        ),
        ("podLabels.armadex\\.dev/serves=x", "Call yours otherwise"),
    ])
}
