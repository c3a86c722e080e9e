//! Room for connections, and who goes when there is none.
//!
//! Sockets on which nobody has proved who they are have half of the slots. A new socket always finds a slot as long as another is of
//! less use: first one on which nobody has proved who they are, the oldest of the address that has most of them, then one that is
//! idle, the oldest of the user who has most. Front proxies are never asked to go, and a reserve of slots is kept for them. Addresses
//! are not told apart otherwise: behind a Service all clients may share one.
//!
//! What unfinished heads of requests hold is bounded here as well, since ending a connection is what frees it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client::{Client, Owner};
use super::heads;
use crate::app::Standing;
use crate::counters::Counters;

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
            taken: Mutex::default(),
        })
    }

    /// A slot for a new socket; none if everybody else is of more use.
    pub(super) fn take(self: &Arc<Self>, client: &Arc<Client>) -> Option<Slot> {
        let (mut taken, address) = (self.taken(), client.address);
        if taken.unproven_of(address) >= self.limits.unproven_per_address.max(1) {
            self.end(taken.oldest_unproven(address));
        }
        // Strangers get half of the slots at most: a thousand handshakes that are never completed were seen to take 35 MiB.
        let strangers = (self.limits.all / 2).max(1);
        if taken.staying().count() >= self.limits.all || taken.unproven().count() >= strangers {
            self.end(Some(taken.least_useful(None)?));
        }
        let number = taken.next;
        taken.next += 1;
        taken.clients.insert(number, Arc::clone(client));
        Some(Slot {
            slots: Arc::clone(self),
            number,
        })
    }

    /// Ends connections until unfinished heads hold no more than they may: of the user or the address whose hold most, the oldest. A
    /// client that means its request ends the head soon.
    pub(super) fn bound_heads(&self) {
        let taken = self.taken();
        while let Some(client) = taken.holding_most(self.limits.heads) {
            self.end(Some(client));
        }
    }

    fn end(&self, client: Option<Arc<Client>>) {
        if let Some(client) = client {
            client.cut.cancel();
            self.counters.evicted();
        }
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
        let is_front_proxy = |client: &Arc<Client>| client.last_standing() == Standing::FrontProxy;
        let others = taken
            .staying()
            .filter(|(_, client)| !is_front_proxy(client));
        let room = slots.limits.all.saturating_sub(slots.limits.reserved);
        let stays = others.count() <= room.max(1)
            || taken.clients.get(&self.number).is_none_or(is_front_proxy);
        if stays {
            return true;
        }
        let other = taken.least_useful(Some(self.number));
        let stays = other.is_some();
        slots.end(other);
        stays
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.taken().clients.remove(&self.number);
    }
}

impl Taken {
    /// Those who have not been told to go.
    fn staying(&self) -> impl Iterator<Item = (&u64, &Arc<Client>)> {
        let clients = self.clients.iter();
        clients.filter(|(_, client)| !client.cut.is_cancelled())
    }

    fn unproven(&self) -> impl Iterator<Item = (&u64, &Arc<Client>)> {
        self.staying()
            .filter(|(_, client)| client.last_standing() == Standing::Unproven)
    }

    fn unproven_of(&self, address: IpAddr) -> usize {
        let unproven = self.unproven();
        unproven
            .filter(|(_, client)| client.address == address)
            .count()
    }

    fn oldest_unproven(&self, address: IpAddr) -> Option<Arc<Client>> {
        let mut unproven = self.unproven();
        let oldest = unproven.find(|(_, client)| client.address == address);
        oldest.map(|(_, client)| Arc::clone(client))
    }

    /// If unfinished heads hold more than this: whose is to go.
    fn holding_most(&self, most: usize) -> Option<Arc<Client>> {
        let heads = self.staying().filter_map(|(_, client)| {
            let held = heads::counted(client.head.load(Ordering::Relaxed));
            let counts = held > 0 && client.last_standing() != Standing::FrontProxy;
            counts.then(|| (client.owner(), held, client))
        });
        let heads: Vec<_> = heads.collect();
        let mut owners: HashMap<&Owner, usize> = HashMap::new();
        for (owner, held, _) in &heads {
            *owners.entry(owner).or_default() += held;
        }
        if owners.values().sum::<usize>() <= most {
            return None;
        }
        let (most, _) = owners.into_iter().max_by_key(|(_, held)| *held)?;
        let oldest = heads.iter().find(|(owner, ..)| owner == most);
        oldest.map(|(_, _, client)| Arc::clone(client))
    }

    /// Who goes first, but for one.
    fn least_useful(&self, but_for: Option<u64>) -> Option<Arc<Client>> {
        let others = |(number, _): &(&u64, &Arc<Client>)| Some(**number) != but_for;
        let unproven = || self.unproven().filter(others);
        let mut addresses: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for (_, client) in unproven() {
            *addresses.entry(client.address).or_default() += 1;
        }
        let crowd = addresses.into_iter().max_by_key(|(_, count)| *count);
        let found = match crowd {
            Some((address, _)) => unproven().find(|(_, client)| client.address == address),
            None => of_the_greediest(self.staying().filter(others)),
        };
        found.map(|(_, client)| Arc::clone(client))
    }
}

/// The connections of one user.
#[derive(Default)]
struct OfUser<'a> {
    count: usize,
    oldest_idle: Option<(&'a u64, &'a Arc<Client>)>,
}

/// The oldest idle connection of the user who has most connections, busy ones included, among those who have an idle one.
fn of_the_greediest<'a>(
    clients: impl Iterator<Item = (&'a u64, &'a Arc<Client>)>,
) -> Option<(&'a u64, &'a Arc<Client>)> {
    let mut users: HashMap<Option<Arc<str>>, OfUser<'a>> = HashMap::new();
    let known = clients.filter(|(_, client)| client.last_standing() == Standing::Known);
    for (number, client) in known {
        let of_user = users.entry(client.last_user()).or_default();
        of_user.count += 1;
        if of_user.oldest_idle.is_none() && !client.is_busy() {
            of_user.oldest_idle = Some((number, client));
        }
    }
    let idle = users
        .into_values()
        .filter_map(|of_user| Some((of_user.count, of_user.oldest_idle?)));
    let found = idle.max_by_key(|(count, (number, _))| (*count, Reverse(**number)));
    found.map(|(_, client)| client)
}
