//! Changes and queries, drawn by lot.

use std::collections::{BTreeMap, BTreeSet};

use armadex_model::label::{Operator, Requirement};
use armadex_model::query::{NamespaceScope, OrderBy, OrderField, Scope, Searched};
use armadex_model::{ClusterLabels, Query};
use rand::Rng;

use super::dice::Dice;
use super::fleet::At;
use super::map::{
    CLUSTERS, Changed, ID, KEYS, KINDS, Known, Model, NAMES, NAMESPACES, PHASES, Path, VALUES,
    described,
};

/// Up to 25 changes of distinct keys of one type of a cluster.
pub(super) fn changes(
    dice: &mut Dice,
    (cluster, kind): At,
    round: u64,
    model: &Model,
) -> Vec<Changed> {
    let count = 1 + dice.below(25);
    let paths: BTreeSet<Path> = (0..count)
        .map(|_| (cluster, dice.pick(&NAMESPACES), dice.pick(&NAMES)))
        .collect();
    let keys = paths.into_iter().map(|path| (kind, path));
    keys.map(|key| (key, changed(dice, model.get(&key), round)))
        .collect()
}

fn changed(dice: &mut Dice, known: Option<&Known>, round: u64) -> Option<Known> {
    if dice.one_in(4) {
        return None;
    }
    Some(match known {
        Some(known) if dice.one_in(5) => known.clone(),
        Some(known) if !dice.one_in(4) => {
            let mut changed = known.clone();
            changed.version += 1;
            if dice.one_in(2) {
                changed.labels = labels(dice, &changed.uid);
                changed.phase = dice.pick(&PHASES);
            }
            changed
        }
        _ => {
            let uid = format!("{:08x}-{round}", dice.0.random::<u32>());
            Known {
                version: 100 + dice.below(50) as i64,
                created: 1_700_000_000 + dice.below(6) as i64,
                labels: labels(dice, &uid),
                phase: dice.pick(&PHASES),
                uid,
            }
        }
    })
}

fn labels(dice: &mut Dice, uid: &str) -> BTreeMap<&'static str, String> {
    let mut labels: BTreeMap<&str, String> = (0..dice.below(4))
        .map(|_| (dice.pick(&KEYS), dice.pick(&VALUES).to_owned()))
        .collect();
    match dice.below(12) {
        0 => {}
        1 => drop(labels.insert(ID, dice.pick(&VALUES).to_owned())),
        _ => drop(labels.insert(ID, uid.to_owned())),
    }
    labels
}

pub(super) fn query(dice: &mut Dice, model: &Model) -> Query {
    let fields = [
        OrderField::Cluster,
        OrderField::Namespace,
        OrderField::Name,
        OrderField::CreatedAt,
        OrderField::ResourceVersion,
        OrderField::Uid,
    ];
    let keys = if dice.one_in(2) { 0 } else { 1 + dice.below(2) };
    Query {
        types: types(dice),
        clusters: dice.filter(&CLUSTERS),
        namespaces: dice.filter(&NAMESPACES),
        names: dice.filter(&NAMES),
        cluster_labels: (0..dice.below(4) / 2)
            .map(|_| cluster_requirement(dice))
            .collect(),
        labels: (0..dice.below(3))
            .map(|_| label_requirement(dice, model))
            .collect(),
        fields: (0..dice.below(4) / 3)
            .map(|_| field_requirement(dice))
            .collect(),
        order: (0..keys)
            .map(|_| OrderBy {
                field: dice.pick(&fields),
                descending: dice.one_in(2),
            })
            .collect(),
    }
}

/// One type or both, either first, each with what may be seen of it.
fn types(dice: &mut Dice) -> Vec<Searched> {
    let first = dice.below(KINDS.len());
    let mut kinds = vec![first];
    if dice.one_in(3) {
        kinds.push(1 - first);
    }
    let searched = kinds.into_iter().map(|kind| Searched {
        resource: described(kind).gvr,
        scope: scope(dice),
    });
    searched.collect()
}

fn scope(dice: &mut Dice) -> Scope {
    if !dice.one_in(4) {
        return Scope::Everything;
    }
    let clusters = dice.subset(&CLUSTERS).into_iter().map(|cluster| {
        let allowed = match dice.one_in(2) {
            true => NamespaceScope::All,
            false => NamespaceScope::Only(dice.subset(&NAMESPACES)),
        };
        (cluster, allowed)
    });
    Scope::Clusters(clusters.collect())
}

fn label_requirement(dice: &mut Dice, model: &Model) -> Requirement {
    let key = if dice.one_in(3) { ID } else { dice.pick(&KEYS) };
    let mut values = dice.subset(&VALUES);
    if key == ID && !model.is_empty() {
        let ids: Vec<&str> = model.values().map(|known| known.uid.as_str()).collect();
        values.extend(dice.subset(&ids));
    }
    let operator = match dice.below(4) {
        0 => Operator::In(values),
        1 => Operator::NotIn(values),
        2 => Operator::Exists,
        _ => Operator::DoesNotExist,
    };
    Requirement {
        key: key.to_owned(),
        operator,
    }
}

/// Labels of a cluster: none, one or both keys.
pub(super) fn cluster_labels(dice: &mut Dice) -> ClusterLabels {
    let keys = dice.subset(&KEYS[..2]);
    let labels = Vec::from_iter(keys.iter().map(|key| (key.as_str(), dice.pick(&VALUES))));
    ClusterLabels::of(labels).0
}

fn cluster_requirement(dice: &mut Dice) -> Requirement {
    let values = dice.subset(&VALUES);
    Requirement {
        key: dice.pick(&KEYS).to_owned(),
        operator: match dice.below(4) {
            0 => Operator::In(values),
            1 => Operator::NotIn(values),
            2 => Operator::Exists,
            _ => Operator::DoesNotExist,
        },
    }
}

fn field_requirement(dice: &mut Dice) -> Requirement {
    let phases = dice.subset(&PHASES);
    let operator = if dice.one_in(2) {
        Operator::In(phases)
    } else {
        Operator::NotIn(phases)
    };
    Requirement {
        key: "status.phase".into(),
        operator,
    }
}
