//! One object, by server-side apply: what was there, what is applied to it, and what is told of it.

use std::fmt;

use armadex_control_plane::{Applied, Dispute, Objects, Trouble};
use clap::ValueEnum;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Client, ResourceExt as _};
use serde_json::Value;

use super::decision::{
    Decision, MANAGER, decide, edits, is_of_another_role, is_remembered, no_longer_bound, said,
    with_what_is_there,
};
use super::homes::Identity;
use super::manifests::{Manifest, Sort};

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
pub(super) struct Applier {
    pub(super) client: Client,
    pub(super) edited: Edited,
    /// Whether whoever has a right keeps it.
    pub(super) keeps_holders: bool,
    pub(super) dry_run: bool,
}

/// What came of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// With what is to be known of it.
    Done(Verb, Vec<String>),
    /// Not yet, for this reason, which is nobody's fault.
    Later(String),
    Refused(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Created,
    Configured,
    Unchanged,
    Kept,
}

impl Applier {
    /// What becomes of an object of this Armadex.
    pub(super) async fn attempt(
        &self,
        manifest: &Manifest,
        ours: &Identity,
    ) -> Result<Outcome, Trouble> {
        let objects = self.objects(manifest);
        let before = objects.get_opt(&manifest.name).await?;
        let mut object = match decide(manifest, before.as_ref()) {
            Decision::Apply(object) => object,
            Decision::Leave => return Ok(Outcome::Done(Verb::Unchanged, Vec::new())),
            Decision::Refuse(words) => return Ok(Outcome::Refused(words)),
        };
        let is_kept = manifest.sort == Sort::Policy && self.edited != Edited::Replace;
        let mut notes = Vec::new();
        if let Some(before) = &before {
            if let Some(words) = changed(&edits(manifest, before)) {
                if is_kept {
                    return Ok(self.kept(words));
                }
                notes.push(words);
            }
            notes.extend(self.taken(manifest, before, ours));
            if self.keeps_holders {
                object = with_what_is_there(object, before);
            }
            if is_of_another_role(manifest, before) {
                notes.push("made anew: it was of another role".to_owned());
                if self.dry_run {
                    return Ok(Outcome::Done(Verb::Configured, notes));
                }
                return self
                    .made_anew(&objects, manifest, before, &object, notes)
                    .await;
            }
        }
        let is_kept = is_kept && !is_remembered(before.as_ref());
        let applied = objects
            .apply(&manifest.name, &self.params(), &object)
            .await?;
        let after = match applied {
            Applied::Done(after) => after,
            Applied::Disputed(disputes) if is_kept => return Ok(self.kept(told(&disputes))),
            Applied::Disputed(disputes) => {
                notes.push(format!("taken over: {}", told(&disputes)));
                self.force(&objects, manifest, &object).await?
            }
        };
        Ok(Outcome::Done(verb(before.as_ref(), &after), notes))
    }

    /// A binding in the place of one of another role, which no API server changes. Where it may not be made the former one is put back, for it is what whoever it names
    /// lives on.
    async fn made_anew(
        &self,
        objects: &Objects<DynamicObject>,
        manifest: &Manifest,
        before: &DynamicObject,
        object: &Value,
        notes: Vec<String>,
    ) -> Result<Outcome, Trouble> {
        let uid = before.uid().unwrap_or_default();
        objects.delete(&manifest.name, &uid).await?;
        let Err(trouble) = self.force(objects, manifest, object).await else {
            return Ok(Outcome::Done(Verb::Configured, notes));
        };
        let mut former = before.clone();
        former.metadata = ObjectMeta {
            name: before.metadata.name.clone(),
            namespace: before.metadata.namespace.clone(),
            labels: before.metadata.labels.clone(),
            annotations: before.metadata.annotations.clone(),
            ..ObjectMeta::default()
        };
        match objects.create(&former).await {
            Ok(_) => Err(trouble),
            Err(_) => Ok(Outcome::Refused(format!(
                "{trouble}; the binding of before had another role and is deleted, and could not be put back: nobody has the role now, so install again"
            ))),
        }
    }

    /// What others lose.
    fn taken(&self, manifest: &Manifest, before: &DynamicObject, ours: &Identity) -> Vec<String> {
        let mut notes = Vec::new();
        if manifest.sort == Sort::Right
            && let Some(other) = ours.other(before)
        {
            notes.push(format!("taken from {other}"));
        }
        if !self.keeps_holders {
            let lost = no_longer_bound(manifest, before).into_iter();
            notes.extend(lost.map(|subject| format!("{subject} has this role no longer")));
        }
        notes
    }

    pub(super) fn objects(&self, manifest: &Manifest) -> Objects<DynamicObject> {
        objects_of(&self.client, manifest)
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

/// Those of the kind and the namespace of a manifest.
pub(crate) fn objects_of(client: &Client, manifest: &Manifest) -> Objects<DynamicObject> {
    let namespace = manifest.namespace.as_deref();
    Objects::of_kind(client.clone(), &manifest.kind, namespace)
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
