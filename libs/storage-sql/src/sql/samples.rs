//! One example of every statement, for snapshots of their texts and of how each database runs them.

use std::collections::BTreeSet;

use armadex_model::{ClusterLabels, GroupVersionResource, ResourceType};
use armadex_postings::Block;
use armadex_storage::{Health, MemberPosition, Phase, Tenure};

use super::catalog::{HealthRow, NewCluster};
use super::cluster_labels::LabelsRow;
use super::counter::CounterKey;
use super::head::{HeadRow, Numbered};
use super::history::AskedRow;
use super::lease::LeaseRow;
use super::milestone::Milestone;
use super::namespace::NamespaceRow;
use super::object::{ObjectRow, Operation, VersionRow};
use super::post::{BlockRow, RunKey, RunPart};
use super::sort::{Cursor, SortColumn};
use super::stream::{Fence, Loss, Moved};
use super::{
    audit, catalog, cluster_labels, copy, counter, dictionary, gone, head, history, lease, mend,
    meta, milestone, namespace, object, owner, post, select, sort, stats, stream, unposted,
};
use crate::form::version::MemberVersion;
use crate::sql::dialect::Dialect;
use crate::sql::statement::{Param, Statement};

const TYPE: i32 = 3;
const CLUSTER: i64 = 7;
const NSIDS: [i64; 2] = [1000, 1001];
const RANGES: [(i64, i64); 2] = [(0, 4096), (8192, 12_288)];

/// Every statement that this dialect runs.
pub(crate) fn samples(dialect: Dialect) -> Vec<Statement> {
    let parts = [
        heads(),
        catalogs(dialect),
        types(dialect),
        owners(dialect),
        streams(dialect),
        namespaces(dialect),
        counters(dialect),
        objects(dialect),
        indexes(dialect),
        selects(dialect),
        dictionaries(dialect),
        sorts(dialect),
        audits(dialect),
        copies(dialect),
    ];
    parts.into_iter().flatten().collect()
}

fn heads() -> Vec<Statement> {
    let held = LeaseRow {
        holder: "process".into(),
        beat: 7,
        clock: 60_000,
    };
    vec![
        head::select(),
        head::advance(5),
        head::set_pruned(&moment(), 45, 41),
        head::bump_catalog(),
        head::raise_floor(90),
        head::insert("first"),
        head::raise_serves(4),
        meta::select("hash-key"),
        meta::insert("hash-key", &[1, 2]),
        meta::update("hash-key", &[1, 2]),
        meta::swap("copy", &[1], &[2]),
        head::set_incarnation("other", "first"),
        head::take_numbers(Numbered::Object, 10_000),
        head::next_number(Numbered::Object),
        lease::select(),
        lease::hold("process", &held, 61_000),
        lease::touch(),
        lease::give_back("process"),
        milestone::after(35),
        milestone::measure((35, 40), 2000),
        milestone::insert(&Milestone {
            rev: 40,
            at: 61_000,
            bytes: 900,
            history: 500,
        }),
        milestone::delete(38),
        milestone::uncount(35),
        milestone::drop_after(40),
        milestone::drop_until(35),
    ]
}

fn moment() -> HeadRow {
    HeadRow {
        revision: 40,
        pruned: 40,
        catalog: 10,
        floor: 0,
        incarnation: "first".into(),
        serves: 4,
        history: 40,
    }
}

fn owners(dialect: Dialect) -> Vec<Statement> {
    vec![
        owner::keep(dialect, "b", 1_800_000_000),
        owner::forgettable(1_700_000_000, 32),
        owner::forget("b", 1_700_000_000),
        owner::begin_next("b"),
        owner::begin_as("b", Tenure(1)),
        owner::go_on_as("b", Tenure(2)),
        owner::tenures(dialect, &["a", "b"]),
        owner::hold_tenures(dialect, &["a", "b"]),
    ]
}

