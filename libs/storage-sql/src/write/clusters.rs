//! Clusters and streams coming and going. Every function runs in a transaction of the writer. How many statements one takes goes by what it is asked for, not by
//! the size of the fleet.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use armadex_model::ClusterName;
use armadex_storage::{
    ClusterId, MemberPosition, Phase, Rules, StoreError, Stream, Tenure, TypeId,
};

use crate::backend::error::{broken, collided};
use crate::backend::{Connection, row, rows};
use crate::sql::catalog::{self, ClusterRow, OwnedRow};
use crate::sql::head::Numbered;
use crate::sql::owner;
use crate::sql::stream::{self, Fence, StreamRow};
use crate::write::beside::beside;
use crate::write::numbers::{hold_up, take};
use crate::write::session::Session;
use crate::write::types::{self, AsKnown, Opening};

/// Of an owner that had clusters once: a month.
const REMEMBERED: i64 = 30 * 24 * 60 * 60;

/// Begins a tenure of an owner, which lives. The caller holds the one before it.
pub(crate) async fn begin(session: &mut Session<'_>, owner: &str) -> Result<Tenure, StoreError> {
    if session.connection.execute(owner::begin_next(owner)).await? == 0 {
        begin_as(session, owner, Tenure(1)).await?;
    }
    see(session, owner).await?;
    let begun = tenure(session, owner).await?;
    begun.ok_or_else(|| broken("it has no row for a tenure that was just begun"))
}

/// Notes that an owner lives; `false` if a later tenure has begun. Where none is known, or a former one, this one goes on: a store that was
/// restored knows of none, and an earlier release takes away what its host's clock finds old, after which one that was replaced may be the first to
/// say that it lives. Here tenures stay, a row for each owner there ever was. The caller holds the one that lasts.
/// Of two that began the same number, the later one after the store had lost the beginning of the other, the Lease alone tells which is the one.
pub(crate) async fn keep_alive(
    session: &mut Session<'_>,
    owner: &str,
    own: Tenure,
) -> Result<bool, StoreError> {
    match tenure(session, owner).await? {
        None => begin_as(session, owner, own).await?,
        Some(last) if last > own => return Ok(false),
        Some(last) if last == own => {}
        Some(_) => {
            let go_on = owner::go_on_as(owner, own);
            session.connection.execute(go_on).await?;
        }
    }
    see(session, owner).await?;
    forget_owners(session).await?;
    Ok(true)
}

/// Owners that one heartbeat forgets.
const MOST_FORGOTTEN: u32 = 32;

/// Forgets owners of nothing. They are looked for first: whoever deletes looks at all rows, and waits for those in which others say that they live.
async fn forget_owners(session: &mut Session<'_>) -> Result<(), StoreError> {
    let until = session.now.saturating_sub(REMEMBERED);
    let forgettable = owner::forgettable(until, MOST_FORGOTTEN);
    for owner in rows(session.connection, forgettable, |r| r.text(0)).await? {
        let forget = owner::forget(&owner, until);
        session.connection.execute(forget).await?;
    }
    Ok(())
}

async fn begin_as(
    session: &mut Session<'_>,
    owner: &str,
    tenure: Tenure,
) -> Result<(), StoreError> {
    let begin = owner::begin_as(owner, tenure);
    session.connection.execute(begin).await.map(drop)
}

async fn tenure(session: &mut Session<'_>, owner: &str) -> Result<Option<Tenure>, StoreError> {
    let tenure = owner::tenures(session.dialect, &[owner]);
    let last = row(session.connection, tenure, owner::decode_tenure).await?;
    Ok(last.map(|(_, last)| last))
}

/// Notes that an owner lives now.
pub(crate) async fn see(session: &mut Session<'_>, owner: &str) -> Result<(), StoreError> {
    let keep = owner::keep(session.dialect, owner, session.now);
    session.connection.execute(keep).await.map(drop)
}

