//! One example of every statement, for snapshots of their texts and of how each database runs them.

use std::collections::BTreeSet;

use armadex_model::query::{OrderBy, OrderField, SortValue};
use armadex_model::{GroupVersionResource, NameFilter, ResourceType};
use armadex_postings::Block;
use armadex_storage::{MemberPosition, Phase};

use super::head::Numbered;
use super::index::{BlockRow, RunKey, RunPart};
use super::object::{ObjectRow, Operation, VersionRow};
use super::sort::Sorting;
use super::{audit, catalog, head, index, namespace, object, post, select, sort, stream};
use crate::form::version::MemberVersion;
use crate::read::plan::Rank;
use crate::sql::dialect::{Dialect, ObjIndex};
use crate::sql::statement::Statement;

const TYPE: i32 = 3;
const CLUSTER: i64 = 7;
const NSIDS: [i64; 2] = [1000, 1001];

/// Every statement that this dialect runs.
pub(crate) fn samples(dialect: Dialect) -> Vec<Statement> {
    let parts = [
        heads(),
        catalogs(),
        streams(dialect),
        namespaces(),
        objects(dialect),
        indexes(dialect),
        selects(dialect),
        sorts(dialect),
        audits(),
    ];
    parts.into_iter().flatten().collect()
}

fn heads() -> Vec<Statement> {
    vec![
        head::select(),
        head::advance(5),
        head::set_pruned(35, 40),
        head::bump_catalog(),
        head::take_numbers(Numbered::Object, 10_000),
        head::next_number(Numbered::Object),
    ]
}

fn catalogs() -> Vec<Statement> {
    let gvr = GroupVersionResource::new("apps", "v1", "deployments");
    let resource = ResourceType {
        gvr: gvr.clone(),
        kind: "Deployment".into(),
        namespaced: true,
        singular: "deployment".into(),
        short_names: vec!["deploy".into()],
        categories: vec!["all".into()],
    };
    vec![
        catalog::clusters(),
        catalog::insert_cluster(CLUSTER, "member1", "uid", 33),
        catalog::deactivate_cluster(CLUSTER),
        catalog::mark_out_of_order(CLUSTER),
        catalog::set_health(CLUSTER, false, "refused", Some("v1.36.0")),
        catalog::delete_cluster(CLUSTER),
        catalog::cluster_slot(CLUSTER),
        catalog::is_active(CLUSTER),
        catalog::first_inactive(),
        catalog::types(),
        catalog::type_of(&gvr),
        catalog::insert_type(TYPE, &resource),
        catalog::update_type(TYPE, &resource),
    ]
}

fn streams(dialect: Dialect) -> Vec<Statement> {
    let position = MemberPosition {
        resource_version: "99".into(),
        member: "uid".into(),
        phase: Phase::Live,
    };
    let fence = (CLUSTER, TYPE, 12);
    vec![
        stream::all(),
        stream::of_cluster(CLUSTER),
        stream::one(CLUSTER, TYPE),
        stream::first_closed(),
        stream::take_over(dialect, CLUSTER, TYPE, 12),
        stream::advance(fence, &position, 1_800_000_000),
        stream::touch(fence, 1_800_000_000),
        stream::close(CLUSTER, TYPE),
        stream::close_all(CLUSTER),
        stream::delete(CLUSTER, TYPE),
    ]
}

fn namespaces() -> Vec<Statement> {
    let names = ["default".to_owned(), "web".to_owned()];
    vec![
        namespace::of_cluster(CLUSTER, &names),
        namespace::called(&names),
        namespace::by_id(&NSIDS),
        namespace::before(CLUSTER, "web"),
        namespace::after(CLUSTER, "web"),
        namespace::taken(CLUSTER),
        namespace::insert(1000, CLUSTER, "web"),
        namespace::some(CLUSTER, 100),
        namespace::delete(&NSIDS),
    ]
}

fn objects(dialect: Dialect) -> Vec<Statement> {
    let version = MemberVersion::new("42");
    let row = ObjectRow {
        oid: 5,
        resource: TYPE,
        nsid: 1000,
        name: "web-1",
        uid: "uid-1",
        created: 1_700_000_000,
        version: &version,
        size: 4600,
        rev: 41,
        label_hash: -9,
    };
    let version = VersionRow {
        rev: 41,
        prev_rev: 17,
        oid: 5,
        operation: Operation::Change,
        resource: TYPE,
        nsid: 1000,
        name: "web-1",
        dictionary: 1,
        terms: vec![0; 16],
        body: &[0; 700],
    };
    vec![
        object::old(dialect, TYPE, &[(1000, "web-1"), (1001, "web-2")]),
        object::some(dialect, TYPE, (0, 4096), 100),
        object::previous(&[17]),
        object::log(10, 40, 100),
        object::terms(&[17]),
        object::insert(std::slice::from_ref(&row)),
        object::update(dialect, std::slice::from_ref(&row)),
        object::append(std::slice::from_ref(&version)),
        object::delete(&[5]),
        object::delete_versions(&[17]),
    ]
}

