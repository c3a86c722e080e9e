//! The labels of a PediaCluster, which the store is told of: searches choose clusters by them. No session is needed for that, and none is begun anew.

use std::time::Duration;

use armadex_backoff::jittered;
use armadex_crds::PediaCluster;
use armadex_model::ClusterLabels;
use armadex_model::cluster_labels::MOST_LABELS;
use armadex_storage::ClusterId;
use kube::ResourceExt;
use tokio::time::Instant;
use tracing::warn;

use crate::tree::entry::{Entrant, Entry, Unentered};

/// Before the store is told again what it was told: of two processes that look after the cluster for a while, the one that was replaced may say the last word, when
/// it goes on. What the store knows already it looks at, holds nothing for and does not write.
const RETOLD: Duration = Duration::from_secs(180);
/// For its answer where a session runs, which the tree does not look after meanwhile. A fleet whose labels all change at once takes a few seconds.
const ANSWERED: Duration = Duration::from_secs(10);

/// What the store was told last, of which entry, and until when that has to do.
#[derive(Debug, Default)]
pub(super) struct Labels(Option<(ClusterId, ClusterLabels, Instant)>);

impl Labels {
    /// When the store is to be told again, if it knows.
    pub(super) fn again(&self) -> Option<Instant> {
        self.0.as_ref().map(|(_, _, until)| *until)
    }

    /// Tells the store, unless it knows; whether it does by now.
    pub(super) async fn tell(
        &mut self,
        (cluster, entry): (ClusterId, &mut Entry),
        entrant: &Entrant<'_>,
        object: &PediaCluster,
    ) -> bool {
        let now = of(object).0;
        let stands = |(of, known, until): &(_, _, Instant)| {
            *of == cluster && *known == now && Instant::now() < *until
        };
        if self.0.as_ref().is_some_and(stands) {
            return true;
        }
        // What it does not answer it may have done.
        self.0 = None;
        let owner = entrant.shared.owner.text();
        let told = entrant.shared.sink.set_labels(cluster, &owner, &now);
        let Err(error) = told.await else {
            let until = Instant::now() + jittered(RETOLD, rand::random());
            self.0 = Some((cluster, now, until));
            return true;
        };
        if entrant.shared.has_lost(&error) {
            *entry = Entry::lost();
        }
        if let Some(words) = Unentered::from(error).news(entrant) {
            warn!(cluster = %entrant.name, error = words, "the store was not told of the labels of a cluster, retrying; others that fail alike are not told of");
        }
        false
    }
}

/// What comes of telling within a time; an answer that comes later counts as none. Whoever else waits for the store says so.
pub(super) async fn in_time(told: impl Future<Output = bool>) -> bool {
    let told = tokio::time::timeout(ANSWERED, told).await;
    told.unwrap_or(false)
}

/// What whoever wrote the object is told of labels that no search finds.
pub(super) fn warning(object: &PediaCluster) -> Option<String> {
    let (_, left_out) = of(object);
    let all = object.labels().len();
    (left_out > 0).then(|| {
        format!(
            "of its {all} labels the first {MOST_LABELS} by name are searched by, {left_out} are not"
        )
    })
}

fn of(object: &PediaCluster) -> (ClusterLabels, usize) {
    let labels = object.labels().iter();
    ClusterLabels::of(labels.map(|(key, value)| (key.as_str(), value.as_str())))
}
