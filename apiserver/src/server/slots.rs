//! Room for connections, and who goes when there is none.
//!
//! Sockets on which nobody has proved who they are have a quarter of the slots. A new socket always finds a slot as long as another is of
//! less use: first one on which nobody has proved who they are, the oldest of the network that has most of them, then one that is
//! idle, the oldest of the user who has most. One user has a part of the slots at most and makes room for themselves beyond, so that
//! nobody keeps all of them busy. Front proxies are never asked to go, and a reserve of slots is kept for them. Addresses are not told
//! apart otherwise: behind a Service all clients may share one.
//!
//! What unfinished heads of requests hold is bounded here as well, since ending a connection is what frees it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client::{Client, Owner};
use super::heads::Total;
use crate::app::Standing;
use crate::counters::Counters;

/// The part of all connections that one user may have, and all strangers together: as of everything else that is shared out.
const PART: usize = 4;

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotLimits {
    /// All together.
    pub(crate) all: usize,
    /// Of these, only for front proxies.
    pub(crate) reserved: usize,
    /// Of one address, while nobody on them has proved who they are.
    pub(crate) unproven_per_address: usize,
    /// Bytes that unfinished heads of requests may hold together, those of front proxies aside, which end what they have begun.
    pub(crate) heads: usize,
}

/// The slots of a listener.
pub(super) struct Slots {
    limits: SlotLimits,
    counters: Arc<Counters>,
    heads: Total,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    /// By age, the oldest first.
    clients: BTreeMap<u64, Arc<Client>>,
}

/// One connection's slot, until it is dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    number: u64,
}

impl Slots {
    pub(super) fn new(limits: SlotLimits, counters: Arc<Counters>) -> Arc<Self> {
        Arc::new(Self {
            limits,
            counters,
            heads: Total::default(),
            taken: Mutex::default(),
        })
    }

    /// A slot for a new socket; none if everybody else is of more use.
    pub(super) fn take(self: &Arc<Self>, client: &Arc<Client>) -> Option<Slot> {
        let mut taken = self.taken();
        let mut staying = taken.staying();
        let is_neighbour =
            |one: &Tenant<'_>| one.is_stranger() && one.client.address == client.address;
        let neighbours = staying.iter().filter(|one| is_neighbour(one)).count();
        if neighbours >= self.limits.unproven_per_address.max(1)
            && let Some(oldest) = staying.iter().position(is_neighbour)
        {
            self.end(staying.remove(oldest).client);
        }
        // Strangers get a quarter of the slots at most: a thousand handshakes that are never completed were seen to take 35 MiB.
        let most_strangers = self.part();
        let strangers = staying.iter().filter(|one| one.is_stranger()).count();
        if staying.len() >= self.limits.all || strangers >= most_strangers {
            self.end(least_useful(&staying)?);
        }
        let number = taken.next;
        taken.next += 1;
        taken.clients.insert(number, Arc::clone(client));
        Some(Slot {
            slots: Arc::clone(self),
            number,
        })
    }

    /// What the unfinished heads of all connections hold.
    pub(super) fn heads(&self) -> Total {
        Arc::clone(&self.heads)
    }

    /// Ends connections until unfinished heads, which hold so much now, hold no more than they may: of the user or the address whose
    /// hold most, the oldest. A client that means its request ends the head soon.
    pub(super) fn bound_heads(&self, total: usize) {
        if total <= self.limits.heads {
            return;
        }
        let taken = self.taken();
        let mut heads = taken.heads();
        while let Some(index) = going_first(&heads, self.limits.heads) {
            self.end(heads.remove(index).client);
        }
    }

    /// Whoever has proved on this connection who they are makes room for it among their own, if they have too many.
    fn bound_user(&self, client: &Arc<Client>) {
        let taken = self.taken();
        let mut others = taken.staying();
        let own = others
            .iter()
            .position(|one| Arc::ptr_eq(one.client, client));
        if let Some(own) = own
            && others.remove(own).standing == Standing::Known
        {
            self.make_room_of_user(client, &mut others);
        }
    }

    /// Ends connections of the user whose this one is until they have their part of all with it: idle ones first, the oldest of them
    /// first, then busy ones. A busy one may be kept so for nothing.
    fn make_room_of_user(&self, client: &Client, others: &mut Vec<Tenant<'_>>) {
        let Some(user) = client.last_user() else {
            return;
        };
        let is_theirs = |one: &&Tenant<'_>| {
            one.standing == Standing::Known && one.client.last_user().as_ref() == Some(&user)
        };
        let theirs = others.iter().filter(is_theirs).map(|one| one.client);
        let mut theirs: Vec<&Arc<Client>> = theirs.collect();
        theirs.sort_by_key(|one| one.is_busy());
        let too_many = (theirs.len() + 1).saturating_sub(self.part());
        for one in &theirs[..too_many] {
            self.end(one);
        }
        others.retain(|one| !one.client.cut.is_cancelled());
    }

    fn part(&self) -> usize {
        (self.limits.all / PART).max(1)
    }

    fn end(&self, client: &Client) {
        client.cut.cancel();
        self.counters.evicted();
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Where it is one of.
    pub(super) fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// Whether the client may stay, now that its certificate is known: the reserve is for front proxies.
    pub(super) fn settle(&self) -> bool {
        let slots = &self.slots;
        let taken = slots.taken();
        let mut staying = taken.staying();
        let is_front_proxy = |one: &Tenant<'_>| one.standing == Standing::FrontProxy;
        let own = staying.iter().position(|one| one.number == self.number);
        // Who has been told to go is going.
        let Some(own) = own.map(|own| staying.remove(own)) else {
            return true;
        };
        if is_front_proxy(&own) {
            return true;
        }
        slots.make_room_of_user(own.client, &mut staying);
        let others = staying.iter().filter(|one| !is_front_proxy(one)).count();
        let room = slots.limits.all.saturating_sub(slots.limits.reserved);
        if others < room.max(1) {
            return true;
        }
        let other = least_useful(&staying);
        other.inspect(|client| slots.end(client)).is_some()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.taken().clients.remove(&self.number);
    }
}

