//! Volumes and what provides them.

use serde_json::Error;

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::Text;
use super::super::projection::Path;
use super::super::row::{NONE, Row, UNSET};
use super::super::slot::Slot;

/// Where the class of a volume was named before it had a field.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

fn annotation(name: &str) -> Path {
    Path::through(["metadata", "annotations", name].map(str::to_owned).into())
}

fn class() -> Column {
    let paths = vec![annotation(BETA_CLASS), Path::of("spec.storageClassName")];
    Column::text(
        "StorageClass",
        "The class of the volume.",
        Cell::Made(paths, |found, _| {
            let named = if found[0].is_there() {
                &found[0]
            } else {
                &found[1]
            };
            Ok(named.word()?.as_str().to_owned())
        }),
    )
}

fn attributes_class() -> Column {
    Column::text(
        "VolumeAttributesClass",
        "The class of the volume's attributes.",
        Cell::optional("spec.volumeAttributesClassName", UNSET),
    )
}

fn mode() -> Column {
    Column::text(
        "VolumeMode",
        "Whether it is a file system or a block device.",
        Cell::optional("spec.volumeMode", UNSET),
    )
    .wide()
}

fn phase() -> Column {
    Column::text(
        "Status",
        "Whether the volume is in use.",
        Cell::made(
            &["metadata.deletionTimestamp", "status.phase"],
            |found, _| {
                let leaving = found[0].is_there();
                let phase = found[1].word()?;
                Ok(if leaving {
                    "Terminating"
                } else {
                    phase.as_str()
                }
                .to_owned())
            },
        ),
    )
}

pub(super) fn persistent_volumes() -> Vec<Column> {
    let claim = [
        "spec.claimRef",
        "spec.claimRef.namespace",
        "spec.claimRef.name",
    ];
    vec![
        Column::name(),
        Column::text(
            "Capacity",
            "Its size.",
            Cell::text_or("spec.capacity.storage", "0"),
        ),
        Column::text(
            "Access Modes",
            "How it can be mounted.",
            Cell::made(&["spec.accessModes"], |found, _| access_modes(&found[0])),
        ),
        Column::text(
            "Reclaim Policy",
            "What becomes of it once it is released.",
            Cell::plain("spec.persistentVolumeReclaimPolicy"),
        ),
        phase(),
        Column::text(
            "Claim",
            "The claim that it is bound to.",
            Cell::made(&claim, claimed),
        ),
        class(),
        attributes_class(),
        Column::text(
            "Reason",
            "Why it is in its state.",
            Cell::plain("status.reason"),
        ),
        Column::age(),
        mode(),
    ]
}

fn claimed(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    if !found[0].is_there() {
        return Ok(String::new());
    }
    let (namespace, name) = (found[1].word()?, found[2].word()?);
    Ok(format!("{}/{}", namespace.as_str(), name.as_str()))
}

pub(super) fn persistent_volume_claims() -> Vec<Column> {
    let bound = |field| ["spec.volumeName", field];
    vec![
        Column::name(),
        phase(),
        Column::text(
            "Volume",
            "The volume that it is bound to.",
            Cell::plain("spec.volumeName"),
        ),
        Column::text(
            "Capacity",
            "The size of that volume.",
            Cell::made(&bound("status.capacity.storage"), |found, _| {
                let size = found[1].word()?;
                Ok(match (found[0].word()?.is_empty(), size.is_empty()) {
                    (true, _) => String::new(),
                    (false, true) => "0".to_owned(),
                    (false, false) => size.as_str().to_owned(),
                })
            }),
        ),
        Column::text(
            "Access Modes",
            "How it can be mounted.",
            Cell::made(&bound("status.accessModes"), |found, _| {
                if found[0].word()?.is_empty() {
                    return Ok(String::new());
                }
                access_modes(&found[1])
            }),
        ),
        class(),
        attributes_class(),
        Column::age(),
        mode(),
    ]
}

