//! What is found between the steps of a mending, and after one that was broken off. SQLite.

use std::collections::BTreeSet;

use armadex_model::label::{Operator, Requirement};
use armadex_model::query::Start;
use armadex_model::{GroupVersionResource, Query, Term};
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::{PageBudget, Search as _};

use super::*;
use crate::sql::statement::Param;

const PODS: usize = 40;

fn pod(number: usize) -> armadex_storage::conformance::fixture::ObjectBuilder {
    let half = if number.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    };
    let pod = object("ns", &format!("p-{number:02}")).label("half", half);
    match number % 5 {
        0 => pod.label("fifth", &format!("v-{number}")),
        _ => pod,
    }
}

/// A store with pods of which the index, and some themselves, are damaged.
struct Scene {
    store: Arc<SqlStore>,
    _directory: tempfile::TempDir,
}

impl Scene {
    async fn sound() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let location = Location::Sqlite(directory.path().join("store.db"));
        let store = open_with(&location, &tiny()).await;
        let scene = Self {
            store: Arc::new(store.expect("a store")),
            _directory: directory,
        };
        let fixture = scene.fixture();
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, (0..PODS).map(pod)).await;
        scene
    }

    async fn damaged(damage: &[&'static str]) -> Self {
        let scene = Self::sound().await;
        for &damage in damage {
            scene.run(damage, []).await;
        }
        scene
    }

    fn fixture(&self) -> Fixture {
        Fixture::of(&self.store)
    }

    async fn run<const N: usize>(&self, sql: &'static str, params: [Param; N]) {
        let mut transaction = self.store.database.write().await.expect("a transaction");
        let damage = Statement::fixed("test.damage", sql, params);
        let touched = transaction.execute(damage).await.expect("damaged");
        assert!(touched > 0, "{sql}");
        transaction.commit().await.expect("committed");
    }

    fn term(&self, key: &str, value: &str) -> Param {
        let (key, value) = (key.into(), value.into());
        self.store.hasher.term(&Term::Label { key, value }).into()
    }

    async fn plan(&self) -> Vec<Mending> {
        let mut reader = self.store.database.read(Lane::Whole).await;
        let reader = reader.as_mut().expect("a reader");
        self.store.plan(&mut **reader).await.expect("a plan")
    }

    async fn faults(&self) -> Vec<String> {
        self.store.check().await.expect("a report").faults
    }

    /// What each question finds; nothing where it cannot be told.
    async fn answers(&self) -> Vec<Option<BTreeSet<String>>> {
        let mut answers = Vec::new();
        for labels in [
            vec![],
            vec![Requirement::is_in("half", ["odd"])],
            vec![Requirement::is_not_in("half", ["odd"])],
            vec![Requirement::is_not_in("half", ["odd", "even"])],
            vec![Requirement {
                key: "fifth".into(),
                operator: Operator::Exists,
            }],
            vec![Requirement::is_in("fifth", ["v-10"])],
            vec![
                Requirement::is_in("half", ["even"]),
                Requirement::is_not_in("fifth", ["v-10", "v-20"]),
            ],
        ] {
            let query = Query {
                labels,
                ..all_pods()
            };
            answers.push(self.answer(&query).await);
        }
        answers
    }

    async fn answer(&self, query: &Query) -> Option<BTreeSet<String>> {
        let budget = PageBudget {
            rows: 500,
            bytes: usize::MAX,
        };
        let page = self.store.page(query, &Start::Beginning, budget).await;
        let rows = page.ok()?.rows.into_iter();
        Some(rows.map(|row| row.key.name).collect())
    }
}

/// What an answer has too much or too little; everything where there is none.
fn errors(
    answer: Option<&BTreeSet<String>>,
    right: &BTreeSet<String>,
    all: &BTreeSet<String>,
) -> BTreeSet<String> {
    let wrong = answer.map(|answer| answer.symmetric_difference(right).cloned().collect());
    wrong.unwrap_or_else(|| all.clone())
}

