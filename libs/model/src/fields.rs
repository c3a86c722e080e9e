//! Field selectors: the object's name and namespace, and the fields that the store indexes.

use crate::label::Requirement;
use crate::label::parse::{Clause, Relation, field_clauses, shorten};
use crate::params::{InvalidParams, malformed};
use crate::term::hot_fields;
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
    let invalid = |reason: String| malformed("fieldSelector", reason);
    let mut terms = FieldTerms::default();
    for mut clause in field_clauses(text).map_err(|error| invalid(error.to_string()))? {
        let path = clause
            .key
            .strip_prefix('.')
            .unwrap_or(&clause.key)
            .to_owned();
        clause.key = path;
        match clause.key.as_str() {
            "metadata.name" => narrow(&mut terms.names, &clause)?,
            "metadata.namespace" => narrow(&mut terms.namespaces, &clause)?,
            path if hot_fields(&resource.group, &resource.resource).contains(&path) => {
                check_operator(&clause)?;
                let requirement = clause.into_requirement();
                terms
                    .requirements
                    .push(requirement.map_err(|error| invalid(error.to_string()))?);
            }
            path => {
                return Err(InvalidParams::NotServed(format!(
                    "field selector {:?} on {resource}",
                    shorten(path)
                )));
            }
        }
    }
    Ok(terms)
}

fn narrow(filter: &mut NameFilter, clause: &Clause) -> Result<(), InvalidParams> {
    check_operator(clause)?;
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
