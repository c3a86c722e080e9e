//! Where a type has objects, in page order: clusters by name from the catalogue, in each the namespaces by name from the counters.
//!
//! Where a term or a name leads to few places, those are read instead, and sorted.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use armadex_model::NameFilter;
use armadex_model::query::{END, OrderBy, OrderField, SortValue};
use armadex_storage::StoreError;

use super::place::Place;
use super::plan::order::Rank;
use super::plan::{Plan, Space, TypePlan};
use super::reading::Reading;
use crate::form::namespace_id::cluster_of;
use crate::sql::counter::{self, CounterRow};
use crate::sql::namespace;

/// All places of a type are read once one in so many of the clusters that could be read for it had nothing.
const IN_VAIN: usize = 8;

/// Where a walk begins: at a namespace of a cluster, rows up to a name in it left out. Without names it is the beginning of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) cluster: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Point {
    /// Where a rank stands.
    pub(crate) fn of_rank(rank: &Rank) -> Self {
        Self {
            cluster: rank.cluster.clone(),
            namespace: rank.namespace.clone(),
            name: rank.name.clone(),
        }
    }

    /// The rank of this place, for an order that a walk has: one of names. A key that does not vary has its value even where the place is
    /// the beginning of a cluster.
    pub(crate) fn into_rank(self, index: usize, plan: &Plan) -> Rank {
        let namespace = plan.one_namespace.as_ref().unwrap_or(&self.namespace);
        let key = |key: &OrderBy| {
            SortValue::Text(match key.field {
                OrderField::Cluster => self.cluster.clone(),
                OrderField::Namespace => namespace.clone(),
                _ => self.name.clone(),
            })
        };
        Rank {
            keys: plan.order.iter().map(key).collect(),
            index,
            cluster: self.cluster,
            namespace: self.namespace,
            name: self.name,
        }
    }
}

/// The places of one type from somewhere on.
pub(crate) struct Places<'a> {
    planned: &'a TypePlan,
    backwards: bool,
    source: Source,
    /// Clusters in a row in which nothing was found; `None` once all places of the type were asked for.
    in_vain: Option<usize>,
}

enum Source {
    /// By the counters.
    Counters {
        /// The next cluster, in walking order.
        next: usize,
        /// Where to begin in it, inclusive.
        namespace: Option<String>,
        /// Clusters to read at a time; follows how many namespaces they turn out to have.
        clusters: usize,
    },
    /// By what leads to few places: cluster (in walking order), namespace id, hits.
    Hits(VecDeque<(usize, Vec<(i64, i64)>)>, Option<String>),
}

impl<'a> Places<'a> {
    /// All places from `from` on.
    pub(crate) fn all(planned: &'a TypePlan, backwards: bool, from: Option<&Point>) -> Self {
        let (next, namespace) = begin(planned, backwards, from);
        let source = Source::Counters {
            next,
            namespace,
            clusters: 2,
        };
        Self {
            planned,
            backwards,
            source,
            in_vain: Some(0),
        }
    }

    /// Those of these namespaces that may be shown, from `from` on; `hits` are namespace ids with the number of objects that led there.
    pub(crate) fn of_hits(
        planned: &'a TypePlan,
        backwards: bool,
        from: Option<&Point>,
        hits: &BTreeMap<i64, i64>,
    ) -> Self {
        let (next, namespace) = begin(planned, backwards, from);
        let hits = hits.iter().map(|(&nsid, &count)| (nsid, count));
        let by_cluster = by_walked(planned, backwards, next, hits);
        let namespace = namespace.filter(|_| by_cluster.contains_key(&next));
        Self {
            planned,
            backwards,
            source: Source::Hits(by_cluster.into_iter().collect(), namespace),
            in_vain: None,
        }
    }

    /// The next places, about `wanted` of them; `None` at the end. There may be none although more follow.
    pub(crate) async fn next(
        &mut self,
        reading: &mut Reading<'_>,
        wanted: usize,
    ) -> Result<Option<Vec<Arc<Place>>>, StoreError> {
        self.look_over(reading).await?;
        match self.source {
            Source::Counters { .. } => self.next_of_counters(reading, wanted.max(1)).await,
            Source::Hits(..) => self.next_of_hits(reading, wanted.max(1)).await,
        }
    }

