//! Random changes of a catalogue. Whoever hears of them by and by comes to the same state as who begins with all rows, whatever was counted on the way.

use std::collections::{BTreeMap, BTreeSet};

use armadex_model::label;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::sql::unposted::UnpostedRow;

const INCARNATION: &str = "of-the-store";

/// The rows that a store would have, each with the count of the catalogue at which it changed last.
#[derive(Default)]
struct Rows {
    seq: i64,
    last_cluster: i64,
    last_type: i32,
    /// Name, and whether it is active.
    clusters: BTreeMap<i64, (String, bool, i64)>,
    /// Those that some clusters have.
    labels: BTreeMap<i64, String>,
    /// Whether it is healthy, its version, if it has told it.
    health: BTreeMap<i64, (bool, Option<u8>, i64)>,
    /// Plural, and a number that stands for what else is said of it.
    types: BTreeMap<i32, (String, u32, i64)>,
    streams: BTreeMap<(i64, i32), (bool, i64)>,
    unposted: BTreeMap<(i32, i64), i64>,
    gone: Vec<(i64, i64, i32)>,
}

impl Rows {
    /// What changed after a count.
    fn since(&self, seq: i64) -> Delta {
        let described = |id: i32, plural: &str, number: u32| {
            let mut row = kind(id, plural);
            row.resource.short_names = vec![number.to_string()];
            row
        };
        let health = |healthy| Health {
            healthy,
            reason: String::new(),
        };
        let later = |of: i64| of > seq;
        let of = |id| self.labels.get(id).map_or("", String::as_str);
        Delta {
            version: self.seq,
            incarnation: INCARNATION.to_owned(),
            clusters: self
                .clusters
                .iter()
                .filter(|(_, row)| later(row.2))
                .map(|(id, (name, active, _))| labelled(cluster(*id, name, *active), of(id)))
                .collect(),
            gone: self
                .gone
                .iter()
                .filter(|row| later(row.0))
                .map(|&(_, cluster, resource)| (cluster, resource))
                .collect(),
            health: self
                .health
                .iter()
                .filter(|(_, row)| later(row.2))
                .map(|(&cluster, &(healthy, minor, _))| HealthRow {
                    cluster,
                    health: health(healthy),
                    version: minor.map(|minor| format!("v1.{minor}.0")),
                })
                .collect(),
            types: self
                .types
                .iter()
                .filter(|(_, row)| later(row.2))
                .map(|(id, (plural, number, _))| described(*id, plural, *number))
                .collect(),
            streams: self
                .streams
                .iter()
                .filter(|(_, row)| later(row.1))
                .map(|(&(cluster, resource), &(is_open, _))| (cluster, resource, is_open))
                .collect(),
            unposted: self
                .unposted
                .iter()
                .filter(|(_, of)| later(**of))
                .map(|(&(resource, key), _)| UnpostedRow {
                    resource,
                    key,
                    revision: 0,
                })
                .collect(),
        }
    }

    /// One change, if what was drawn for it is there.
    fn change(&mut self, dice: &mut StdRng) -> Option<()> {
        self.seq += 1;
        let seq = self.seq;
        let active = |rows: &Self| {
            let active = rows.clusters.iter().filter(|(_, row)| row.1);
            active.map(|(id, _)| *id).collect::<Vec<i64>>()
        };
        match dice.random_range(0..100) {
            0..12 => self.join(&format!("c{}", dice.random_range(0..12))),
            12..18 => {
                let id = one_of(dice, active(self))?;
                let row = self.clusters.get_mut(&id)?;
                (row.1, row.2) = (false, seq);
            }
            18..60 => {
                let cluster = one_of(dice, active(self))?;
                let resource = one_of(dice, self.types.keys().copied())?;
                let is_open = dice.random_bool(0.6);
                let is_new = !self.streams.contains_key(&(cluster, resource));
                if is_open || !is_new {
                    self.streams.insert((cluster, resource), (is_open, seq));
                }
            }
            60..65 => {
                let id = one_of(dice, active(self))?;
                let labels = format!("env={}", dice.random_range(0..3));
                self.labels.insert(id, labels);
                self.clusters.get_mut(&id)?.2 = seq;
            }
            65..72 => self.purge(dice)?,
            72..80 => self.describe(dice),
            80..86 => {
                let resource = one_of(dice, self.types.keys().copied())?;
                let key = dice.random_range(0..5);
                self.unposted.entry((resource, key)).or_insert(seq);
            }
            _ => {
                let id = one_of(dice, active(self))?;
                let minor = dice.random_bool(0.8).then(|| dice.random_range(28..32));
                self.health.insert(id, (dice.random(), minor, seq));
            }
        }
        Some(())
    }

    /// Who has the name already is another one, and leaves first.
    fn join(&mut self, name: &str) {
        let seq = self.seq;
        let former = self
            .clusters
            .values_mut()
            .find(|row| row.1 && row.0 == name);
        if let Some(former) = former {
            (former.1, former.2) = (false, seq);
        }
        self.last_cluster += 1;
        let row = (name.to_owned(), true, seq);
        self.clusters.insert(self.last_cluster, row);
    }

