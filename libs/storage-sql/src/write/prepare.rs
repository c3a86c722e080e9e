//! From a batch to what is stored of it: terms hashed, bodies packed. Pure, and the part of a write that takes the processor's time.

use std::borrow::Cow;

use armadex_model::ObjectKey;
use armadex_storage::{Batch, Change, MemberPosition, Object, Phase, Rules, StoreError};

use crate::backend::error::broken;
use crate::form::codec::{Dictionary, MAX_BODY_BYTES, Packed, Packer};
use crate::form::dictionaries::Mark;
use crate::form::term::{Label, TermHasher, TermSet};
use crate::form::version::MemberVersion;
use crate::write::label_keys::Unposted;

/// A batch that only has to be written.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) cluster: i64,
    pub(crate) resource: i32,
    pub(crate) epoch: i64,
    /// What the rows of the stream are of, should it be live after the batch.
    pub(crate) rules: i64,
    /// What its bodies are packed with, if that was trained.
    pub(crate) trained: Option<Mark>,
    pub(crate) changes: Vec<PreparedChange>,
    pub(crate) position: Option<MemberPosition>,
    /// Of a batch that was too much for one transaction.
    pub(crate) is_part: bool,
}

/// One change of it.
#[derive(Debug)]
pub(crate) enum PreparedChange {
    Put(NewObject),
    Delete(ObjectKey),
}

impl PreparedChange {
    pub(crate) fn key(&self) -> &ObjectKey {
        match self {
            Self::Put(object) => &object.key,
            Self::Delete(key) => key,
        }
    }
}

/// Edits of the index that an object which goes away is taken for until its terms are read: those of a usual one.
const USUAL_EDITS: usize = 32;

impl Prepared {
    /// The cluster and the type.
    pub(crate) fn stream(&self) -> (i64, i32) {
        (self.cluster, self.resource)
    }

    /// The edits of the index that it comes to at most, but for those of what it replaces: what is put is taken for new, though most that a watch tells is
    /// changed where nothing is indexed. Then some 2,000 objects share a transaction instead of 8,000, which costs nothing that could be measured.
    pub(crate) fn edits(&self) -> usize {
        let edits = self.changes.iter().map(|change| match change {
            PreparedChange::Put(object) => object.terms.posted().len(),
            PreparedChange::Delete(_) => USUAL_EDITS,
        });
        edits.sum()
    }

    /// Its two halves, the first to be stored first. That a list is under way is said with its first rows; where the rows are complete as of a position the second
    /// half alone says so.
    pub(crate) fn halves(mut self) -> [Self; 2] {
        self.is_part = true;
        let position = self.position.as_ref();
        let listing = position.filter(|position| position.phase == Phase::Listing);
        let first = Self {
            position: listing.cloned(),
            changes: self.changes.drain(..self.changes.len() / 2).collect(),
            ..self
        };
        [first, self]
    }
}

/// An object in its stored parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewObject {
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    pub(crate) version: MemberVersion,
    pub(crate) created: i64,
    pub(crate) size: i64,
    pub(crate) terms: TermSet,
    pub(crate) labels: Vec<Label>,
    /// What its terms and the rules that it was made by come to.
    pub(crate) form: i64,
    pub(crate) packed: Packed,
}

impl NewObject {
    /// Its terms as they are stored where the values of these label keys are not posted.
    pub(crate) fn stored_terms(&self, unposted: &Unposted) -> Cow<'_, TermSet> {
        let labels = self.labels.iter();
        let values: Vec<i64> = labels
            .filter(|label| unposted.contains_key(&label.key))
            .map(|label| label.value)
            .collect();
        match values.as_slice() {
            [] => Cow::Borrowed(&self.terms),
            values => Cow::Owned(self.terms.without_posting(values)),
        }
    }
}

/// Prepares a batch. Where something is left out the stream's rows are of rules that nobody has, so whoever opens it compares them anew.
pub(crate) fn prepare(
    batch: Batch,
    dictionary: &Dictionary,
    hasher: &TermHasher,
) -> Result<Prepared, StoreError> {
    // A batch that only moves a position has nothing to pack: one a minute of each stream.
    let mut packer = None;
    let rules = batch.rules;
    let changes = batch.changes.into_iter().map(|change| match change {
        Change::Put(object) => {
            let packer = match &mut packer {
                Some(packer) => packer,
                none => none.insert(Packer::new(dictionary).map_err(|err| unpackable(&err))?),
            };
            prepare_object(object, rules, packer, hasher).map(PreparedChange::Put)
        }
        Change::Delete(key) => Ok(PreparedChange::Delete(key)),
    });
    let changes = changes.collect::<Result<_, _>>()?;
    Ok(Prepared {
        cluster: batch.cluster.0,
        resource: batch.resource.0,
        epoch: batch.epoch,
        rules: match batch.whole {
            true => rules.stream,
            false => !rules.stream,
        },
        trained: packer.and_then(|_| dictionary.mark()),
        changes,
        position: batch.position,
        is_part: false,
    })
}

fn prepare_object(
    object: Object,
    rules: Rules,
    packer: &mut Packer<'_>,
    hasher: &TermHasher,
) -> Result<NewObject, StoreError> {
    let size = object.body.len();
    if size > MAX_BODY_BYTES {
        return Err(StoreError::Rejected {
            key: object.key,
            reason: format!("its {size} bytes are more than {MAX_BODY_BYTES}"),
        });
    }
    let (terms, labels) = hasher.terms_and_labels(&object.terms);
    Ok(NewObject {
        version: MemberVersion::new(&object.resource_version),
        form: hasher.form(&terms, rules),
        packed: packer.pack(&object.body).map_err(|err| unpackable(&err))?,
        size: i64::try_from(size).expect("bounded above"),
        key: object.key,
        uid: object.uid,
        created: object.created,
        labels,
        terms,
    })
}

/// Packing fails only for want of memory or by a fault of the library: nobody has a dictionary to pack with that is damaged.
fn unpackable(err: &str) -> StoreError {
    broken(format!("a body could not be compressed: {err}"))
}
