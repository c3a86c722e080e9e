//! Processes that share work: each holds a Lease of its own, by whose number it is known, and sees by the Leases of the others who they are.
//!
//! The first Lease has the name that all have in common, the others have a number behind it, and who comes takes the first that is free, as they leave theirs who end or are
//! seen to be gone: so there are hardly more of them than there ever were processes at a time. Who holds the first and does not say that he shares does all the work, as processes of
//! releases that share nothing do, and those that may not list Leases: then nobody works beside him.
//!
//! As with one Lease no clocks are compared, and what was not looked at for a while counts as just changed: who could not look, because the control plane was
//! away or the process stood still, cannot tell who else could not renew. Nor can who does not see his own Lease renewed: where nobody can write, nobody is gone.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Client, ResourceExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use super::{ANSWER, Claim, Held, LeaseTerms, Load, RENEWAL, RETRY, Seen, Tried};
use crate::{Objects, Trouble, TroubleKind};

/// Between two looks after which nothing is known of the time between: a look may go unanswered.
const BLIND: Duration = Duration::from_secs(ANSWER.as_secs() + RETRY.as_secs() + RENEWAL.as_secs());
/// Who does not see his own Lease change for longer sees no more who is there. Where writes are refused all of a sudden the others' changed up to a renewal and a look before the own one, and who
/// did not change for 15 s is gone: 15 - 3 - 2 is still more than this.
const STALE: Duration = Duration::from_secs(ANSWER.as_secs() + RENEWAL.as_secs());
/// Who comes takes nothing from others before they have seen him, be it with a look that is late: they have let it go by then.
const SETTLING: Duration = Duration::from_secs(2 * RETRY.as_secs());

/// Between two tries of who shares nothing because he may not list them: a Role that an update or a rollback puts back may be another one in a minute.
const RIGHTS: Duration = Duration::from_secs(60);

/// Between two words about Leases that cannot be listed.
const TOLD_AGAIN: Duration = Duration::from_secs(600);

/// Before the next place is tried, where somebody else was faster: a Deployment starts its pods at once.
const AFTER_ANOTHER: Duration = Duration::from_millis(100);

/// The processes that would share work, as one of them sees them.
pub struct Replicas {
    client: Client,
    api: Objects<Lease>,
    terms: LeaseTerms,
    /// By the numbers of their Leases.
    seen: BTreeMap<u32, Seen>,
    looked: Option<Instant>,
    /// The first Lease, for what is said of waiting for it.
    first: Claim,
}

/// Who shares the work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// What each that is there has of it, by the number of its Lease. The own one is among them once the others have seen it.
    pub loads: BTreeMap<u32, Load>,
    /// How many looks have shown it.
    pub looks: u64,
}

/// The place of a process among them.
pub struct Place {
    number: u32,
    held: Held,
    members: watch::Receiver<Members>,
    over: CancellationToken,
    _looking: AbortOnDropHandle<()>,
}

impl Replicas {
    /// Those whose first Lease the terms name.
    pub fn new(client: Client, terms: &LeaseTerms) -> Self {
        Self {
            api: Objects::namespaced(client.clone(), &terms.namespace),
            first: Claim::new(client.clone(), terms),
            client,
            terms: terms.clone(),
            seen: BTreeMap::new(),
            looked: None,
        }
    }

    /// Waits until this process has a place among them. `None` if it may have the first Lease alone, by a role of a release that shares nothing. Safe to
    /// cancel, as [`Claim::hold`].
    pub async fn join(mut self) -> Option<Place> {
        loop {
            match timeout(ANSWER, self.try_to_join()).await {
                Ok(Ok(Joining::Place(number, held))) => return Some(self.place(number, held)),
                Ok(Ok(Joining::Unshared)) => {
                    warn!(
                        namespace = self.terms.namespace,
                        "the Leases of those who share the work may not be listed, and this process has all of it or waits: it needs list of leases, and shares it when it has that"
                    );
                    return None;
                }
                Ok(Ok(Joining::Beaten)) => {
                    sleep(AFTER_ANOTHER.mul_f64(rand::random_range(0.5..1.5))).await;
                    continue;
                }
                Ok(Ok(Joining::Waits(holder))) => self.first.waits_for(&holder),
                Ok(Err(trouble)) => {
                    self.first.cannot_ask(&trouble.message);
                    if trouble.kind != TroubleKind::Forbidden {
                        self.count_anew();
                    }
                }
                Err(_) => {
                    let words = format!("no answer within {} s", ANSWER.as_secs());
                    self.first.cannot_ask(&words);
                    self.count_anew();
                }
            }
            sleep(RETRY.mul_f64(rand::random_range(0.75..1.25))).await;
        }
    }

    /// Waits until they may be listed, for who may not when he would join. Safe to cancel.
    pub async fn may_be_seen(&self) {
        loop {
            sleep(RIGHTS.mul_f64(rand::random_range(0.75..1.25))).await;
            if let Ok(Ok(_)) = timeout(ANSWER, self.leases()).await {
                return;
            }
        }
    }

