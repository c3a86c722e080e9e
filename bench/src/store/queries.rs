//! The ways to read that have an aim. Pure.

use armadex_model::label::Requirement;
use armadex_model::query::{OrderBy, OrderField};
use armadex_model::{GroupVersionResource, Query, ResourceType};

/// Rows of a page.
pub(super) const PAGES: [u32; 2] = [500, 100];
/// Twelve of the 1,200 versions that applications have.
const ONE_PERCENT: [&str; 12] = [
    "v0.7.0", "v0.7.1", "v0.7.2", "v0.7.3", "v0.7.4", "v0.7.5", "v0.7.6", "v0.7.7", "v0.7.8",
    "v0.7.9", "v1.7.0", "v1.7.1",
];
const VERSION: &str = "app.kubernetes.io/version";
/// What [`LABELLED`] pods have, however many there are.
pub(super) const LABEL: (&str, &str) = ("track", "canary");
/// What a page of 100 is filled with.
pub(super) const LABELLED: usize = 100;

/// The type that is written and read.
pub(super) fn pods() -> ResourceType {
    ResourceType {
        gvr: GroupVersionResource::new("", "v1", "pods"),
        kind: "Pod".into(),
        namespaced: true,
        singular: "pod".into(),
        short_names: vec!["po".into()],
        categories: vec![],
    }
}

/// Each by its name.
pub(super) fn all() -> Vec<(&'static str, Query)> {
    let all = Query::all(pods().gvr);
    let label = |requirement| Query {
        labels: vec![requirement],
        ..all.clone()
    };
    let by = |field, descending, query: Query| Query {
        order: vec![OrderBy { field, descending }],
        ..query
    };
    let one_percent = || label(Requirement::is_in(VERSION, ONE_PERCENT));
    let failed = Query {
        fields: vec![Requirement::is_in("status.phase", ["Failed"])],
        ..all.clone()
    };
    vec![
        ("page", all.clone()),
        (
            "label without a match",
            label(Requirement::is_in("app", ["no-such"])),
        ),
        (
            "label that 100 have",
            label(Requirement::is_in(LABEL.0, [LABEL.1])),
        ),
        ("label that 1 % has", one_percent()),
        (
            "label that all have",
            label(Requirement::is_in("app.kubernetes.io/managed-by", ["Helm"])),
        ),
        ("field that 1 % has", failed),
        (
            "all but 1 % by a label",
            label(Requirement::is_not_in(VERSION, ONE_PERCENT)),
        ),
        ("newest", by(OrderField::CreatedAt, true, all.clone())),
        ("first by name", by(OrderField::Name, false, all.clone())),
        (
            "first by uid, which has no index",
            by(OrderField::Uid, false, all.clone()),
        ),
        (
            "newest of 1 %",
            by(OrderField::CreatedAt, true, one_percent()),
        ),
    ]
}