    /// Where the next places begin; `None` at the end.
    pub(crate) fn next_from(&self) -> Option<Point> {
        let (at, namespace) = match &self.source {
            Source::Counters {
                next, namespace, ..
            } => (*next, namespace.clone()),
            Source::Hits(waiting, namespace) => (waiting.front()?.0, namespace.clone()),
        };
        Some(Point {
            cluster: self.space(at)?.name.as_str().to_owned(),
            namespace: namespace.unwrap_or_default(),
            name: String::new(),
        })
    }

    fn space(&self, at: usize) -> Option<Space<'a>> {
        let clusters = &self.planned.clusters;
        clusters.get(if self.backwards {
            clusters.len().checked_sub(at + 1)?
        } else {
            at
        })
    }

    /// Where cluster after cluster has nothing, all places of the type may be few: they are read at once then.
    async fn look_over(&mut self, reading: &mut Reading<'_>) -> Result<(), StoreError> {
        let most = reading.tuning.probe;
        let (
            Some(in_vain),
            Source::Counters {
                next,
                namespace: None,
                ..
            },
        ) = (self.in_vain, &self.source)
        else {
            return Ok(());
        };
        if in_vain < (most / IN_VAIN).max(1) {
            return Ok(());
        }
        self.in_vain = None;
        let limit = limit(most);
        let statement = counter::of_type(self.planned.id, limit);
        let all = reading.rows(statement, counter::decode).await?;
        if all.len() <= most {
            let all = all.into_iter().map(|row| (row.nsid, row.objects));
            let by_cluster = by_walked(self.planned, self.backwards, *next, all);
            self.source = Source::Hits(by_cluster.into_iter().collect(), None);
        }
        Ok(())
    }

    async fn next_of_counters(
        &mut self,
        reading: &mut Reading<'_>,
        wanted: usize,
    ) -> Result<Option<Vec<Arc<Place>>>, StoreError> {
        let Source::Counters {
            next,
            namespace,
            clusters,
        } = &mut self.source
        else {
            return Ok(None);
        };
        let (at, from, most) = (*next, namespace.take(), *clusters);
        let Some(first) = self.space(at) else {
            return Ok(None);
        };
        let chunk = match (first.namespaces, from) {
            (NameFilter::In(_), from) => self.named(reading, at, from.as_deref()).await?,
            (_, Some(from)) => self.rest(reading, at, &from, wanted).await?,
            (_, None) => self.first(reading, at, most, wanted).await?,
        };
        if let Source::Counters {
            next,
            namespace,
            clusters,
        } = &mut self.source
        {
            if let Some(each) = chunk.rows.len().checked_div(chunk.next - at) {
                *clusters = (wanted / each.max(1)).clamp(1, reading.tuning.clusters.min(most * 4));
            }
            (*next, *namespace) = (chunk.next, chunk.namespace);
        }
        let is_open = !matches!(first.namespaces, NameFilter::In(_));
        if let Some(in_vain) = self.in_vain.as_mut().filter(|_| is_open) {
            *in_vain = match chunk.rows.is_empty() {
                true => *in_vain + chunk.next - at,
                false => 0,
            };
        }
        let places = chunk.rows.into_iter().map(|(space, row)| Place {
            index: self.planned.index,
            cluster: space.name.clone(),
            namespace: row.namespace.into(),
            nsid: row.nsid,
            objects: row.objects,
        });
        Ok(Some(places.map(Arc::new).collect()))
    }

    /// The namespaces of one cluster from one on.
    async fn rest(
        &self,
        reading: &mut Reading<'_>,
        at: usize,
        from: &str,
        wanted: usize,
    ) -> Result<Chunk<'a>, StoreError> {
        let Some(space) = self.space(at) else {
            return Ok(Chunk::end(at));
        };
        let limit = limit(wanted);
        let statement = counter::from(self.planned.id, space.id, from, limit);
        let found = reading.rows(statement, counter::decode).await?;
        let mut chunk = Chunk::end(at + 1);
        chunk.take(at, space, found, limit);
        Ok(chunk)
    }

    /// The first namespaces of the next clusters.
    async fn first(
        &self,
        reading: &mut Reading<'_>,
        at: usize,
        most: usize,
        wanted: usize,
    ) -> Result<Chunk<'a>, StoreError> {
        let open = |at: &usize| {
            self.space(*at)
                .is_some_and(|space| !matches!(space.namespaces, NameFilter::In(_)))
        };
        let count = (at..at + most).take_while(open).count().max(1);
        // A power of two, so that there are few texts.
        let count = 1_usize << count.ilog2();
        let spaces: Vec<Space<'_>> = (at..at + count).filter_map(|at| self.space(at)).collect();
        let ids: Vec<i64> = spaces.iter().map(|space| space.id).collect();
        let limit = limit(wanted);
        let statement = counter::first(reading.dialect, self.planned.id, &ids, limit);
        reading.looked_for(ids.len());
        let mut found = by_cluster(reading.rows(statement, counter::decode).await?);
        let mut chunk = Chunk::end(at + count);
        for (offset, space) in spaces.into_iter().enumerate() {
            let mut rows = found.remove(&space.id).unwrap_or_default();
            // Not every database keeps the order of the parts of a union.
            rows.sort_by(|a, b| a.namespace.cmp(&b.namespace));
            if chunk.take(at + offset, space, rows, limit) {
                break;
            }
        }
        Ok(chunk)
    }

    /// The named namespaces of the next clusters that are restricted to the same.
    async fn named(
        &self,
        reading: &mut Reading<'_>,
        at: usize,
        from: Option<&str>,
    ) -> Result<Chunk<'a>, StoreError> {
        let Some(first) = self.space(at) else {
            return Ok(Chunk::end(at));
        };
        let NameFilter::In(names) = first.namespaces else {
            return Ok(Chunk::end(at));
        };
        let names: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| from.is_none_or(|from| *name >= from))
            .collect();
        let (names, later) = names.split_at(names.len().min(reading.tuning.list));
        if let [next, ..] = later {
            let mut chunk = Chunk::end(at);
            chunk.namespace = Some((*next).to_owned());
            let found = self.lookup(reading, &[first], names).await?;
            chunk.rows.extend(found);
            return Ok(chunk);
        }
        if names.is_empty() {
            return Ok(Chunk::end(at + 1));
        }
        let most = match from {
            // What is left of the names is left in this cluster alone.
            Some(_) => 1,
            None => (reading.tuning.named / names.len()).clamp(1, reading.tuning.list),
        };
        let same = |space: &Space<'_>| space.is_like(&first);
        let spaces: Vec<Space<'_>> = (at..at + most)
            .map_while(|at| self.space(at))
            .take_while(same)
            .collect();
        let mut chunk = Chunk::end(at + spaces.len());
        chunk.rows = self.lookup(reading, &spaces, names).await?;
        Ok(chunk)
    }

    async fn lookup(
        &self,
        reading: &mut Reading<'_>,
        spaces: &[Space<'a>],
        names: &[&str],
    ) -> Result<Vec<(Space<'a>, CounterRow)>, StoreError> {
        let ids: Vec<i64> = spaces.iter().map(|space| space.id).collect();
        let statement = counter::named(reading.dialect, self.planned.id, &ids, names);
        let mut found = by_cluster(reading.rows(statement, counter::decode).await?);
        reading.looked_for(ids.len() * names.len());
        let mut rows = Vec::new();
        for &space in spaces {
            let mut here = found.remove(&space.id).unwrap_or_default();
            here.sort_by(|a, b| a.namespace.cmp(&b.namespace));
            rows.extend(here.into_iter().map(|row| (space, row)));
        }
        Ok(rows)
    }

    async fn next_of_hits(
        &mut self,
        reading: &mut Reading<'_>,
        wanted: usize,
    ) -> Result<Option<Vec<Arc<Place>>>, StoreError> {
        let Source::Hits(waiting, from) = &mut self.source else {
            return Ok(None);
        };
        let from = from.take();
        let mut taken: Vec<(usize, Vec<(i64, i64)>)> = Vec::new();
        let mut count = 0;
        while count < wanted
            && let Some((at, hits)) = waiting.pop_front()
        {
            count += hits.len();
            taken.push((at, hits));
        }
        if taken.is_empty() {
            return Ok(None);
        }
        let nsids: Vec<i64> = taken
            .iter()
            .flat_map(|(_, hits)| hits.iter().map(|&(nsid, _)| nsid))
            .collect();
        let mut names = namespace_names(reading, &nsids).await?;
        let mut places = Vec::with_capacity(nsids.len());
        for (order, (at, hits)) in taken.into_iter().enumerate() {
            let from = from.as_deref().filter(|_| order == 0);
            let Some(space) = self.space(at) else {
                continue;
            };
            let mut here: Vec<Place> = hits
                .into_iter()
                .filter_map(|(nsid, objects)| {
                    let namespace = names.remove(&nsid)?;
                    let later = from.is_none_or(|from| namespace.as_str() >= from);
                    (later && space.namespaces.admits(&namespace)).then(|| Place {
                        index: self.planned.index,
                        cluster: space.name.clone(),
                        namespace: namespace.into(),
                        nsid,
                        objects,
                    })
                })
                .collect();
            here.sort_by(|a, b| a.namespace.cmp(&b.namespace));
            places.extend(here.into_iter().map(Arc::new));
        }
        Ok(Some(places))
    }
}

