//! Kinds of the core group that need little.

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::{Text, Texts};
use super::super::projection::Path;
use super::super::slot::Slot;

pub(super) fn config_maps() -> Vec<Column> {
    let entries = ["data", "binaryData"].map(Path::of);
    vec![
        Column::name(),
        Column::text(
            "Data",
            "The number of entries, text and binary.",
            Cell::Count(entries.into()),
        ),
        Column::age(),
    ]
}

pub(super) fn namespaces() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Status",
            "Whether the namespace is in use or going away.",
            Cell::plain("status.phase"),
        ),
        Column::age(),
    ]
}

/// Values of Secrets are emptied before they are stored; the number of entries is still right.
pub(super) fn secrets() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text("Type", "What the Secret is for.", Cell::plain("type")),
        Column::text("Data", "The number of entries.", Cell::count("data")),
        Column::age(),
    ]
}

/// Kinds that are told by name and age alone.
pub(super) fn name_and_age() -> Vec<Column> {
    vec![Column::name(), Column::age()]
}

/// Kinds that a kube-apiserver only shows the name and the time of creation of.
pub(super) fn created_at() -> Vec<Column> {
    vec![
        Column::name(),
        Column::date(
            "Created At",
            "When the object was created.",
            Cell::plain("metadata.creationTimestamp"),
        ),
    ]
}

pub(super) fn pod_templates() -> Vec<Column> {
    let containers = Column::containers("template.spec.containers");
    let [containers, images] = containers.map(Column::always);
    vec![
        Column::name(),
        containers,
        images,
        Column::text(
            "Pod Labels",
            "The labels of the pod template.",
            Cell::Pairs(Path::of("template.metadata.labels")),
        ),
    ]
}

pub(super) fn resource_quotas() -> Vec<Column> {
    let paths = ["status.hard", "status.used"];
    vec![
        Column::name(),
        Column::text(
            "Request",
            "What is used of what may be requested.",
            Cell::made(&paths, |found, _| quota(found, |name| !is_limit(name))),
        ),
        Column::text(
            "Limit",
            "What is used of the sum of limits.",
            Cell::made(&paths, |found, _| quota(found, is_limit)),
        ),
        Column::age(),
    ]
}

fn is_limit(resource: &str) -> bool {
    resource.starts_with("limits.")
}

fn quota(found: &[Slot<'_>], wanted: fn(&str) -> bool) -> Result<String, serde_json::Error> {
    let (hard, used): (Texts<'_>, Texts<'_>) = (found[0].read()?, found[1].read()?);
    let listed = hard.iter().filter(|(name, _)| wanted(name.as_str()));
    let texts = listed.map(|(name, hard)| {
        let used = used.get(name).map_or("0", Text::as_str);
        format!("{}: {used}/{}", name.as_str(), hard.as_str())
    });
    Ok(texts.collect::<Vec<_>>().join(", "))
}
