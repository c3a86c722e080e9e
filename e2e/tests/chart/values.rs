//! Each value is described, held to a schema and tried.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use armadex_e2e::chart;
use serde_json::Value;

use crate::helm;

fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(chart::folder().join(name)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// A part of the schema, where it refers to another one that one.
fn resolved<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    let name = part["$ref"].as_str();
    let name = name.and_then(|name| name.strip_prefix("#/definitions/"));
    name.map_or(part, |name| &schema["definitions"][name])
}

/// What the schema says of a value, by its name with dots.
fn of<'a>(schema: &'a Value, name: &str) -> Result<&'a Value> {
    name.split('.').try_fold(schema, |part, key| {
        let said = resolved(schema, part)["properties"].get(key);
        said.with_context(|| format!("the schema does not know {key} of {name}"))
    })
}

#[test]
fn the_schema_knows_each_value_and_no_other() -> Result<()> {
    let schema = read("values.schema.json");
    let told: BTreeSet<String> = chart::values()?.into_iter().map(|told| told.name).collect();
    for name in &told {
        of(&schema, name)?;
    }
    let known = &mut BTreeSet::new();
    leaves(&schema, &schema, "", &told, known);
    // helm gives it to every part of a chart.
    known.remove("global");
    let untold: Vec<_> = known.difference(&told).collect();
    assert!(untold.is_empty(), "values.yaml does not tell {untold:?}");
    Ok(())
}

/// The names of all that the schema knows, down to what `values.yaml` tells as one value.
fn leaves(
    schema: &Value,
    part: &Value,
    name: &str,
    told: &BTreeSet<String>,
    all: &mut BTreeSet<String>,
) {
    let part = resolved(schema, part);
    match part["properties"].as_object() {
        Some(properties) if !told.contains(name) => {
            assert_eq!(
                part["additionalProperties"], false,
                "{name} takes whatever is said"
            );
            for (key, part) in properties {
                let name = format!("{name}.{key}");
                leaves(schema, part, name.trim_start_matches('.'), told, all);
            }
        }
        _ => {
            all.insert(name.to_owned());
        }
    }
}

#[test]
fn each_value_is_tried_by_a_file_of_values() -> Result<()> {
    let files = helm::all_values()?;
    let texts = files
        .iter()
        .map(std::fs::read_to_string)
        .collect::<std::io::Result<Vec<_>>>()?;
    let files = texts
        .iter()
        .map(|text| serde_saphyr::from_str::<Value>(text));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    for told in chart::values()? {
        let place = format!("/{}", told.name.replace('.', "/"));
        let tried = files.iter().any(|file| file.pointer(&place).is_some());
        assert!(tried, "no file of ci tries {}", told.name);
    }
    Ok(())
}

/// What is said instead, as JSON, of a value that a file of ci can't do without: that it is refused without it shows nothing of what it does.
const OTHERWISE: [(&str, &str, &str); 17] = [
    (
        "karmada",
        "controlPlane.kubeconfig.secretName",
        r#""other""#,
    ),
    ("karmada", "controlPlane.kubeconfig.asAdministrator", "true"),
    ("here", "install.enabled", "false"),
    ("karmada", "install.kubeconfig.secretName", r#""other""#),
    (
        "all-server",
        "store.url",
        r#""mysql://other@db.example.com/armadex""#,
    ),
    ("here", "store.urlSecret.name", r#""other""#),
    (
        "parts",
        "store.read.url",
        r#""postgres://other@replica.example.com/armadex""#,
    ),
    ("all-server", "store.migration.enabled", "true"),
    ("here", "service.type", r#""LoadBalancer""#),
    ("here", "certificates.existingSecret", r#""other""#),
    (
        "parts",
        "certificates.certManager.issuerRef",
        r#"{"name": "other"}"#,
    ),
    ("parts", "certificates.certManager.renewBefore", r#""200h""#),
    ("default", "networkPolicy.enabled", "false"),
    (
        "parts",
        "networkPolicy.metricsFrom",
        r#"[{"podSelector": {}}]"#,
    ),
    (
        "parts",
        "networkPolicy.egress.rules",
        r#"[{"ports": [{"port": 1}]}]"#,
    ),
    ("here", "metrics.serviceMonitor.enabled", "true"),
    ("here", "metrics.prometheusRule.job", r#""other""#),
];

/// A value that nothing is made of, or that is tried with what it is anyway, shows nowhere else.
#[test]
fn with_another_value_than_the_one_that_is_tried_something_else_is_made() -> Result<()> {
    let helm = helm::Helm::ensure()?;
    let untried = untried(&helm)?;
    let names = OTHERWISE.map(|(_, name, _)| name.to_owned());
    let modes = ["mode", "certificates.mode"].map(str::to_owned);
    assert_eq!(
        untried,
        &BTreeSet::from(names) | &BTreeSet::from(modes),
        "of these no file of ci shows what they do when they are left out"
    );
    for (file, name, value) in OTHERWISE {
        let said = format!("{name}={value}");
        differs(&helm, file, &[], &["--set-json", &said])?;
    }
    // Files say more of the one mode than the other one takes.
    let served = "certificates.mode=existingSecret,certificates.existingSecret=other";
    differs(&helm, "default", &[], &["--set", served])?;
    let server = ["--set", "store.url=postgres://u@h/d"];
    differs(&helm, "default", &server, &["--set", "mode=parts"])
}

/// Whether something else is made, or told, of a file of values with more.
fn differs(helm: &helm::Helm, file: &str, flags: &[&str], more: &[&str]) -> Result<()> {
    let (values, more) = (helm::values_named(file), [flags, more].concat());
    let is_made = helm.render(&values, &more)? != helm.render(&values, flags)?;
    let differs = is_made || helm.notes(&values, &more)? != helm.notes(&values, flags)?;
    ensure!(differs, "nothing else comes of {file} with {more:?}");
    Ok(())
}

/// Those of which no file shows what they do: with which helm makes the same as without, or that it can't do without.
fn untried(helm: &helm::Helm) -> Result<BTreeSet<String>> {
    let mut untried: BTreeSet<String> =
        chart::values()?.into_iter().map(|told| told.name).collect();
    for file in helm::all_values()? {
        let values: Value = serde_saphyr::from_str(&std::fs::read_to_string(&file)?)?;
        let made = helm.made(&values)?.context("a file of ci is taken")?;
        for name in untried.clone() {
            let mut without = values.clone();
            if !remove(&mut without, &name) {
                continue;
            }
            let otherwise = helm.made(&without)?;
            if otherwise.is_some_and(|otherwise| otherwise != made) {
                untried.remove(&name);
            }
        }
    }
    Ok(untried)
}

/// Whether a value was said that is not any more.
fn remove(values: &mut Value, name: &str) -> bool {
    let (path, key) = name.rsplit_once('.').unwrap_or(("", name));
    let path = match path {
        "" => String::new(),
        path => format!("/{}", path.replace('.', "/")),
    };
    let group = values.pointer_mut(&path).and_then(Value::as_object_mut);
    group.is_some_and(|group| group.remove(key).is_some())
}