/// Breaks a mending off after each number of steps: what is found is never more wrong than it was, and another time makes everything right.
async fn check_broken_off(damage: &[&'static str], removed: &[usize]) {
    let sound = Scene::sound().await;
    let mut right = Vec::new();
    for answer in sound.answers().await {
        right.push(answer.expect("an answer"));
    }
    let all = right[0].clone();
    let gone: BTreeSet<String> = removed.iter().map(|n| format!("p-{n:02}")).collect();
    for steps in 0.. {
        let scene = Scene::damaged(damage).await;
        let before = scene.answers().await;
        let mut left: Vec<Mending> = scene.plan().await;
        left.reverse();
        for _ in 0..steps {
            let Some(mending) = left.pop() else {
                return;
            };
            let done = scene.store.mend_step(mending).await.expect("a step");
            left.extend(done.next);
        }
        let now = scene.answers().await;
        for (question, right) in right.iter().enumerate() {
            let [before, now] =
                [&before, &now].map(|of| errors(of[question].as_ref(), right, &all));
            let more = now.difference(&before).filter(|name| !gone.contains(*name));
            let more = Vec::from_iter(more);
            assert!(
                more.is_empty(),
                "{damage:?}: {more:?} after {steps} steps in question {question}"
            );
        }
        let again = scene.store.mend().await.expect("mended");
        assert_eq!(scene.faults().await, [""; 0], "{damage:?}, {again:?}");
        for (found, right) in scene.answers().await.iter().zip(&right) {
            let found = found.as_ref().expect("an answer");
            let right: BTreeSet<String> = right.difference(&gone).cloned().collect();
            assert_eq!(*found, right, "{damage:?}");
        }
    }
}

const LOST_BLOCKS: &str = "DELETE FROM post WHERE first_id % 3 = 0";
const DAMAGED_BLOCKS: &str = "UPDATE post SET ids = x'00' WHERE first_id % 3 = 1";
const LOST_OBJECTS: &str = "DELETE FROM obj WHERE rev % 4 = 0";
const DAMAGED_OBJECTS: &str = "UPDATE ver SET terms = x'00' WHERE rev IN (2, 12, 23)";
const LOST_VERSIONS: &str = "DELETE FROM ver WHERE rev IN (4, 17)";
const COUNTED_TOO_LOW: &str = "UPDATE counter SET n = 15";
const COUNTED_TOO_HIGH: &str = "UPDATE counter SET n = 90";

#[tokio::test]
async fn a_mending_that_is_broken_off_leaves_nothing_more_wrong_than_it_was() {
    let lost = Vec::from_iter((0..PODS).filter(|number| (number + 1).is_multiple_of(4)));
    for (damage, removed) in [
        (&[LOST_BLOCKS] as &[&'static str], &[] as &[usize]),
        (&["DELETE FROM post"], &[]),
        (&[LOST_BLOCKS, COUNTED_TOO_LOW], &[]),
        (&[LOST_BLOCKS, COUNTED_TOO_HIGH], &[]),
        (&[DAMAGED_BLOCKS], &[]),
        (&[LOST_OBJECTS], &lost),
        (&[LOST_OBJECTS, LOST_BLOCKS], &lost),
        (&[DAMAGED_OBJECTS], &[1, 11, 22]),
        (
            &[DAMAGED_OBJECTS, LOST_BLOCKS, COUNTED_TOO_LOW],
            &[1, 11, 22],
        ),
        (&[LOST_VERSIONS, LOST_BLOCKS], &[3, 16]),
    ] {
        check_broken_off(damage, removed).await;
    }
}

/// Blocks of one value that stand under another.
#[tokio::test]
async fn what_leads_to_other_objects_goes_with_its_run() {
    let scene = Scene::sound().await;
    let [odd, even] = ["odd", "even"].map(|half| scene.term("half", half));
    let moved = "UPDATE post SET term = ? WHERE term = ? AND first_id > 20";
    scene.run(moved, [odd, even]).await;
    assert!(!scene.faults().await.is_empty());
    let mended = scene.store.mend().await.expect("mended");
    assert_eq!((mended.places, mended.removed), (1, 0));
    assert_eq!(scene.faults().await, [""; 0]);
    let sound = Scene::sound().await;
    assert_eq!(scene.answers().await, sound.answers().await);
}

/// Others write between two steps, to the stream that is mended as well, which they take over.
#[tokio::test]
async fn what_is_written_between_the_steps_of_a_mending_is_there_when_it_ends() {
    let scene = Scene::damaged(&[
        LOST_BLOCKS,
        "UPDATE counter SET n = 41",
        "DELETE FROM ver WHERE rev = 4",
        "INSERT INTO ver SELECT 1000, 0, 0, op, type, nsid, name, dict, terms, body FROM ver WHERE rev = 1",
    ])
    .await;
    let fixture = scene.fixture();
    let mut left = scene.plan().await;
    left.reverse();
    let mut steps = 0;
    while let Some(mending) = left.pop() {
        let done = scene.store.mend_step(mending).await.expect("a step");
        left.extend(done.next);
        let pods = fixture.pods_of("m").await;
        let (old, new) = (steps % PODS, PODS + steps);
        if old != 3 {
            // Its labels change, so it leaves runs that are mended and comes into others.
            let other = object("ns", &format!("p-{old:02}")).label("half", "neither");
            fixture.put(&pods, [other.version("2"), pod(new)]).await;
        }
        steps += 1;
    }
    assert!(steps > 10, "{steps}");
    assert_eq!(scene.faults().await, [""; 0]);
    let again = scene.store.mend().await.expect("mended");
    assert_eq!(again, Mended::default());
    let gvr = GroupVersionResource::new("", "v1", "pods");
    let count = fixture.count(&Query::all(gvr)).await;
    assert_eq!(count, fixture.list(&all_pods(), 500).await.len() as u64);
}
