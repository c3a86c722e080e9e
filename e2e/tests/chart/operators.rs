//! What is rendered for other people's operators, Prometheus' and cert-manager's, is held to the CRDs that these ship.

use anyhow::{Context, Result, ensure};
use armadex_e2e::{Kubectl, tools};
use serde_json::{Value, json};

use crate::apiserver::taken;
use crate::helm::{self, Helm};

const KINDS: [&str; 3] = ["ServiceMonitor", "PrometheusRule", "Certificate"];

/// Values by which something else is made for them, beside those of the files of ci: each default, and what the schema of values takes at its edges.
const VALUES: [&str; 18] = [
    "",
    "commonLabels.team=platform,commonAnnotations.owner=platform,fullnameOverride=fleet",
    "metrics.serviceMonitor.labels.release=prometheus",
    "metrics.serviceMonitor.interval=1m30s",
    "metrics.serviceMonitor.interval=1d2h3m4s5ms",
    "metrics.serviceMonitor.interval=500ms,metrics.serviceMonitor.scrapeTimeout=250ms",
    "metrics.serviceMonitor.metricRelabelings[0].action=labeldrop,metrics.serviceMonitor.metricRelabelings[0].regex=pod",
    "metrics.serviceMonitor.metricRelabelings[0].action=keep,metrics.serviceMonitor.metricRelabelings[0].sourceLabels={__name__},\
     metrics.serviceMonitor.metricRelabelings[0].regex=armadex_.*",
    "metrics.serviceMonitor.enabled=false,metrics.prometheusRule.job=monitoring/armadex",
    "metrics.prometheusRule.labels.release=prometheus",
    "metrics.prometheusRule.alertLabels.team=platform,metrics.prometheusRule.alertLabels.severity=page",
    "metrics.prometheusRule.runbookUrl=https://docs.example.com/alerts.md",
    "metrics.prometheusRule.disabled={ArmadexEventsRefused}",
    "mode=parts,store.url=postgres://u@h/d,synchro.shards={eu,us}",
    "certificates.certManager.issuerRef.kind=ClusterIssuer",
    "certificates.certManager.issuerRef.kind=AWSPCAIssuer,certificates.certManager.issuerRef.group=awspca.cert-manager.io",
    "certificates.certManager.duration=720h30m10s,certificates.certManager.renewBefore=90m",
    "controlPlane.kubeconfig.secretName=fleet,controlPlane.kubeconfig.asAdministrator=true,controlPlane.namespace=search",
];

/// What each of them is made at all by.
const ENABLED: &str = "networkPolicy.enabled=false,metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,\
    certificates.mode=certManager,certificates.certManager.issuerRef.name=ca";

/// Has an apiserver know their kinds.
pub(crate) async fn define(host: &Kubectl) -> Result<()> {
    for path in tools::definitions()? {
        let path = path.to_str().context("a path")?;
        // The text of one is more than kubectl notes down of what it applied.
        host.run(&["apply", "--server-side", "--filename", path])
            .await?;
        let established = "--for=condition=Established";
        host.run(&["wait", established, "--filename", path]).await?;
    }
    Ok(())
}

fn made(helm: &Helm, values: &str) -> Result<Vec<Value>> {
    let flags: String = [ENABLED, ",", values].concat();
    let flags: String = flags.split_whitespace().collect();
    let flags = flags.trim_end_matches(',');
    let mut made = helm.render(&helm::values_named("default"), &["--set", flags])?;
    made.retain(|object| KINDS.iter().any(|kind| object["kind"] == *kind));
    Ok(made)
}

pub(crate) async fn take_what_is_made_of_each_value(host: &Kubectl, helm: &Helm) -> Result<()> {
    for values in VALUES {
        taken(host, made(helm, values)?)
            .await
            .with_context(|| values.to_owned())?;
    }
    Ok(())
}

/// A CRD may take whatever comes: these do not.
pub(crate) async fn refuse_what_they_do_not_know(host: &Kubectl, helm: &Helm) -> Result<()> {
    let all = made(helm, "")?;
    for (kind, place, wrong, words) in [
        (
            "ServiceMonitor",
            "/spec/endpoints/0/scrapeTimeOut",
            json!("10s"),
            "unknown field",
        ),
        (
            "ServiceMonitor",
            "/spec/endpoints/0/interval",
            json!("1m1h"),
            "should match",
        ),
        (
            "PrometheusRule",
            "/spec/groups/0/rules/0/runbook",
            json!("a"),
            "unknown field",
        ),
        (
            "PrometheusRule",
            "/spec/groups/1/interval",
            json!("often"),
            "should match",
        ),
        (
            "Certificate",
            "/spec/dnsNamez",
            json!(["a"]),
            "unknown field",
        ),
        (
            "Certificate",
            "/spec/privateKey/algorithm",
            json!("DSA"),
            "Unsupported value",
        ),
    ] {
        let object = all.iter().find(|object| object["kind"] == kind);
        let mut object = object.context(kind)?.clone();
        let (parent, field) = place.rsplit_once('/').context("a place")?;
        object.pointer_mut(parent).context(place)?[field] = wrong;
        let error = taken(host, vec![object]).await;
        let said = error.err().map(|error| error.to_string());
        let said = said.with_context(|| format!("{place} of a {kind} was taken"))?;
        ensure!(said.contains(words), "{place}: {said}");
    }
    Ok(())
}
