//! Clusters that join: each is found, or made, or shown again. All that join in one transaction are looked at together, and those that are new are made together, as those are
//! shown that come back, and hidden that leave because another of their name joins: a control plane that is made anew brings all of them at once.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use armadex_model::ClusterName;
use armadex_storage::{ClusterId, StoreError};

use crate::backend::error::{collided, too_much};
use crate::sql::catalog::{self, NewCluster, OwnedRow};
use crate::sql::head::Numbered;
use crate::write::clusters::{come_back, hide, of_names, see};
use crate::write::numbers::take;
use crate::write::session::Session;

/// A cluster that joins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining<'a> {
    pub(crate) name: &'a ClusterName,
    pub(crate) incarnation: &'a str,
    /// Who looks after it from now on.
    pub(crate) owner: &'a str,
}

/// Notes that all owners of these live. Clusters without one have none that could.
pub(crate) async fn see_owners(
    session: &mut Session<'_>,
    joining: impl Iterator<Item = Joining<'_>>,
) -> Result<(), StoreError> {
    let owners: BTreeSet<&str> = joining.map(|one| one.owner).collect();
    for owner in owners.into_iter().filter(|owner| !owner.is_empty()) {
        see(session, owner).await?;
    }
    Ok(())
}

/// Finds or makes the clusters, or shows them again; other incarnations under their names leave. No two of them have one name.
pub(crate) async fn join(
    session: &mut Session<'_>,
    joining: &[Joining<'_>],
) -> Result<Vec<ClusterId>, StoreError> {
    let mut changes = look(session, joining).await?;
    if !changes.shows_nothing(joining) {
        changes = join_alone(session, joining, &changes).await?;
    }
    for (owner, clusters) in changes.claim {
        claim(session, owner, clusters).await?;
    }
    let joined = changes.joined;
    Ok(joining.iter().map(|one| joined[one.name]).collect())
}

/// The same where a cluster is made, or shown again. Who has the numbers of clusters is alone with that: whoever did so just before with some of these has done it by
/// now, so what was found is looked for once more. Of two incarnations of a name that come back at once both would be shown.
async fn join_alone<'a>(
    session: &mut Session<'_>,
    joining: &[Joining<'a>],
    before: &Changes<'a>,
) -> Result<Changes<'a>, StoreError> {
    let count = before.without(joining).len();
    let count = i64::try_from(count).expect("a transaction fits memory");
    let ids = take(session.connection, Numbered::Cluster, count.max(1)).await?;
    let mut changes = look(session, joining).await?;
    let leaving = Vec::from_iter(std::mem::take(&mut changes.leave));
    hide(session, &leaving).await?;
    let returning = Vec::from_iter(std::mem::take(&mut changes.come_back));
    come_back(session, &returning).await?;
    // Each of them is stamped with the head in hand, which all other writers wait for.
    if session.catalog.streams.len() > session.portions.changes && joining.len() > 1 {
        return Err(too_much(session.catalog.streams.len()));
    }
    let new = Vec::from_iter(ids.zip(changes.without(joining)));
    make(session, &new).await?;
    let made = new.iter().map(|(id, one)| (one.name, ClusterId(*id)));
    changes.joined.extend(made);
    match changes.without(joining).is_empty() {
        true => Ok(changes),
        false => Err(collided(
            "a cluster that had left was purged while it came back",
        )),
    }
}

async fn make(session: &mut Session<'_>, new: &[(i64, Joining<'_>)]) -> Result<(), StoreError> {
    let clusters = new.iter().map(|(id, one)| NewCluster {
        id: *id,
        name: one.name.as_str(),
        incarnation: one.incarnation,
        owner: one.owner,
    });
    for piece in session.dialect.pieces(&Vec::from_iter(clusters)) {
        let statement = catalog::insert_clusters(session.dialect, piece);
        session.connection.execute(statement).await?;
    }
    session
        .catalog
        .clusters
        .extend(new.iter().map(|(id, _)| id));
    Ok(())
}

/// What is to become of the clusters, by those of their names that there are.
async fn look<'a>(
    session: &mut Session<'_>,
    joining: &[Joining<'a>],
) -> Result<Changes<'a>, StoreError> {
    let names = Vec::from_iter(joining.iter().map(|one| one.name.as_str()));
    let called = of_names(session.connection, &names).await?;
    Ok(changes(joining, &called))
}

/// What becomes of clusters that are known. Each list is in the order of their numbers.
#[derive(Debug, Default)]
struct Changes<'a> {
    leave: BTreeSet<i64>,
    come_back: BTreeSet<i64>,
    /// Under who looks after them from now on.
    claim: BTreeMap<&'a str, BTreeSet<i64>>,
    joined: HashMap<&'a ClusterName, ClusterId>,
}

impl<'a> Changes<'a> {
    /// Those that are not there yet.
    fn without(&self, joining: &[Joining<'a>]) -> Vec<Joining<'a>> {
        let joining = joining.iter().copied();
        let is_missing = |one: &Joining<'a>| !self.joined.contains_key(one.name);
        joining.filter(is_missing).collect()
    }

    /// Whether all are there, and shown, and nothing else under their names is.
    fn shows_nothing(&self, joining: &[Joining<'a>]) -> bool {
        let is_shown = self.leave.is_empty() && self.come_back.is_empty();
        is_shown && self.without(joining).is_empty()
    }
}

/// Whether who looks after a cluster is written goes by a look that holds no row. Of two synchros that join one cluster at once one may find itself there and write
/// nothing while the other's name is on its way; or both write, one after the other. Either way it ends as if one had come after the other.
fn changes<'a>(joining: &[Joining<'a>], called: &HashMap<String, Vec<OwnedRow>>) -> Changes<'a> {
    let mut changes = Changes::default();
    for one in joining {
        let called = called.get(one.name.as_str()).into_iter().flatten();
        let (same, former): (Vec<_>, Vec<_>) =
            called.partition(|row| row.cluster.incarnation == one.incarnation);
        let former = former.iter().filter(|row| row.cluster.active);
        changes.leave.extend(former.map(|row| row.cluster.id));
        let active = same.iter().find(|row| row.cluster.active);
        let left = || same.iter().rfind(|row| row.cluster.has_left);
        let Some(own) = active.or_else(left) else {
            continue;
        };
        let id = own.cluster.id;
        if !own.cluster.active {
            changes.come_back.insert(id);
        }
        if own.owner != one.owner {
            changes.claim.entry(one.owner).or_default().insert(id);
        }
        changes.joined.insert(one.name, ClusterId(id));
    }
    changes
}

/// Notes who looks after the clusters.
async fn claim(
    session: &mut Session<'_>,
    owner: &str,
    clusters: BTreeSet<i64>,
) -> Result<(), StoreError> {
    let clusters = Vec::from_iter(clusters);
    for part in clusters.chunks(session.dialect.most_values()) {
        let statement = catalog::claim_clusters(session.dialect, owner, part);
        session.connection.execute(statement).await?;
    }
    Ok(())
}