/// Hides the cluster; its rows wait for its return, then for the purge.
pub(crate) async fn leave(
    session: &mut Session<'_>,
    name: &ClusterName,
    incarnation: &str,
) -> Result<(), StoreError> {
    if session.unanswered.may_join(name) {
        // Who has the numbers of clusters is alone with letting one join: it is there by now, or never will be.
        hold_up(session.connection, Numbered::Cluster).await?;
    }
    let called = called(session.connection, name).await?;
    let mut present = called.iter().filter(|row| row.active);
    match present.find(|row| row.incarnation == incarnation) {
        Some(cluster) => hide(session, &[cluster.id]).await,
        None => Ok(()),
    }
}

/// Before anything is adopted, or closed that this process may be about to open, and where epochs stand in the order of locks. Who has the epochs is alone with opening:
/// whoever opened a stream of that just before has done it by now, and who comes next finds it gone.
pub(crate) async fn hold_up_openings(session: &mut Session<'_>) -> Result<(), StoreError> {
    hold_up(session.connection, Numbered::Epoch).await
}

/// Puts the cluster that left last under the same name in the place of one that has nothing yet, if it was this member. The caller
/// [holds up openings](hold_up_openings).
pub(crate) async fn adopt(
    session: &mut Session<'_>,
    name: &ClusterName,
    incarnation: &str,
    member: &str,
) -> Result<ClusterId, StoreError> {
    let connection = &mut *session.connection;
    if let Adoptable::Nothing(own) = adoptable(connection, name, incarnation, member).await? {
        return Ok(own);
    }
    // Who has the numbers of clusters is alone with showing one: by now whoever did so just before has done it.
    hold_up(connection, Numbered::Cluster).await?;
    let (own, former) = match adoptable(connection, name, incarnation, member).await? {
        Adoptable::Nothing(own) => return Ok(own),
        Adoptable::Former { own, former } => (own, former),
    };
    show(session, former, own).await?;
    let keep = stream::keep_all(former);
    session.connection.execute(keep).await?;
    expire(session, own, false).await?;
    session.catalog.clusters.insert(own);
    Ok(ClusterId(former))
}

/// What may come into the place of a cluster.
enum Adoptable {
    /// It stays.
    Nothing(ClusterId),
    /// One that left, and the one that is there now.
    Former { own: i64, former: i64 },
}

async fn adoptable(
    connection: &mut dyn Connection,
    name: &ClusterName,
    incarnation: &str,
    member: &str,
) -> Result<Adoptable, StoreError> {
    let own = match present(connection, name, incarnation).await? {
        Present::New(own) => own,
        Present::Settled(own) => return Ok(Adoptable::Nothing(own)),
    };
    let called = called(connection, name).await?;
    // One that left before it had anything says nothing of those before it.
    for former in called.iter().rev().filter(|row| row.has_left) {
        if is_of_member(connection, former.id, member).await? {
            let (own, former) = (own.0, former.id);
            return Ok(Adoptable::Former { own, former });
        }
    }
    Ok(Adoptable::Nothing(own))
}

/// A cluster that has joined.
pub(crate) enum Present {
    /// It has no stream yet.
    New(ClusterId),
    /// It has streams, its own or those of a former one.
    Settled(ClusterId),
}

/// The cluster of this incarnation, if it has not left.
pub(crate) async fn present(
    connection: &mut dyn Connection,
    name: &ClusterName,
    incarnation: &str,
) -> Result<Present, StoreError> {
    let called = called(connection, name).await?;
    let mut present = called.iter().filter(|row| row.active);
    let Some(own) = present.find(|row| row.incarnation == incarnation) else {
        let what = format!("cluster {name}");
        return Err(StoreError::Left { what });
    };
    let streams = rows(connection, stream::of_cluster(own.id), stream::decode).await?;
    Ok(match streams.is_empty() {
        true => Present::New(ClusterId(own.id)),
        false => Present::Settled(ClusterId(own.id)),
    })
}

