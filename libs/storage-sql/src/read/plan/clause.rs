//! Requirements as sets of terms.

use std::collections::BTreeSet;
use std::fmt;

use armadex_model::field::{Field, indexed};
use armadex_model::label::{Operator, Requirement};
use armadex_model::{Query, Term};
use armadex_storage::StoreError;

use crate::form::term::TermHasher;

/// Terms of which an object has at most one, and the requirement they stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clause {
    /// Sorted.
    pub(crate) terms: Vec<i64>,
    /// For values of a label, the term of its key.
    key: Option<i64>,
    text: String,
}

/// Where posting blocks lead for a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lead<'a> {
    pub(crate) terms: &'a [i64],
    /// Whether an object that has one of these terms has one of the clause's; else only the object itself can tell.
    pub(crate) decides: bool,
}

impl Clause {
    /// Where it leads in a type that does not post the values of some label keys.
    pub(crate) fn lead(&self, unposted: &BTreeSet<i64>) -> Lead<'_> {
        match &self.key {
            Some(key) if unposted.contains(key) => Lead {
                terms: std::slice::from_ref(key),
                decides: false,
            },
            _ => Lead {
                terms: &self.terms,
                decides: true,
            },
        }
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} terms of {}", self.terms.len(), self.text)
    }
}

/// The clauses of a query.
#[derive(Debug, Default)]
pub(crate) struct Clauses {
    /// Each of these must hold: the object has one of the terms.
    pub(crate) has: Vec<Clause>,
    /// Each of these must hold: the object has none of the terms.
    pub(crate) has_not: Vec<Clause>,
    /// As `has`, on fields that no index leads to.
    pub(crate) told: Vec<Clause>,
    /// As `has_not`, on fields that no index leads to.
    pub(crate) told_not: Vec<Clause>,
}

pub(crate) fn clauses(query: &Query, hasher: &TermHasher) -> Result<Clauses, StoreError> {
    let mut clauses = Clauses::default();
    let labels = query
        .labels
        .iter()
        .map(|label| (label, label_key(label), label_terms(label)));
    let fields = query
        .fields
        .iter()
        .map(|field| (field, None, field_terms(query, field)));
    for (requirement, key, terms) in labels.chain(fields) {
        let (positive, terms) = terms?;
        let is_own = terms
            .iter()
            .any(|term| matches!(term, Term::OwnField { .. }));
        let mut terms: Vec<i64> = terms.iter().map(|term| hasher.term(term)).collect();
        terms.sort_unstable();
        let clause = Clause {
            terms,
            key: key.map(|key| hasher.term(&key)),
            text: requirement.to_string(),
        };
        match (positive, is_own) {
            (true, false) => push_new(&mut clauses.has, clause),
            (true, true) => push_new(&mut clauses.told, clause),
            (false, _) if clause.terms.is_empty() => {}
            (false, false) => push_new(&mut clauses.has_not, clause),
            (false, true) => push_new(&mut clauses.told_not, clause),
        }
    }
    Ok(clauses)
}

/// The same requirement twice is one.
fn push_new(clauses: &mut Vec<Clause>, clause: Clause) {
    if !clauses.contains(&clause) {
        clauses.push(clause);
    }
}

/// Whether the terms must be there, and the terms.
type Terms = (bool, Vec<Term>);

/// The key of a requirement on values.
fn label_key(requirement: &Requirement) -> Option<Term> {
    let Requirement { key, operator } = requirement;
    match operator {
        Operator::In(_) | Operator::NotIn(_) => Some(Term::LabelKey { key: key.clone() }),
        _ => None,
    }
}

fn label_terms(requirement: &Requirement) -> Result<Terms, StoreError> {
    let Requirement { key, operator } = requirement;
    let label = |value: &String| Term::Label {
        key: key.clone(),
        value: value.clone(),
    };
    let key_term = || vec![Term::LabelKey { key: key.clone() }];
    Ok(match operator {
        Operator::In(values) => (true, values.iter().map(label).collect()),
        Operator::NotIn(values) => (false, values.iter().map(label).collect()),
        Operator::Exists => (true, key_term()),
        Operator::DoesNotExist => (false, key_term()),
        Operator::GreaterThan(_) | Operator::LessThan(_) => {
            return Err(unsupported(&format!("the label requirement {requirement}")));
        }
    })
}

fn field_terms(query: &Query, requirement: &Requirement) -> Result<Terms, StoreError> {
    let Requirement { key, operator } = requirement;
    let indexed = indexed_field(query, key)?;
    let field = |value: &String| indexed.term(value.clone());
    match operator {
        Operator::In(values) => Ok((true, values.iter().map(field).collect())),
        Operator::NotIn(values) => Ok((false, values.iter().map(field).collect())),
        _ => Err(unsupported(&format!("the field requirement {requirement}"))),
    }
}

/// The field, if every type that is searched has it indexed; one that is not posted, if any type does not.
fn indexed_field(query: &Query, key: &str) -> Result<&'static Field, StoreError> {
    let mut found: Option<&Field> = None;
    for searched in &query.types {
        let mut fields = indexed(&searched.resource.group, &searched.resource.resource).iter();
        let field = fields.find(|field| field.label == key);
        let field = field.ok_or_else(|| unsupported(&format!("a selector on the field {key}")))?;
        found = found.filter(|found| found.own).or(Some(field));
    }
    found.ok_or_else(|| unsupported(&format!("a selector on the field {key} of no type")))
}

fn unsupported(what: &str) -> StoreError {
    StoreError::Unsupported {
        what: format!("{what} is not served"),
    }
}
