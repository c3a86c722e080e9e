//! One audit of all types of a cluster, and what is told of it.

use std::sync::Arc;
use std::time::Duration;

use armadex_crds::{ClusterAudit, ResourceAudit, ResourceSyncStatus};
use armadex_model::ResourceType;
use armadex_storage::StreamState;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use crate::audit::cluster::AuditedCluster;
use crate::audit::comparison::Found;
use crate::audit::subject::{Subject, Unproved};
use crate::report::Report;

/// Types whose troubles are told in the words of a whole cluster; each is told beside its type.
const TOLD: usize = 5;

/// A list of a few pages, or a position that is checked, and a watch.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(30);

/// An audit under way.
pub(super) struct Round<'a> {
    cluster: &'a AuditedCluster,
    outcome: ClusterAudit,
    words: Vec<String>,
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
    pub(super) fn new(cluster: &'a AuditedCluster, request: String) -> Self {
        Self {
            cluster,
            outcome: ClusterAudit {
                request,
                time: Time(Timestamp::now()),
                proved: 0,
                unproved: 0,
                objects: 0,
                differences: 0,
                mended: 0,
                message: String::new(),
            },
            words: Vec::new(),
        }
    }

    /// Audits the types that are synced now. What has just been connected is given a moment.
    pub(super) async fn run(mut self) -> ClusterAudit {
        let AuditedCluster {
            shared, board, id, ..
        } = self.cluster;
        let streams = board.streams();
        let soon = Instant::now() + FOLLOWED_WITHIN;
        for (_, report) in &streams {
            // Which are followed by then is looked at below.
            let _ = timeout_at(soon, report.place().begins()).await;
        }
        let stored = shared.sink.streams(*id).await;
        for (resource, report) in streams {
            let verdict = match &stored {
                Ok(stored) => self.audit(&resource, &report, stored).await,
                Err(error) => Verdict::unproved(&format!("the store: {error}")),
            };
            self.tell(&resource, &report, verdict);
        }
        self.end()
    }

    async fn audit(
        &self,
        resource: &ResourceType,
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
            resource: resource.clone(),
            id: state.id,
            report: Arc::clone(report),
        };
        match subject.compare(&audits.hashes).await {
            Ok(found) if found.wrong.is_empty() => Verdict::right(&found),
            Ok(found) => self.mend(&subject, &found).await,
            Err(error) => Verdict::unproved(&error.to_string()),
        }
    }

    /// Has what is wrong listed anew, unless a list left all of it as it is before.
    async fn mend(&self, subject: &Subject, found: &Found) -> Verdict {
        let (audits, gvr) = (&self.cluster.audits, &subject.resource.gvr);
        if audits.is_stubborn(gvr, &found.wrong) {
            return Verdict::wrong(found, found);
        }
        let compared = async {
            subject.list_anew().await?;
            subject.compare(&audits.hashes).await
        };
        let again = match compared.await {
            Ok(again) => again,
            Err(error) => return Verdict::not_seen_mended(found, &error),
        };
        audits.remains(gvr, &again.wrong);
        let left_out = subject.report.left_out();
        Verdict::wrong(&found.without(&left_out, &audits.hashes), &again)
    }

    fn tell(&mut self, resource: &ResourceType, report: &Report, verdict: Verdict) {
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
        let outcome = &mut self.outcome;
        *if proved {
            &mut outcome.proved
        } else {
            &mut outcome.unproved
        } += 1;
        outcome.objects += number(objects);
        outcome.differences += number(differences);
        outcome.mended += number(mended);
        if !words.is_empty() {
            self.words.push(format!("{}: {words}", name_of(resource)));
        }
        report.audited(ResourceAudit {
            proved_time: proved.then(|| Time(Timestamp::now())),
            objects: number(objects),
            differences: number(differences),
            mended: number(mended),
            message: words,
        });
    }

    fn end(self) -> ClusterAudit {
        let Self {
            cluster,
            mut outcome,
            words,
        } = self;
        let now = Timestamp::now();
        outcome.time = Time(now);
        outcome.message = words
            .iter()
            .take(TOLD)
            .cloned()
            .collect::<Vec<_>>()
            .join("; ");
        if words.len() > TOLD {
            outcome.message += &format!("; and {} more", words.len() - TOLD);
        }
        if outcome.unproved == 0 {
            let seconds = u64::try_from(now.as_second()).unwrap_or_default();
            cluster.metrics.proved_at.set(seconds);
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

/// `deployments.apps`, as people write it.
fn name_of(resource: &ResourceType) -> String {
    let gvr = &resource.gvr;
    match gvr.group.as_str() {
        "" => gvr.resource.clone(),
        group => format!("{}.{group}", gvr.resource),
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn is_followed(report: &Report) -> bool {
    report.shown().status == ResourceSyncStatus::Syncing
}
