//! All objects, one after the other, and what is there and not wanted any more.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use armadex_control_plane::{Objects, Trouble, TroubleKind};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::runtime::wait::{Condition as _, conditions};
use tracing::{error, warn};

use super::applying::{Applier, Outcome, Verb};
use super::homes::Identity;
use super::manifests::{Manifest, Share, Sort, Wanted};
use super::others::Search;
use super::patience::{Patience, is_the_end};
use super::withdrawing::{Standing, kept, missed, standing, unnamed_policies, unwanted};
use crate::visible::visible;

/// Installs what is wanted.
pub(super) struct Installer {
    pub(super) applier: Applier,
    /// As it is told to people.
    pub(super) server: String,
    /// Whether rights of another Armadex are taken.
    pub(super) takes_over: bool,
    /// Whether rights that say no release are another's.
    pub(super) is_noted: bool,
    /// How long what may pass is tried again, and definitions are waited for.
    pub(super) limit: Duration,
}

impl Installer {
    /// All that is wanted, in this order. One that fails does not stop those that come after it; where nothing can be asked any more, they are not tried. What is of
    /// this Armadex and not wanted any more is withdrawn last.
    pub(super) async fn run(&self, wanted: &Wanted, out: &mut impl Write) -> anyhow::Result<()> {
        let (mut wanted, patience) = (wanted.clone(), Patience::new(self.limit, &self.server));
        let ours = wanted.identity();
        if wanted.has(Share::Rights) {
            self.expect_no_other(&wanted, &patience).await?;
        }
        let standing = self.standing(&mut wanted, &patience).await?;
        if wanted.has(Share::Rights) {
            wanted.expect_serving_apart()?;
        }
        let manifests = wanted.manifests();
        let mut run = Run {
            installer: self,
            ours: &ours,
            all: &manifests,
            patience,
            failed: BTreeSet::new(),
            out,
        };
        run.install_all().await?;
        let seen = standing.is_some();
        let unwanted = unwanted(standing.unwrap_or_default(), &manifests);
        // Where something is not as it is to be, what was there before may be what still works.
        if !self.applier.keeps_holders && run.failed.is_empty() {
            for right in &unwanted {
                run.withdraw(right).await?;
            }
        }
        let (failed, all) = (run.failed.len(), manifests.len() + unwanted.len());
        ensure!(
            failed == 0,
            "{failed} of {all} objects are not as they are to be, as told above; where a right is missing, grant it \
             (docs/permissions.md, \"Installing\") or have an administrator do this; it may be run again"
        );
        ensure!(
            seen,
            "rights that are not wanted any more were not withdrawn, as told above: have an administrator do this, or say --keep-holders"
        );
        Ok(())
    }

    /// Before anything is changed: rights that lie outside of the namespaces of two Armadexes have one name for both, and two releases may name the same namespace.
    async fn expect_no_other(&self, wanted: &Wanted, patience: &Patience) -> anyhow::Result<()> {
        let (manifests, ours) = (wanted.manifests(), wanted.identity());
        let search = Search {
            client: &self.applier.client,
            ours: &ours,
            patience,
            is_noted: self.is_noted,
        };
        let found = search.all(&manifests).await;
        let found = found.map_err(|(manifest, trouble)| self.at_the_end(manifest, trouble))?;
        let mut others = found.iter();
        let is_refused = |other: &Identity| !self.takes_over || other.takes_back(&ours);
        let Some((manifest, other)) = others.find(|(_, other)| is_refused(other)) else {
            return Ok(());
        };
        let (place, ways_out) = (manifest.place(), other.ways_out(&ours));
        bail!(
            "{manifest}{place} is of {other}, which would lose its rights, so nothing was changed: {ways_out}"
        );
    }

