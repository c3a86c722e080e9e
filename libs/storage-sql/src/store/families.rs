//! What packs the objects of a type: noted when its stream is opened, asked for every batch.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError, RwLock};

use armadex_storage::TypeId;

use crate::form::codec::{Dictionary, Family};
use crate::form::dictionaries::Trained;

/// One entry for each type whose stream was opened by this process and that is there: a few hundred, as a rule.
#[derive(Default)]
pub(crate) struct Families(RwLock<HashMap<TypeId, Dictionary>>);

impl Families {
    /// A type of this family that nothing is known of; whether that is new.
    pub(crate) fn insert(&self, resource: TypeId, family: Family) -> bool {
        let mut families = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match families.entry(resource) {
            Entry::Occupied(_) => false,
            Entry::Vacant(new) => {
                new.insert(Dictionary::BuiltIn(family));
                true
            }
        }
    }

    /// From now on this packs the objects of the type, if this process writes any; the last one that was trained is the one to have.
    pub(crate) fn adopt(&self, resource: TypeId, trained: &Arc<Trained>) {
        let mut families = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(dictionary) = families.get_mut(&resource)
            && dictionary.number() < trained.mark().number
        {
            *dictionary = Dictionary::Trained(Arc::clone(trained));
        }
    }

    /// The dictionary of a type; unknown types have none of their own.
    pub(crate) fn of(&self, resource: TypeId) -> Dictionary {
        let families = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let known = families.get(&resource).cloned();
        known.unwrap_or(Dictionary::BuiltIn(Family::Generic))
    }

    /// Nobody opens a stream of these any more.
    pub(crate) fn forget(&self, dropped: &[TypeId]) {
        let mut families = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for resource in dropped {
            families.remove(resource);
        }
    }

    /// The types whose objects this process packs.
    pub(crate) fn types(&self) -> Vec<TypeId> {
        let families = self.0.read().unwrap_or_else(PoisonError::into_inner);
        families.keys().copied().collect()
    }
}
