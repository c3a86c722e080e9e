//! CronJobs.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::object::{Text, nullable};
use super::workload::{LabelSelector, Template};
use super::{Cells, Column, Condition, NONE, Printer, Row};
use crate::age;

pub(super) const PRINTER: Printer = Printer {
    columns: &[
        Column::NAME,
        Column::text("Schedule", "When it runs, as a cron line."),
        Column::text("Timezone", "The time zone of the schedule."),
        Column::new("Suspend", "boolean", "Whether it is paused."),
        Column::number("Active", "Jobs that are running."),
        Column::text("Last Schedule", "The time since it last ran."),
        Column::AGE,
        Column::CONTAINERS,
        Column::IMAGES,
        Column::SELECTOR,
    ],
    print,
};

#[derive(Deserialize)]
struct CronJob<'a> {
    #[serde(default, borrow, deserialize_with = "nullable")]
    spec: Spec<'a>,
    #[serde(default, borrow, deserialize_with = "nullable")]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow)]
    schedule: Text<'a>,
    #[serde(borrow)]
    time_zone: Option<Text<'a>>,
    suspend: Option<bool>,
    #[serde(borrow, deserialize_with = "nullable")]
    job_template: JobTemplate<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobTemplate<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    spec: JobSpec<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobSpec<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    selector: LabelSelector<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    template: Template<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    #[serde(deserialize_with = "nullable")]
    active: Vec<IgnoredAny>,
    #[serde(borrow)]
    last_schedule_time: Text<'a>,
}

fn print(row: &Row<'_>, cells: &mut Cells<'_>) -> Result<Condition, serde_json::Error> {
    let CronJob { spec, status } = serde_json::from_slice(row.object)?;
    cells.text(row.name);
    cells.text(spec.schedule.as_str());
    cells.text(spec.time_zone.as_ref().map_or(NONE, Text::as_str));
    cells.text(match spec.suspend {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    });
    cells.number(i64::try_from(status.active.len()).unwrap_or(i64::MAX));
    match status.last_schedule_time.time() {
        Some(time) => cells.text(&age::since(Some(time), row.now)),
        None => cells.text(NONE),
    }
    cells.age(row);
    let job = &spec.job_template.spec;
    job.template.print(cells);
    cells.text(&job.selector.text_or_none());
    Ok(Condition::None)
}
