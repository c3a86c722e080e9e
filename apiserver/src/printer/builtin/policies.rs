//! Small kinds that say how others are treated.

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::StatusCondition;
use super::super::projection::Path;
use super::super::row::NONE;

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

pub(super) fn lease_candidates() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "LeaseName",
            "The lease that it would hold.",
            Cell::plain("spec.leaseName"),
        ),
        Column::text(
            "BinaryVersion",
            "The version that it is.",
            Cell::plain("spec.binaryVersion"),
        ),
        Column::text(
            "EmulationVersion",
            "The version that it behaves as.",
            Cell::plain("spec.emulationVersion"),
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

pub(super) fn flow_schemas() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text(
            "PriorityLevel",
            "The level whose share its requests take.",
            Cell::plain("spec.priorityLevelConfiguration.name"),
        ),
        Column::text(
            "MatchingPrecedence",
            "The lower, the earlier it is tried.",
            Cell::number("spec.matchingPrecedence"),
        ),
        Column::text(
            "DistinguisherMethod",
            "What makes a flow of requests.",
            Cell::optional("spec.distinguisherMethod.type", NONE),
        ),
        Column::age(),
        Column::text(
            "MissingPL",
            "Whether its level is missing.",
            Cell::made(&["status.conditions"], |found, _| {
                let conditions: Vec<StatusCondition<'_>> = found[0].read()?;
                let dangling = conditions.iter().find(|one| one.kind == *"Dangling");
                Ok(dangling.map_or("?", |one| one.status.as_str()).to_owned())
            }),
        ),
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
