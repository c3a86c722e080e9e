//! Asks a member what it serves whenever it tells that this may have changed, and again and again, beside everything else: a member that does not answer
//! may take its time, and its health is probed meanwhile. A member that knows what it told says that it is still the same, which costs
//! neither anything.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::{Backoff, jittered};
use armadex_member::{Discovery, Etags, Member, MemberError};
use tokio::time::{Instant, Sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::session::changes::{Changes, Word};
use crate::session::discoveries::{ClusterDiscovery, Held};
use crate::session::health::Trouble;
use crate::session::plan::{Customs, Plan, Scope};
use crate::session::question::{Answer, Question};
use crate::session::urgency::Urgency;

/// While the member tells of changes. It may have been upgraded by who keeps its connections open.
const TOLD_PERIOD: Duration = Duration::from_secs(300);
/// After it began to tell: what changed between the first answer and this was told to nobody, and what a member says it serves may be behind
/// what changed.
const ONCE_TOLD: Duration = Duration::from_secs(5);
/// While everything that was asked for is there.
const SETTLED_PERIOD: Duration = Duration::from_secs(60);
/// While something is missing: a CRD that is being installed. What stays away is looked for less and less often, in the end as often as if
/// nothing were missing.
const MISSING_PERIOD: Duration = Duration::from_secs(10);

/// While there is no room for something: a good many have some by then, and each look is at all that the member serves.
const WAITING_PERIOD: Duration = Duration::from_secs(75);

/// What the last answer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Everything that was asked for.
    All,
    /// Not everything.
    Some,
    /// Not everything that is new: the next whole answer has more of it.
    Waiting,
    /// Everything, and beside some of it the versions of before, until what is in their place has been listed. The next whole answer hides them.
    Versions,
    /// It is not known yet, or not all is done: the next answer has to be a whole one.
    Unclear,
}

/// What is still shown that a plan has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing.
    None,
    /// Versions that have to do until others have been listed.
    Versions,
    /// Something that could not be hidden, or what that is is not known.
    Unclear,
}

impl Found {
    /// By this plan, of which so much is left to do. What is doubted is asked for soon, whatever waits.
    pub(super) fn by(plan: &Plan, rest: Rest) -> Self {
        match plan {
            _ if rest == Rest::Unclear => Self::Unclear,
            plan if plan.kept.is_doubted() => Self::Unclear,
            _ if rest == Rest::Versions => Self::Versions,
            plan if plan.wait > 0 => Self::Waiting,
            plan if !plan.missing.is_empty() => Self::Some,
            _ => Self::All,
        }
    }
}

/// When to ask next, or what is being asked.
pub(super) struct Rediscovery {
    member: Arc<Member>,
    turns: Arc<ClusterDiscovery>,
    due: Pin<Box<Sleep>>,
    asked: Option<AbortOnDropHandle<Answer>>,
    known: Etags,
    found: Found,
    /// Which resources are custom, if somebody asks for all that are.
    customs: Option<Arc<Customs>>,
    /// These may be others by now.
    has_other_customs: bool,
    missing: Backoff,
    /// What a whole answer was the last time, as a hash: a member without ETags tells all of it each time.
    told: Option<u64>,
    hasher: RandomState,
    changes: Changes,
    urgency: Urgency,
    /// How soon to ask again, at the latest.
    soon: Option<Duration>,
    /// Until when the member asked to be left alone.
    alone_until: Instant,
    /// Why it does not answer.
    trouble: Option<Trouble>,
    /// It did not the time before either.
    lasts: bool,
}

impl Rediscovery {
    /// Asks again, after a first answer that is known by these ETags.
    pub(super) fn new(
        member: Arc<Member>,
        turns: Arc<ClusterDiscovery>,
        known: Etags,
        found: Found,
    ) -> Self {
        let mut rediscovery = Self {
            changes: Changes::of(&member, turns.memory()),
            urgency: Urgency::default(),
            soon: None,
            alone_until: Instant::now(),
            member,
            turns,
            due: Box::pin(tokio::time::sleep(Duration::ZERO)),
            asked: None,
            known,
            found,
            customs: None,
            has_other_customs: true,
            told: None,
            hasher: RandomState::new(),
            missing: Backoff::new(MISSING_PERIOD, SETTLED_PERIOD),
            trouble: None,
            lasts: false,
        };
        rediscovery.found(found);
        rediscovery
    }

