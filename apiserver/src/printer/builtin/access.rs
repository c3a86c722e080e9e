//! Who may do what: bindings, and requests for certificates.

use serde::Deserialize;
use serde_json::Error;

use super::super::age;
use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::Text;
use super::super::projection::Path;
use super::super::row::{NONE, Row};
use super::super::slot::Slot;

/// RoleBindings and ClusterRoleBindings.
pub(super) fn bindings() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Role",
            "The role that is given.",
            Cell::made(&["roleRef.kind", "roleRef.name"], |found, _| {
                let (kind, name) = (found[0].word()?, found[1].word()?);
                Ok(format!("{}/{}", kind.as_str(), name.as_str()))
            }),
        ),
        Column::age(),
        subjects("Users", "The users that get it.", |found, _| {
            listed(found, "User")
        }),
        subjects("Groups", "The groups that get it.", |found, _| {
            listed(found, "Group")
        }),
        subjects(
            "ServiceAccounts",
            "The service accounts that get it.",
            |found, _| listed(found, "ServiceAccount"),
        ),
    ]
}

fn subjects(
    name: &'static str,
    description: &'static str,
    make: super::super::cell::Make,
) -> Column {
    Column::text(name, description, Cell::made(&["subjects"], make)).wide()
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Subject<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    namespace: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
}

fn listed(found: &[Slot<'_>], kind: &str) -> Result<String, Error> {
    let subjects: Vec<Subject<'_>> = found[0].read()?;
    let of_kind = subjects.iter().filter(|subject| subject.kind == *kind);
    let names = of_kind.map(|subject| match kind {
        "ServiceAccount" => format!("{}/{}", subject.namespace.as_str(), subject.name.as_str()),
        _ => subject.name.as_str().to_owned(),
    });
    Ok(names.collect::<Vec<_>>().join(", "))
}

pub(super) fn certificate_signing_requests() -> Vec<Column> {
    vec![
        Column::name(),
        Column::age(),
        Column::text(
            "SignerName",
            "Who is to sign.",
            Cell::text_or("spec.signerName", NONE),
        ),
        Column::text("Requestor", "Who asks.", Cell::plain("spec.username")),
        Column::text(
            "RequestedDuration",
            "How long it is to be valid.",
            Cell::made(&["spec.expirationSeconds"], |found, _| {
                Ok(found[0]
                    .whole()?
                    .map_or_else(|| NONE.to_owned(), age::human))
            }),
        ),
        Column::text(
            "Condition",
            "How far the request is.",
            Cell::made(&["status.conditions", "status.certificate"], progress),
        ),
    ]
}

pub(super) fn cluster_trust_bundles() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "SignerName",
            "Whose certificates it vouches for.",
            Cell::text_or("spec.signerName", NONE),
        ),
    ]
}

pub(super) fn pod_certificate_requests() -> Vec<Column> {
    let of = |field: &str| Cell::plain(&format!("spec.{field}"));
    vec![
        Column::name(),
        Column::text("PodName", "The pod that asks.", of("podName")),
        Column::text(
            "ServiceAccountName",
            "The account that it runs as.",
            of("serviceAccountName"),
        ),
        Column::text("NodeName", "The node that it runs on.", of("nodeName")),
        Column::text("SignerName", "Who is to sign.", of("signerName")),
        Column::text(
            "State",
            "How far the request is.",
            Cell::made(&["status.conditions"], |found, _| {
                let conditions: Vec<Told<'_>> = found[0].read()?;
                let mut kinds = conditions.iter().rev().map(|one| one.kind.as_str());
                let ended = kinds.find(|kind| matches!(*kind, "Issued" | "Denied" | "Failed"));
                Ok(ended.unwrap_or("Pending").to_owned())
            }),
        ),
        Column::text(
            "UnverifiedUserAnnotations",
            "What the pod adds to it.",
            Cell::Pairs(Path::of("spec.unverifiedUserAnnotations")),
        ),
    ]
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Told<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
}

fn progress(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let conditions: Vec<Told<'_>> = found[0].read()?;
    let has = |kind: &str| conditions.iter().any(|one| one.kind == *kind);
    let decision = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if found[1].word()?.is_empty() {
        ""
    } else {
        ",Issued"
    };
    Ok(format!("{decision}{failed}{issued}"))
}
