//! Which dictionary packs the objects of a type: noted when its stream is opened, asked for every batch.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use armadex_storage::TypeId;

use crate::form::codec::Family;

/// One entry for each type whose stream was opened by this process: a few hundred at most.
#[derive(Debug, Default)]
pub(crate) struct Families(RwLock<HashMap<TypeId, Family>>);

impl Families {
    pub(crate) fn insert(&self, resource: TypeId, family: Family) {
        let mut families = self.0.write().unwrap_or_else(PoisonError::into_inner);
        families.insert(resource, family);
    }

    /// The family of a type; unknown types have none of their own.
    pub(crate) fn of(&self, resource: TypeId) -> Family {
        let families = self.0.read().unwrap_or_else(PoisonError::into_inner);
        families.get(&resource).copied().unwrap_or(Family::Generic)
    }
}