    async fn try_to_join(&mut self) -> Result<Joining, Trouble> {
        match self.look().await {
            Err(trouble) if trouble.kind == TroubleKind::Forbidden => {
                // Who may not even get it waits for his rights.
                self.api.get_opt(&self.terms.name).await?;
                return Ok(Joining::Unshared);
            }
            looked => looked?,
        }
        if let Some(holder) = self.alone() {
            return Ok(Joining::Waits(holder));
        }
        let number = self.first_free();
        let mut claim = Claim {
            name: name_of(&self.terms.name, number),
            shares: true,
            seen: self.seen.remove(&number),
            ..Claim::new(self.client.clone(), &self.terms)
        };
        Ok(match claim.try_to_take().await? {
            Tried::Taken(lease) => {
                info!(
                    lease = claim.name,
                    holder = claim.holder,
                    "this process has a Lease among those who share the work"
                );
                Joining::Place(number, claim.held(*lease))
            }
            Tried::HeldBy(_) => Joining::Beaten,
        })
    }

    async fn leases(&self) -> Result<Vec<Lease>, Trouble> {
        self.api.all_objects().try_collect().await
    }

    /// Sees all Leases as they are now.
    async fn look(&mut self) -> Result<(), Trouble> {
        let leases = self.leases().await?;
        let now = Instant::now();
        let is_blind = |looked| now.duration_since(looked) > BLIND;
        if self.looked.is_none_or(is_blind) {
            self.seen.clear();
        }
        let numbered = leases.iter().filter_map(|lease| {
            let number = number_of(&self.terms.name, &lease.name_any())?;
            Some((number, Seen::of(lease, self.seen.get(&number))))
        });
        self.seen = numbered.collect();
        self.looked = Some(now);
        Ok(())
    }

    /// What nobody could write for a while is no sign that somebody is gone.
    fn count_anew(&mut self) {
        let others = self.seen.values_mut();
        let others = others.filter(|seen| seen.holder != self.terms.holder);
        others.for_each(|seen| seen.since = Instant::now());
    }

    /// Since when the Lease of this number has been seen as it is; `None` if this process does not have it.
    fn own_since(&self, number: u32) -> Option<Instant> {
        let own = self.seen.get(&number);
        let own = own.filter(|own| own.holder == self.terms.holder);
        own.map(|own| own.since)
    }

    /// Who does all the work, if somebody does.
    fn alone(&self) -> Option<String> {
        let first = self.seen.get(&0)?;
        let is_alone = !first.shares && first.is_held_beside(&self.terms.holder);
        is_alone.then(|| first.holder.clone())
    }

    fn first_free(&self) -> u32 {
        let is_free = |number: &u32| {
            let seen = self.seen.get(number);
            seen.is_none_or(|seen| !seen.is_held_beside(&self.terms.holder))
        };
        // There is one behind all that were seen.
        (0..=u32::MAX).find(is_free).unwrap_or(u32::MAX)
    }

    /// The others, as the last look has shown them.
    fn others(&self) -> BTreeMap<u32, Load> {
        let is_other = |seen: &&Seen| seen.shares && seen.is_held_beside(&self.terms.holder);
        let others = self.seen.iter().filter(|(_, seen)| is_other(seen));
        others.map(|(number, seen)| (*number, seen.load)).collect()
    }

    /// What this process has of it, as the others see it.
    fn own_load(&self, number: u32) -> Load {
        let own = self.seen.get(&number);
        own.map_or_else(Load::default, |own| own.load)
    }

    /// Takes the Lease from one of those who are seen to be gone: who comes cannot see it, and would take the next number each time. Whoever is there after all finds
    /// that he has lost it, as the others had to think.
    async fn free_one(&mut self) -> Result<(), Trouble> {
        let is_gone = |seen: &Seen| {
            let is_others = !seen.holder.is_empty() && seen.holder != self.terms.holder;
            seen.shares && is_others && seen.is_over()
        };
        let mut seen = self.seen.iter();
        let Some((number, seen)) = seen.find(|(_, seen)| is_gone(seen)) else {
            return Ok(());
        };
        let name = name_of(&self.terms.name, *number);
        let Some(mut lease) = self.api.get_opt(&name).await? else {
            return Ok(());
        };
        if lease.resource_version().as_ref() != Some(&seen.version) {
            return Ok(());
        }
        info!(
            lease = name,
            holder = seen.holder,
            "its holder is gone, and it is free"
        );
        lease.spec.get_or_insert_default().holder_identity = Some(String::new());
        match self.api.replace(&name, &lease).await {
            Err(trouble) if trouble.kind == TroubleKind::Conflict => Ok(()),
            replaced => replaced.map(drop),
        }
    }

    fn place(self, number: u32, held: Held) -> Place {
        let loads = match self.others() {
            none if none.is_empty() => BTreeMap::from([(number, Load::default())]),
            others => others,
        };
        let (sender, members) = watch::channel(Members { loads, looks: 0 });
        let over = CancellationToken::new();
        let own = Own {
            number,
            renewals: held.renewals.clone(),
            unseen_since: None,
        };
        let looking = look_on_and_on(self, own, sender, over.clone());
        Place {
            number,
            held,
            members,
            over,
            _looking: AbortOnDropHandle::new(tokio::spawn(looking)),
        }
    }
}

