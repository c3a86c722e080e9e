//! CronJobs.

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::projection::Path;
use super::super::row::NONE;

pub(super) fn cron_jobs() -> Vec<Column> {
    let [containers, images] = Column::containers("spec.jobTemplate.spec.template.spec.containers");
    let selector = Path::of("spec.jobTemplate.spec.selector");
    vec![
        Column::name(),
        Column::text(
            "Schedule",
            "When it runs, as a cron line.",
            Cell::plain("spec.schedule"),
        ),
        Column::text(
            "Timezone",
            "The time zone of the schedule.",
            Cell::optional("spec.timeZone", NONE),
        ),
        Column::boolean(
            "Suspend",
            "Whether it is paused.",
            Cell::Switch(Path::of("spec.suspend")),
        ),
        Column::number(
            "Active",
            "Jobs that are running.",
            Cell::count("status.active"),
        ),
        Column::text(
            "Last Schedule",
            "The time since it last ran.",
            Cell::Since(Path::of("status.lastScheduleTime"), NONE),
        ),
        Column::age(),
        containers,
        images,
        Column::selector(Cell::Selector(selector, NONE)),
    ]
}
