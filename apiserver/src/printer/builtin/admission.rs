//! Policies that a kube-apiserver applies to what is sent to it, and where they hold.

use serde_json::Error;

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::row::{Row, UNSET};
use super::super::slot::Slot;
use super::super::workload::LabelSelector;

pub(super) fn validating_policies() -> Vec<Column> {
    policies(Column::number(
        "Validations",
        "How many rules it has.",
        Cell::count("spec.validations"),
    ))
}

pub(super) fn mutating_policies() -> Vec<Column> {
    policies(Column::number(
        "Mutations",
        "How many changes it makes.",
        Cell::count("spec.mutations"),
    ))
}

fn policies(rules: Column) -> Vec<Column> {
    let kind = ["", ".apiVersion", ".kind"].map(|part| format!("spec.paramKind{part}"));
    vec![
        Column::name(),
        rules,
        Column::text(
            "ParamKind",
            "The kind of the objects with its settings.",
            Cell::made(&kind.each_ref().map(String::as_str), |found, _| {
                if !found[0].is_there() {
                    return Ok(UNSET.to_owned());
                }
                let (version, kind) = (found[1].word()?, found[2].word()?);
                Ok(format!("{}/{}", version.as_str(), kind.as_str()))
            }),
        ),
        Column::age(),
    ]
}

/// Bindings of policies, validating and mutating.
pub(super) fn bindings() -> Vec<Column> {
    let settings = ["name", "namespace", "selector"].map(|part| format!("spec.paramRef.{part}"));
    vec![
        Column::name(),
        Column::text(
            "PolicyName",
            "The policy that it puts to use.",
            Cell::plain("spec.policyName"),
        ),
        Column::text(
            "ParamRef",
            "The objects with the settings of the policy.",
            Cell::made(&settings.each_ref().map(String::as_str), settings_of),
        ),
        Column::age(),
    ]
}

/// A selector looks as a kube-apiserver's own logs show it, since that is what it prints.
fn settings_of(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let (name, namespace) = (found[0].word()?, found[1].word()?);
    if name.is_empty() {
        if !found[2].is_there() {
            return Ok(UNSET.to_owned());
        }
        return Ok(found[2].read::<LabelSelector<'_>>()?.spelt_out());
    }
    let namespace = if namespace.is_empty() {
        "*"
    } else {
        namespace.as_str()
    };
    Ok(format!("{namespace}/{}", name.as_str()))
}
