//! What chooses clusters by their labels: a selector of its own (`clusterSelector`), or labels among others whose prefix says whose they are.
//!
//! ```text
//! env                           cluster.search.clusterpedia.io/env
//! topology.kubernetes.io/region topology.kubernetes.io.cluster.search.clusterpedia.io/region
//! ```
//!
//! A value of a label holds no `=`, so no single label could take a selector: this way each client can write every operator, as for any other label.

use crate::label::Requirement;
use crate::label::parse::{Clause, Relation, label_clauses, shorten};
use crate::params::invalid::{InvalidParams, distinct, malformed};

/// The prefix of labels of clusters that have none of their own, and the end of the prefix of those that have one.
pub(crate) const LABELS: &str = "cluster.search.clusterpedia.io";

/// What the prefixes of all search labels end with.
const SEARCHES: &str = "search.clusterpedia.io";

/// How it is written, for who wrote it otherwise.
pub(crate) const SPELLED: &str = "cluster.search.clusterpedia.io/NAME for the label NAME of clusters, \
     PREFIX.cluster.search.clusterpedia.io/NAME for their label PREFIX/NAME, or the parameter clusterSelector";

/// The most requirements on labels of clusters, however they are given: as many as one selector has.
const MOST: usize = 64;

/// The label of clusters that a key among other labels means.
pub(crate) fn key_of(key: &str) -> Option<String> {
    let (prefix, name) = key.split_once('/')?;
    match prefix.strip_suffix(LABELS)? {
        "" => Some(name.to_owned()),
        own => Some(format!("{}/{name}", own.strip_suffix('.')?)),
    }
}

/// As much of the end of a prefix as may be ours.
pub(crate) fn end_of(prefix: &str) -> &str {
    let parts = LABELS.matches('.').count();
    let begins = prefix.rmatch_indices('.').nth(parts);
    begins.map_or(prefix, |(at, _)| &prefix[at + 1..])
}

/// Reads a selector of its own: keys are those of clusters.
pub(crate) fn parse(text: &str) -> Result<Vec<Requirement>, InvalidParams> {
    let refused = |reason: String| malformed("clusterSelector", reason);
    let clauses = label_clauses(text).map_err(|error| refused(error.to_string()))?;
    let clauses = distinct(clauses)?;
    let is_ours = |clause: &&Clause| {
        let prefix = clause.key.split_once('/').map(|(prefix, _)| prefix);
        prefix.is_some_and(is_of_searches)
    };
    if let Some(clause) = clauses.iter().find(is_ours) {
        let key = shorten(&clause.key);
        let reason =
            format!("{key:?} is a search label: labels of clusters have their own keys here");
        return Err(refused(reason));
    }
    clauses.into_iter().map(requirement).collect()
}

/// What holds of clusters, whichever way it was asked.
pub(crate) fn all(
    mut labels: Vec<Requirement>,
    selector: Vec<Requirement>,
) -> Result<Vec<Requirement>, InvalidParams> {
    let new = selector.into_iter();
    let new = Vec::from_iter(new.filter(|requirement| !labels.contains(requirement)));
    labels.extend(new);
    match labels.len() > MOST {
        true => Err(InvalidParams::TooMany("requirements", MOST)),
        false => Ok(labels),
    }
}

/// A requirement on a label of clusters. Numbers are compared no more than those of other labels.
pub(crate) fn requirement(clause: Clause) -> Result<Requirement, InvalidParams> {
    let compares = matches!(clause.relation, Relation::GreaterThan | Relation::LessThan);
    let requirement = clause
        .into_requirement()
        .map_err(|error| malformed("the selector of clusters", error.to_string()))?;
    match compares {
        true => Err(InvalidParams::NotServed(format!(
            "the requirement {requirement} on a label of clusters"
        ))),
        false => Ok(requirement),
    }
}

/// Whether a prefix is of search labels, of those that there are or of others: nobody else's end like these.
pub(crate) fn is_of_searches(prefix: &str) -> bool {
    let own = prefix.strip_suffix(SEARCHES);
    own.is_some_and(|own| own.is_empty() || own.ends_with('.'))
}
