//! All matches of a query at once, to test rows that come in another order.

use std::collections::HashMap;

use armadex_storage::StoreError;

use super::Reading;
use super::matches::{Matcher, Matches};
use crate::read::plan::Plan;

/// Which objects match, by namespace: 8 bytes for each hit.
pub(crate) struct Hits {
    by_namespace: HashMap<i64, Matches>,
    count: i64,
}

impl Hits {
    pub(crate) async fn read(reading: &mut Reading<'_>, plan: &Plan) -> Result<Self, StoreError> {
        let mut by_namespace = HashMap::new();
        let mut matcher = Matcher::new(reading, plan, None).await?;
        while let Some(chunk) = matcher.next(reading).await? {
            by_namespace.extend(chunk);
        }
        let count = by_namespace.values().map(Matches::count).sum();
        Ok(Self {
            by_namespace,
            count,
        })
    }

    pub(crate) fn admit(&self, nsid: i64, oid: i64) -> bool {
        self.by_namespace
            .get(&nsid)
            .is_some_and(|matches| matches.admits(oid))
    }

    /// Whether walking past `all` objects meets `wanted` hits sooner than fetching all hits takes: after `wanted * all / count`
    /// rows, if the hits are spread evenly.
    pub(crate) fn are_dense(&self, wanted: usize, all: i64) -> bool {
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        wanted.saturating_mul(all) < self.count.saturating_mul(self.count)
    }
}