/// Whether all that is stored of a cluster came from one member.
async fn is_of_member(
    connection: &mut dyn Connection,
    cluster: i64,
    member: &str,
) -> Result<bool, StoreError> {
    let streams = rows(connection, stream::of_cluster(cluster), stream::decode).await?;
    let positions = streams
        .iter()
        .filter_map(|stream| stream.position.as_ref())
        .map(|position| position.member == member);
    let (same, other): (Vec<bool>, Vec<bool>) = positions.partition(|same| *same);
    Ok(!same.is_empty() && other.is_empty())
}

/// Leaves to the purge what left so long ago, by the clock of the lease: those of hosts are set forward, and a host that was suspended is later than it was
/// here for anybody.
pub(crate) async fn expire_left(
    session: &mut Session<'_>,
    clock: i64,
    grace: Duration,
    limit: u32,
) -> Result<(), StoreError> {
    let grace = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
    session.connection.execute(catalog::left_by(clock)).await?;
    let statement = catalog::left_until(clock.saturating_sub(grace), limit);
    for cluster in rows(session.connection, statement, |r| r.int(0)).await? {
        expire(session, cluster, true).await?;
    }
    Ok(())
}

/// What comes of an opening: the stream, or why there is none.
pub(crate) type Opened = Result<Stream, Differs>;

/// Others mean something else by the type, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Differs(pub(crate) String);

/// Takes streams over. The caller holds their clusters, which whoever asks looks after.
///
/// Rows that an earlier stream left behind and no purge has removed are shown again: its new writer compares
/// them with the member's, because the position is forgotten. Whose member means something else by a type than others is refused, and what is
/// stored of it is hidden: its member has it no more. One of which the cluster has listed another version is hidden until it is live itself.
pub(crate) async fn open(
    session: &mut Session<'_>,
    openings: &[&Opening],
) -> Result<Vec<Opened>, StoreError> {
    if openings.is_empty() {
        return Ok(vec![]);
    }
    // Who has the epochs is alone with opening.
    let count = i64::try_from(openings.len()).expect("a transaction fits memory");
    let epochs = take(session.connection, Numbered::Epoch, count).await?;
    let types = types::settle(session, openings).await?;
    let mut fences = Vec::with_capacity(openings.len());
    for ((opening, meant), epoch) in openings.iter().zip(&types).zip(epochs) {
        let AsKnown::Contradicted(_) = meant.as_known else {
            fences.push(Fence {
                cluster: opening.cluster.0,
                resource: meant.id,
                epoch,
            });
            continue;
        };
        close(session, opening.cluster, TypeId(meant.id)).await?;
    }
    note_in_use(session, &fences).await?;
    let known = hold(session, &fences).await?;
    let is_new = |fence: &&Fence| {
        let known = known.get(&(fence.cluster, fence.resource));
        known.is_none_or(|stream| !stream.is_open && !stream.is_kept)
    };
    let new = Vec::from_iter(fences.iter().filter(is_new).copied());
    let beside = beside(session, &new).await?;
    take_over(session, &fences, &known, &beside).await?;
    let mut fences = fences.into_iter();
    let opened = openings.iter().zip(types).map(|(opening, meant)| {
        let rules = match meant.as_known {
            AsKnown::Contradicted(why) => return Err(Differs(why)),
            AsKnown::Same => Some(opening.rules),
            AsKnown::Changed => None,
        };
        let fence = fences.next().expect("one for each that is opened");
        let key = (fence.cluster, fence.resource);
        let (known, is_beside) = (known.get(&key), beside.contains(&key));
        Ok(opened(session, fence, known, is_beside, rules))
    });
    Ok(opened.collect())
}

/// A type that went once is not dropped by when that was.
async fn note_in_use(session: &mut Session<'_>, fences: &[Fence]) -> Result<(), StoreError> {
    let types: BTreeSet<i64> = fences.iter().map(|fence| fence.resource.into()).collect();
    let types = Vec::from_iter(types);
    for part in types.chunks(session.dialect.most_values()) {
        let statement = catalog::note_types_in_use(session.dialect, part);
        session.connection.execute(statement).await?;
    }
    Ok(())
}