fn catalogs(dialect: Dialect) -> Vec<Statement> {
    let said = [(CLUSTER, Some("v1.36.0")), (8, None)].map(|(cluster, version)| HealthRow {
        cluster,
        health: Health {
            healthy: false,
            reason: "refused".into(),
        },
        version: version.map(String::from),
    });
    let new = |(id, name)| NewCluster {
        id,
        name,
        incarnation: "uid",
        owner: "b",
    };
    let labels = [(CLUSTER, "env=prod"), (8, "")].map(|(cluster, labels)| LabelsRow {
        cluster,
        labels: ClusterLabels::parse(labels),
    });
    let moment = moment();
    vec![
        catalog::clusters_since(9),
        cluster_labels::of(dialect, &[CLUSTER, 8]),
        cluster_labels::record(dialect, &labels),
        gone::note_streams(dialect, &[(CLUSTER, TYPE), (8, TYPE)]),
        gone::note_cluster(CLUSTER),
        gone::since(9),
        gone::drop_until(3),
        gone::count_of_first(8000),
        catalog::cluster(CLUSTER),
        catalog::clusters_called("member1"),
        catalog::clusters_of_names(dialect, &["member1", "member2"]),
        catalog::insert_clusters(dialect, &[(CLUSTER, "member1"), (8, "member2")].map(new)),
        catalog::expire_cluster(CLUSTER, true),
        catalog::leave_clusters(dialect, &[CLUSTER, 8], 1_800_000_000),
        catalog::come_back(dialect, &[CLUSTER, 8]),
        catalog::return_cluster(dialect, CLUSTER, 8),
        catalog::left_by(61_000),
        catalog::left_until(1_000, 128),
        catalog::claim_clusters(dialect, "b", &[CLUSTER, 8]),
        catalog::joined_clusters(dialect, CLUSTER, 1000),
        catalog::delete_cluster(CLUSTER),
        catalog::owners(dialect, &[CLUSTER, 8]),
        catalog::hold_owners(dialect, &[CLUSTER, 8]),
        catalog::take_namespaces(dialect, 2, &[CLUSTER, 8]),
        catalog::next_namespaces(dialect, &[CLUSTER, 8]),
        catalog::first_inactive(),
        catalog::stamp_clusters(dialect, 10, &[CLUSTER]),
        catalog::health_since(9),
        catalog::health_of(dialect, &[CLUSTER, 8]),
        catalog::record_health(dialect, &said),
        catalog::delete_health(CLUSTER),
        catalog::stamp_health(dialect, 10, &[CLUSTER]),
        unposted::insert(dialect, &moment, &[(TYPE, 8), (TYPE, 9)]),
        unposted::since(9),
    ]
}

fn types(dialect: Dialect) -> Vec<Statement> {
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
        catalog::types_since(9),
        catalog::types_by_id(dialect, &[1, 2]),
        catalog::versions_of(dialect, &[1, 2]),
        catalog::types_called(dialect, &[&gvr]),
        catalog::insert_type(TYPE, &resource),
        catalog::update_type(TYPE, &resource),
        catalog::stamp_types(dialect, 10, &[1, 2]),
        catalog::type_ids(),
        catalog::types_unused(dialect, 128),
        history::types(),
        history::asked(),
        history::forget_asked(),
        history::ask(
            dialect,
            &[AskedRow {
                group: "apps".into(),
                resource: "deployments".into(),
                period: 86_400_000,
                bytes: 1 << 30,
            }],
        ),
        history::begin_at(35),
        history::types_of(dialect, &[("", "pods"), ("apps", "deployments")]),
        history::note(dialect, 35, &[1, 2]),
        catalog::types_used_again(dialect, 128),
        catalog::types_unused_since(dialect, (35, 30), 128),
        catalog::note_types_unused(dialect, 40, &[1, 2]),
        catalog::note_types_in_use(dialect, &[1, 2]),
        catalog::delete_types(dialect, &[1, 2]),
        gone::note_types(dialect, 10, &[1, 2]),
        unposted::delete(dialect, &[1, 2]),
    ]
}

