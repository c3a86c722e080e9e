//! What a status says of a store that fails. Pure: takes the error, gives words.
//!
//! Who has a cluster reads its statuses, and an error of the store may name the database, its host and its user, or its file. That is for whoever runs the synchro,
//! in its log.

use armadex_storage::StoreError;

/// An error in words for everybody. What the store says of an object, a type or a cluster is for whoever has these.
pub(crate) fn in_a_status(error: &StoreError) -> String {
    let what = match error {
        StoreError::Unavailable { .. } | StoreError::Gone { .. } => "the store is not available",
        StoreError::Denied { .. } => "the store lets the synchro do less than it has to",
        StoreError::Broken { .. } => "the store cannot be used",
        StoreError::Unsupported { .. } => "the store cannot be used as it is set up",
        StoreError::Fenced { .. }
        | StoreError::Left { .. }
        | StoreError::TakenOver { .. }
        | StoreError::Differs { .. }
        | StoreError::Rejected { .. } => return error.to_string(),
    };
    format!("{what}, the log of the synchro says more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_store_is_and_who_its_user_is_stands_in_no_status() {
        let place = || "connecting with postgres://indexer@db.example.com:5432/fleet".to_owned();
        for error in [
            StoreError::Unavailable {
                reason: place(),
                source: place().into(),
            },
            StoreError::Denied {
                what: place(),
                source: place().into(),
            },
            StoreError::Broken { reason: place() },
            StoreError::Gone { reason: place() },
            StoreError::Unsupported { what: place() },
        ] {
            let shown = in_a_status(&error);
            assert!(shown.starts_with("the store "), "{shown}");
            assert!(shown.ends_with("says more"), "{shown}");
            assert!(!shown.contains("example"), "{shown}");
        }
    }

    #[test]
    fn what_a_type_is_to_others_is_told_as_the_store_says_it() {
        let what = "pods is namespaced in the other clusters that have it".to_owned();
        let differs = StoreError::Differs { what: what.clone() };
        assert_eq!(in_a_status(&differs), what);
    }
}
