//! Which of the processes of an owner, one after the other, this one is. Who was replaced may have been stopped with orders in hand, and carries them out when it goes on; of two
//! processes of one shard the owner is the same. So what is asked as the one who looks after clusters is refused where a later tenure has begun than this process began, which
//! is found out before anything else is looked at. Batches are not: their fence is the epoch of the stream.

use std::collections::{BTreeMap, BTreeSet};

use armadex_storage::{StoreError, Tenure};

use crate::backend::{Connection, rows};
use crate::sql::owner;
use crate::write::work::{Done, Work};

/// The last tenure of each owner that this process began, as far as that was answered. A process that began none, as one that only looks after the store, is asked for none.
#[derive(Debug, Default)]
pub(crate) struct Tenures {
    begun: BTreeMap<String, Tenure>,
    /// Whose began last. A process that lost its place among several goes on in another one, as another owner: what it asks for without saying as whom is a matter of
    /// that one, and not of the one in whose place another process is by now.
    last: Option<String>,
}

impl Tenures {
    /// Says of each order why it is refused, if it is. Where the work goes by who has clusters, or begins a tenure, no other tenure of these owners begins before the
    /// transaction ends. What is only told of clusters mostly changes nothing, so nothing is held for it, and who has them tells it again.
    pub(crate) async fn refusals(
        &self,
        connection: &mut dyn Connection,
        work: &[Work],
    ) -> Result<Vec<Option<StoreError>>, StoreError> {
        let is_asked = work.iter().any(Work::is_for_owners);
        let begun = self.begun.keys().map(String::as_str).filter(|_| is_asked);
        let living = work.iter().filter_map(Work::living);
        let owners = Vec::from_iter(BTreeSet::from_iter(begun.chain(living)));
        let is_held = |one: &Work| {
            let only_tells = one.telling().is_some();
            one.is_for_owners() && !only_tells || one.living().is_some()
        };
        let statement = match work.iter().any(is_held) {
            true => owner::hold_tenures,
            false => owner::tenures,
        };
        let dialect = connection.dialect();
        let mut over = BTreeSet::new();
        for part in owners.chunks(dialect.most_values()) {
            let last = rows(connection, statement(dialect, part), owner::decode_tenure).await?;
            let later = last
                .into_iter()
                .filter(|(owner, last)| self.is_before(owner, *last));
            over.extend(later.map(|(owner, _)| owner));
        }
        Ok(refusals(work, over, self.last.as_deref()))
    }

    fn is_before(&self, owner: &str, last: Tenure) -> bool {
        let begun = self.begun.get(owner);
        begun.is_some_and(|own| *own < last)
    }

    /// The work is committed.
    pub(crate) fn note(&mut self, work: &[Work], done: &[Done]) {
        for (one, done) in work.iter().zip(done) {
            if let (Work::Begin(owner, _), Done::Begun(tenure)) = (one, done) {
                self.begun.insert(owner.clone(), *tenure);
                self.last = Some(owner.clone());
            }
        }
    }

    /// A tenure was to begin, and whether it did is not known: what is asked from here on is not of the former one.
    pub(crate) fn forget(&mut self, owner: &str) {
        self.begun.remove(owner);
    }
}

/// Why each order is refused where these owners were replaced. What comes behind the beginning of the next tenure is a matter of that one, unless nobody waits for it any more:
/// then it does not begin.
fn refusals<'a>(
    work: &'a [Work],
    mut over: BTreeSet<String>,
    mut last: Option<&'a str>,
) -> Vec<Option<StoreError>> {
    let refusals = work.iter().map(|one| {
        if let Work::Begin(owner, given_up) = one {
            if given_up.is_cancelled() {
                return Some(replaced_as(owner));
            }
            over.remove(owner);
            last = Some(owner);
        }
        let replaced = one.owner().or(last).and_then(|owner| over.get(owner));
        replaced
            .filter(|_| one.is_for_owners())
            .map(|owner| replaced_as(owner))
    });
    refusals.collect()
}

/// Somebody else looks after the owner's clusters.
fn replaced_as(owner: &str) -> StoreError {
    StoreError::TakenOver {
        what: format!("the clusters of {owner}"),
    }
}