fn streams(dialect: Dialect) -> Vec<Statement> {
    let position = MemberPosition {
        resource_version: "99".into(),
        member: "uid".into(),
        phase: Phase::Live,
    };
    let fence = Fence {
        cluster: CLUSTER,
        resource: TYPE,
        epoch: 12,
    };
    let other = Fence {
        cluster: 8,
        ..fence
    };
    let moved = |fence, position, added| Moved {
        fence,
        position,
        rules: 77,
        added,
    };
    let keys = [(CLUSTER, TYPE), (8, TYPE)];
    vec![
        stream::since(9),
        stream::of_cluster(CLUSTER),
        stream::elsewhere(dialect, TYPE, CLUSTER),
        stream::several(dialect, &keys),
        stream::hold(dialect, &keys),
        stream::closed(dialect, 32),
        stream::objects(dialect, TYPE, &[CLUSTER]),
        stream::all_objects(dialect, TYPE),
        stream::take_over(dialect, &[(fence, false), (other, true)]),
        stream::advance(
            dialect,
            &[moved(fence, Some(position), 2), moved(other, None, -2)],
            1_800_000_000,
        ),
        stream::purged(
            dialect,
            &[Loss {
                cluster: CLUSTER,
                resource: TYPE,
                had: 700,
                gone: 500,
            }],
        ),
        stream::stamp(dialect, 10, &keys),
        stream::close(CLUSTER, TYPE),
        stream::close_all(CLUSTER),
        stream::fence(CLUSTER, 3),
        stream::fence_all(dialect, &[CLUSTER, 8]),
        stream::keys_of(dialect, &[CLUSTER, 8]),
        stream::keep_all(CLUSTER),
        stream::show(dialect, &keys),
        stream::delete(dialect, &keys),
    ]
}

fn namespaces(dialect: Dialect) -> Vec<Statement> {
    let row = NamespaceRow {
        id: 1000,
        cluster: CLUSTER,
        namespace: "web".into(),
        types: 2,
    };
    vec![
        namespace::places(
            dialect,
            &[(TYPE, CLUSTER, "default"), (TYPE, CLUSTER, "web")],
        ),
        namespace::by_id(dialect, &NSIDS),
        namespace::insert(dialect, &[row]),
        namespace::occupy(dialect, 2, &NSIDS),
        namespace::vacate(dialect, 1, &NSIDS),
        namespace::note_empty(dialect, 40, 100),
        namespace::note_later(40, 45),
        namespace::keep(dialect, 35, &[1000]),
        namespace::empty_since((40, 35), 100),
        namespace::some(CLUSTER, 100),
        namespace::delete(dialect, (40, 35), &NSIDS),
        namespace::delete_left(dialect, &NSIDS),
    ]
}

fn counters(dialect: Dialect) -> Vec<Statement> {
    let key = CounterKey {
        resource: TYPE,
        cluster: CLUSTER,
        namespace: "web".into(),
    };
    vec![
        counter::first(dialect, TYPE, &[CLUSTER, 8], 501),
        counter::of_type(TYPE, 2049),
        counter::from(TYPE, CLUSTER, "web", 501),
        counter::named(dialect, TYPE, &[CLUSTER, 8], &["default", "web"]),
        counter::any(dialect, &[1, 2], CLUSTER, "web"),
        counter::of_streams(dialect, &[(CLUSTER, TYPE), (8, TYPE)], 500),
        counter::put(dialect, &[(key.clone(), 1000, 3)]),
        counter::delete(dialect, &[key]),
    ]
}

