//! Dictionaries for what a store has much of: trained on its own objects by the process that does the periodic work, and followed by the others.
//!
//! What is built in was trained on usual objects of usual kinds. Half of what is looked at of a type is learnt from, the other half says what it is worth: a
//! dictionary is kept only where that half takes a tenth less. Nothing is learnt from Secrets and ConfigMaps: a dictionary has parts of what it was trained
//! on, word for word, and stays for as long as its type does.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::{StoreError, TypeId};
use rand::seq::SliceRandom as _;
use tracing::{debug, info};

use super::SqlStore;
use crate::aside::aside;
use crate::backend::error::broken;
use crate::backend::{Connection, Lane, rows};
use crate::form::codec::{Dictionary, Family, Packed, Packer, Unpacker};
use crate::form::dictionaries::{Known, Trained, type_of};
use crate::read::bodies;
use crate::sql::{catalog, dictionary};
use crate::write::dictionaries::Lesson;
use crate::write::work::{Done, Work};

/// Beyond 32 KB a dictionary costs more memory than it saves bytes.
const DICTIONARY_BYTES: usize = 32 << 10;
/// Samples are spread over so many clusters, and so many namespaces of each.
const CLUSTERS: usize = 32;
const NAMESPACES: usize = 8;
/// The namespaces of a cluster that those are chosen from.
const LISTED_NAMESPACES: i64 = 1000;
/// Larger objects are no samples: few of them would be all that is learnt.
const LARGEST_SAMPLE: i64 = 64 << 10;
/// All of the samples, unpacked.
const SAMPLED_BYTES: i64 = 8 << 20;
/// What a dictionary saves must be so many times what it takes.
const WORTH: i64 = 4;

impl SqlStore {
    /// Notes what packs a type that this process writes: the last dictionary that was trained for it.
    pub(super) async fn note_family(&self, resource: TypeId, family: Family) {
        if self.families.insert(resource, family)
            && let Err(error) = self.follow_dictionaries().await
        {
            debug!(%error, "which dictionaries there are is asked again later");
        }
    }

    /// Once in a while: learns of dictionaries that another process trained, and trains one where one is due, if this one does the periodic work.
    pub(super) async fn see_to_dictionaries(&self) {
        if !self.schedule.is_due(Instant::now()) {
            return;
        }
        let done = async {
            self.forget_dropped().await?;
            self.follow_dictionaries().await?;
            match self.past().is_some() {
                true => self.train_one().await,
                false => Ok(()),
            }
        };
        match done.await {
            Ok(()) => self.schedule.went_well(),
            Err(error) => {
                self.schedule.failed(Instant::now());
                debug!(%error, "dictionaries are seen to again later");
            }
        }
    }

    /// Members may bring types and take them away without end.
    async fn forget_dropped(&self) -> Result<(), StoreError> {
        // What is noted from here on is there.
        let known = self.families.types();
        let mut transaction = self.database.read(Lane::Upkeep).await?;
        let there = rows(&mut *transaction, catalog::type_ids(), |row| row.int(0)).await;
        transaction.rollback().await?;
        let there: HashSet<i64> = there?.into_iter().collect();
        let is_dropped = |resource: &TypeId| !there.contains(&i64::from(resource.0));
        let dropped: Vec<TypeId> = known.into_iter().filter(is_dropped).collect();
        self.families.forget(&dropped);
        self.schedule.retain(&there);
        Ok(())
    }

    async fn follow_dictionaries(&self) -> Result<(), StoreError> {
        let mut transaction = self.database.read(Lane::Upkeep).await?;
        let found = self.newer_dictionaries(&mut *transaction).await;
        transaction.rollback().await?;
        let found = found?;
        for (number, bytes) in found {
            if self.adopt(number, bytes) {
                self.schedule.succeeded();
            }
        }
        Ok(())
    }

