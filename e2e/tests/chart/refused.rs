//! Values that can't be meant: what helm says, and that it says the way out.

use anyhow::Result;

use crate::helm::Helm;

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
        "policyRights={karmda}",
    ] {
        let said = helm.complaint(&["--set", value])?;
        assert!(
            said.contains("don't meet the specifications of the schema"),
            "{value}: {said}"
        );
    }
    Ok(())
}

#[test]
fn values_that_do_not_go_together_are_refused_with_the_way_out() -> Result<()> {
    let helm = Helm::ensure()?;
    for (values, way_out) in [
        ("mode=parts", "use mode: all"),
        ("all.replicas=2", "name a PostgreSQL or MySQL in store.url"),
        (
            "store.url=postgres://u@h/d,store.urlSecret.name=s",
            "the store is one of them",
        ),
        ("store.url=postgres://u:hunter2@h/d", "put it into a Secret"),
        (
            "mode=parts,store.url=mysql://u@h/d,store.read.url=mysql://u:hunter2@h/d",
            "put it into a Secret",
        ),
        ("store.passwordSecret.name=s", "Name a server in store.url"),
        ("store.tlsSecretName=s", "Name one in store.url"),
        (
            "store.url=mysql://u@h/d,store.read.url=mysql://u@h/d",
            "Use mode: parts",
        ),
        (
            "store.migration.enabled=true",
            "name the server in store.migration.url",
        ),
        (
            "store.sqlite.emptyDir=true,store.sqlite.existingClaim=c",
            "one of them",
        ),
        ("synchro.shards={a}", "Use mode: parts"),
        ("apiserver.autoscaling.enabled=true", "Use mode: parts"),
        ("controlPlane.namespace=other", "install into other"),
        (
            "controlPlane.address=host",
            "controlPlane.kubeconfig.secretName",
        ),
        ("controlPlane.subject=user:u", "without apart"),
        (
            "controlPlane.kubeconfig.secretName=k,controlPlane.kubeconfig.apart=true",
            "it is for mode: parts",
        ),
        (
            "install.kubeconfig.secretName=k",
            "by which Armadex runs there",
        ),
        ("certificates.mode=existingSecret", "name the Secret"),
        ("certificates.mode=certManager", "name an issuer"),
    ] {
        let said = helm.complaint(&["--set", values])?;
        assert!(said.contains(way_out), "{values}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    Ok(())
}
