//! The Secrets that one PediaCluster names, so that a rotated credential is known at once. How they are read is [`watches`]'s, which all
//! clusters share.

#[cfg(test)]
mod tests;
mod watches;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use armadex_member::{ConfigError, SecretContent, SecretData, SecretId};
use tokio::sync::Notify;

use self::watches::Followed;
pub(crate) use self::watches::SecretWatches;
use crate::lock::lock;

/// The Secrets that one PediaCluster names.
pub(crate) struct Secrets {
    watches: Arc<SecretWatches>,
    changed: Arc<Notify>,
    followed: BTreeMap<SecretId, Followed>,
}

/// What is known of a Secret.
#[derive(Clone, PartialEq, Eq)]
enum Known {
    /// Nothing yet.
    Unread,
    /// It does not exist.
    Absent,
    /// It could not be read; why, in words.
    Failed(String),
    /// What is in it.
    Data(Arc<SecretContent>),
}

/// What can be said of all of them.
pub(crate) enum Snapshot {
    /// One was not read yet; whoever waits for a change will be told.
    Incomplete,
    /// One cannot be read.
    Failed(ConfigError),
    /// All that exist.
    Complete(SecretData),
}

impl Secrets {
    /// Follows none yet.
    pub(crate) fn new(watches: Arc<SecretWatches>) -> Self {
        Self {
            watches,
            changed: Arc::default(),
            followed: BTreeMap::new(),
        }
    }

    /// Follows these and no others.
    pub(crate) fn follow(&mut self, wanted: BTreeSet<SecretId>) {
        self.followed.retain(|id, _| wanted.contains(id));
        for id in wanted {
            let (watches, changed) = (&self.watches, &self.changed);
            self.followed
                .entry(id)
                .or_insert_with_key(|id| watches.follow(id, Arc::clone(changed)));
        }
    }

    /// Waits until one of them changed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// What is known of them now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut data = SecretData::new();
        for (id, followed) in &self.followed {
            match followed.known() {
                Known::Unread => return Snapshot::Incomplete,
                Known::Absent => {}
                Known::Failed(words) => {
                    return Snapshot::Failed(ConfigError::Secret {
                        namespace: id.namespace.clone(),
                        name: id.name.clone(),
                        problem: format!("cannot be read: {words}"),
                    });
                }
                Known::Data(content) => {
                    data.insert(id.clone(), content);
                }
            }
        }
        Snapshot::Complete(data)
    }
}