    /// Those that are better than what this process packs its types with.
    async fn newer_dictionaries(
        &self,
        connection: &mut dyn Connection,
    ) -> Result<Vec<(i64, Vec<u8>)>, StoreError> {
        let all = rows(connection, dictionary::all(), dictionary::decode_trained).await?;
        let mut newest = HashMap::new();
        for (number, _) in all {
            // The later ones of a type have the greater numbers.
            newest.extend(type_of(number).map(|resource| (resource, number)));
        }
        let types = self.families.types();
        let newer = types.into_iter().filter_map(|resource| {
            let number = *newest.get(&resource.0)?;
            (number > self.families.of(resource).number()).then_some(number)
        });
        let newer: Vec<i64> = newer.collect();
        let mut found = Vec::new();
        for part in newer.chunks(connection.dialect().most_values()) {
            let statement = dictionary::several(connection.dialect(), part);
            found.extend(rows(connection, statement, dictionary::decode).await?);
        }
        Ok(found)
    }

    /// Packs with it from now on, if that can be done.
    fn adopt(&self, number: i64, bytes: Vec<u8>) -> bool {
        let trained = self.dictionaries.insert(number, bytes);
        let is_sound = trained.is_sound();
        if is_sound && let Some(resource) = type_of(number) {
            self.families.adopt(TypeId(resource), &trained);
        }
        is_sound
    }

    /// Trains the dictionary of one type, if one is due and what comes of it is worth it.
    async fn train_one(&self) -> Result<(), StoreError> {
        let Some(course) = self.course().await? else {
            return Ok(());
        };
        let (resource, objects) = (course.resource.clone(), course.objects);
        let id = course.id;
        let Some(learnt) = aside(true, move || course.take()).await? else {
            debug!(resource = %resource.gvr, "a dictionary for these objects would save little");
            return Ok(());
        };
        let Learnt { bytes, less } = learnt;
        let lesson = Lesson {
            resource: id,
            objects,
            bytes: bytes.clone(),
        };
        let Done::Learnt(Some(number)) = self.order(Work::Learn(lesson)).await? else {
            return Ok(());
        };
        self.adopt(number, bytes);
        self.schedule.succeeded();
        info!(
            resource = %resource.gvr,
            objects,
            "objects of a type are packed with a dictionary that was trained on them: {less} % less"
        );
        Ok(())
    }

    /// What is to be learnt, read in one snapshot.
    async fn course(&self) -> Result<Option<Course>, StoreError> {
        let moment = self.moment(Lane::Upkeep).await?;
        let mut transaction = moment.transaction;
        let known = |id| moment.snapshot.resource(id).cloned();
        let course = self.course_in(&mut *transaction, known).await;
        transaction.rollback().await?;
        course
    }

    async fn course_in(
        &self,
        connection: &mut dyn Connection,
        known: impl Fn(i32) -> Option<Arc<ResourceType>>,
    ) -> Result<Option<Course>, StoreError> {
        let trained = rows(connection, dictionary::all(), dictionary::decode_trained).await?;
        if trained.len() >= self.schedule.most() {
            debug!("as many dictionaries are trained as there may be");
            return Ok(None);
        }
        let now = Instant::now();
        let mut chosen = self.schedule.choose(now, &trained);
        if chosen.is_none() {
            let large = dictionary::large_types(connection.dialect(), self.schedule.least());
            let mut sizes = rows(connection, large, dictionary::decode_size).await?;
            sizes.retain(|(id, _)| known(*id).is_some_and(|resource| may_be_learnt(&resource.gvr)));
            self.schedule.found(now, sizes);
            chosen = self.schedule.choose(now, &trained);
        }
        let Some((id, objects)) = chosen else {
            return Ok(None);
        };
        let Some(resource) = known(id) else {
            return Ok(None);
        };
        let sizes = sample(connection, id, self.schedule.samples()).await?;
        let revs: Vec<i64> = sizes.keys().copied().collect();
        let (bodies, dictionaries) = bodies::packed(connection, &self.dictionaries, &revs).await?;
        let sized = |(rev, body)| Some((body, *sizes.get(&rev)?));
        let last = trained
            .iter()
            .rfind(|(number, _)| type_of(*number) == Some(id));
        let last = last.and_then(|(number, _)| dictionaries.get(number));
        let last = last.filter(|trained| trained.is_sound());
        let present = match last {
            Some(trained) => Dictionary::Trained(Arc::clone(trained)),
            None => Dictionary::BuiltIn(Family::of(&resource.gvr)),
        };
        Ok(Some(Course {
            id,
            resource,
            objects,
            bodies: bodies.into_iter().filter_map(sized).collect(),
            dictionaries,
            present,
        }))
    }
}