fn objects(dialect: Dialect) -> Vec<Statement> {
    let version = MemberVersion::new("42");
    let row = ObjectRow {
        id: 5,
        resource: TYPE,
        nsid: 1000,
        name: "web-1",
        uid: "uid-1",
        created: 1_700_000_000,
        version: &version,
        size: 4600,
        rev: 41,
        form: -9,
    };
    let version = VersionRow {
        rev: 41,
        prev_rev: 17,
        object: 5,
        operation: Operation::Change,
        resource: TYPE,
        nsid: 1000,
        name: "web-1",
        dictionary: 1,
        terms: vec![0; 16],
        body: &[0; 700],
    };
    vec![
        object::old(dialect, &[(TYPE, 1000, "web-1"), (TYPE, 1001, "web-2")]),
        object::of_places(dialect, &[(TYPE, 1000), (TYPE, 1001)]),
        object::some(dialect, (TYPE, 1000), 100),
        object::numbered(dialect, &[5]),
        object::log(10, 40, 100),
        object::terms(dialect, &[17]),
        object::insert(dialect, std::slice::from_ref(&row)),
        object::update(dialect, std::slice::from_ref(&row)),
        object::append(dialect, std::slice::from_ref(&version)),
        object::delete(dialect, &[5]),
        object::delete_versions(dialect, &[17]),
        object::bury_versions(dialect, &[17]),
        object::leading(dialect, &[17, 18]),
    ]
}

fn dictionaries(dialect: Dialect) -> Vec<Statement> {
    vec![
        dictionary::all(),
        dictionary::sizes(),
        dictionary::several(dialect, &[64, 65]),
        dictionary::marks(dialect, &[64, 65]),
        dictionary::insert(64, 1500, &[0; 40]),
        dictionary::delete(dialect, &[64, 65]),
        dictionary::large_types(dialect, 1000),
        dictionary::clusters(TYPE),
        dictionary::namespaces(TYPE, CLUSTER, 1000),
        dictionary::sample(dialect, TYPE, 1000, 100),
    ]
}