/// What came of a try to join.
enum Joining {
    Place(u32, Held),
    /// Somebody else has the place by now.
    Beaten,
    /// This holder works alone.
    Waits(String),
    /// Leases may not be listed.
    Unshared,
}

impl Place {
    /// Its number, which no other process has.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The Lease.
    #[must_use]
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Who shares the work.
    #[must_use]
    pub fn members(&self) -> watch::Receiver<Members> {
        self.members.clone()
    }

    /// Says from the next renewal on what this process has of the work.
    pub fn say(&self, load: Load) {
        self.held.load.send_replace(load);
    }

    /// Until it is held no more, or somebody does all the work alone.
    pub async fn lost(&self) {
        tokio::select! {
            () = self.held.lost() => {}
            () = self.over.cancelled() => {}
        }
    }

    /// Gives it back: others have its share when they look next.
    pub async fn release(self) {
        self.held.release().await;
    }
}

/// The own place, for who looks at those of others.
struct Own {
    number: u32,
    renewals: watch::Receiver<u64>,
    /// How often the own Lease had been renewed when the right to list them was missing first, since when it is.
    unseen_since: Option<u64>,
}

impl Own {
    /// Whether Leases may not be listed while the own one is renewed: then one of all can have the work. Where nothing about them is allowed nobody could have a place again, and
    /// once is no sign of it: whoever answers for rights may be away for a moment.
    fn is_blind(&mut self, trouble: Option<&Trouble>) -> bool {
        if trouble.is_none_or(|trouble| trouble.kind != TroubleKind::Forbidden) {
            self.unseen_since = None;
            return false;
        }
        let now = *self.renewals.borrow();
        let since = *self.unseen_since.get_or_insert(now);
        // One may have been under way when the right went.
        now > since + 1
    }
}

/// Looks who is there until somebody works alone, or that may not be seen any more. However it ends, the place is over then: nobody would see who comes and goes.
async fn look_on_and_on(
    mut replicas: Replicas,
    mut own: Own,
    members: watch::Sender<Members>,
    over: CancellationToken,
) {
    let _over = over.drop_guard();
    let (begun, number) = (Instant::now(), own.number);
    let (mut before, mut told) = (None, begun);
    loop {
        sleep(RETRY).await;
        let looked = timeout(ANSWER, replicas.look()).await;
        let looked = looked.unwrap_or_else(|_| Err(Trouble::unanswered()));
        let trouble = looked.err();
        tell(before.as_ref(), trouble.as_ref(), &mut told);
        before = trouble;
        if own.is_blind(before.as_ref()) {
            return info!("this process gives its place among those who share the work back");
        }
        if before.is_some() {
            continue;
        }
        if let Some(holder) = replicas.alone() {
            return info!(
                holder,
                "another process does all the work, and this one nothing beside it"
            );
        }
        match replicas.own_since(number) {
            None => return info!("this process has lost its place among those who share the work"),
            // The others see it as it sees them: whoever does not renew is gone.
            Some(since) if since.elapsed() > STALE => {
                replicas.count_anew();
                continue;
            }
            Some(_) => {}
        }
        let mut loads = replicas.others();
        members.send_modify(|members| {
            let is_known = members.loads.contains_key(&number);
            if is_known || loads.is_empty() || begun.elapsed() >= SETTLING {
                loads.insert(number, replicas.own_load(number));
            }
            members.loads = loads;
            members.looks += 1;
        });
        // Tried again with the next look; what is wrong is told where the own Lease is renewed.
        let _ = timeout(ANSWER, replicas.free_one()).await;
    }
}

/// Tells what is news of looks: what came of the one before, and of this one. What is wrong is told again now and then: whoever crashes meanwhile is not seen to be gone, and
/// nobody has his share.
fn tell(before: Option<&Trouble>, trouble: Option<&Trouble>, told: &mut Instant) {
    let is_news = before.is_none() || told.elapsed() >= TOLD_AGAIN;
    match trouble {
        None if before.is_some() => info!("the Leases of those who share the work are seen again"),
        Some(trouble) if is_news => {
            *told = Instant::now();
            warn!(
                error = %trouble,
                "the Leases of those who share the work cannot be listed, retrying; the shares stay as they are, also where one of these processes ends"
            );
        }
        _ => {}
    }
}

/// The name of the Lease of this number.
fn name_of(first: &str, number: u32) -> String {
    match number {
        0 => first.to_owned(),
        number => format!("{first}.{number}"),
    }
}

/// The number of a Lease of this name; `None` if it is none of them.
fn number_of(first: &str, name: &str) -> Option<u32> {
    let number = match name.strip_prefix(first)? {
        "" => 0,
        behind => behind.strip_prefix('.')?.parse().ok()?,
    };
    (name_of(first, number) == name).then_some(number)
}