/// Parts of what is learnt from are kept as they are, for long.
fn may_be_learnt(gvr: &GroupVersionResource) -> bool {
    !(gvr.group.is_empty() && matches!(gvr.resource.as_str(), "secrets" | "configmaps"))
}

/// Revisions of objects of a type, from many places, and the bytes of their bodies.
async fn sample(
    connection: &mut dyn Connection,
    resource: i32,
    samples: usize,
) -> Result<HashMap<i64, i64>, StoreError> {
    let clusters = rows(connection, dictionary::clusters(resource), |r| r.int(0)).await?;
    let clusters = some_of(clusters, CLUSTERS);
    let each = samples.div_ceil(clusters.len().max(1));
    let (mut sizes, mut bytes) = (HashMap::new(), 0);
    for cluster in clusters {
        let listed = dictionary::namespaces(resource, cluster, LISTED_NAMESPACES);
        let namespaces = rows(connection, listed, |r| r.int(0)).await?;
        let namespaces = some_of(namespaces, NAMESPACES);
        let here = i64::try_from(each.div_ceil(namespaces.len().max(1))).unwrap_or(i64::MAX);
        for nsid in namespaces {
            let statement = dictionary::sample(connection.dialect(), resource, nsid, here);
            let found = rows(connection, statement, |r| Ok((r.int(0)?, r.int(1)?))).await?;
            for (rev, size) in found {
                if size <= LARGEST_SAMPLE && bytes + size <= SAMPLED_BYTES {
                    sizes.insert(rev, size);
                    bytes += size;
                }
            }
        }
    }
    Ok(sizes)
}

fn some_of(mut all: Vec<i64>, most: usize) -> Vec<i64> {
    all.shuffle(&mut rand::rng());
    all.truncate(most);
    all
}

/// What a dictionary is trained on, and what it has to be better than.
struct Course {
    id: i32,
    resource: Arc<ResourceType>,
    objects: i64,
    /// Each with its bytes as they will be.
    bodies: Vec<(Packed, i64)>,
    dictionaries: Known,
    present: Dictionary,
}

/// A dictionary that is worth it.
struct Learnt {
    bytes: Vec<u8>,
    /// By how many hundredths packed bodies are smaller.
    less: i64,
}

impl Course {
    /// Takes the processor for a part of a second.
    fn take(self) -> Result<Option<Learnt>, StoreError> {
        let mut unpacker = Unpacker::new(&self.dictionaries);
        let bodies = self.bodies.into_iter();
        let bodies = bodies.map(|(body, size)| unpacker.unpack(body, size));
        let mut bodies: Vec<Vec<u8>> = bodies.collect::<Result<_, _>>().map_err(broken)?;
        bodies.shuffle(&mut rand::rng());
        let (learnt_from, held_out) = bodies.split_at(bodies.len() / 2);
        // What is too little, or the same all over, is nothing to learn from.
        let Ok(bytes) = zstd::dict::from_samples(learnt_from, DICTIONARY_BYTES) else {
            return Ok(None);
        };
        let before = packed_bytes(&self.present, held_out)?;
        let trained = Dictionary::Trained(Arc::new(Trained::new(0, bytes.clone())));
        let saved = before - packed_bytes(&trained, held_out)?;
        let objects = i64::try_from(held_out.len()).unwrap_or(i64::MAX).max(1);
        let saves = saved.saturating_mul(self.objects) / objects;
        let costs = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let less = saved * 100 / before.max(1);
        let is_worth_it = less >= 10 && saves >= costs.saturating_mul(WORTH);
        Ok(is_worth_it.then_some(Learnt { bytes, less }))
    }
}

fn packed_bytes(dictionary: &Dictionary, bodies: &[Vec<u8>]) -> Result<i64, StoreError> {
    let packed = || -> Result<usize, String> {
        let mut packer = Packer::new(dictionary)?;
        let sizes = bodies.iter().map(|body| Ok(packer.pack(body)?.bytes.len()));
        sizes.sum()
    };
    let bytes = packed().map_err(broken)?;
    Ok(i64::try_from(bytes).unwrap_or(i64::MAX))
}
