//! Events, of the core group and of `events.k8s.io`, whose fields have other names for the same things.

use jiff::Timestamp;
use serde_json::Error;

use super::super::age;
use super::super::cell::Cell;
use super::super::column::Column;
use super::super::projection::Path;
use super::super::row::Row;
use super::super::slot::Slot;

/// When an event was seen: first, last, and the times of the newer form.
const TIMES: [&str; 4] = [
    "firstTimestamp",
    "lastTimestamp",
    "eventTime",
    "series.lastObservedTime",
];

pub(super) fn core_events() -> Vec<Column> {
    columns(&Fields {
        times: TIMES,
        count: "count",
        object: "involvedObject",
        source: "source",
        reporter: "reportingComponent",
        message: "message",
    })
}

pub(super) fn events() -> Vec<Column> {
    columns(&Fields {
        times: [
            "deprecatedFirstTimestamp",
            "deprecatedLastTimestamp",
            TIMES[2],
            TIMES[3],
        ],
        count: "deprecatedCount",
        object: "regarding",
        source: "deprecatedSource",
        reporter: "reportingController",
        message: "note",
    })
}

/// What the fields of an event are called.
struct Fields {
    times: [&'static str; 4],
    count: &'static str,
    object: &'static str,
    source: &'static str,
    reporter: &'static str,
    message: &'static str,
}

fn below(parent: &str, field: &str) -> String {
    format!("{parent}.{field}")
}

fn columns(fields: &Fields) -> Vec<Column> {
    let object = ["kind", "name"].map(|field| below(fields.object, field));
    let source = [
        &below(fields.source, "component"),
        &below(fields.source, "host"),
        fields.reporter,
        "reportingInstance",
    ];
    let count = ["series.count", fields.count].map(Path::of);
    vec![
        Column::text(
            "Last Seen",
            "The time since it was last seen.",
            Cell::made(&fields.times, last_seen),
        ),
        Column::text("Type", "Whether it is a warning.", Cell::plain("type")),
        Column::text(
            "Reason",
            "Why it was made, in a word.",
            Cell::plain("reason"),
        ),
        Column::text(
            "Object",
            "The object that it is about.",
            Cell::made(&[&object[0], &object[1]], target),
        ),
        Column::text(
            "Subobject",
            "The part of the object that it is about.",
            Cell::plain(&below(fields.object, "fieldPath")),
        )
        .wide(),
        Column::text("Source", "Who made it.", Cell::made(&source, reporter)).wide(),
        Column::text(
            "Message",
            "What happened.",
            Cell::made(&[fields.message], |found, _| {
                Ok(found[0].word()?.as_str().trim().to_owned())
            }),
        ),
        Column::text(
            "First Seen",
            "The time since it was first seen.",
            Cell::made(&fields.times, first_seen),
        )
        .wide(),
        Column::text(
            "Count",
            "How often it was seen.",
            Cell::FirstNumber(count.into(), 1),
        )
        .wide(),
        Column::name().wide(),
    ]
}

fn time(found: &Slot<'_>) -> Result<Option<Timestamp>, Error> {
    Ok(found.word()?.time())
}

fn first_seen(found: &[Slot<'_>], row: &Row<'_>) -> Result<String, Error> {
    let first = time(&found[0])?.or(time(&found[2])?);
    Ok(age::since(first, row.now))
}

fn last_seen(found: &[Slot<'_>], row: &Row<'_>) -> Result<String, Error> {
    if let Some(observed) = time(&found[3])? {
        return Ok(age::since(Some(observed), row.now));
    }
    match time(&found[1])? {
        Some(last) => Ok(age::since(Some(last), row.now)),
        None => first_seen(found, row),
    }
}

/// `pod/web`
fn target(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let (kind, name) = (found[0].word()?, found[1].word()?);
    let kind = kind.as_str().to_lowercase();
    Ok(if name.is_empty() {
        kind
    } else {
        format!("{kind}/{}", name.as_str())
    })
}

/// `kubelet, node-1`
fn reporter(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let first = |one: &Slot<'_>, other: &Slot<'_>| -> Result<String, Error> {
        let word = one.word()?;
        let word = if word.is_empty() {
            other.word()?.as_str().to_owned()
        } else {
            word.as_str().to_owned()
        };
        Ok(word)
    };
    let component = first(&found[0], &found[2])?;
    let instance = first(&found[1], &found[3])?;
    Ok(if instance.is_empty() {
        component
    } else {
        format!("{component}, {instance}")
    })
}