/// Some namespaces, and where to go on.
struct Chunk<'a> {
    rows: Vec<(Space<'a>, CounterRow)>,
    next: usize,
    namespace: Option<String>,
}

impl<'a> Chunk<'a> {
    fn end(next: usize) -> Self {
        Self {
            rows: Vec::new(),
            next,
            namespace: None,
        }
    }

    /// Takes what was read of a cluster; whether it has more than that, so that the walk goes on there. The last of `limit` rows is left for
    /// the next chunk.
    fn take(&mut self, at: usize, space: Space<'a>, rows: Vec<CounterRow>, limit: i64) -> bool {
        let mut rows = rows;
        let full = i64::try_from(rows.len()).is_ok_and(|count| count == limit);
        if full && let Some(last) = rows.pop() {
            (self.next, self.namespace) = (at, Some(last.namespace));
        }
        let admitted = rows
            .into_iter()
            .filter(|row| space.namespaces.admits(&row.namespace));
        self.rows.extend(admitted.map(|row| (space, row)));
        full
    }
}

/// One more than wanted: it is where the next chunk begins.
fn limit(wanted: usize) -> i64 {
    i64::try_from(wanted).map_or(i64::MAX, |wanted| wanted.saturating_add(1))
}

fn by_cluster(rows: Vec<CounterRow>) -> HashMap<i64, Vec<CounterRow>> {
    let mut found: HashMap<i64, Vec<CounterRow>> = HashMap::new();
    for row in rows {
        found.entry(row.cluster).or_default().push(row);
    }
    found
}