/// Two writers may ask for one stream at once: it is the second's.
async fn take_over(
    session: &mut Session<'_>,
    fences: &[Fence],
    known: &HashMap<(i64, i32), StreamRow>,
    beside: &BTreeSet<(i64, i32)>,
) -> Result<(), StoreError> {
    let keyed = fences.iter().map(|fence| {
        let key = (fence.cluster, fence.resource);
        (key, (*fence, beside.contains(&key)))
    });
    let last: BTreeMap<(i64, i32), (Fence, bool)> = keyed.collect();
    for (key @ (cluster, resource), (fence, _)) in &last {
        if let Some(former) = known.get(key) {
            let labels = &mut *session.labels;
            labels.reopens(*resource, *cluster, former.epoch, fence.epoch);
        }
    }
    let last = Vec::from_iter(last.into_values());
    for piece in session.dialect.pieces(&last) {
        let statement = stream::take_over(session.dialect, piece);
        session.connection.execute(statement).await?;
    }
    Ok(())
}

/// What the writer of a stream is told. Without rules whatever is stored was something else.
fn opened(
    session: &mut Session<'_>,
    fence: Fence,
    known: Option<&StreamRow>,
    is_beside: bool,
    rules: Option<Rules>,
) -> Stream {
    let key = (fence.cluster, fence.resource);
    let is_kept = known.is_some_and(|stream| stream.is_kept);
    let is_open = known.is_some_and(|stream| stream.is_open);
    if !is_kept && !is_beside && !is_open {
        session.catalog.streams.insert(key);
    }
    let has_rows = known.is_some_and(|stream| stream.objects > 0);
    // Without rules they are served as another kind.
    if !is_kept && !is_beside && has_rows && (!is_open || rules.is_none()) {
        session.shown.stream(fence.cluster, fence.resource);
    }
    Stream {
        resource: TypeId(fence.resource),
        epoch: fence.epoch,
        objects: known.map_or(0, |stream| u64::try_from(stream.objects).unwrap_or(0)),
        hidden: is_kept,
        position: known.and_then(|known| resumable(known, rules)),
    }
}

/// Those of these streams that there are, as they are when nobody else changes them any more: whether a stream is shown anew is told by what it was.
async fn hold(
    session: &mut Session<'_>,
    fences: &[Fence],
) -> Result<HashMap<(i64, i32), StreamRow>, StoreError> {
    let keys: BTreeSet<(i64, i32)> = fences
        .iter()
        .map(|fence| (fence.cluster, fence.resource))
        .collect();
    let keys = Vec::from_iter(keys);
    let mut known = HashMap::with_capacity(keys.len());
    for part in keys.chunks(session.dialect.most_values()) {
        let statement = stream::hold(session.dialect, part);
        let found = rows(session.connection, statement, stream::decode).await?;
        known.extend(
            found
                .into_iter()
                .map(|row| ((row.cluster, row.resource), row)),
        );
    }
    Ok(known)
}

/// The position of a stream; `None` means that it has no rows. Rows of other rules, and those that a purge has not reached, have to be listed
/// and compared anew; they are shown meanwhile.
fn resumable(stream: &StreamRow, rules: Option<Rules>) -> Option<MemberPosition> {
    match stream.position.clone() {
        Some(position) if rules.is_some_and(|rules| stream.rules == rules.stream) => Some(position),
        Some(position) => Some(MemberPosition {
            phase: Phase::Listing,
            ..position
        }),
        None => (stream.objects > 0).then(|| MemberPosition {
            resource_version: String::new(),
            member: String::new(),
            phase: Phase::Listing,
        }),
    }
}

/// Hides a type of a cluster; its rows wait for the purge.
pub(crate) async fn close(
    session: &mut Session<'_>,
    cluster: ClusterId,
    resource: TypeId,
) -> Result<(), StoreError> {
    let statement = stream::close(cluster.0, resource.0);
    if session.connection.execute(statement).await? > 0 {
        session.catalog.streams.insert((cluster.0, resource.0));
        session.shown.stream(cluster.0, resource.0);
    }
    Ok(())
}

