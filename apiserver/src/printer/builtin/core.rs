//! Kinds of the core group.

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::projection::Path;

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