/// Namespace ids, each with a number of objects, by the place of their cluster in walking order: those from one on that may be shown.
fn by_walked(
    planned: &TypePlan,
    backwards: bool,
    next: usize,
    hits: impl Iterator<Item = (i64, i64)>,
) -> BTreeMap<usize, Vec<(i64, i64)>> {
    let mut by_cluster: BTreeMap<usize, Vec<(i64, i64)>> = BTreeMap::new();
    for (nsid, count) in hits {
        let shown = planned.clusters.at(cluster_of(nsid));
        let shown = shown.map(|at| walked(planned, backwards, at));
        if let Some(at) = shown.filter(|&at| at >= next) {
            by_cluster.entry(at).or_default().push((nsid, count));
        }
    }
    by_cluster
}

/// The place of a cluster in walking order.
fn walked(planned: &TypePlan, backwards: bool, at: usize) -> usize {
    if backwards {
        planned.clusters.len() - 1 - at
    } else {
        at
    }
}

/// The first cluster of a walk, in walking order, and the namespace to begin at if the walk begins inside it.
fn begin(planned: &TypePlan, backwards: bool, from: Option<&Point>) -> (usize, Option<String>) {
    let Some(from) = from else {
        return (0, None);
    };
    let before = planned.clusters.before(&from.cluster);
    let here = planned
        .clusters
        .get(before)
        .is_some_and(|space| space.name.as_str() == from.cluster);
    let next = match (backwards, here) {
        (false, _) => before,
        (true, true) => planned.clusters.len() - 1 - before,
        (true, false) => planned.clusters.len() - before,
    };
    let namespace = match from.name.as_str() {
        END => format!("{}{AFTER_NAMESPACE}", from.namespace),
        _ => from.namespace.clone(),
    };
    (next, here.then_some(namespace))
}

/// Behind a namespace's name it comes after that name and before every other that begins with it: names have no control characters.
const AFTER_NAMESPACE: char = '\u{1}';

/// The names of these namespaces by id.
pub(crate) async fn namespace_names(
    reading: &mut Reading<'_>,
    nsids: &[i64],
) -> Result<HashMap<i64, String>, StoreError> {
    let mut names = HashMap::with_capacity(nsids.len());
    for part in nsids.chunks(reading.tuning.list) {
        let found = reading
            .rows(namespace::by_id(reading.dialect, part), namespace::decode)
            .await?;
        names.extend(found.into_iter().map(|row| (row.id, row.namespace)));
    }
    Ok(names)
}