    /// What is there of this Armadex; `None`: that cannot be seen, as is told. Policies that are there and have their rights go on having them.
    async fn standing(
        &self,
        wanted: &mut Wanted,
        patience: &Patience,
    ) -> anyhow::Result<Option<Vec<Standing>>> {
        if !wanted.has(Share::Rights) || self.applier.keeps_holders {
            return Ok(Some(Vec::new()));
        }
        let (client, home) = (&self.applier.client, wanted.namespace.clone());
        let asked = patience.ask(TroubleKind::is_outage, async || {
            let standing = standing(client, &home).await?;
            let unnamed = unnamed_policies(client, wanted, &standing).await?;
            Ok((standing, unnamed))
        });
        match asked.await {
            Ok((standing, unnamed)) => {
                for policy in unnamed {
                    warn!(policy, "{}", kept(policy));
                    wanted.rights.push(policy.to_owned());
                }
                Ok(Some(standing))
            }
            Err(trouble) if is_the_end(&trouble) => {
                let server = &self.server;
                bail!(
                    "{server}: cannot see which rights are there, and nothing was tried: {trouble}"
                )
            }
            Err(trouble) => {
                let words = visible(&trouble.message);
                error!("cannot see which rights are there that are not wanted any more: {words}");
                Ok(None)
            }
        }
    }

    fn at_the_end(&self, manifest: &Manifest, trouble: Trouble) -> anyhow::Error {
        let server = &self.server;
        anyhow::Error::from(trouble).context(format!(
            "{server}: cannot install {manifest}, and what comes after it was not tried"
        ))
    }
}

/// One run over all objects.
struct Run<'a, W> {
    installer: &'a Installer,
    ours: &'a Identity,
    all: &'a [Manifest],
    patience: Patience,
    /// Each once, however much is wrong with it.
    failed: BTreeSet<(String, Option<String>)>,
    out: &'a mut W,
}