/// A request on whose way somebody may prove who they are. When it is dropped, however the request has ended, that user makes room.
pub(super) struct Proving {
    pub(super) slots: Arc<Slots>,
    pub(super) client: Arc<Client>,
}

impl Drop for Proving {
    fn drop(&mut self) {
        // A front proxy brings one user after the other, and none of them has to make room: nobody else is looked at.
        let is_known = self.client.last_standing() == Standing::Known;
        if is_known && self.client.has_another_user() {
            self.slots.bound_user(&self.client);
        }
    }
}

/// Somebody who has not been told to go.
struct Tenant<'a> {
    number: u64,
    client: &'a Arc<Client>,
    standing: Standing,
}

impl Tenant<'_> {
    fn is_stranger(&self) -> bool {
        self.standing == Standing::Unproven
    }
}

/// An unfinished head that counts.
struct Head<'a> {
    owner: Owner,
    held: usize,
    client: &'a Arc<Client>,
}

impl Taken {
    /// Those who have not been told to go, the oldest first. What each is takes locks to know and is asked once, for every new socket.
    fn staying(&self) -> Vec<Tenant<'_>> {
        let clients = self.clients.iter();
        let staying = clients.filter(|(_, client)| !client.cut.is_cancelled());
        let tenants = staying.map(|(number, client)| Tenant {
            number: *number,
            client,
            standing: client.last_standing(),
        });
        tenants.collect()
    }

    /// Unfinished heads, those of the oldest first.
    fn heads(&self) -> Vec<Head<'_>> {
        let staying = self.staying().into_iter();
        let heads = staying.map(
            |Tenant {
                 client, standing, ..
             }| {
                let held = client.head.counted();
                (held > 0 && standing != Standing::FrontProxy).then(|| Head {
                    owner: client.owner(),
                    held,
                    client,
                })
            },
        );
        heads.flatten().collect()
    }
}

/// If heads hold more than this: which is to go.
fn going_first(heads: &[Head<'_>], most: usize) -> Option<usize> {
    // Of each owner what theirs hold, and the oldest of them.
    let mut owners: HashMap<&Owner, (usize, usize)> = HashMap::new();
    for (at, head) in heads.iter().enumerate() {
        owners.entry(&head.owner).or_insert((0, at)).0 += head.held;
    }
    if owners.values().map(|(held, _)| held).sum::<usize>() <= most {
        return None;
    }
    let greediest = owners
        .into_values()
        .max_by_key(|(held, oldest)| (*held, Reverse(*oldest)));
    greediest.map(|(_, oldest)| oldest)
}

/// Who goes first.
fn least_useful<'a>(tenants: &[Tenant<'a>]) -> Option<&'a Arc<Client>> {
    let strangers = || tenants.iter().filter(|one| one.is_stranger());
    // Of each address how many there are, and the oldest of them.
    let mut addresses: HashMap<IpAddr, (usize, &Tenant<'a>)> = HashMap::new();
    for stranger in strangers() {
        let crowd = addresses.entry(stranger.client.address);
        crowd.or_insert((0, stranger)).0 += 1;
    }
    let crowds = addresses.into_values();
    let largest = crowds.max_by_key(|(count, oldest)| (*count, Reverse(oldest.number)));
    match largest {
        Some((_, oldest)) => Some(oldest.client),
        None => idle_of_the_greediest(tenants),
    }
}

/// The connections of one user.
#[derive(Default)]
struct OfUser<'a> {
    count: usize,
    oldest_idle: Option<(u64, &'a Arc<Client>)>,
}

/// The oldest idle connection of the user who has most connections, busy ones included, among those who have an idle one.
fn idle_of_the_greediest<'a>(tenants: &[Tenant<'a>]) -> Option<&'a Arc<Client>> {
    let mut users: HashMap<Option<Arc<str>>, OfUser<'a>> = HashMap::new();
    let known = tenants.iter().filter(|one| one.standing == Standing::Known);
    for Tenant { number, client, .. } in known {
        let of_user = users.entry(client.last_user()).or_default();
        of_user.count += 1;
        if of_user.oldest_idle.is_none() && !client.is_busy() {
            of_user.oldest_idle = Some((*number, *client));
        }
    }
    let idle = users
        .into_values()
        .filter_map(|of_user| Some((of_user.count, of_user.oldest_idle?)));
    let found = idle.max_by_key(|(count, (number, _))| (*count, Reverse(*number)));
    found.map(|(_, (_, client))| client)
}
