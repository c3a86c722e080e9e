//! What is made of a whole catalogue: when it has changed and not for each request.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use armadex_storage::Catalog;

/// What was made last.
pub(super) struct OfCatalog<T> {
    made: ArcSwapOption<Made<T>>,
}

/// The catalogue keeps its place as long as it is named here, so that no other is taken for it; what was in it is held by those who use it.
struct Made<T> {
    catalog: Weak<Catalog>,
    value: Arc<T>,
}

impl<T> Default for OfCatalog<T> {
    fn default() -> Self {
        Self {
            made: ArcSwapOption::empty(),
        }
    }
}

impl<T> OfCatalog<T> {
    /// What is made of this catalogue.
    pub(super) fn of(&self, catalog: &Arc<Catalog>, make: impl FnOnce(&Catalog) -> T) -> Arc<T> {
        if let Some(made) = &*self.made.load()
            && std::ptr::eq(made.catalog.as_ptr(), Arc::as_ptr(catalog))
        {
            return Arc::clone(&made.value);
        }
        let value = Arc::new(make(catalog));
        self.made.store(Some(Arc::new(Made {
            catalog: Arc::downgrade(catalog),
            value: Arc::clone(&value),
        })));
        value
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn it_is_made_once_for_each_catalogue() {
        let (known, made) = (OfCatalog::default(), Cell::new(0));
        for number in 1..4 {
            let catalog = Arc::new(Catalog::default());
            for _ in 0..3 {
                let value = known.of(&catalog, |_| made.replace(made.get() + 1));
                assert_eq!((*value, made.get()), (number - 1, number));
            }
        }
    }
}
