//! Columns that a CustomResourceDefinition declares: a JSON path, and a type that decides how what it leads to is shown.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;

use super::cell::Cell;
use super::column::Column;
use super::engine::Printer;
use super::json_path::{InvalidPath, JsonPath};
use super::projection::{OtherShape, Path};
use super::shown::Kind;

/// Columns beside the name that a type may have: what a row has in cells without any text is in proportion to it. People read a dozen.
const MAX_COLUMNS: usize = 64;

/// A column that is not shown, nor are those that follow.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidColumn {
    /// Its path cannot be read.
    #[error("the path {path} of column {column} cannot be read: {reason}")]
    Path {
        column: String,
        path: String,
        reason: InvalidPath,
    },
    /// There are too many before it.
    #[error("column {0} is one too many: {MAX_COLUMNS} are shown")]
    TooMany(String),
}

/// The printer of types that declare no columns and have none built in: name and age.
static PLAIN: LazyLock<Arc<Printer>> = LazyLock::new(|| {
    let age = CustomResourceColumnDefinition {
        name: "Age".to_owned(),
        type_: "date".to_owned(),
        json_path: CREATED.to_owned(),
        description: Some("The time since the object was created.".to_owned()),
        ..CustomResourceColumnDefinition::default()
    };
    Printer::custom(&[age]).0
});

/// Where every object says when it was created.
const CREATED: &str = ".metadata.creationTimestamp";

pub(super) fn plain() -> Arc<Printer> {
    Arc::clone(&PLAIN)
}

impl Printer {
    /// The printer of a custom resource with these `additionalPrinterColumns`. As in a kube-apiserver, it has the columns before the
    /// first that is not shown, and the error says which that is; a type without columns shows name and age.
    pub(crate) fn custom(
        declared: &[CustomResourceColumnDefinition],
    ) -> (Arc<Self>, Option<InvalidColumn>) {
        if declared.is_empty() {
            return (plain(), None);
        }
        let mut columns = vec![Column::name()];
        let mut invalid = None;
        for definition in declared {
            if columns.len() > MAX_COLUMNS {
                invalid = Some(InvalidColumn::TooMany(definition.name.clone()));
                break;
            }
            match column(definition) {
                Ok(column) => columns.push(column),
                Err(error) => {
                    invalid = Some(error);
                    break;
                }
            }
        }
        let printer = Self::with(columns, OtherShape::IsAbsent);
        (Arc::new(printer), invalid)
    }
}

fn column(definition: &CustomResourceColumnDefinition) -> Result<Column, InvalidColumn> {
    let CustomResourceColumnDefinition {
        description,
        format,
        json_path,
        name,
        priority,
        type_,
    } = definition;
    let kind = Kind::of(type_);
    let mut path = JsonPath::parse(json_path).map_err(|reason| InvalidColumn::Path {
        column: name.clone(),
        path: json_path.clone(),
        reason,
    })?;
    let cell = if kind == Kind::Date && json_path == CREATED {
        Cell::Age
    } else {
        let beginning = Path::through(path.take_fields());
        Cell::Custom(beginning, path, kind)
    };
    let described = description.clone().filter(|text| !text.is_empty());
    let description = described.unwrap_or_else(|| format!("The field {json_path}."));
    Ok(Column {
        name: Cow::Owned(name.clone()),
        kind: Cow::Owned(type_.clone()),
        format: Cow::Owned(format.clone().unwrap_or_default()),
        description: Cow::Owned(description),
        priority: priority.unwrap_or_default(),
        cell,
    })
}

#[cfg(test)]
mod tests;