    /// A type is new, or another is said of it.
    fn describe(&mut self, dice: &mut StdRng) {
        let plural = format!("t{}", dice.random_range(0..8));
        let known = self.types.iter().find(|(_, row)| row.0 == plural);
        let id = known.map_or(self.last_type + 1, |(id, _)| *id);
        self.last_type = self.last_type.max(id);
        self.types.insert(id, (plural, dice.random(), self.seq));
    }

    /// A cluster or a stream that is hidden goes, or a type that no stream is of. Of what was hidden is noted when that was.
    fn purge(&mut self, dice: &mut StdRng) -> Option<()> {
        match dice.random_range(0..3) {
            0 => {
                let hidden = self.clusters.iter().filter(|(_, row)| !row.1);
                let id = one_of(dice, hidden.map(|(id, _)| *id))?;
                let of_it = self.streams.keys().filter(|key| key.0 == id);
                for key in Vec::from_iter(of_it.copied()) {
                    self.purge_stream(key);
                }
                self.health.remove(&id);
                let (_, _, seq) = self.clusters.remove(&id)?;
                self.gone.push((seq, id, 0));
            }
            1 => {
                let closed = self.streams.iter().filter(|(_, row)| !row.0);
                let key = one_of(dice, closed.map(|(key, _)| *key))?;
                self.purge_stream(key);
            }
            _ => {
                let is_used = |id: &i32| self.streams.keys().any(|key| key.1 == *id);
                let unused = self.types.keys().copied().filter(|id| !is_used(id));
                let id = one_of(dice, unused)?;
                self.types.remove(&id);
                self.unposted.retain(|(resource, _), _| *resource != id);
                self.gone.push((self.seq, 0, id));
            }
        }
        Some(())
    }

    fn purge_stream(&mut self, key: (i64, i32)) {
        if let Some((_, seq)) = self.streams.remove(&key) {
            self.gone.push((seq, key.0, key.1));
        }
    }
}

fn one_of<T>(dice: &mut StdRng, all: impl IntoIterator<Item = T>) -> Option<T> {
    let mut all = Vec::from_iter(all);
    (!all.is_empty()).then(|| all.swap_remove(dice.random_range(0..all.len())))
}

/// It fails after others of its rows were taken: nothing of them may be seen in the state before.
fn half_broken(mut delta: Delta) -> Delta {
    delta.clusters.push(cluster(i64::MAX, "No Name", true));
    delta
}

/// Who has the name of another one is there, and nobody says that the other one left.
fn forget_formers(delta: &mut Delta) {
    let rows = delta.clusters.iter().map(|row| &row.cluster);
    let active = rows.filter(|row| row.active);
    let names = BTreeSet::from_iter(active.map(|row| row.name.clone()));
    delta
        .clusters
        .retain(|row| row.cluster.active || !names.contains(&row.cluster.name));
}

/// All that a state tells, in words.
fn told(state: &Snapshot) -> String {
    let Snapshot {
        version,
        incarnation,
        shown_at: _,
        catalog,
        members,
        names,
        type_ids,
        types,
        holders,
        sets,
        label_sets,
        unposted,
        known_holders: _,
    } = state;
    let holders = Vec::from_iter(holders.iter().filter(|(_, count)| **count > 0));
    let labelled = label::parse("env=1").expect("a selector");
    let of_types = types.keys().map(|id| {
        let selections = [&[], &labelled[..]].map(|labels| state.chosen_holders(*id, labels));
        (id, selections)
    });
    let of_types = Vec::from_iter(of_types);
    format!(
        "{version} {incarnation}\n{catalog:#?}\n{members:#?}\n{names:#?}\n{type_ids:#?}\n{types:#?}\n{holders:#?}\n{sets:#?}\n{label_sets:#?}\n{unposted:#?}\n{of_types:#?}"
    )
}

#[test]
fn what_comes_of_many_changes_is_what_is_made_anew() {
    for seed in 0..4 {
        let mut dice = StdRng::seed_from_u64(seed);
        let (mut rows, mut state) = (Rows::default(), Snapshot::default());
        let mut most = (0, 0);
        for round in 0..500 {
            for _ in 0..dice.random_range(1..8) {
                rows.change(&mut dice);
            }
            let sound = "sound rows";
            if dice.random_bool(0.1) {
                let broken = half_broken(rows.since(state.version));
                assert!(state.apply(broken).is_err(), "seed {seed}, round {round}");
            }
            let mut delta = rows.since(state.version);
            if dice.random_bool(0.5) {
                forget_formers(&mut delta);
            }
            state = state.apply(delta).expect(sound);
            let anew = Snapshot::default().apply(rows.since(0)).expect(sound);
            let (one, other) = (told(&state), told(&anew));
            let differs = one.lines().zip(other.lines()).find(|(a, b)| a != b);
            assert_eq!(differs, None, "seed {seed}, round {round}");
            assert_eq!(one.len(), other.len(), "seed {seed}, round {round}");
            most = (
                most.0.max(state.members.len()),
                most.1.max(state.sets.len()),
            );
        }
        assert!(
            most.0 > 6 && most.1 > 4,
            "seed {seed}: {most:?} at the most"
        );
    }
}