fn indexes(dialect: Dialect) -> Vec<Statement> {
    let run = RunKey {
        term: -77,
        resource: TYPE,
        nsid: 1000,
    };
    let block = Block::encode(&[5, 6]).expect("two ids");
    vec![
        post::around(
            dialect,
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
        post::runs(dialect, &[run, RunKey { term: 12, ..run }], 33),
        post::following(dialect, &run, 5, 4),
        post::insert(
            dialect,
            &[BlockRow {
                run,
                block: block.clone(),
            }],
        ),
        post::put(dialect, &[BlockRow { run, block }]),
        post::delete(dialect, &[(run, 5)]),
        post::delete_runs(dialect, &[run]),
        post::within(dialect, &[-77, 12], TYPE, &NSIDS, 2049),
        post::sizes(dialect, &[-77, 12], TYPE, 2049),
        post::first_in(dialect, -77, TYPE, &RANGES),
        post::sizes_in(dialect, &[-77, 12], TYPE, &RANGES, 2049),
        post::total(dialect, -77, TYPE, 1000),
        post::sum(dialect, &[-77], TYPE, &RANGES),
    ]
}

fn selects(dialect: Dialect) -> Vec<Statement> {
    let one = BTreeSet::from(["web-1".to_owned()]);
    let two = BTreeSet::from(["web-1".to_owned(), "web-2".to_owned()]);
    vec![
        select::within(dialect, TYPE, &NSIDS, None),
        select::within(dialect, TYPE, &NSIDS, Some(&two)),
        select::within(dialect, TYPE, &NSIDS, Some(&one)),
        select::created_within(dialect, TYPE, &NSIDS, 1_700_000_000),
        select::after(dialect, TYPE, (1000, "web-1"), 501),
        select::called(dialect, TYPE, &["web-1", "web-2"], 2049),
        select::called_in(dialect, TYPE, &["web-1", "web-2"], &RANGES, 2049),
        select::by_id(dialect, &[5, 6]),
        select::one(dialect, TYPE, CLUSTER, "web", "web-1"),
        select::bodies(dialect, &[41, 42]),
        select::keys_after(dialect, TYPE, (1000, "web-1"), 500),
        select::keys_within(dialect, TYPE, &NSIDS),
    ]
}

fn sorts(dialect: Dialect) -> Vec<Statement> {
    let along = |index, cursor: &Cursor| sort::along(dialect, TYPE, index, cursor, 501);
    let second = Param::Int(1_700_000_000);
    let after = |value: Param| Cursor::After {
        value,
        nsid: 1000,
        id: 5,
    };
    vec![
        along((SortColumn::Created, true), &Cursor::Start),
        along((SortColumn::Created, true), &Cursor::At(second.clone())),
        along((SortColumn::Created, true), &after(second.clone())),
        along((SortColumn::Created, false), &after(second)),
        along((SortColumn::Name, true), &after("web-1".into())),
        along((SortColumn::Uid, false), &after("uid-1".into())),
        along((SortColumn::Version, true), &Cursor::Start),
        along((SortColumn::Name, false), &after("web-1".into())),
    ]
}

fn audits(dialect: Dialect) -> Vec<Statement> {
    let mut audits = vec![
        audit::objects(),
        audit::blocks(),
        audit::counters(),
        audit::streams(),
        audit::namespaces(),
        mend::objects(dialect, (TYPE, 1000), "web-1", 2000),
        mend::without_version(),
        mend::lost_namespaces(),
        mend::unposted(TYPE),
        mend::hold_namespace(1000),
        mend::count_types(dialect, 1000),
        mend::count_objects(dialect, CLUSTER, TYPE),
        mend::versions_after(35, 2000),
        stats::versions(dialect, 16),
        stats::index(dialect),
        audit::count_objects(dialect, 35),
        audit::count_versions(dialect, 35, 40),
        audit::count_history(dialect, 30, 35, 40),
    ];
    audits.extend(stats::tables(dialect));
    audits
}

fn copies(dialect: Dialect) -> Vec<Statement> {
    let mut copies = vec![copy::standing(dialect), head::replace(i64::MAX, &moment())];
    for table in &copy::TABLES {
        let value = |kind: &copy::Kind| match kind {
            copy::Kind::Int => Param::Int(7),
            copy::Kind::Text => "web".into(),
            copy::Kind::OptionalText => None.into(),
            copy::Kind::Blob => vec![0; 16].into(),
        };
        let row: Vec<Param> = table.columns.iter().map(|(_, kind)| value(kind)).collect();
        let key = &row[..table.key];
        copies.push(table.page(dialect, None, 2000));
        copies.push(table.page(dialect, Some(key), 2000));
        copies.extend(table.sizes(dialect, Some(key), 2000));
        copies.push(table.end(dialect, copy::End::First));
        copies.push(table.end(dialect, copy::End::Last));
        copies.push(table.count(dialect));
        copies.push(table.insert(dialect, std::slice::from_ref(&row)));
        if copy::PREFILLED.contains(&table.name) {
            copies.push(table.clear(dialect));
        }
    }
    copies
}

/// One statement in all dialects; a text and parameters that several have in common stand there once.
fn side_by_side(texts: &[(&str, Statement); 3]) -> String {
    let mut shown: Vec<(String, &Statement)> = Vec::new();
    for (dialect, statement) in texts {
        match shown.iter_mut().find(|(_, known)| *known == statement) {
            Some((dialects, _)) => {
                dialects.push_str(", ");
                dialects.push_str(dialect);
            }
            None => shown.push(((*dialect).to_owned(), statement)),
        }
    }
    let lines = shown.into_iter().map(|(dialects, statement)| {
        let params: Vec<String> = statement.params.iter().map(ToString::to_string).collect();
        let params = params.join(", ");
        format!("  {dialects}: {}\n    [{params}]", statement.sql)
    });
    let name = texts[0].1.name;
    format!("{name}\n{}", Vec::from_iter(lines).join("\n"))
}

/// Each statement has a name of its own, but for the variants of one.
#[test]
fn the_texts_of_all_statements() {
    let [sqlite, postgres, mysql] =
        [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql].map(samples);
    let all = sqlite.into_iter().zip(postgres).zip(mysql);
    let texts = all.map(|((sqlite, postgres), mysql)| {
        side_by_side(&[("sqlite", sqlite), ("postgres", postgres), ("mysql", mysql)])
    });
    insta::assert_snapshot!(Vec::from_iter(texts).join("\n\n"));
}

/// What speaks the wires of PostgreSQL and MySQL has its own way with these, or none.
#[test]
fn nothing_is_used_that_distributed_databases_lack() {
    const LACKING: [&str; 18] = [
        "SEQUENCE",
        "SERIAL",
        "SMALLSERIAL",
        "BIGSERIAL",
        "NEXTVAL",
        "CURRVAL",
        "SETVAL",
        "AUTO_INCREMENT",
        "ADVISORY",
        "GET_LOCK",
        "LISTEN",
        "NOTIFY",
        "REFERENCES",
        "TRIGGER",
        "JSON",
        "JSONB",
        "GIN",
        "IDENTITY",
    ];
    // Names of functions have them between others.
    for (text, word) in [
        ("SELECT pg_advisory_xact_lock(7)", "ADVISORY"),
        ("SELECT pg_notify('fleet', '7')", "NOTIFY"),
        ("CREATE TABLE a (id bigserial)", "BIGSERIAL"),
        ("SELECT get_lock('fleet', 1)", "GET_LOCK"),
    ] {
        assert!(words([text.to_owned()]).contains(word), "{text}");
    }
    let used = words([Dialect::Postgres, Dialect::MySql].map(texts).concat());
    assert!(used.contains("CREATE") && used.contains("SELECT"));
    let used = LACKING.iter().filter(|word| used.contains(**word));
    assert_eq!(Vec::from_iter(used), [&""; 0]);
}

/// One of them has these and the other one not, or not in the oldest version that will do.
#[test]
fn nothing_is_used_that_mysql_and_mariadb_do_not_share() {
    const OF_ONE: [&str; 8] = [
        "RETURNING",
        "LATERAL",
        "EXCEPT",
        "INTERSECT",
        "MINUS",
        "UUID",
        "INET6",
        "VERSIONING",
    ];
    let used = words(texts(Dialect::MySql));
    assert!(used.contains("CREATE") && used.contains("FORCE"));
    let used = OF_ONE.iter().filter(|word| used.contains(**word));
    assert_eq!(Vec::from_iter(used), [&""; 0]);
}

/// Of all statements and migrations.
fn texts(dialect: Dialect) -> Vec<String> {
    let statements = samples(dialect).into_iter().map(|one| one.sql.into_owned());
    let migrations = crate::backend::schema::migrations(dialect).iter();
    let lines = migrations.flat_map(|migration| migration.sql.lines());
    let lines = lines.map(|line| line.split("--").next().unwrap_or(line).to_owned());
    statements.chain(lines).collect()
}

/// Whole, and what stands between their underscores.
fn words(texts: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for text in texts {
        let whole = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for word in whole.map(str::to_ascii_uppercase) {
            words.extend(word.split('_').map(String::from));
            words.insert(word);
        }
    }
    words
}

/// Which index a statement is run by is looked at for those that have an example: all of them. Their names are the texts of this form in these files.
#[test]
fn every_statement_has_an_example() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql");
    let samples = [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql].map(samples);
    let known: BTreeSet<&str> = samples.iter().flatten().map(|sample| sample.name).collect();
    let mut without = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the statements") {
        let path = entry.expect("a file").path();
        if path.is_dir() || path.ends_with("samples.rs") {
            continue;
        }
        let text = std::fs::read_to_string(path).expect("text");
        let names = text
            .split('"')
            .skip(1)
            .step_by(2)
            .filter(|text| is_name(text));
        without.extend(
            names
                .filter(|name| !known.contains(name))
                .map(str::to_owned),
        );
    }
    assert!(known.len() > 100, "{} statements", known.len());
    assert_eq!(without, BTreeSet::new());
}

/// `table.what`. A column of a table that has a short name in a statement has one letter before the dot.
fn is_name(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_word =
        |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    matches!(parts[..], [table, _] if table.len() > 1) && parts.iter().all(is_word)
}
