//! Jobs.

use serde::Deserialize;

use super::super::age;
use super::super::cell::Cell;
use super::super::cells::Cells;
use super::super::column::Column;
use super::super::object::{StatusCondition, Text, is_true, nullable};
use super::super::row::{Condition, Row};
use super::super::workload::{LabelSelector, Template};

pub(super) fn jobs() -> Vec<Column> {
    vec![
        Column::name(),
        Column::text("Status", "How far the job is.", Cell::Function(print)),
        Column::text(
            "Completions",
            "Pods that succeeded of those wanted.",
            Cell::Joint,
        ),
        Column::text(
            "Duration",
            "How long it ran, or has been running.",
            Cell::Joint,
        ),
        Column::text("Age", "The time since the object was created.", Cell::Joint),
        Column::text(
            "Containers",
            "The containers of the pod template.",
            Cell::Joint,
        )
        .wide(),
        Column::text("Images", "The images of the pod template.", Cell::Joint).wide(),
        Column::selector(Cell::Joint),
    ]
}

#[derive(Deserialize)]
struct Job<'a> {
    #[serde(default, borrow, deserialize_with = "nullable")]
    metadata: Metadata<'a>,
    #[serde(default, borrow, deserialize_with = "nullable")]
    spec: Spec<'a>,
    #[serde(default, borrow, deserialize_with = "nullable")]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    deletion_timestamp: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec<'a> {
    completions: Option<i64>,
    parallelism: Option<i64>,
    #[serde(borrow, deserialize_with = "nullable")]
    selector: LabelSelector<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    template: Template<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    succeeded: i64,
    #[serde(borrow)]
    start_time: Text<'a>,
    #[serde(borrow)]
    completion_time: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    conditions: Vec<StatusCondition<'a>>,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let job: Job<'_> = row.read()?;
    cells.text(job.state());
    cells.text(&job.completions());
    cells.text(&job.duration(row));
    cells.age(row);
    job.spec.template.print(cells);
    cells.text_or_none(&job.spec.selector.text());
    Ok(Condition::None)
}

impl Job<'_> {
    fn state(&self) -> &'static str {
        let holds = |kind| is_true(&self.status.conditions, kind);
        if holds("Complete") {
            "Complete"
        } else if holds("Failed") {
            "Failed"
        } else if !self.metadata.deletion_timestamp.is_empty() {
            "Terminating"
        } else if holds("Suspended") {
            "Suspended"
        } else if holds("FailureTarget") {
            "FailureTarget"
        } else if holds("SuccessCriteriaMet") {
            "SuccessCriteriaMet"
        } else {
            "Running"
        }
    }

    fn completions(&self) -> String {
        let succeeded = self.status.succeeded;
        match (self.spec.completions, self.spec.parallelism) {
            (Some(wanted), _) => format!("{succeeded}/{wanted}"),
            (None, Some(parallel @ 2..)) => format!("{succeeded}/1 of {parallel}"),
            (None, _) => format!("{succeeded}/1"),
        }
    }

    fn duration(&self, row: &Row<'_>) -> String {
        let Some(start) = self.status.start_time.time() else {
            return String::new();
        };
        let end = self.status.completion_time.time().unwrap_or(row.now);
        age::human(age::seconds_between(start, end))
    }
}
