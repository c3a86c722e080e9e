//! The types that are synced, each once: a thousand members have the same ones, and a stream's is known to its task, to its session and to
//! whoever makes the status.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use armadex_model::ResourceType;

use crate::lock::lock;

/// Types that are looked through for those that nobody has any more.
const FEW: usize = 1024;

/// The types of all clusters.
#[derive(Debug, Default)]
pub(crate) struct Types(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    types: HashSet<Arc<ResourceType>>,
    /// How many there were after the last look.
    kept: usize,
}

impl Types {
    /// The one that equals this.
    pub(crate) fn of(&self, resource: &ResourceType) -> Arc<ResourceType> {
        let mut known = lock(&self.0);
        if let Some(known) = known.types.get(resource) {
            return Arc::clone(known);
        }
        // Types that come and go are no more than twice those that are synced.
        if known.types.len() >= 2 * known.kept.max(FEW) {
            known.types.retain(|known| Arc::strong_count(known) > 1);
            known.kept = known.types.len();
        }
        let resource = Arc::new(resource.clone());
        known.types.insert(Arc::clone(&resource));
        resource
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::named;

    #[test]
    fn a_type_is_there_once_and_goes_with_those_who_have_it() {
        let types = Types::default();
        let pods = types.of(&named("pods"));
        assert!(Arc::ptr_eq(&pods, &types.of(&named("pods"))));
        for number in 0..10 * FEW {
            types.of(&named(&format!("kind{number}")));
        }
        assert!(lock(&types.0).types.len() <= 2 * FEW + 1);
        assert!(Arc::ptr_eq(&pods, &types.of(&named("pods"))));
    }
}