    /// An answer led to this; asks next when it is time.
    pub(super) fn found(&mut self, found: Found) {
        self.found = found;
        if !matches!(found, Found::Some | Found::Versions) {
            self.missing.reset();
        }
        let period = match found {
            Found::All | Found::Some if self.changes.are_told() && !self.lacks_customs() => {
                TOLD_PERIOD
            }
            Found::All => SETTLED_PERIOD,
            Found::Some => self.missing.next(1.0),
            // A list takes its time, and one that fails may do so for ever.
            Found::Versions => {
                self.known = Etags::default();
                self.missing.next(1.0)
            }
            Found::Waiting | Found::Unclear => {
                self.known = Etags::default();
                match found {
                    Found::Waiting => WAITING_PERIOD,
                    _ => MISSING_PERIOD,
                }
            }
        };
        self.again_in(period);
    }

    /// There was no answer, so the last one holds for longer each time. Whether that is to be told.
    pub(super) fn failed(&mut self, words: &str, error: &MemberError) -> bool {
        self.alone_until = Instant::now() + error.retry_after().unwrap_or_default();
        self.lasts = self.trouble.is_some();
        let news = Trouble::restated(self.trouble.as_ref(), words);
        let is_news = news.is_some();
        self.trouble = news.or(self.trouble.take());
        let period = self.missing.next(1.0);
        self.again_in(period);
        is_news
    }

    /// Why there has been no answer for more than a moment.
    pub(super) fn lasting_trouble(&self) -> Option<String> {
        let lasts = self.trouble.as_ref().filter(|_| self.lasts);
        lasts.map(|trouble| trouble.words().to_owned())
    }

    fn again_in(&mut self, period: Duration) {
        let period = self.soon.take().map_or(period, |soon| soon.min(period));
        let next = Instant::now() + jittered(period, rand::random());
        self.due.as_mut().reset(next.max(self.alone_until));
    }

    /// The last answer holds.
    pub(super) fn unchanged(&mut self) {
        self.found(self.found);
    }

    /// Something else is asked for, which is found in a whole answer: asks for one at once.
    pub(super) fn asks_for(&mut self, asked: &Scope) {
        self.tells_of_customs(asked.asks_for_customs());
        self.now();
    }

    /// From now on answers say which resources are custom, or do not; asks at once if they did not before.
    pub(super) fn tells_of_customs(&mut self, asks: bool) {
        if asks && self.customs.is_none() {
            self.customs = Some(Arc::default());
            self.now();
        }
        self.customs.take_if(|_| !asks);
    }

    /// Asks for a whole answer: at once, unless the member asked to be left alone.
    pub(super) fn now(&mut self) {
        self.has_other_customs |= self.asked.take().is_some();
        self.known = Etags::default();
        self.missing.reset();
        let now = Instant::now();
        self.due.as_mut().reset(now.max(self.alone_until));
    }

    /// The next answer; `None` if it is the last one. Safe to cancel: what was asked is not asked twice.
    pub(super) async fn answer(&mut self) -> Result<Option<Held>, MemberError> {
        let asked = match self.asked.take() {
            Some(asked) => asked,
            None => {
                self.until_due().await;
                self.urgency.asks(Instant::now());
                AbortOnDropHandle::new(tokio::spawn(self.question().ask()))
            }
        };
        let answer = self.asked.insert(asked).await;
        self.asked = None;
        let answer = answer.unwrap_or_else(|error| {
            Err(MemberError::Unreachable {
                reason: format!("discovery broke off: {error}").into(),
            })
        });
        let is_news = matches!(&answer, Ok(Some((discovery, _))) if self.is_news(discovery));
        self.soon = self.urgency.answered(is_news, Instant::now());
        self.has_other_customs |= answer.is_err();
        let answer = answer?;
        self.trouble = None;
        Ok(answer.map(|(discovery, known)| {
            self.known = known;
            if let Some(customs) = &mut self.customs {
                customs.clone_from(discovery.customs());
            }
            if is_news {
                // Where types come and go, what is missing may come next.
                self.missing.reset();
            }
            discovery
        }))
    }

    /// Whether it is asked which resources are custom, and the member does not say.
    fn lacks_customs(&self) -> bool {
        matches!(self.customs.as_deref(), Some(Customs::Untold(_)))
    }

    fn question(&mut self) -> Question {
        let may_be_others =
            std::mem::take(&mut self.has_other_customs) | self.changes.have_renamed();
        let are_known = matches!(self.customs.as_deref(), Some(Customs::Named(_)));
        Question {
            member: Arc::clone(&self.member),
            turns: Arc::clone(&self.turns),
            known: self.known.clone(),
            customs: self.customs.clone(),
            has_other_customs: may_be_others || !are_known,
        }
    }

    fn is_news(&mut self, discovery: &Discovery) -> bool {
        let now = self.hasher.hash_one(discovery);
        self.told.replace(now) != Some(now)
    }

