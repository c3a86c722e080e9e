//! The policies of files, and what else is in them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::ensure;
use armadex_crds::ClusterImportPolicySpec;
use serde_json::Value;

use super::files::{self, Document};
use super::made::Policy;
use super::room::Rooms;

/// What files say of policies.
#[derive(Default)]
pub(in crate::command) struct Policies {
    /// Those that the controllers would follow, by name, in the order of the files.
    pub(in crate::command) policies: Vec<(String, ClusterImportPolicySpec)>,
    /// What is wrong with each of the others.
    pub(in crate::command) refused: Vec<String>,
    /// Where something else stands.
    pub(in crate::command) others: Vec<String>,
}

/// Every object of these files and folders, with where it stands.
pub(in crate::command) fn objects_of(paths: &[PathBuf]) -> anyhow::Result<Vec<(String, Value)>> {
    let documents = files::read(paths, &mut Rooms::default().read)?.into_iter();
    let placed = documents.map(|document| (document.place(), document.value));
    Ok(placed.collect())
}

/// Those of these files and folders; none of no file.
pub(in crate::command) fn policies_of(paths: &[PathBuf]) -> anyhow::Result<Policies> {
    let mut policies = Policies::default();
    if paths.is_empty() {
        return Ok(policies);
    }
    let (found, others) = found(paths, &mut Rooms::default())?;
    for policy in found {
        let name = policy.name();
        match policy.valid() {
            Ok(spec) => policies.policies.push((name, spec)),
            Err(refusal) => policies.refused.push(refusal.in_full()),
        }
    }
    policies.others = others.iter().map(Document::place).collect();
    Ok(policies)
}

/// Every policy of these files and folders, be it followed or not, and what else is there. There is one at least, and none twice.
pub(super) fn found(
    paths: &[PathBuf],
    rooms: &mut Rooms,
) -> anyhow::Result<(Vec<Policy>, Vec<Document>)> {
    let (mut found, mut others) = (Vec::<Policy>::new(), Vec::new());
    let mut known = BTreeSet::new();
    for document in files::read(paths, &mut rooms.read)? {
        match Policy::read(document)? {
            Ok(policy) => {
                let name = policy.name();
                let is_new = known.insert(name.clone());
                ensure!(is_new, "the ClusterImportPolicy {name} is given twice");
                found.push(policy);
            }
            Err(other) => others.push(other),
        }
    }
    let names = paths.iter().map(|path| path.display().to_string());
    let names = names.collect::<Vec<_>>().join(", ");
    ensure!(!found.is_empty(), "no ClusterImportPolicy in {names}");
    Ok((found, others))
}
