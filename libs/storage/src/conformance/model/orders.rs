//! Orders that a store is given at once, as it is by the streams of a fleet: batches, and beside them clusters that come, go and take over what was
//! another's. Whichever is carried out first, their answers say what has become of the map.

use armadex_model::ClusterLabels;
use futures::future::{join, join_all};
use rand::seq::SliceRandom;

use super::dice::Dice;
use super::draw;
use super::fleet::{At, Fleet, Joined, kind_of, present, present_mut};
use super::map::{CLUSTERS, Changed, KINDS, MEMBERS, Model, change, described};
use super::settle::settle;
use crate::conformance::fixture::{Fixture, RULES, Writer, name};
use crate::{ClusterId, Health, MemberPosition, Phase, StoreError, Stream};

/// Whose tenure begins just before: while that is carried out, what comes behind it gathers.
const OWNER: &str = "somebody";

enum Order {
    Write(At, Vec<Changed>, Option<MemberPosition>),
    Health(&'static str, Health),
    Label(&'static str, ClusterLabels),
    /// The stream is taken over from whoever writes it.
    Open(At),
    Close(At),
    Leave(&'static str),
    /// The incarnation, and which of [`MEMBERS`] it is read from if it is a new one.
    Join(&'static str, u32, &'static str),
    Adopt(&'static str),
}

enum Answer {
    Done,
    Opened(Stream),
    Joined(ClusterId),
}

/// Batches beside which something takes their stream or their cluster away: which of the two comes first is the store's to say, and both are
/// right.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside {
    stored: usize,
    refused: usize,
}

impl Beside {
    pub(super) fn add(&mut self, more: Self) {
        let Self { stored, refused } = more;
        self.stored += stored;
        self.refused += refused;
    }

    /// Says how many there were. Some rounds have none that was stored: of some ten, that is a matter of luck.
    #[allow(
        clippy::print_stdout,
        reason = "what was met is shown when the test fails"
    )]
    pub(super) fn print(&self) {
        let Self { stored, refused } = self;
        println!(
            "of the batches beside which something took their stream away {stored} were stored and {refused} refused"
        );
    }
}

/// A round: streams are opened at once, then orders are given at once. In every other round half of the batches are given first: what has been answered may not have
/// been refused, whatever takes its stream away afterwards.
pub(super) async fn orders_at_once(
    fixture: &Fixture,
    dice: &mut Dice,
    fleet: &mut Fleet,
    round: u64,
    model: &mut Model,
) -> Beside {
    let mut orders: Vec<Order> = CLUSTERS
        .iter()
        .filter_map(|cluster| step(dice, fleet, cluster))
        .collect();
    let streams = streams(dice, fleet, &orders);
    open(fixture, fleet, &streams, model).await;
    for at in streams {
        orders.extend(work(dice, fleet, at, round, model));
    }
    for cluster in CLUSTERS {
        if is_present(fleet, cluster) && dice.one_in(8) {
            orders.push(Order::Health(cluster, health(dice)));
        }
        if is_present(fleet, cluster) && dice.one_in(6) {
            orders.push(Order::Label(cluster, draw::cluster_labels(dice)));
        }
    }
    orders.shuffle(&mut dice.0);
    let are_first = round.is_multiple_of(2);
    let is_first =
        |order: &mut Order| are_first && matches!(order, Order::Write(..)) && dice.one_in(2);
    let first = orders.extract_if(.., is_first).collect();
    let mut beside = Beside::default();
    for orders in [first, orders] {
        beside.add(carry_out(fixture, fleet, orders, model).await);
    }
    beside
}

async fn carry_out(
    fixture: &Fixture,
    fleet: &mut Fleet,
    orders: Vec<Order>,
    model: &mut Model,
) -> Beside {
    let given = join_all(orders.iter().map(|order| give(fixture, fleet, order)));
    let (begun, answers) = join(fixture.sink.begin(OWNER), given).await;
    begun.expect("a tenure");
    apply(fixture, fleet, orders, answers, model).await
}

/// Whether a cluster comes, goes, or takes over what a former one had.
fn step(dice: &mut Dice, fleet: &Fleet, cluster: &'static str) -> Option<Order> {
    let anew =
        |dice: &mut Dice, incarnations| Order::Join(cluster, incarnations + 1, dice.pick(&MEMBERS));
    let Some(called) = fleet.get(cluster) else {
        return Some(anew(dice, 0));
    };
    match &called.present {
        Some(joined) if !joined.is_settled && dice.one_in(2) => Some(Order::Adopt(cluster)),
        Some(_) if dice.one_in(20) => Some(Order::Leave(cluster)),
        Some(_) if dice.one_in(40) => Some(anew(dice, called.incarnations)),
        None if !called.away.is_empty() && dice.one_in(6) => {
            let back = &called.away[dice.below(called.away.len())];
            Some(Order::Join(cluster, back.incarnation, back.member))
        }
        None if called.away.is_empty() || dice.one_in(6) => Some(anew(dice, called.incarnations)),
        _ => None,
    }
}

/// Those that something is done to. One that takes a former one's place has none yet.
fn streams(dice: &mut Dice, fleet: &Fleet, steps: &[Order]) -> Vec<At> {
    let adopts = |cluster| {
        steps
            .iter()
            .any(|step| matches!(step, Order::Adopt(of) if *of == cluster))
    };
    let clusters = CLUSTERS
        .iter()
        .filter(|cluster| is_present(fleet, cluster) && !adopts(**cluster));
    let streams = clusters.flat_map(|cluster| (0..KINDS.len()).map(|kind| (*cluster, kind)));
    streams.filter(|_| dice.one_in(2)).collect()
}

fn is_present(fleet: &Fleet, cluster: &str) -> bool {
    fleet
        .get(cluster)
        .is_some_and(|called| called.present.is_some())
}

/// Opens those of the streams that nobody writes.
async fn open(fixture: &Fixture, fleet: &mut Fleet, streams: &[At], model: &mut Model) {
    let mut closed = streams.to_vec();
    closed.retain(|at| kind_of(fleet, *at).stream.is_none());
    let opened = join_all(closed.iter().map(|at| give_opening(fixture, fleet, *at))).await;
    for (at, opened) in closed.into_iter().zip(opened) {
        settled(fixture, fleet, at, opened.expect("opened"), model).await;
    }
}

async fn settled(fixture: &Fixture, fleet: &mut Fleet, at: At, stream: Stream, model: &mut Model) {
    let joined = present_mut(fleet, at.0);
    joined.is_settled = true;
    settle(
        fixture,
        (joined.id, at, &mut joined.kinds[at.1]),
        stream,
        model,
    )
    .await;
}

/// What is done to a stream: a batch mostly, and beside it another writer takes it over, or nobody wants it any more.
fn work(dice: &mut Dice, fleet: &Fleet, at: At, round: u64, model: &Model) -> Vec<Order> {
    let joined = present(fleet, at.0);
    let mut position = joined.kinds[at.1].position.clone();
    if !dice.one_in(3) {
        position = Some(MemberPosition {
            resource_version: round.to_string(),
            member: joined.member.to_owned(),
            phase: dice.pick(&[Phase::Listing, Phase::Live]),
        });
    }
    let mut work = Vec::new();
    if !dice.one_in(8) {
        work.push(Order::Write(
            at,
            draw::changes(dice, at, round, model),
            position,
        ));
    }
    match dice.below(12) {
        0 => work.push(Order::Close(at)),
        1 => work.push(Order::Open(at)),
        _ => {}
    }
    work
}

fn health(dice: &mut Dice) -> Health {
    Health {
        healthy: dice.one_in(2),
        reason: dice.pick(&["", "refused", "too late"]).to_owned(),
    }
}

async fn give(fixture: &Fixture, fleet: &Fleet, order: &Order) -> Result<Answer, StoreError> {
    let sink = &fixture.sink;
    match order {
        Order::Write(at, changed, position) => {
            let writer = writer(fleet, *at);
            let batch = writer.batch(changed.iter().map(change), position.clone());
            sink.write(batch).await.map(|_| Answer::Done)
        }
        Order::Health(cluster, health) => {
            let id = present(fleet, cluster).id;
            sink.set_health(id, "", health, None)
                .await
                .map(|()| Answer::Done)
        }
        Order::Label(cluster, labels) => {
            let id = present(fleet, cluster).id;
            let labelled = sink.set_labels(id, "", labels).await;
            labelled.map(|()| Answer::Done)
        }
        Order::Open(at) => give_opening(fixture, fleet, *at).await.map(Answer::Opened),
        Order::Close(at) => {
            let Writer { cluster, stream } = writer(fleet, *at);
            sink.close(cluster, "", stream.resource)
                .await
                .map(|()| Answer::Done)
        }
        Order::Leave(cluster) => {
            let incarnation = present(fleet, cluster).incarnation.to_string();
            sink.leave(&name(cluster), &incarnation)
                .await
                .map(|()| Answer::Done)
        }
        Order::Join(cluster, incarnation, _) => {
            let (name, incarnation) = (name(cluster), incarnation.to_string());
            sink.join(&name, &incarnation, "").await.map(Answer::Joined)
        }
        Order::Adopt(cluster) => {
            let new = present(fleet, cluster);
            let (name, incarnation) = (name(cluster), new.incarnation.to_string());
            sink.adopt(&name, &incarnation, new.member)
                .await
                .map(Answer::Joined)
        }
    }
}

async fn give_opening(
    fixture: &Fixture,
    fleet: &Fleet,
    (cluster, kind): At,
) -> Result<Stream, StoreError> {
    let id = present(fleet, cluster).id;
    fixture.sink.open(id, "", &described(kind), RULES).await
}

fn writer(fleet: &Fleet, (cluster, kind): At) -> Writer {
    let joined = present(fleet, cluster);
    Writer {
        cluster: joined.id,
        stream: joined.kinds[kind].stream.clone().expect("an open stream"),
    }
}

/// Does to the map what the store says that it did: what was stored was so before anything took its stream away.
async fn apply(
    fixture: &Fixture,
    fleet: &mut Fleet,
    orders: Vec<Order>,
    answers: Vec<Result<Answer, StoreError>>,
    model: &mut Model,
) -> Beside {
    let refused: Vec<bool> = orders
        .iter()
        .map(|order| may_be_refused(order, &orders))
        .collect();
    let (mut carried_out, mut beside) = (Vec::new(), Beside::default());
    for ((order, answer), refused) in orders.into_iter().zip(answers).zip(refused) {
        if refused && matches!(order, Order::Write(..)) {
            match &answer {
                Ok(_) => beside.stored += 1,
                Err(_) => beside.refused += 1,
            }
        }
        match answer {
            Ok(answer) => carried_out.push((order, answer)),
            Err(StoreError::Fenced { .. } | StoreError::Left { .. }) if refused => {}
            Err(err) => panic!("refused: {err}"),
        }
    }
    carried_out.sort_by_key(|(order, _)| place(order));
    let mut opened = Vec::new();
    for (order, answer) in carried_out {
        match (order, answer) {
            (Order::Write(at, changed, position), _) => {
                kind_of(fleet, at).stores(changed, position, model);
            }
            (Order::Health(cluster, health), _) => {
                present_mut(fleet, cluster).health = Some(health);
            }
            (Order::Label(cluster, labels), _) => {
                present_mut(fleet, cluster).labels = labels;
            }
            (Order::Open(at), Answer::Opened(stream)) => opened.push((at, stream)),
            (Order::Close(at), _) => kind_of(fleet, at).closes(at, model),
            (Order::Leave(cluster), _) => fleet.entry(cluster).or_default().leaves(cluster, model),
            (Order::Join(cluster, incarnation, member), Answer::Joined(id)) => {
                let new = Joined::new(id, incarnation, member);
                fleet.entry(cluster).or_default().joins(cluster, new, model);
            }
            (Order::Adopt(cluster), Answer::Joined(id)) => {
                fleet.entry(cluster).or_default().adopts(cluster, id);
            }
            (Order::Open(_) | Order::Join(..) | Order::Adopt(_), _) => {
                unreachable!("answered by what it asks for")
            }
        }
    }
    // Where the cluster has left since, nobody writes to the stream any more.
    opened.retain(|(at, _)| is_present(fleet, at.0) && kind_of(fleet, *at).stream.is_some());
    for (at, stream) in opened {
        settled(fixture, fleet, at, stream, model).await;
    }
    beside
}

/// Whether another order of the same moment may have come first.
fn may_be_refused(order: &Order, others: &[Order]) -> bool {
    let is_gone = |cluster: &str| {
        let mut others = others.iter();
        others
            .any(|other| matches!(other, Order::Leave(of) | Order::Join(of, ..) if *of == cluster))
    };
    let is_taken = |at: At| {
        let mut others = others.iter();
        others.any(|other| matches!(other, Order::Open(of) | Order::Close(of) if *of == at))
    };
    match order {
        Order::Write(at, ..) => is_gone(at.0) || is_taken(*at),
        // Where it takes over what a former one had, it has that one's number from then on.
        Order::Health(cluster, _) | Order::Label(cluster, _) => {
            let is_other = |other: &Order| matches!(other, Order::Adopt(of) if of == cluster);
            is_gone(cluster) || others.iter().any(is_other)
        }
        Order::Open(at) | Order::Close(at) => is_gone(at.0),
        Order::Leave(_) | Order::Join(..) | Order::Adopt(_) => false,
    }
}

/// Before what others an order was carried out that succeeded.
fn place(order: &Order) -> u8 {
    match order {
        Order::Write(..) | Order::Health(..) | Order::Label(..) => 0,
        Order::Open(_) | Order::Close(_) => 1,
        Order::Leave(_) | Order::Join(..) | Order::Adopt(_) => 2,
    }
}
