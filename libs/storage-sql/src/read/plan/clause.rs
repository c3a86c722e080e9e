//! Requirements as sets of terms.

use std::fmt;

use armadex_model::field::indexed;
use armadex_model::label::{Operator, Requirement};
use armadex_model::{Query, Term};
use armadex_storage::StoreError;

use crate::form::term::TermHasher;

/// Terms of which an object has at most one, and the requirement they stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) terms: Vec<i64>,
    text: String,
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} terms of {}", self.terms.len(), self.text)
    }
}

/// The positive and the negative clauses of a query.
pub(crate) fn clauses(
    query: &Query,
    hasher: &TermHasher,
) -> Result<(Vec<Clause>, Vec<Clause>), StoreError> {
    let (mut has, mut has_not) = (Vec::new(), Vec::new());
    let labels = query.labels.iter().map(label_terms);
    let fields = query
        .fields
        .iter()
        .map(|requirement| field_terms(query, requirement));
    let requirements = query.labels.iter().chain(&query.fields);
    for (requirement, terms) in requirements.zip(labels.chain(fields)) {
        let (positive, terms) = terms?;
        let clause = Clause {
            terms: terms.iter().map(|term| hasher.term(term)).collect(),
            text: requirement.to_string(),
        };
        if positive {
            push_new(&mut has, clause);
        } else if !clause.terms.is_empty() {
            push_new(&mut has_not, clause);
        }
    }
    Ok((has, has_not))
}

/// The same requirement twice is one.
fn push_new(clauses: &mut Vec<Clause>, clause: Clause) {
    if !clauses.contains(&clause) {
        clauses.push(clause);
    }
}

/// Whether the terms must be there, and the terms.
type Terms = (bool, Vec<Term>);

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
            return Err(unsupported(format!("the label requirement {requirement}")));
        }
    })
}

fn field_terms(query: &Query, requirement: &Requirement) -> Result<Terms, StoreError> {
    let Requirement { key, operator } = requirement;
    let path = indexed_path(query, key)?;
    let field = |value: &String| Term::Field {
        path,
        value: value.clone(),
    };
    match operator {
        Operator::In(values) => Ok((true, values.iter().map(field).collect())),
        Operator::NotIn(values) => Ok((false, values.iter().map(field).collect())),
        _ => Err(unsupported(format!("the field requirement {requirement}"))),
    }
}

/// The path, if every type that is searched has it indexed.
fn indexed_path(query: &Query, key: &str) -> Result<&'static str, StoreError> {
    let mut found = None;
    for searched in &query.types {
        let fields = indexed(&searched.resource.group, &searched.resource.resource);
        let path = fields
            .iter()
            .map(|field| field.label)
            .find(|label| *label == key);
        found = Some(path.ok_or_else(|| unsupported(format!("a selector on the field {key}")))?);
    }
    found.ok_or_else(|| unsupported(format!("a selector on the field {key} of no type")))
}

fn unsupported(what: String) -> StoreError {
    StoreError::Unsupported { what }
}
