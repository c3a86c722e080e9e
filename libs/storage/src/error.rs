//! What can go wrong in a store, sorted by what the caller does about it.

/// A failed store operation. No variant's message carries SQL, driver text meant for operators only is in the source.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is down, busy or full: the same call may succeed later.
    #[error("the store is not available: {reason}")]
    Unavailable {
        /// What was being done, in words.
        reason: String,
        /// The driver's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another writer took this stream over: stop writing.
    #[error("the stream of {what} belongs to another writer")]
    Fenced {
        /// Cluster and resource type.
        what: String,
    },
    /// The cluster has left, or another one of its name took its place: nothing is stored of it unless it joins again.
    #[error("{what} has left the store")]
    Left {
        /// The cluster.
        what: String,
    },
    /// Somebody else has joined the cluster as its owner since, or has begun to look after all that the owner has: it is theirs.
    #[error("another synchro looks after {what}")]
    TakenOver {
        /// The cluster, or all of an owner's.
        what: String,
    },
    /// The member means another kind of object by a type than the other clusters that have it do: nothing of it is stored, and what was is hidden, until
    /// they agree.
    #[error("{what}")]
    Differs {
        /// The type, what it is to both sides, and the way out, in words.
        what: String,
    },
    /// One object cannot be stored; the others of its batch can.
    #[error("{key} cannot be stored: {reason}")]
    Rejected {
        /// Namespace and name.
        key: armadex_model::ObjectKey,
        /// Why, in words.
        reason: String,
    },
    /// The position was made by another incarnation of the database, or is past retention: start anew.
    #[error("the position is no longer valid: {reason}")]
    Gone {
        /// Why, in words.
        reason: String,
    },
    /// The query asks for something that this store does not serve.
    #[error("{what}")]
    Unsupported {
        /// What is not served, as a sentence that who asked can act on.
        what: String,
    },
    /// The database lets its user do less than the store needs: retrying does not help until somebody grants it.
    #[error("the store's user lacks a right: {what}")]
    Denied {
        /// What was being done, and the way out, in words.
        what: String,
        /// The server's words: which right, of whom.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What was found is no store, or not one that this binary can use: damaged, unfinished, of another version, on a server that is too old. Retrying does not help.
    #[error("the store cannot be used: {reason}")]
    Broken {
        /// What was found, of the store as "it", and the way out where there is one.
        reason: String,
    },
}

/// Why a store is not available that is in trouble for a while: the source of [`StoreError::Unavailable`] where the store has told of it in the log itself, once for
/// everybody.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{cause}")]
pub struct Outage {
    cause: String,
}

impl Outage {
    /// A trouble that was told of.
    pub fn new(cause: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
        }
    }
}

impl StoreError {
    /// Whether the log has a line about what this is part of, so that whoever meets it needs not write another.
    #[must_use]
    pub fn is_told(&self) -> bool {
        let source = std::error::Error::source(self);
        source.is_some_and(<dyn std::error::Error>::is::<Outage>)
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_that_was_told_is_known_from_other_trouble() {
        let unavailable = |source| StoreError::Unavailable {
            reason: "it is away".to_owned(),
            source,
        };
        assert!(unavailable(Box::new(Outage::new("no route"))).is_told());
        assert!(!unavailable("no route".into()).is_told());
        let reason = "it is damaged".to_owned();
        assert!(!StoreError::Broken { reason }.is_told());
    }
}
