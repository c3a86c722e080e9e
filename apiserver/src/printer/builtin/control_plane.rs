//! How a control plane itself is: its components, the APIs that it serves, and the versions that it stores objects in.

use serde::Deserialize;
use serde_json::Error;

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::{StatusCondition, Text, resource_and_group};
use super::super::row::{Row, UNSET};
use super::super::slot::Slot;
use super::networking::some_of;

pub(super) fn component_statuses() -> Vec<Column> {
    let told = |name, description, make| {
        Column::text(name, description, Cell::made(&["conditions"], make))
    };
    vec![
        Column::name(),
        told("Status", "Whether it is healthy.", |found, _| {
            Ok(health(found, |health| match health.status.as_str() {
                "True" => "Healthy",
                _ => "Unhealthy",
            })?
            .unwrap_or_else(|| "Unknown".to_owned()))
        }),
        told("Message", "What it says of itself.", |found, _| {
            Ok(health(found, |health| health.message.as_str())?.unwrap_or_default())
        }),
        told("Error", "What ails it.", |found, _| {
            Ok(health(found, |health| health.error.as_str())?.unwrap_or_default())
        }),
    ]
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Health<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    error: Text<'a>,
}

fn health(
    found: &[Slot<'_>],
    text: for<'t> fn(&'t Health<'_>) -> &'t str,
) -> Result<Option<String>, Error> {
    let conditions: Vec<Health<'_>> = found[0].read()?;
    let health = conditions.iter().find(|one| one.kind == *"Healthy");
    Ok(health.map(|health| text(health).to_owned()))
}

pub(super) fn api_services() -> Vec<Column> {
    let service = ["", ".namespace", ".name"].map(|part| format!("spec.service{part}"));
    vec![
        Column::name(),
        Column::text(
            "Service",
            "The Service that serves it.",
            Cell::made(&service.each_ref().map(String::as_str), |found, _| {
                if !found[0].is_there() {
                    return Ok("Local".to_owned());
                }
                let (namespace, name) = (found[1].word()?, found[2].word()?);
                Ok(format!("{}/{}", namespace.as_str(), name.as_str()))
            }),
        ),
        Column::text(
            "Available",
            "Whether it answers.",
            Cell::made(&["status.conditions"], available),
        ),
        Column::age(),
    ]
}

fn available(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let conditions: Vec<StatusCondition<'_>> = found[0].read()?;
    let Some(told) = conditions.iter().find(|one| one.kind == *"Available") else {
        return Ok("Unknown".to_owned());
    };
    let (status, reason) = (told.status.as_str(), told.reason.as_str());
    Ok(match (status, reason) {
        ("True", _) | (_, "") => status.to_owned(),
        _ => format!("{status} ({reason})"),
    })
}

pub(super) fn storage_versions() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "CommonEncodingVersion",
            "The version that all servers store, if they agree.",
            Cell::optional("status.commonEncodingVersion", UNSET),
        ),
        Column::text(
            "StorageVersions",
            "The version that each server stores.",
            Cell::made(&["status.storageVersions"], encodings),
        ),
        Column::age(),
    ]
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Encoding<'a> {
    #[serde(rename = "apiServerID", borrow)]
    server: Text<'a>,
    #[serde(borrow)]
    encoding_version: Text<'a>,
}

fn encodings(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let versions: Vec<Encoding<'_>> = found[0].read()?;
    let text =
        |one: &Encoding<'_>| format!("{}={}", one.server.as_str(), one.encoding_version.as_str());
    Ok(some_of(&versions.iter().map(text).collect::<Vec<_>>()))
}

/// Its name is not marked as one, which is how a kube-apiserver has it.
pub(super) fn storage_version_migrations() -> Vec<Column> {
    vec![
        Column::text("Name", "The name of the object.", Cell::Name),
        Column::text(
            "Resource",
            "The type whose objects are stored anew.",
            Cell::made(
                &["spec.resource.resource", "spec.resource.group"],
                |found, _| Ok(resource_and_group(&found[0].word()?, &found[1].word()?)),
            ),
        ),
        Column::text(
            "Status",
            "How far it is.",
            Cell::made(&["status.conditions"], |found, _| {
                let conditions: Vec<StatusCondition<'_>> = found[0].read()?;
                let is_it = |one: &&StatusCondition<'_>| {
                    let kind = one.kind.as_str();
                    one.status == *"True" && matches!(kind, "Running" | "Failed" | "Succeeded")
                };
                let last = conditions.iter().rfind(is_it);
                Ok(last.map_or("Unknown", |one| one.kind.as_str()).to_owned())
            }),
        ),
    ]
}
