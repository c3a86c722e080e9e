//! What a query may ask of the labels of clusters. Which clusters have them the catalogue tells.

use armadex_model::Query;
use armadex_model::label::Operator;
use armadex_storage::StoreError;

/// Numbers are compared no more than those of an object's labels.
pub(super) fn check(query: &Query) -> Result<(), StoreError> {
    let compares =
        |operator: &Operator| matches!(operator, Operator::GreaterThan(_) | Operator::LessThan(_));
    let mut requirements = query.cluster_labels.iter();
    match requirements.find(|requirement| compares(&requirement.operator)) {
        Some(requirement) => Err(StoreError::Unsupported {
            what: format!("the requirement {requirement} on a label of clusters is not served"),
        }),
        None => Ok(()),
    }
}

/// How many values the requirements have.
pub(super) fn values(query: &Query) -> usize {
    let values = query
        .cluster_labels
        .iter()
        .map(|requirement| match &requirement.operator {
            Operator::In(values) | Operator::NotIn(values) => values.len(),
            _ => 0,
        });
    values.sum()
}