fn indexes(dialect: Dialect) -> Vec<Statement> {
    let run = RunKey {
        term: -77,
        nsid: 1000,
    };
    let block = Block::encode(&[5, 6]).expect("two ids");
    vec![
        index::around(
            TYPE,
            &[
                RunPart {
                    run,
                    low: 5,
                    high: 6,
                    shrinks: false,
                },
                RunPart {
                    run,
                    low: 9,
                    high: 9,
                    shrinks: true,
                },
            ],
        ),
        index::put(dialect, TYPE, &[BlockRow { run, block }]),
        index::delete(dialect, TYPE, &[(run, 5)]),
        index::count(dialect, TYPE, &[(1000, 2)]),
        index::delete_counters(TYPE, (0, 4096)),
        post::from(&[-77], TYPE, &(0..4096), 64),
        post::from(&[-77, 12], TYPE, &(0..4096), 64),
        post::within(&[-77, 12], TYPE, &NSIDS),
        post::sums(&[-77, 12], TYPE, &NSIDS),
        post::sum(&[-77], TYPE, &(0..4096)),
        post::estimate(&[-77], TYPE, 512),
    ]
}

fn selects(dialect: Dialect) -> Vec<Statement> {
    let range = 0..4096;
    let none = NameFilter::NotIn(BTreeSet::from(["web-1".into(), "web-2".into()]));
    let one = NameFilter::only("web-1");
    vec![
        select::range(dialect, TYPE, &range, &NameFilter::Any, 501),
        select::range(dialect, TYPE, &range, &none, 501),
        select::range(dialect, TYPE, &range, &one, 501),
        select::group(dialect, TYPE, &NSIDS, &NameFilter::Any, 501),
        select::rest(dialect, TYPE, (1000, "web-1"), &NameFilter::Any, 501),
        select::counts(TYPE, &NSIDS),
        select::counts_from(TYPE, &range, 64),
        select::count_range(TYPE, &range),
        select::count_named(dialect, TYPE, &range, &one),
        select::count_named_in(dialect, TYPE, &NSIDS, &one),
        select::by_id(&[5, 6]),
        select::one(TYPE, CLUSTER, "web", "web-1"),
        select::bodies(&[41, 42]),
        select::keys_in(CLUSTER, TYPE, ("web", "web-1"), 500),
        select::keys_after(CLUSTER, TYPE, "web", 500),
    ]
}

fn sorts(dialect: Dialect) -> Vec<Statement> {
    let by = |field, descending| OrderBy { field, descending };
    let newest = [by(OrderField::CreatedAt, true)];
    let mixed = [by(OrderField::Name, false), by(OrderField::Cluster, true)];
    let uid = [by(OrderField::Uid, false)];
    let rank = |keys: Vec<SortValue>| Rank {
        keys,
        nsid: 1000,
        name: "web-1".into(),
    };
    let after_newest = rank(vec![SortValue::Number(1_700_000_000)]);
    let after_mixed = rank(vec![
        SortValue::Text("web-1".into()),
        SortValue::Text("member1".into()),
    ]);
    let sorting = |index, order, after| Sorting {
        resource: TYPE,
        index,
        names: &NameFilter::Any,
        order,
        after,
        limit: 501,
    };
    let everything = 0..i64::MAX;
    vec![
        sort::range(
            dialect,
            &sorting(ObjIndex::Created, &newest, None),
            &everything,
        ),
        sort::range(
            dialect,
            &sorting(ObjIndex::Created, &newest, Some(&after_newest)),
            &everything,
        ),
        sort::range(
            dialect,
            &sorting(ObjIndex::Name, &mixed, Some(&after_mixed)),
            &everything,
        ),
        sort::range(dialect, &sorting(ObjIndex::Key, &uid, None), &(0..4096)),
        sort::within(dialect, &sorting(ObjIndex::Key, &uid, None), &NSIDS),
    ]
}

fn audits() -> Vec<Statement> {
    vec![
        audit::objects(),
        audit::blocks(),
        audit::counters(),
        audit::count_objects(),
        audit::count_versions(),
    ]
}

/// Each statement has a name of its own, but for the variants of one.
#[test]
fn the_texts_of_all_statements() {
    let texts: Vec<String> = samples(Dialect::Sqlite)
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}
