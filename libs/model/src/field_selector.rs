//! Field selectors: the object's name and namespace, and the fields that the store indexes ([`crate::field`]).

use std::collections::BTreeSet;

use crate::field::{Field, Meaning, meaning};
use crate::label::Requirement;
use crate::label::parse::{Clause, Relation, field_clauses, shorten};
use crate::params::invalid::{InvalidParams, check_names, distinct, malformed};
use crate::{GroupVersionResource, NameFilter};

/// A field selector, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldTerms {
    pub(crate) names: NameFilter,
    pub(crate) namespaces: NameFilter,
    pub(crate) requirements: Vec<Requirement>,
}

/// Parses a field selector for one type. A path may begin with a dot, as JSON paths do.
pub(crate) fn parse(
    resource: &GroupVersionResource,
    text: &str,
) -> Result<FieldTerms, InvalidParams> {
    let clauses =
        field_clauses(text).map_err(|error| malformed("fieldSelector", error.to_string()))?;
    let mut terms = FieldTerms::default();
    for mut clause in distinct(clauses)? {
        if let Some(path) = clause.key.strip_prefix('.') {
            clause.key = path.to_owned();
        }
        match clause.key.as_str() {
            "metadata.name" => narrow(&mut terms.names, &clause)?,
            "metadata.namespace" => narrow(&mut terms.namespaces, &clause)?,
            label => match meaning(&resource.group, &resource.resource, label) {
                Some(Meaning::Indexed(field)) => {
                    terms.requirements.push(requirement(field, clause)?);
                }
                Some(Meaning::Empty) => compare_with_empty(&mut terms.names, &clause)?,
                None => return Err(not_served(label, resource)),
            },
        }
    }
    Ok(terms)
}

fn requirement(field: &Field, clause: Clause) -> Result<Requirement, InvalidParams> {
    check_operator(&clause)?;
    let clause = Clause {
        key: field.label.to_owned(),
        ..clause
    };
    clause
        .into_requirement()
        .map_err(|error| malformed("fieldSelector", error.to_string()))
}

fn not_served(label: &str, resource: &GroupVersionResource) -> InvalidParams {
    let label = shorten(label);
    InvalidParams::NotServed(format!("field selector {label:?} on {resource}"))
}

/// A field that is empty in every object: the clause holds for all objects or for none.
fn compare_with_empty(names: &mut NameFilter, clause: &Clause) -> Result<(), InvalidParams> {
    check_operator(clause)?;
    let is_empty = clause.values.iter().any(String::is_empty);
    if is_empty != (clause.relation == Relation::In) {
        *names = NameFilter::In(BTreeSet::new());
    }
    Ok(())
}

fn narrow(filter: &mut NameFilter, clause: &Clause) -> Result<(), InvalidParams> {
    check_operator(clause)?;
    check_names("fieldSelector", &clause.values)?;
    let names = clause.values.iter().cloned().collect();
    let asked = if clause.relation == Relation::In {
        NameFilter::In(names)
    } else {
        NameFilter::NotIn(names)
    };
    *filter = std::mem::take(filter).and(asked);
    Ok(())
}

/// An absent field is indexed as the empty text, so there is no telling whether it exists; comparisons are not indexed.
fn check_operator(clause: &Clause) -> Result<(), InvalidParams> {
    match clause.relation {
        Relation::In | Relation::NotIn => Ok(()),
        Relation::Exists | Relation::DoesNotExist | Relation::GreaterThan | Relation::LessThan => {
            Err(InvalidParams::NotServed(format!(
                "this operator on field {:?}",
                shorten(&clause.key)
            )))
        }
    }
}
