//! Field selectors mean in Armadex what they mean in the member's own kube-apiserver.
//!
//! One member has objects of each kind that differ in every field with a label, absent ones included. For each label and value both
//! are asked, and must name the same objects; what the member refuses, Armadex refuses.

mod labels;
mod samples;

use anyhow::{Context, Result, ensure};
use armadex_e2e::deploy;
use armadex_e2e::equality::{Kind, selected};
use armadex_e2e::etcd::Writer;
use armadex_e2e::progress::note;
use armadex_e2e::scenario::{SOON, TALKATIVE, on_board_by, wait_until_equal};
use armadex_e2e::{Harness, Options};
use kube::Client;

use labels::{KINDS, Labels, REFUSED, YOUNGEST};

const MEMBER: &str = "member1";
/// No object has it; selects nothing, and its negation everything.
const NOBODY: &str = "no-such-value";
/// Kinds with labels that a kube-apiserver serves only when told to.
const MORE_APIS: [&str; 2] = [
    "--runtime-config=certificates.k8s.io/v1beta1=true",
    "--feature-gates=ClusterTrustBundle=true,PodCertificateRequest=true",
];
/// What the shipped policy does not collect.
const MORE_KINDS: &str = r#"
      - group: ""
        resources: [events, replicationcontrollers]
      - group: events.k8s.io
        resources: [events]
      - group: certificates.k8s.io
        resources: [certificatesigningrequests, clustertrustbundles, podcertificaterequests]
      - group: resource.k8s.io
        resources: [resourceslices]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_field_selector_finds_what_the_members_apiserver_finds() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 1,
        member_arguments: MORE_APIS.map(str::to_owned).to_vec(),
        ..Options::default()
    })
    .await?;
    let member = fleet.member(MEMBER)?;
    let writer = Writer::new(member.etcd().clone());
    for (key, json) in samples::all() {
        writer.put(&key, &json).await?;
    }
    let policy = format!("{}{MORE_KINDS}", deploy::policy()?.trim_end());
    let armadex = on_board_by(&fleet, &policy, &[TALKATIVE]).await?;
    fleet.join(MEMBER).await?;
    let both = Both {
        member: member.client().await?,
        host: fleet.host().client().await?,
    };
    let known = both.known_kinds().await?;
    let kinds: Vec<_> = known.iter().map(|labels| labels.kind).collect();
    wait_until_equal(&fleet, &[MEMBER], &kinds, SOON).await?;
    let mut asked = 0;
    for labels in known {
        asked += both.agree_on_all(labels).await?;
    }
    for (kind, selector) in REFUSED {
        both.refuse(kind.path(), &kind.path_of(MEMBER), selector)
            .await?;
    }
    note(format_args!("{asked} field selectors have the same answer"));
    armadex.stop()?;
    fleet.finish().await;
    Ok(())
}

/// The two that are compared.
struct Both {
    member: Client,
    host: Client,
}

impl Both {
    /// The kinds with labels, without those that are younger than the oldest apiserver that these tests run with.
    async fn known_kinds(&self) -> Result<Vec<&'static Labels>> {
        let mut known: Vec<_> = KINDS.iter().collect();
        if !self.knows(YOUNGEST).await? {
            note(format_args!("not served here: {}", YOUNGEST.path()));
            known.retain(|labels| labels.kind != YOUNGEST);
        }
        Ok(known)
    }

    async fn knows(&self, kind: Kind) -> Result<bool> {
        let Err(error) = selected(&self.member, kind.path(), "").await else {
            return Ok(true);
        };
        match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            _ => Err(error.context("the member is asked for its youngest kind")),
        }
    }

    /// Asks for each label of a kind; gives how often.
    async fn agree_on_all(&self, labels: &Labels) -> Result<usize> {
        let mut asked = 0;
        for label in labels.labels {
            for value in label.values.iter().copied().chain(["", NOBODY]) {
                for operator in ["=", "==", "!="] {
                    let selector = format!("{}{operator}{value}", label.name);
                    let found = self.agree_on(labels.kind, &selector).await?;
                    ensure!(
                        found > 0 || !label.values.contains(&value),
                        "{selector} finds nothing: the samples do not tell its values apart"
                    );
                    asked += 1;
                }
            }
        }
        Ok(asked)
    }

    /// How many objects both find.
    async fn agree_on(&self, kind: Kind, selector: &str) -> Result<usize> {
        let path = kind.path();
        let theirs = selected(&self.member, path, selector)
            .await
            .with_context(|| format!("{path}, {selector}: the member"))?;
        let ours = selected(&self.host, &kind.path_of(MEMBER), selector)
            .await
            .with_context(|| format!("{path}, {selector}: Armadex"))?;
        ensure!(
            theirs == ours,
            "{path}, {selector}: the member finds {theirs:?}, Armadex {ours:?}"
        );
        Ok(theirs.len())
    }

    /// Where the member names the field, Armadex does: what cannot be parsed has none.
    async fn refuse(&self, path: &str, fleet_path: &str, selector: &str) -> Result<()> {
        let theirs = refusal(&self.member, path, selector).await?;
        let ours = refusal(&self.host, fleet_path, selector).await?;
        let field = selector.split('=').next().unwrap_or_default();
        ensure!(
            ours.contains(field) || !theirs.contains(field),
            "{path}, {selector}: {ours}"
        );
        Ok(())
    }
}

/// The words of the one right answer to what is not taken.
async fn refusal(client: &Client, path: &str, selector: &str) -> Result<String> {
    let Err(error) = selected(client, path, selector).await else {
        anyhow::bail!("{path} takes {selector}");
    };
    let Some(kube::Error::Api(status)) = error.downcast_ref::<kube::Error>() else {
        return Err(error);
    };
    ensure!(
        status.code == 400 && status.reason == "BadRequest" && !status.message.is_empty(),
        "{path}, {selector}: {status:?}"
    );
    Ok(status.message.clone())
}
