//! What the chart's CRDs refuse on a real apiserver, and with which words: each rule, each pattern and each closed set of words that they hold a spec to is broken once.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use armadex_e2e::{Kubectl, chart};
use serde_json::{Value, json};

/// Where a policy breaks a rule, by what, and what is said.
const OF_POLICIES: [(&str, &str, &str); 14] = [
    (
        "/nameTemplate",
        "",
        "nameTemplate must not be empty: it names the PediaCluster",
    ),
    (
        "/nameTemplate",
        "{{source.metadata.name",
        "nameTemplate has a {{ that no }} closes",
    ),
    (
        "/template",
        "",
        "template must not be empty: it is the PediaCluster",
    ),
    (
        "/template",
        "spec: {apiserver: {{source.url}}, syncResources: {{source.kinds}",
        "template has a {{ that no }} closes",
    ),
    (
        "/creationCondition",
        "{{{",
        "creationCondition has a {{ that no }} closes",
    ),
    (
        "/source/resource",
        "",
        "source.resource must be a plural resource name, such as clusters",
    ),
    (
        "/source/selectorTemplate",
        "{{",
        "source.selectorTemplate has a {{ that no }} closes",
    ),
    (
        "/references/0/key",
        "",
        "references[].key must not be empty: templates find the object by it",
    ),
    (
        "/references/0/resource",
        "",
        "references[].resource must be a plural resource name, such as secrets",
    ),
    (
        "/references/0/nameTemplate",
        "",
        "references[].nameTemplate must not be empty: it names the object",
    ),
    (
        "/references/0/nameTemplate",
        "{{! a comment",
        "references[].nameTemplate has a {{ that no }} closes",
    ),
    (
        "/references/0/namespaceTemplate",
        "a-{{source.metadata.name }",
        "references[].namespaceTemplate has a {{ that no }} closes",
    ),
    (
        "/references/0/namespaceTemplate",
        "",
        "references[].namespaceTemplate is missing: Secrets and ConfigMaps lie in namespaces",
    ),
    (
        "/references/1/namespaceTemplate",
        "",
        "references[].namespaceTemplate is missing: Secrets and ConfigMaps lie in namespaces",
    ),
];
const OF_CLUSTERS: [(&str, &str, &str); 2] = [
    (
        "/connection/proxyURL",
        "proxy.example:3128",
        "proxyURL must begin with http://, https:// or socks5://",
    ),
    (
        "/connection/proxyURL",
        "",
        "proxyHeader is sent to a proxy: set proxyURL too",
    ),
];
/// Templates that look as if a tag had no end, and that the controllers take.
const TAKEN: [&str; 4] = [
    "{{source.metadata.name}} }} a",
    r"\{{ as text",
    "{{{source.metadata.name}}}",
    r#"{{toJson "{{"}}"#,
];

/// Takes a control plane that has the CRDs.
pub(crate) async fn each_rule_is_broken_with_its_words(host: &Kubectl) -> Result<()> {
    let kinds = [
        (
            "policy.clusterpedia.io_clusterimportpolicies",
            policy(),
            &OF_POLICIES[..],
        ),
        (
            "cluster.clusterpedia.io_pediaclusters",
            cluster(),
            &OF_CLUSTERS,
        ),
        (
            "policy.clusterpedia.io_pediaclusterlifecycles",
            lifecycle(),
            &[],
        ),
    ];
    for (file, whole, cases) in kinds {
        let mut held = Held::default();
        held.find(&spec_of(file)?, "");
        let provoked: BTreeSet<&str> = cases.iter().map(|(_, _, words)| *words).collect();
        let told: BTreeSet<&str> = held.rules.iter().map(String::as_str).collect();
        assert_eq!(provoked, told, "{file}: a case for each rule");
        for (at, value, words) in cases {
            refused(host, &whole, at, value, words).await?;
        }
        ensure!(
            !held.patterns.is_empty() || !held.words.is_empty(),
            "{file}"
        );
        for at in &held.patterns {
            for value in ["a/b", "*"] {
                let words = format!("{} in body should match", dotted(at));
                refused(host, &whole, at, value, &words).await?;
            }
        }
        for at in &held.words {
            let words = format!("{}: Unsupported value", dotted(at));
            refused(host, &whole, at, "other", &words).await?;
        }
        host.apply(&whole.to_string()).await.context(file)?;
    }
    for template in TAKEN {
        let taken = with(&policy(), "/nameTemplate", template)?;
        host.apply(&taken.to_string()).await.context(template)?;
    }
    Ok(())
}