fn access_modes(found: &Slot<'_>) -> Result<String, Error> {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes: Vec<Text<'_>> = found.read()?;
    let has = |name: &str| modes.iter().any(|mode| *mode == *name);
    let short = SHORT
        .iter()
        .filter(|(name, _)| has(name))
        .map(|(_, short)| *short);
    Ok(short.collect::<Vec<_>>().join(","))
}

/// The name, and whether it is the class that is taken where none is named.
fn name_of_class(found: &[Slot<'_>], row: &Row<'_>) -> Result<String, Error> {
    let mut is_default = false;
    for one in found {
        is_default |= one.word()? == *"true";
    }
    let mark = if is_default { " (default)" } else { "" };
    Ok(format!("{}{mark}", row.name))
}

/// A column for the name of a class that these annotations make the default.
pub(super) fn class_name(annotations: &[&str]) -> Column {
    let paths = annotations.iter().map(|name| annotation(name)).collect();
    Column::text(
        "Name",
        "The name of the class, and whether it is the default.",
        Cell::Made(paths, name_of_class),
    )
    .naming()
}

pub(super) fn storage_classes() -> Vec<Column> {
    vec![
        class_name(&[
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ]),
        Column::text(
            "Provisioner",
            "What makes its volumes.",
            Cell::plain("provisioner"),
        ),
        Column::text(
            "ReclaimPolicy",
            "What becomes of its volumes once they are released.",
            Cell::optional("reclaimPolicy", "Delete"),
        ),
        Column::text(
            "VolumeBindingMode",
            "When its volumes are bound.",
            Cell::optional("volumeBindingMode", "Immediate"),
        ),
        Column::text(
            "AllowVolumeExpansion",
            "Whether its volumes can grow.",
            Cell::boolean("allowVolumeExpansion"),
        ),
        Column::age(),
    ]
}

pub(super) fn volume_attributes_classes() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "DriverName",
            "The driver that knows it.",
            Cell::plain("driverName"),
        ),
        Column::age(),
    ]
}

pub(super) fn volume_attachments() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Attacher",
            "What attaches it.",
            Cell::plain("spec.attacher"),
        )
        .naming(),
        Column::text(
            "PV",
            "The volume.",
            Cell::plain("spec.source.persistentVolumeName"),
        ),
        Column::text("Node", "Where to.", Cell::plain("spec.nodeName")),
        Column::boolean(
            "Attached",
            "Whether it is attached.",
            Cell::boolean("status.attached"),
        ),
        Column::age(),
    ]
}

pub(super) fn csi_nodes() -> Vec<Column> {
    vec![
        Column::name(),
        Column::number(
            "Drivers",
            "Drivers on the node.",
            Cell::count("spec.drivers"),
        ),
        Column::age(),
    ]
}

pub(super) fn csi_drivers() -> Vec<Column> {
    vec![
        Column::name(),
        Column::boolean(
            "AttachRequired",
            "Whether volumes are attached before they are mounted.",
            Cell::Boolean(Path::of("spec.attachRequired"), true),
        ),
        Column::boolean(
            "PodInfoOnMount",
            "Whether the driver is told about the pod.",
            Cell::boolean("spec.podInfoOnMount"),
        ),
        Column::boolean(
            "StorageCapacity",
            "Whether it publishes how much room is left.",
            Cell::boolean("spec.storageCapacity"),
        ),
        Column::text(
            "TokenRequests",
            "The audiences of the tokens that it is given.",
            Cell::Joined(Path::of("spec.tokenRequests[*].audience"), UNSET),
        ),
        Column::boolean(
            "RequiresRepublish",
            "Whether it is called again and again.",
            Cell::boolean("spec.requiresRepublish"),
        ),
        Column::text(
            "Modes",
            "The kinds of volumes that it serves.",
            Cell::Joined(Path::of("spec.volumeLifecycleModes[*]"), NONE),
        ),
        Column::age(),
    ]
}
