//! One object after the other, by server-side apply: what was there, what is applied to it, and what is told of it.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use armadex_control_plane::{Applied, Dispute, Objects, Trouble, TroubleKind};
use clap::ValueEnum;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::runtime::wait::{Condition as _, conditions};
use serde_json::Value;
use tracing::{error, warn};

use super::decision::{Decision, MANAGER, decide, edits, no_longer_bound, said};
use super::manifests::{Manifest, Sort};
use super::patience::{Patience, is_the_end};
use crate::visible::visible;

/// What becomes of a policy that somebody has changed since it was installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Edited {
    /// It stays as it is, and the exit code is 1.
    Fail,
    /// It stays as it is, which is told.
    Keep,
    /// What is shipped takes the place of what was changed, which is told.
    Replace,
}

/// Applies objects.
pub(crate) struct Installer {
    pub(crate) client: Client,
    pub(crate) edited: Edited,
    pub(crate) dry_run: bool,
    /// How long what may pass is tried again, and definitions are waited for.
    pub(crate) limit: Duration,
}

/// What came of an object.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// With what is to be known of it.
    Done(Verb, Vec<String>),
    Refused(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Created,
    Configured,
    Unchanged,
    Kept,
}

impl Installer {
    /// All of them, in this order. One that fails does not stop those that come after it; where nothing can be asked any more, they are not tried.
    pub(crate) async fn run(
        &self,
        manifests: &[Manifest],
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let mut run = Run {
            installer: self,
            all: manifests,
            patience: Patience::new(self.limit),
            failed: 0,
            out,
        };
        let (definitions, rest): (Vec<_>, Vec<_>) = manifests
            .iter()
            .partition(|manifest| manifest.sort == Sort::Definition);
        for manifest in &definitions {
            run.install(manifest).await?;
        }
        for manifest in definitions.into_iter().filter(|_| !self.dry_run) {
            run.wait_until_served(manifest).await?;
        }
        for manifest in rest {
            run.install(manifest).await?;
        }
        ensure!(
            run.failed == 0,
            "{} of {} objects are not as they are to be, as told above; where a right is missing, grant it \
             (docs/permissions.md, \"Installing\") or have an administrator do this; it may be run again",
            run.failed,
            manifests.len()
        );
        Ok(())
    }

    async fn attempt(&self, manifest: &Manifest) -> Result<Outcome, Trouble> {
        let namespace = manifest.namespace.as_deref();
        let objects = Objects::of_kind(self.client.clone(), &manifest.kind, namespace);
        let before = objects.get_opt(&manifest.name).await?;
        let object = match decide(manifest, before.as_ref()) {
            Decision::Apply(object) => object,
            Decision::Leave => return Ok(Outcome::Done(Verb::Unchanged, Vec::new())),
            Decision::Refuse(words) => return Ok(Outcome::Refused(words)),
        };
        let is_kept = manifest.sort == Sort::Policy && self.edited != Edited::Replace;
        let mut notes = Vec::new();
        if let Some(before) = &before {
            let lost = no_longer_bound(manifest, before).into_iter();
            notes.extend(lost.map(|subject| format!("{subject} has this role no longer")));
            if let Some(words) = changed(&edits(manifest, before)) {
                if is_kept {
                    return Ok(self.kept(words));
                }
                notes.push(words);
            }
        }
        let after = match objects
            .apply(&manifest.name, &self.params(), &object)
            .await?
        {
            Applied::Done(after) => after,
            Applied::Disputed(disputes) if is_kept => return Ok(self.kept(told(&disputes))),
            Applied::Disputed(disputes) => {
                notes.push(format!("taken over: {}", told(&disputes)));
                self.force(&objects, manifest, &object).await?
            }
        };
        Ok(Outcome::Done(verb(before.as_ref(), &after), notes))
    }

    async fn force(
        &self,
        objects: &Objects<DynamicObject>,
        manifest: &Manifest,
        object: &Value,
    ) -> Result<DynamicObject, Trouble> {
        let params = self.params().force();
        objects
            .patch(&manifest.name, &params, &Patch::Apply(object))
            .await
    }

    /// A field that a definition of before does not have would be dropped without a word.
    fn params(&self) -> PatchParams {
        let params = PatchParams::apply(MANAGER).validation_strict();
        match self.dry_run {
            true => params.dry_run(),
            false => params,
        }
    }