/// What a spec is held to, by the places of its fields.
#[derive(Default)]
struct Held {
    /// What is said where a rule is broken.
    rules: Vec<String>,
    patterns: Vec<String>,
    words: Vec<String>,
}

impl Held {
    fn find(&mut self, schema: &Value, at: &str) {
        let rules = schema["x-kubernetes-validations"].as_array();
        let messages = rules.into_iter().flatten();
        let messages = messages.filter_map(|rule| rule["message"].as_str());
        self.rules.extend(messages.map(str::to_owned));
        if schema["pattern"].is_string() {
            self.patterns.push(at.to_owned());
        }
        if schema["enum"].is_array() {
            self.words.push(at.to_owned());
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            self.find(field, &format!("{at}/{name}"));
        }
        if schema["items"].is_object() {
            self.find(&schema["items"], &format!("{at}/0"));
        }
    }
}

fn spec_of(file: &str) -> Result<Value> {
    let path = chart::folder().join(format!("files/crds/{file}.yaml"));
    let definition: Value = serde_saphyr::from_str(&std::fs::read_to_string(path)?)?;
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    Ok(definition.pointer(schema).context("a schema")?.clone())
}

/// As API servers write it.
fn dotted(at: &str) -> String {
    let parts = at.split('/').skip(1).map(|part| match part {
        "0" => "[0]".to_owned(),
        name => format!(".{name}"),
    });
    format!("spec{}", parts.collect::<String>())
}

fn with(whole: &Value, at: &str, value: &str) -> Result<Value> {
    let mut edited = whole.clone();
    let field = edited.pointer_mut(&format!("/spec{at}"));
    *field.with_context(|| format!("there is no {at}"))? = json!(value);
    Ok(edited)
}

async fn refused(host: &Kubectl, whole: &Value, at: &str, value: &str, words: &str) -> Result<()> {
    let edited = with(whole, at, value)?;
    let applied = host.apply(&edited.to_string()).await;
    let said = applied
        .err()
        .with_context(|| format!("{at} was taken as {value:?}"))?;
    let said = format!("{said:#}");
    ensure!(said.contains(words), "{at} as {value:?}: {said}");
    Ok(())
}

fn policy() -> Value {
    let reference = |key: &str, resource: &str| {
        json!({"key": key, "group": "", "resource": resource, "versions": ["v1"], "namespaceTemplate": "seeds",
            "nameTemplate": "{{source.metadata.name}}"})
    };
    json!({
        "apiVersion": "policy.clusterpedia.io/v1alpha1",
        "kind": "ClusterImportPolicy",
        "metadata": {"name": "whole"},
        "spec": {
            "source": {"group": "garden.example", "resource": "plants", "versions": ["v1"], "selectorTemplate": "true"},
            "references": [reference("seed", "secrets"), reference("soil", "configmaps")],
            "nameTemplate": "{{source.metadata.name}}",
            "template": "spec: {syncResources: []}",
            "creationCondition": "true",
            "templateEngine": "Handlebars",
        },
    })
}

fn cluster() -> Value {
    json!({
        "apiVersion": "cluster.clusterpedia.io/v1alpha2",
        "kind": "PediaCluster",
        "metadata": {"name": "whole"},
        "spec": {
            "connection": {
                "proxyURL": "http://proxy.example:3128",
                "proxyHeader": {"a": "b"},
                "controlPlaneProxy": {"group": "garden.example", "version": "v1", "resource": "plants", "name": "rose"},
            },
            "authorizationMode": "inner",
            "syncResources": [],
        },
    })
}

fn lifecycle() -> Value {
    json!({
        "apiVersion": "policy.clusterpedia.io/v1alpha1",
        "kind": "PediaClusterLifecycle",
        "metadata": {"name": "whole"},
        "spec": {
            "source": {"group": "garden.example", "version": "v1", "resource": "plants", "namespace": "beds", "name": "rose"},
            "references": [{"key": "seed", "group": "", "version": "v1", "resource": "secrets", "namespaceTemplate": "seeds",
                "nameTemplate": "rose"}],
            "template": "spec: {syncResources: []}",
            "creationCondition": "true",
            "templateEngine": "Handlebars",
        },
    })
}
