//! One audit of all types of a cluster, and what is told of it.

use std::sync::Arc;
use std::time::Duration;

use armadex_crds::{ClusterAudit, ResourceAudit, ResourceSyncStatus};
use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::StreamState;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use crate::audit::cluster::AuditedCluster;
use crate::audit::comparison::Found;
use crate::audit::progress::UnderWay;
use crate::audit::subject::{Subject, Unproved};
use crate::lock::lock;
use crate::stream::turns::ClusterTurns;
use crate::told::report::Report;

/// Types whose troubles are told in the words of a whole cluster; each is told beside its type.
const TOLD: usize = 5;

/// A list of a few pages, or a position that is checked, and a watch.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(30);

/// Lists that are made of a type in one audit. One puts right what was wrong before it; the watch that follows it may lose something as well.
const LISTS: usize = 3;

/// A type that is synced, and how it is doing.
type Synced = (Arc<ResourceType>, Arc<Report>);

/// An audit under way, as far as it comes in one session.
pub(super) struct Round<'a> {
    cluster: &'a AuditedCluster,
    /// In which it stands behind clusters whose audit began before.
    turns: Arc<ClusterTurns>,
    progress: UnderWay,
}

/// What came of one type.
#[derive(Debug, Default)]
struct Verdict {
    objects: u64,
    differences: u64,
    mended: u64,
    proved: bool,
    words: String,
}

impl<'a> Round<'a> {
    pub(super) fn new(cluster: &'a AuditedCluster, progress: UnderWay) -> Self {
        Self {
            cluster,
            turns: Arc::new(ClusterTurns::new(Arc::clone(&cluster.shared.audits))),
            progress,
        }
    }

    /// Audits the types that are synced now and are left. What has just been connected is given a moment. Types that are stored and not followed
    /// are shown as well, and nobody knows whether they are right.
    pub(super) async fn run(self) -> ClusterAudit {
        let AuditedCluster { shared, id, .. } = self.cluster;
        let streams = self.go_on();
        let soon = Instant::now() + FOLLOWED_WITHIN;
        for (_, report) in &streams {
            // Which are followed by then is looked at below.
            let _ = timeout_at(soon, report.place().begins()).await;
        }
        match shared.sink.streams(*id).await {
            Err(error) => {
                let unread = Unproved::Store(error);
                self.log(&unread);
                self.fail(&streams, &unread.to_string());
            }
            Ok(stored) => {
                for (resource, report) in &streams {
                    let verdict = self.audit(resource, report, &stored).await;
                    self.tell(resource, Some(report), verdict);
                    lock(&self.progress).compared();
                }
                self.tell_of_unfollowed(&streams, &stored);
            }
        }
        self.end()
    }

    /// What is told of an audit that did not come to its end.
    pub(super) fn broke_off(self) -> ClusterAudit {
        self.fail(&self.left(), "the audit broke off");
        self.end()
    }

    /// The types that are left, but for those that are given up.
    fn go_on(&self) -> Vec<Synced> {
        let given_up = lock(&self.progress).goes_on(Instant::now(), rand::random());
        let why = Unproved::NotConnected.to_string();
        for (resource, report) in self.left().iter().take(given_up) {
            self.tell(resource, Some(report), Verdict::unproved(&why));
        }
        self.left()
    }

    /// Types that are synced now and of which nothing has been told.
    fn left(&self) -> Vec<Synced> {
        let mut streams = self.cluster.board.streams();
        let progress = lock(&self.progress);
        streams.retain(|(resource, _)| !progress.is_done(&resource.gvr));
        streams
    }

    fn fail(&self, streams: &[Synced], words: &str) {
        for (resource, report) in streams {
            self.tell(resource, Some(report), Verdict::unproved(words));
        }
        let mut progress = lock(&self.progress);
        progress.is_whole = false;
        if streams.is_empty() {
            progress.words.push(words.to_owned());
        }
    }

