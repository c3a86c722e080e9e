//! The variables of a container, from where its pod says.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvVarSource, Pod, Secret};
use kube::{Api, ResourceExt};

use super::node::{NAME, Node, Placed};

/// Where programs are looked for that name none.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// All of them; an error while something that they are taken from is not there.
pub(super) async fn of(
    node: &Node,
    pod: &Pod,
    placed: &Placed,
    container: &Container,
) -> Result<Vec<(String, String)>> {
    ensure!(
        container.env_from.iter().flatten().next().is_none(),
        "envFrom is not known here"
    );
    let mut all = vec![
        ("PATH".to_owned(), PATH.to_owned()),
        ("HOSTNAME".to_owned(), pod.name_any()),
        // Where this machine has it, for nothing leads to the Service `kubernetes`.
        ("KUBERNETES_SERVICE_HOST".to_owned(), "127.0.0.1".to_owned()),
        (
            "KUBERNETES_SERVICE_PORT".to_owned(),
            node.apiserver.to_string(),
        ),
    ];
    for variable in container.env.iter().flatten() {
        let value = match &variable.value_from {
            Some(source) => value_from(node, pod, placed, source).await?,
            None => variable.value.clone(),
        };
        if let Some(value) = value {
            is_plain(&value).with_context(|| format!("variable {}", variable.name))?;
            all.push((variable.name.clone(), value));
        }
    }
    Ok(all)
}

/// What refers to variables is another text in a real pod.
pub(super) fn is_plain(text: &str) -> Result<()> {
    ensure!(
        !text.contains("$("),
        "what refers to $(VARIABLES) is not known here"
    );
    Ok(())
}

async fn value_from(
    node: &Node,
    pod: &Pod,
    placed: &Placed,
    source: &EnvVarSource,
) -> Result<Option<String>> {
    let namespace = &placed.namespace;
    if let Some(key) = &source.secret_key_ref {
        let secrets: Api<Secret> = Api::namespaced(node.client.clone(), namespace);
        let data = secrets.get(&key.name).await?.data.unwrap_or_default();
        let found = data
            .get(&key.key)
            .map(|bytes| String::from_utf8(bytes.0.clone()));
        return of_key(found.transpose()?, key.optional, &key.name, &key.key);
    }
    if let Some(key) = &source.config_map_key_ref {
        let maps: Api<ConfigMap> = Api::namespaced(node.client.clone(), namespace);
        let data = maps.get(&key.name).await?.data.unwrap_or_default();
        return of_key(
            data.get(&key.key).cloned(),
            key.optional,
            &key.name,
            &key.key,
        );
    }
    if let Some(field) = &source.field_ref {
        return Ok(Some(of_field(pod, placed, &field.field_path)?));
    }
    bail!("a variable is taken from what is not known here: {source:?}")
}

fn of_key(
    found: Option<String>,
    optional: Option<bool>,
    name: &str,
    key: &str,
) -> Result<Option<String>> {
    ensure!(
        found.is_some() || optional == Some(true),
        "{name} has no key {key}"
    );
    Ok(found)
}

/// A field of the pod, as it may stand in a variable or a file.
pub(super) fn of_field(pod: &Pod, placed: &Placed, path: &str) -> Result<String> {
    let account = pod.spec.as_ref();
    let account = account.and_then(|spec| spec.service_account_name.clone());
    let keyed = |map: &BTreeMap<String, String>, key: &str| {
        map.get(key.trim_end_matches("']"))
            .cloned()
            .unwrap_or_default()
    };
    Ok(match path {
        "metadata.name" => placed.name.clone(),
        "metadata.namespace" => placed.namespace.clone(),
        "metadata.uid" => pod.uid().unwrap_or_default(),
        "spec.nodeName" => NAME.to_owned(),
        "spec.serviceAccountName" => account.unwrap_or_default(),
        "status.podIP" => placed.network.address.to_string(),
        _ => match path.split_once("['") {
            Some(("metadata.labels", key)) => keyed(pod.labels(), key),
            Some(("metadata.annotations", key)) => keyed(pod.annotations(), key),
            _ => bail!("the field {path} is not known here"),
        },
    })
}