/// Every cluster of this name, in the order in which they joined.
async fn called(
    connection: &mut dyn Connection,
    name: &ClusterName,
) -> Result<Vec<ClusterRow>, StoreError> {
    let mut called = of_names(connection, &[name.as_str()]).await?;
    let called = called.remove(name.as_str()).unwrap_or_default();
    Ok(called.into_iter().map(|row| row.cluster).collect())
}

/// Every cluster of each of these names, in the order in which they joined.
pub(crate) async fn of_names(
    connection: &mut dyn Connection,
    names: &[&str],
) -> Result<HashMap<String, Vec<OwnedRow>>, StoreError> {
    let dialect = connection.dialect();
    let mut called: HashMap<String, Vec<OwnedRow>> = HashMap::with_capacity(names.len());
    for part in names.chunks(dialect.most_values()) {
        let statement = catalog::clusters_of_names(dialect, part);
        for row in rows(connection, statement, catalog::decode_owned).await? {
            let name = row.cluster.name.clone();
            called.entry(name).or_default().push(row);
        }
    }
    for rows in called.values_mut() {
        rows.sort_unstable_by_key(|row| row.cluster.id);
    }
    Ok(called)
}

/// Their streams stay open and keep their positions; nobody writes to them.
pub(crate) async fn hide(session: &mut Session<'_>, clusters: &[i64]) -> Result<(), StoreError> {
    let (dialect, now) = (session.dialect, session.now);
    for part in clusters.chunks(dialect.most_values()) {
        let leave = catalog::leave_clusters(dialect, part, now);
        if session.connection.execute(leave).await? < part.len() as u64 {
            return Err(collided("a cluster left while it was to leave"));
        }
        let fence = stream::fence_all(dialect, part);
        session.connection.execute(fence).await?;
    }
    for &cluster in clusters {
        session.catalog.clusters.insert(cluster);
        session.shown.cluster(cluster);
    }
    Ok(())
}

/// Shows again what was hidden, as it was.
pub(crate) async fn come_back(
    session: &mut Session<'_>,
    clusters: &[i64],
) -> Result<(), StoreError> {
    let dialect = session.dialect;
    for part in clusters.chunks(dialect.most_values()) {
        let come_back = catalog::come_back(dialect, part);
        if session.connection.execute(come_back).await? < part.len() as u64 {
            return Err(too_late());
        }
    }
    note_shown(session, clusters).await
}

/// Shows a cluster that was hidden in the place of another one.
async fn show(session: &mut Session<'_>, cluster: i64, successor: i64) -> Result<(), StoreError> {
    let shown = catalog::return_cluster(session.dialect, cluster, successor);
    match session.connection.execute(shown).await? {
        0 => Err(too_late()),
        _ => note_shown(session, &[cluster]).await,
    }
}

fn too_late() -> StoreError {
    collided("a cluster was left to the purge while it came back")
}

/// Readers have forgotten the streams and the health of clusters that were hidden.
async fn note_shown(session: &mut Session<'_>, clusters: &[i64]) -> Result<(), StoreError> {
    let dialect = session.dialect;
    for part in clusters.chunks(dialect.most_values()) {
        let keys = stream::keys_of(dialect, part);
        let keys = rows(session.connection, keys, stream::decode_key).await?;
        session.catalog.streams.extend(keys);
    }
    for &cluster in clusters {
        session.catalog.clusters.insert(cluster);
        session.catalog.health.insert(cluster);
        session.shown.cluster(cluster);
    }
    Ok(())
}

/// Nothing brings it back. Readers have heard that it is hidden.
async fn expire(session: &mut Session<'_>, cluster: i64, has_left: bool) -> Result<(), StoreError> {
    let connection = &mut *session.connection;
    let expired = catalog::expire_cluster(cluster, has_left);
    if connection.execute(expired).await? == 0 {
        return Err(collided(
            "a cluster came back while it was left to the purge",
        ));
    }
    connection.execute(stream::close_all(cluster)).await?;
    Ok(())
}