    /// Of types whose streams began meanwhile the next audit tells.
    fn tell_of_unfollowed(&self, streams: &[Synced], stored: &[StreamState]) {
        let now = self.cluster.board.streams();
        for StreamState { resource, .. } in stored {
            let mut followed = streams.iter().chain(&now);
            let is_followed = followed.any(|(followed, _)| followed.gvr == resource.gvr);
            if !is_followed && !lock(&self.progress).is_done(&resource.gvr) {
                let why = Unproved::NotFollowed.to_string();
                self.tell(resource, None, Verdict::unproved(&why));
            }
        }
    }

    async fn audit(
        &self,
        resource: &Arc<ResourceType>,
        report: &Arc<Report>,
        stored: &[StreamState],
    ) -> Verdict {
        let state = stored
            .iter()
            .find(|state| state.resource.gvr == resource.gvr);
        let Some(state) = state.filter(|_| is_followed(report)) else {
            return Verdict::unproved(&Unproved::NotFollowed.to_string());
        };
        let AuditedCluster {
            shared,
            id,
            metrics,
            connected,
            audits,
            ..
        } = self.cluster;
        let subject = Subject {
            shared: Arc::clone(shared),
            connected: Arc::clone(connected),
            metrics: Arc::clone(metrics),
            cluster: *id,
            resource: Arc::clone(resource),
            asked: report.asked(&resource.gvr),
            id: state.id,
            report: Arc::clone(report),
            turns: Arc::clone(&self.turns),
        };
        match subject.compare(&audits.hashes).await {
            Ok(found) if found.wrong.is_empty() => {
                audits.remains(&resource.gvr, &found.wrong);
                Verdict::right(&found)
            }
            Ok(found) => self.mend(&subject, found).await,
            Err(error) => {
                self.log(&error);
                Verdict::unproved(&error.to_string())
            }
        }
    }

    /// Has what is wrong listed anew until nothing is wrong that was not before the last list, unless a list left all of it as it is in
    /// an audit before.
    async fn mend(&self, subject: &Subject, found: Found) -> Verdict {
        let (audits, gvr) = (&self.cluster.audits, &subject.resource.gvr);
        if audits.is_stubborn(gvr, &found.wrong) {
            audits.remains(gvr, &found.wrong);
            return Verdict::wrong(&found, &found);
        }
        let (mut all, mut last) = (found.clone(), found);
        for _ in 0..LISTS {
            let compared = async {
                subject.list_anew().await?;
                subject.compare(&audits.hashes).await
            };
            let again = match compared.await {
                Ok(again) => again,
                Err(error) => {
                    self.log(&error);
                    return Verdict::not_seen_mended(&all, &error);
                }
            };
            let remains = last.wrong.intersection(&again.wrong).copied().collect();
            audits.remains(gvr, &remains);
            all = all.and(&again);
            last = again;
            if last.wrong == remains {
                break;
            }
        }
        let left_out = subject.report.left_out();
        Verdict::wrong(&all.without(&left_out, &audits.hashes), &last)
    }

    /// What a status does not say of a store that fails.
    fn log(&self, error: &Unproved) {
        let AuditedCluster { shared, name, .. } = self.cluster;
        if let Unproved::Store(error) = error
            && let Some(words) = shared.store_fails(name.as_str(), error)
        {
            warn!(cluster = %name, error = words, "the store was not read for an audit; others that fail alike are not told of");
        }
    }

    /// `report` is that of a type that is followed.
    fn tell(&self, resource: &ResourceType, report: Option<&Arc<Report>>, verdict: Verdict) {
        let AuditedCluster { name, metrics, .. } = self.cluster;
        let gvr = &resource.gvr;
        let Verdict {
            objects,
            differences,
            mended,
            proved,
            words,
        } = verdict;
        if differences > 0 {
            warn!(cluster = %name, resource = %gvr, objects, differences, mended, words, "what was stored differed from the member");
        } else {
            debug!(cluster = %name, resource = %gvr, objects, proved, words, "audited");
        }
        let counted = if proved {
            &metrics.proved
        } else {
            &metrics.unproved
        };
        counted.add(1);
        metrics.differences.add(differences);
        metrics.mended.add(mended);
        let found = (number(objects), number(differences), number(mended));
        self.count(gvr, proved, found, &words);
        if let Some(report) = report {
            report.audited(ResourceAudit {
                proved_time: proved.then(|| Time(Timestamp::now())),
                objects: found.0,
                differences: found.1,
                mended: found.2,
                message: words,
            });
        }
    }

