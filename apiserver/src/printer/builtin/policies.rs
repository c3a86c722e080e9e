//! Small kinds that say how others are treated.

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::projection::Path;
use super::super::row::{NONE, UNSET};

pub(super) fn pod_disruption_budgets() -> Vec<Column> {
    let pods = |field: &str| Cell::NumberOrText(Path::of(field), "N/A");
    vec![
        Column::name(),
        Column::text(
            "Min Available",
            "Pods that must be left.",
            pods("spec.minAvailable"),
        ),
        Column::text(
            "Max Unavailable",
            "Pods that may be missing.",
            pods("spec.maxUnavailable"),
        ),
        Column::number(
            "Allowed Disruptions",
            "Pods that may be taken away now.",
            Cell::number("status.disruptionsAllowed"),
        ),
        Column::age(),
    ]
}

pub(super) fn leases() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Holder",
            "Who holds it.",
            Cell::plain("spec.holderIdentity"),
        ),
        Column::age(),
    ]
}

/// Configurations of webhooks, validating and mutating.
pub(super) fn webhooks() -> Vec<Column> {
    vec![
        Column::name(),
        Column::number("Webhooks", "How many it names.", Cell::count("webhooks")),
        Column::age(),
    ]
}

pub(super) fn priority_classes() -> Vec<Column> {
    vec![
        Column::name(),
        Column::number("Value", "The priority of its pods.", Cell::number("value")),
        Column::boolean(
            "Global-Default",
            "Whether pods without a class get it.",
            Cell::boolean("globalDefault"),
        ),
        Column::age(),
        Column::text(
            "PreemptionPolicy",
            "Whether its pods push others away.",
            Cell::plain("preemptionPolicy"),
        ),
    ]
}

pub(super) fn runtime_classes() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text("Handler", "What runs its pods.", Cell::plain("handler")),
        Column::age(),
    ]
}

pub(super) fn priority_levels() -> Vec<Column> {
    let number = |path: &str| Cell::NumberOr(Path::of(path), NONE);
    let queuing = |field: &str| number(&format!("spec.limited.limitResponse.queuing.{field}"));
    vec![
        Column::name(),
        Column::text("Type", "Whether it is limited.", Cell::plain("spec.type")),
        Column::text(
            "NominalConcurrencyShares",
            "Its share of the requests in flight.",
            number("spec.limited.nominalConcurrencyShares"),
        ),
        Column::text("Queues", "How many queues it has.", queuing("queues")),
        Column::text(
            "HandSize",
            "How many of them a flow gets.",
            queuing("handSize"),
        ),
        Column::text(
            "QueueLengthLimit",
            "How long they get.",
            queuing("queueLengthLimit"),
        ),
        Column::age(),
    ]
}

pub(super) fn resource_slices() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "Node",
            "Where the devices are.",
            Cell::plain("spec.nodeName"),
        ),
        Column::text("Driver", "What drives them.", Cell::plain("spec.driver")),
        Column::text(
            "Pool",
            "The pool that they belong to.",
            Cell::plain("spec.pool.name"),
        ),
        Column::age(),
    ]
}

pub(super) fn csi_storage_capacities() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "StorageClassName",
            "The class.",
            Cell::plain("storageClassName"),
        ),
        Column::text(
            "Capacity",
            "The room that is left.",
            Cell::optional("capacity", UNSET),
        ),
    ]
}