    async fn until_due(&mut self) {
        loop {
            tokio::select! {
                () = self.due.as_mut() => return,
                word = self.changes.next() => {
                    let now = Instant::now();
                    let due = match word {
                        Word::Changed => self.urgency.told(now),
                        Word::Begun => now + ONCE_TOLD,
                    };
                    let due = due.max(self.alone_until);
                    if due < self.due.deadline() {
                        self.due.as_mut().reset(due);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use armadex_model::ClusterName;

    use super::*;
    use crate::incoming::memory::ClusterMemory;
    use crate::session::in_line::InLine;
    use crate::testing::{ScriptedMember, until};

    fn turns() -> Arc<ClusterDiscovery> {
        let name = ClusterName::new("east").expect("a name");
        let memory = ClusterMemory::of_nobody_else();
        Arc::new(ClusterDiscovery::new(
            Arc::default(),
            name,
            memory,
            InLine::default(),
        ))
    }

    /// Asks at once for what may have changed.
    async fn ask(rediscovery: &mut Rediscovery) -> Option<Held> {
        rediscovery.due.as_mut().reset(Instant::now());
        rediscovery.answer().await.expect("an answer")
    }

    #[tokio::test]
    async fn what_did_not_change_is_not_told_again() {
        let member = ScriptedMember::start("uid", &[]).await;
        let mut rediscovery =
            Rediscovery::new(member.connect(), turns(), Etags::default(), Found::Some);
        assert!(ask(&mut rediscovery).await.is_some());
        member.take_discoveries();
        assert!(ask(&mut rediscovery).await.is_none());
        assert_eq!(member.take_discoveries(), ["/api: 304", "/apis: 304"]);
        member.serves_group("shop.example");
        let discovery = ask(&mut rediscovery).await.expect("another answer");
        assert!(discovery.groups.contains_key("shop.example"));
        assert!(discovery.groups.contains_key(""), "the other half as well");
        assert!(ask(&mut rediscovery).await.is_none());
    }

    #[tokio::test]
    async fn a_doubt_is_settled_by_a_whole_answer() {
        let member = ScriptedMember::start("uid", &[]).await;
        let mut rediscovery =
            Rediscovery::new(member.connect(), turns(), Etags::default(), Found::All);
        assert!(ask(&mut rediscovery).await.is_some());
        rediscovery.found(Found::Unclear);
        assert!(ask(&mut rediscovery).await.is_some());
    }

    #[tokio::test]
    async fn while_something_waits_for_room_all_is_asked_for_once_a_minute_at_the_most() {
        let member = ScriptedMember::start("uid", &[]).await;
        let mut rediscovery =
            Rediscovery::new(member.connect(), turns(), Etags::default(), Found::All);
        assert!(ask(&mut rediscovery).await.is_some());
        for _ in 0..10 {
            rediscovery.soon = None;
            rediscovery.found(Found::Waiting);
            let wait = rediscovery.due.deadline() - Instant::now();
            assert!((59..=90).contains(&wait.as_secs()), "{wait:?}");
        }
        assert!(ask(&mut rediscovery).await.is_some());
    }

    #[tokio::test]
    async fn what_stays_away_is_looked_for_less_and_less_often() {
        let member = ScriptedMember::start("uid", &[]).await;
        let mut rediscovery =
            Rediscovery::new(member.connect(), turns(), Etags::default(), Found::Some);
        let wait = |rediscovery: &Rediscovery| {
            let wait = rediscovery.due.deadline() - Instant::now();
            wait.as_secs_f64()
        };
        assert!(wait(&rediscovery) <= 12.0);
        rediscovery.unchanged();
        assert!((15.0..=24.0).contains(&wait(&rediscovery)));
        for _ in 0..5 {
            rediscovery.unchanged();
        }
        assert!((47.0..=72.0).contains(&wait(&rediscovery)));
        ask(&mut rediscovery).await.expect("something new");
        rediscovery.found(Found::Some);
        assert!(wait(&rediscovery) <= 12.0);
        for _ in 0..5 {
            // As one without ETags: it tells all of it, and that is what it was.
            rediscovery.known = Etags::default();
            ask(&mut rediscovery).await.expect("a whole answer");
            assert_eq!(rediscovery.soon, None);
            rediscovery.found(Found::Some);
        }
        assert!((47.0..=72.0).contains(&wait(&rediscovery)));
    }

    #[tokio::test]
    async fn a_member_that_asks_to_be_left_alone_is_not_asked_for_what_is_new_at_once() {
        let member = ScriptedMember::start("uid", &[]).await;
        let mut rediscovery =
            Rediscovery::new(member.connect(), turns(), Etags::default(), Found::All);
        let busy = MemberError::Status {
            code: 429,
            message: "too much".into(),
            retry_after: Some(Duration::from_secs(50)),
            fresh_token: None,
            details: None,
        };
        rediscovery.failed("too much", &busy);
        rediscovery.now();
        let wait = rediscovery.due.deadline() - Instant::now();
        assert!(wait > Duration::from_secs(40), "{wait:?}");
    }

    #[tokio::test]
    async fn what_a_member_tells_is_looked_at_at_once_and_nothing_else_is_asked_for() {
        let member = ScriptedMember::start("uid", &[]).await;
        member.tells_what_changes();
        let mut rediscovery =
            Rediscovery::new(member.connect(), turns(), Etags::default(), Found::All);
        until("both watches", || async { rediscovery.changes.are_told() }).await;
        let wait = |rediscovery: &Rediscovery| rediscovery.due.deadline() - Instant::now();
        // What happened before it told is asked for once.
        let once = tokio::time::timeout(2 * ONCE_TOLD, rediscovery.answer()).await;
        let once = once.expect("within seconds").expect("an answer");
        assert!(once.is_some());
        rediscovery.found(Found::Some);
        assert!(
            wait(&rediscovery) > SETTLED_PERIOD,
            "it tells whatever changes"
        );

        let changes: [(&str, &dyn Fn()); 2] = [
            ("shop.example", &|| member.changes_a_crd()),
            ("metrics.example", &|| member.changes_an_api_service()),
        ];
        for (group, changes) in changes {
            member.take_discoveries();
            member.serves_group(group);
            changes();
            let found = tokio::time::timeout(SETTLED_PERIOD / 6, rediscovery.answer());
            let found = found.await.expect("within seconds").expect("an answer");
            assert!(found.expect("news").groups.contains_key(group));
            assert_eq!(
                member.take_discoveries().len(),
                4,
                "whether both are what they were, and all of both"
            );
            // Nothing is asked afterwards that would find the next change.
            rediscovery.soon = None;
            rediscovery.found(Found::All);
        }
    }

    #[tokio::test]
    async fn what_is_served_comes_with_names_of_what_is_custom_that_are_not_older() {
        let member = ScriptedMember::start("uid", &[]).await;
        member.tells_what_changes();
        member.has_crds(&["things.shop.example"]);
        let mut rediscovery =
            Rediscovery::new(member.connect(), turns(), Etags::default(), Found::All);
        rediscovery.tells_of_customs(true);
        until("both watches", || async { rediscovery.changes.are_told() }).await;
        let named = |held: Option<Held>| match &**held.expect("a whole answer").customs() {
            Customs::Named(groups) => Vec::from_iter(groups.clone().into_keys()),
            unnamed => panic!("{unnamed:?}"),
        };
        let shop = "shop.example";
        assert_eq!(named(ask(&mut rediscovery).await), [shop]);
        rediscovery.found(Found::All);
        assert!(ask(&mut rediscovery).await.is_none());
        // One that is made otherwise, and has been there before.
        let lists = member.crd_lists();
        member.changes_a_crd();
        let told = tokio::time::timeout(SETTLED_PERIOD / 6, rediscovery.answer());
        assert!(
            told.await
                .expect("within seconds")
                .expect("an answer")
                .is_none()
        );
        assert_eq!(member.crd_lists(), lists, "they are not listed again");
        rediscovery.soon = None;
        rediscovery.found(Found::All);
        // What is served changes before anybody tells that what is custom did.
        member.has_crds(&["things.shop.example", "metrics.far.example"]);
        member.serves_group("far.example");
        assert_eq!(named(ask(&mut rediscovery).await), ["far.example", shop]);
        rediscovery.found(Found::All);
        member.has_crds(&["things.shop.example"]);
        member.loses_a_crd();
        let told = tokio::time::timeout(SETTLED_PERIOD / 6, rediscovery.answer());
        let told = told.await.expect("within seconds").expect("an answer");
        assert_eq!(named(told), [shop]);
    }

    #[tokio::test]
    async fn a_member_that_may_not_tell_is_asked_by_and_by() {
        let member = ScriptedMember::start("uid", &[]).await;
        let mut rediscovery =
            Rediscovery::new(member.connect(), turns(), Etags::default(), Found::All);
        member.until_refused(2).await;
        rediscovery.unchanged();
        let wait = rediscovery.due.deadline() - Instant::now();
        assert!(wait <= SETTLED_PERIOD.mul_f64(1.2), "{wait:?}");
        assert!(!rediscovery.changes.are_told());
    }
}
