//! Devices that pods ask for: who claimed which, which are tainted, and how many there are.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Error;

use super::super::age;
use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::StatusCondition;
use super::super::projection::Path;
use super::super::row::{NONE, Row};
use super::super::slot::Slot;

pub(super) fn resource_claims() -> Vec<Column> {
    let paths = [
        "metadata.deletionTimestamp",
        "status.allocation",
        "status.reservedFor",
    ];
    vec![
        Column::name(),
        Column::text(
            "State",
            "Whether it has its devices, and whether they are in use.",
            Cell::made(&paths, claim_state),
        ),
        Column::age(),
    ]
}

fn claim_state(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let (leaves, has_devices) = (found[0].is_there(), found[1].is_there());
    let users: Vec<IgnoredAny> = found[2].read()?;
    let states = [
        (leaves, "deleted"),
        (!leaves && !has_devices, "pending"),
        (has_devices, "allocated"),
        (has_devices && !users.is_empty(), "reserved"),
    ];
    let told = states.iter().filter(|(holds, _)| *holds);
    Ok(told.map(|(_, state)| *state).collect::<Vec<_>>().join(","))
}

pub(super) fn device_taint_rules() -> Vec<Column> {
    let taint = |field: &str| Cell::plain(&format!("spec.taint.{field}"));
    vec![
        Column::name(),
        Column::text("Key", "The key of the taint.", taint("key")),
        Column::text("Value", "The value of the taint.", taint("value")),
        Column::text("Effect", "What it does to pods.", taint("effect")),
        Column::text(
            "TimeAdded",
            "The time since it holds.",
            Cell::Since(Path::of("spec.taint.timeAdded"), ""),
        ),
        Column::age(),
    ]
}

pub(super) fn pool_status_requests() -> Vec<Column> {
    let counted = |name, description, make| {
        let paths = ["status", "status.conditions", "status.pools"];
        Column::text(name, description, Cell::made(&paths, make))
    };
    vec![
        Column::name(),
        Column::text(
            "Driver",
            "Whose pools are meant.",
            Cell::plain("spec.driver"),
        ),
        counted("Total", "The devices of all pools.", |found, _| {
            sum(found, |pool| pool.total_devices)
        }),
        counted("Available", "Those that are free.", |found, _| {
            sum(found, |pool| pool.available_devices)
        }),
        counted("Allocated", "Those that are given.", |found, _| {
            sum(found, |pool| pool.allocated_devices)
        }),
        counted("Unavailable", "Those out of use.", |found, _| {
            sum(found, |pool| pool.unavailable_devices)
        }),
        counted("Errors", "The pools that are wrong.", |found, _| {
            sum(found, |pool| pool.validation_error.is_some().then_some(1))
        }),
        Column::number(
            "Pools",
            "The pools that are meant.",
            Cell::number("status.poolCount"),
        ),
        Column::text(
            "Status",
            "Whether it was answered.",
            Cell::made(
                &["status.conditions", "status.poolCount", "status.pools"],
                request_status,
            ),
        ),
        Column::text(
            "Completed",
            "The time since it was answered.",
            Cell::made(&["status.conditions"], |found, row| {
                let ended = End::of(&found[0])?.filter(|end| end.kind == "Complete");
                Ok(ended.map_or(NONE.to_owned(), |end| age::since(end.at, row.now)))
            }),
        ),
    ]
}

/// How a request ended.
struct End {
    /// The condition that says so.
    kind: &'static str,
    at: Option<jiff::Timestamp>,
}

impl End {
    fn of(conditions: &Slot<'_>) -> Result<Option<Self>, Error> {
        let conditions: Vec<StatusCondition<'_>> = conditions.read()?;
        let ended = conditions.iter().filter(|one| one.status == *"True");
        let mut ended = ended.filter_map(|one| {
            let mut kinds = ["Complete", "Failed"].into_iter();
            let kind = kinds.find(|kind| one.kind == **kind)?;
            let at = one.last_transition_time.time();
            Some(Self { kind, at })
        });
        Ok(ended.next())
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Pool {
    total_devices: Option<i64>,
    available_devices: Option<i64>,
    allocated_devices: Option<i64>,
    unavailable_devices: Option<i64>,
    validation_error: Option<IgnoredAny>,
}

/// Of all pools together; `-` where the request was not answered.
fn sum(found: &[Slot<'_>], of_pool: fn(&Pool) -> Option<i64>) -> Result<String, Error> {
    let is_failed = End::of(&found[1])?.is_some_and(|end| end.kind == "Failed");
    if is_failed || !found[0].is_there() {
        return Ok("-".to_owned());
    }
    let pools: Vec<Pool> = found[2].read()?;
    let numbers = pools.iter().filter_map(of_pool);
    Ok(numbers.fold(0, i64::saturating_add).to_string())
}

fn request_status(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let Some(end) = End::of(&found[0])? else {
        return Ok("Pending".to_owned());
    };
    let pools = found[1].number(0)?;
    let told: Vec<IgnoredAny> = found[2].read()?;
    Ok(match i64::try_from(told.len()) {
        Ok(told) if end.kind == "Complete" && pools > told => {
            format!("Complete ({told}/{pools} pools)")
        }
        _ => end.kind.to_owned(),
    })
}