impl<W: Write> Run<'_, W> {
    async fn install_all(&mut self) -> anyhow::Result<()> {
        let (definitions, rest): (Vec<_>, Vec<_>) = self
            .all
            .iter()
            .partition(|manifest| manifest.sort == Sort::Definition);
        for manifest in &definitions {
            self.install(manifest).await?;
        }
        for manifest in definitions {
            let is_applied = !self.failed.contains(&manifest.address());
            if is_applied && !self.installer.applier.dry_run {
                self.wait_until_served(manifest).await?;
            }
        }
        for manifest in rest {
            self.install(manifest).await?;
        }
        Ok(())
    }

    /// An error: nothing else is worth trying.
    async fn install(&mut self, manifest: &Manifest) -> anyhow::Result<()> {
        let installer = self.installer;
        // A definition that one apiserver serves the next one may not serve yet.
        let comes =
            manifest.sort == Sort::Policy && self.failed.is_empty() && !installer.applier.dry_run;
        let passes = |kind: TroubleKind| match kind {
            TroubleKind::Missing => comes,
            TroubleKind::Conflict => true,
            kind => kind.is_outage(),
        };
        let attempt = async || installer.applier.attempt(manifest, self.ours).await;
        let outcome = match self.patience.ask(passes, attempt).await {
            Ok(outcome) => outcome,
            Err(trouble) if self.comes_with(manifest, &trouble) => {
                Outcome::Done(Verb::Created, Vec::new())
            }
            Err(trouble) if is_the_end(&trouble) => {
                return Err(installer.at_the_end(manifest, trouble));
            }
            Err(trouble) => match self.missing_namespace(manifest, &trouble).await {
                Some(namespace) => Outcome::Later(format!(
                    "there is no namespace {namespace} yet: run this again when it is there"
                )),
                None => Outcome::Refused(words_of(manifest, &trouble)),
            },
        };
        self.tell(manifest, &outcome)
    }

    /// The namespace that is missing, if nothing else is wrong: it is a platform's, which makes it.
    async fn missing_namespace<'m>(
        &self,
        manifest: &'m Manifest,
        trouble: &Trouble,
    ) -> Option<&'m String> {
        let namespace = manifest.namespace.as_ref()?;
        let is_made = |other: &Manifest| {
            matches!(other.sort, Sort::Home | Sort::Elsewhere) && other.name == *namespace
        };
        if trouble.kind != TroubleKind::Missing || self.all.iter().any(is_made) {
            return None;
        }
        let namespaces = Objects::<Namespace>::all(self.installer.applier.client.clone());
        let found = self.patience.answer(namespaces.get_opt(namespace)).await;
        matches!(found, Ok(None)).then_some(namespace)
    }

    /// Takes away what is not wanted any more, if it is still what was seen.
    async fn withdraw(&mut self, right: &Standing) -> anyhow::Result<()> {
        let (manifest, dry_run) = (&right.manifest, self.installer.applier.dry_run);
        let objects = self.installer.applier.objects(manifest);
        let asked = self.patience.ask(TroubleKind::is_outage, async || {
            if dry_run {
                return Ok(true);
            }
            objects.delete(&manifest.name, &right.uid).await
        });
        let place = manifest.place();
        match asked.await {
            Ok(_) => {
                let line = manifest.line("deleted", dry_run);
                writeln!(self.out, "{line}").context("cannot print")?;
                if let Some(words) = missed(manifest) {
                    warn!(object = %manifest, "{words}");
                }
            }
            Err(trouble) if is_the_end(&trouble) => {
                return Err(trouble).with_context(|| format!("cannot delete {manifest}{place}"));
            }
            Err(trouble) => {
                self.failed.insert(manifest.address());
                let words = visible(&trouble.message);
                error!(object = %manifest, "not deleted{place}: {words}");
            }
        }
        Ok(())
    }

    /// Whether nothing is wrong but that this is a dry run: what it would lie in, or be of, would have come before it.
    fn comes_with(&self, manifest: &Manifest, trouble: &Trouble) -> bool {
        let makes_room = |other: &Manifest| match other.sort {
            Sort::Definition => manifest.sort == Sort::Policy,
            Sort::Home | Sort::Elsewhere => manifest.namespace.as_ref() == Some(&other.name),
            Sort::Right | Sort::Policy | Sort::Registration => false,
        };
        let is_missing = trouble.kind == TroubleKind::Missing;
        self.installer.applier.dry_run && is_missing && self.all.iter().any(makes_room)
    }

    fn tell(&mut self, manifest: &Manifest, outcome: &Outcome) -> anyhow::Result<()> {
        match outcome {
            Outcome::Done(verb, notes) => {
                let line = manifest.line(verb, self.installer.applier.dry_run);
                writeln!(self.out, "{line}").context("cannot print")?;
                for note in notes {
                    warn!(object = %manifest, "{}", visible(note));
                }
            }
            Outcome::Later(words) => {
                let place = manifest.place();
                warn!(object = %manifest, "not installed{place}: {}", visible(words));
            }
            Outcome::Refused(words) => {
                self.failed.insert(manifest.address());
                let place = manifest.place();
                error!(object = %manifest, "not installed{place}: {}", visible(words));
            }
        }
        Ok(())
    }

    /// Until objects of a kind can be made. One that is not there was told to be so when it was applied.
    async fn wait_until_served(&mut self, manifest: &Manifest) -> anyhow::Result<()> {
        let client = self.installer.applier.client.clone();
        let definitions = Objects::<CustomResourceDefinition>::all(client);
        let looked = self.patience.look(async || {
            let definition = definitions.get_opt(&manifest.name).await?;
            let is_established = conditions::is_crd_established();
            let is_over =
                definition.is_none() || is_established.matches_object(definition.as_ref());
            Ok(is_over.then_some(()))
        });
        let words = match looked.await {
            Ok(Some(())) => return Ok(()),
            Ok(None) => {
                let seconds = self.installer.limit.as_secs();
                let definition = self
                    .patience
                    .answer(definitions.get_opt(&manifest.name))
                    .await;
                let definition = definition.ok().flatten();
                let why = definition.map(|definition| why_not(&definition));
                format!("not served within {seconds} s{}", why.unwrap_or_default())
            }
            Err(trouble) if is_the_end(&trouble) => {
                bail!("cannot see whether {manifest} is served: {trouble}")
            }
            Err(trouble) => format!("cannot see whether it is served: {trouble}"),
        };
        self.failed.insert(manifest.address());
        error!(object = %manifest, "{}", visible(&words));
        Ok(())
    }
}

/// The server's words name the verb and the right that is missing.
fn words_of(manifest: &Manifest, trouble: &Trouble) -> String {
    match (trouble.kind, manifest.sort) {
        (TroubleKind::Missing, Sort::Policy) => {
            "its CustomResourceDefinition is not there".to_owned()
        }
        _ => trouble.to_string(),
    }
}

/// The conditions that say why a definition is not served.
fn why_not(definition: &CustomResourceDefinition) -> String {
    let status = definition.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let conditions = conditions.unwrap_or_default().iter();
    let broken = conditions.filter(|condition| condition.status == "False");
    broken
        .filter_map(|condition| condition.message.as_deref())
        .map(|message| format!(": {message}"))
        .collect()
}
