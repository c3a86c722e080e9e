//! What is there before the fleet: a member with its objects, Armadex, and one PediaCluster that stays, so that searches have an
//! answer from the first to the last.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Record, wait_until};
use kube::Client;
use serde::Deserialize;

use super::clusters::{self, KINDS};
use super::searches::Target;
use crate::pedia_clusters;
use crate::process::cpu_seconds;
use crate::readers;

const MEMBER: &str = "member1";
/// The cluster that stays.
const STAYS: &str = "stays";
const LIMIT: Duration = Duration::from_secs(60);

/// What is there before the fleet.
pub(super) struct Stage {
    pub(super) armadex: Armadex,
    /// Objects of the chosen kinds in the member.
    pub(super) objects: usize,
    /// The spec of a PediaCluster.
    pub(super) template: serde_json::Value,
    /// Where searches go.
    pub(super) searches: Target,
    host: Client,
    member: Client,
    others: Vec<Record>,
    /// Bytes of Armadex's log before the fleet.
    logged: usize,
}

/// Work of everybody but Armadex so far, by name: requests answered, seconds of processor time.
pub(super) type Work = BTreeMap<String, f64>;

impl Stage {
    /// Starts Armadex over a member with about `objects` objects in the first `kinds` kinds.
    pub(super) async fn set(fleet: &Harness, kinds: usize, objects: usize) -> Result<Self> {
        let (host, cluster) = (fleet.host(), fleet.member(MEMBER)?);
        let member = cluster.client().await?;
        fleet.join(MEMBER).await?;
        let present = count(&member, kinds).await?;
        let plan = Plan {
            count: objects.saturating_sub(present),
            seed: 1,
        };
        seed::put(&cluster, plan).await?;
        armadex::install(fleet).await?;
        let armadex =
            Armadex::start(fleet, Role::All, &["--log-format=json", "--purge-after=0"]).await?;
        grant(fleet, &cluster.url()).await?;
        let template = clusters::template(&cluster.url(), MEMBER, kinds);
        readers::allow(host).await?;
        let mut stage = Self {
            objects: count(&member, kinds).await?,
            searches: Target::new(readers::client(fleet, &armadex).await?, STAYS),
            armadex,
            template,
            host: host.client().await?,
            member,
            others: Record::all(&fleet.folder().run()),
            logged: 0,
        };
        stage.on_board().await?;
        stage.logged = stage.armadex.log().len();
        Ok(stage)
    }

    async fn on_board(&self) -> Result<()> {
        pedia_clusters::create(&self.host, STAYS, STAYS, &self.template).await?;
        wait_until("the cluster that stays is searched", LIMIT, || async {
            self.searches.try_all().await.map(|()| true)
        })
        .await
    }

    /// What everybody but Armadex has done so far.
    pub(super) async fn requests(&self) -> Result<Work> {
        let mut work = Work::new();
        for (who, client) in [("control plane", &self.host), ("member", &self.member)] {
            let request = http::Request::get("/metrics").body(Vec::new())?;
            let text = client.request_text(request).await?;
            add_requests(&text, who, &mut work);
        }
        let own = self.armadex.record().pid;
        for record in self.others.iter().filter(|record| record.pid != own) {
            // One that ended meanwhile has no share in what is measured.
            if let Ok(seconds) = cpu_seconds(record.pid) {
                work.insert(format!("{}: CPU s", record.name), seconds);
            }
        }
        Ok(work)
    }

    /// What Armadex has logged since the fleet began. A control plane that has just got its CRDs may not serve them at once, which is
    /// said before that.
    pub(super) fn log(&self) -> String {
        self.armadex.log().split_off(self.logged)
    }

    /// The most memory that Armadex ever held.
    pub(super) fn peak_mib(&self) -> Result<f64> {
        crate::process::peak_mib(self.armadex.record())
    }

    /// The memory that Armadex holds now.
    pub(super) fn resident_mib(&self) -> Result<f64> {
        crate::process::resident_mib(self.armadex.record().pid)
    }
}

/// Lets PediaClusters that no policy made use the member's Secret.
async fn grant(fleet: &Harness, url: &str) -> Result<()> {
    let grant = format!("armadex.dev/endpoints={url}");
    let namespace = "--namespace=karmada-cluster";
    let annotate = ["annotate", "secret", MEMBER, namespace, &grant];
    fleet.kubectl("host").run(&annotate).await.map(drop)
}

/// What was done between `before` and `after` for each of `clusters`.
#[expect(clippy::cast_precision_loss, reason = "numbers far below 2^52")]
pub(super) fn per_cluster(before: &Work, after: &Work, clusters: usize) -> Work {
    let grown = after.iter().map(|(name, count)| {
        let more = count - before.get(name).unwrap_or(&0.0);
        (name.clone(), more / clusters as f64)
    });
    grown.filter(|(_, more)| *more >= 0.01).collect()
}

/// Adds the requests that a kube-apiserver's metrics tell, by verb and resource.
fn add_requests(text: &str, who: &str, work: &mut Work) {
    let samples = text.lines().filter_map(|line| {
        line.strip_prefix("apiserver_request_total{")?
            .split_once("} ")
    });
    for (labels, value) in samples {
        let label = |name: &str| {
            let (_, rest) = labels.split_once(&format!("{name}=\""))?;
            Some(rest.split_once('"')?.0)
        };
        let verb = label("verb").unwrap_or_default();
        let resource = match (label("subresource"), label("resource")) {
            (Some(""), Some("")) | (_, None) => "others".to_owned(),
            (None | Some(""), Some(resource)) => resource.to_owned(),
            (Some(part), Some(resource)) => format!("{resource}/{part}"),
        };
        let count: f64 = value.trim().parse().unwrap_or_default();
        *work.entry(format!("{who}: {verb} {resource}")).or_default() += count;
    }
}

/// Objects of the first `kinds` kinds.
async fn count(member: &Client, kinds: usize) -> Result<usize> {
    #[derive(Deserialize)]
    struct List {
        metadata: Metadata,
        items: Vec<serde::de::IgnoredAny>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        #[serde(default)]
        remaining_item_count: usize,
    }
    let mut sum = 0;
    for (_, _, path) in &KINDS[..kinds] {
        let request = http::Request::get(format!("{path}?limit=1")).body(Vec::new())?;
        let list: List = member.request(request).await?;
        sum += list.items.len() + list.metadata.remaining_item_count;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_verb_and_resource() {
        let text = "apiserver_request_total{code=\"200\",resource=\"pods\",subresource=\"\",verb=\"LIST\"} 3\n\
                    apiserver_request_total{code=\"404\",resource=\"pods\",subresource=\"\",verb=\"LIST\"} 1\n\
                    apiserver_request_total{code=\"200\",resource=\"pods\",subresource=\"status\",verb=\"PATCH\"} 2\n\
                    apiserver_request_duration_count 9\n";
        let mut after = Work::new();
        add_requests(text, "host", &mut after);
        let before = Work::from([("host: LIST pods".to_owned(), 2.0)]);
        let each = per_cluster(&before, &after, 2);
        assert_eq!(each["host: LIST pods"], 1.0);
        assert_eq!(each["host: PATCH pods/status"], 1.0);
        assert_eq!(each.len(), 2);
    }
}