    /// Adds a type to what is told of all of them: its objects, those that differed, and those that were mended.
    fn count(
        &self,
        gvr: &GroupVersionResource,
        proved: bool,
        (objects, differences, mended): (i64, i64, i64),
        words: &str,
    ) {
        let mut progress = lock(&self.progress);
        progress.done(gvr);
        let outcome = &mut progress.outcome;
        *if proved {
            &mut outcome.proved
        } else {
            &mut outcome.unproved
        } += 1;
        outcome.objects += objects;
        outcome.differences += differences;
        outcome.mended += mended;
        if !words.is_empty() {
            let resource = name_of(&gvr.group, &gvr.resource);
            progress.words.push(format!("{resource}: {words}"));
        }
    }

    fn end(self) -> ClusterAudit {
        let Self {
            cluster,
            progress,
            turns: _,
        } = self;
        let progress = lock(&progress);
        let (mut outcome, mut words) = (progress.outcome.clone(), progress.words.clone());
        let is_whole = progress.is_whole;
        let now = Timestamp::now();
        outcome.time = Time(now);
        let missing = cluster.board.facts().missing;
        let missing = missing
            .iter()
            .map(|missing| name_of(&missing.group, &missing.resource));
        let missing = Vec::from_iter(missing);
        if !missing.is_empty() {
            words.push(format!("not synced: {}", a_few(&missing, ", ")));
        }
        outcome.message = a_few(&words, "; ");
        // Where nothing is asked for there is nothing to compare.
        let is_all = outcome.proved > 0 || missing.is_empty();
        if is_whole && outcome.unproved == 0 && is_all {
            cluster.metrics.unproved_since.set_time(now);
        }
        outcome
    }
}

impl Verdict {
    fn right(found: &Found) -> Self {
        Self {
            objects: found.objects,
            proved: true,
            ..Self::default()
        }
    }

    fn unproved(why: &str) -> Self {
        Self {
            words: format!("not compared: {why}"),
            ..Self::default()
        }
    }

    /// `again` is what was wrong after a list.
    fn wrong(found: &Found, again: &Found) -> Self {
        let still = found.wrong.intersection(&again.wrong).count() as u64;
        let differences = found.wrong.len() as u64;
        let mut words = match differences {
            0 => String::new(),
            _ => differed(found),
        };
        if !again.wrong.is_empty() {
            let (still, is) = (
                again.wrong.len(),
                if again.wrong.len() == 1 { "does" } else { "do" },
            );
            words += &format!("; {still} {is} after a new list as well");
        }
        Self {
            objects: again.objects,
            differences,
            mended: differences - still,
            proved: again.wrong.is_empty(),
            words,
        }
    }

    fn not_seen_mended(found: &Found, error: &Unproved) -> Self {
        Self {
            objects: found.objects,
            differences: found.wrong.len() as u64,
            words: format!(
                "{}; whether they are mended is not known: {error}",
                differed(found)
            ),
            ..Self::default()
        }
    }
}

/// How many and which.
fn differed(found: &Found) -> String {
    let named: Vec<String> = found.named.iter().map(ToString::to_string).collect();
    let more = found.wrong.len() - found.named.len();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let at_least = if found.beyond { "at least " } else { "" };
    format!(
        "{at_least}{} differed: {}{more}",
        found.wrong.len(),
        named.join(", ")
    )
}

/// The first of them, and how many more there are.
fn a_few(words: &[String], separator: &str) -> String {
    let (told, more) = words.split_at(words.len().min(TOLD));
    let mut text = told.join(separator);
    if !more.is_empty() {
        text += &format!("{separator}and {} more", more.len());
    }
    text
}

/// `deployments.apps`, as people write it.
fn name_of(group: &str, resource: &str) -> String {
    match group {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn is_followed(report: &Report) -> bool {
    report.shown().status == ResourceSyncStatus::Syncing
}