    fn kept(&self, words: String) -> Outcome {
        match self.edited {
            Edited::Keep => Outcome::Done(Verb::Kept, vec![words]),
            Edited::Fail | Edited::Replace => Outcome::Refused(format!(
                "{words}; it was left as it is: keep it so by --edited-policies keep, under another name, or have the shipped one by \
                 --edited-policies replace"
            )),
        }
    }
}

/// One run over all objects.
struct Run<'a, W> {
    installer: &'a Installer,
    all: &'a [Manifest],
    patience: Patience,
    failed: usize,
    out: &'a mut W,
}

impl<W: Write> Run<'_, W> {
    /// An error: nothing else is worth trying.
    async fn install(&mut self, manifest: &Manifest) -> anyhow::Result<()> {
        let installer = self.installer;
        // A definition that one apiserver serves the next one may not serve yet.
        let comes = manifest.sort == Sort::Policy && self.failed == 0 && !installer.dry_run;
        let passes = |kind: TroubleKind| match kind {
            TroubleKind::Missing => comes,
            TroubleKind::Conflict => true,
            kind => kind.is_outage(),
        };
        let asked = self
            .patience
            .ask(passes, async || installer.attempt(manifest).await);
        let outcome = match asked.await {
            Ok(outcome) => outcome,
            Err(trouble) if self.comes_with(manifest, &trouble) => {
                Outcome::Done(Verb::Created, Vec::new())
            }
            Err(trouble) if is_the_end(&trouble) => {
                return Err(trouble).with_context(|| {
                    format!("cannot install {manifest}, and what comes after it was not tried")
                });
            }
            Err(trouble) => Outcome::Refused(words_of(manifest, &trouble)),
        };
        self.tell(manifest, &outcome)
    }

    /// Whether nothing is wrong but that this is a dry run: what it would lie in, or be of, would have come before it.
    fn comes_with(&self, manifest: &Manifest, trouble: &Trouble) -> bool {
        let makes_room = |other: &Manifest| match other.sort {
            Sort::Definition => manifest.sort == Sort::Policy,
            Sort::Home | Sort::Elsewhere => manifest.namespace.as_ref() == Some(&other.name),
            Sort::Right | Sort::Policy | Sort::Registration => false,
        };
        let is_missing = trouble.kind == TroubleKind::Missing;
        self.installer.dry_run && is_missing && self.all.iter().any(makes_room)
    }

    fn tell(&mut self, manifest: &Manifest, outcome: &Outcome) -> anyhow::Result<()> {
        match outcome {
            Outcome::Done(verb, notes) => {
                let line = manifest.line(verb, self.installer.dry_run);
                writeln!(self.out, "{line}").context("cannot print")?;
                for note in notes {
                    warn!(object = %manifest, "{}", visible(note));
                }
            }
            Outcome::Refused(words) => {
                self.failed += 1;
                let place = manifest.place();
                error!(object = %manifest, "not installed{place}: {}", visible(words));
            }
        }
        Ok(())
    }

    /// Until objects of a kind can be made. One that is not there was told to be so when it was applied.
    async fn wait_until_served(&mut self, manifest: &Manifest) -> anyhow::Result<()> {
        let client = self.installer.client.clone();
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
                let definition = definitions.get_opt(&manifest.name).await.ok().flatten();
                let why = definition.map(|definition| why_not(&definition));
                format!("not served within {seconds} s{}", why.unwrap_or_default())
            }
            Err(trouble) if is_the_end(&trouble) => {
                bail!("cannot see whether {manifest} is served: {trouble}")
            }
            Err(trouble) => format!("cannot see whether it is served: {trouble}"),
        };
        self.failed += 1;
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

fn verb(before: Option<&DynamicObject>, after: &DynamicObject) -> Verb {
    match before {
        None => Verb::Created,
        Some(before) if said(before) == said(after) => Verb::Unchanged,
        Some(_) => Verb::Configured,
    }
}

fn changed(edits: &[String]) -> Option<String> {
    let fields = edits.join(", ");
    (!edits.is_empty()).then(|| format!("changed since it was installed: {fields}"))
}

/// Each manager with its fields.
fn told(disputes: &[Dispute]) -> String {
    let of_each = disputes.chunk_by(|one, next| one.manager == next.manager);
    let of_each = of_each.map(|disputes| {
        let fields = disputes.iter().map(|dispute| dispute.field.as_str());
        let fields: Vec<&str> = fields.collect();
        format!("{}, set by {}", fields.join(", "), disputes[0].manager)
    });
    of_each.collect::<Vec<_>>().join("; ")
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

impl fmt::Display for Verb {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Kept => "kept",
        })
    }
}
