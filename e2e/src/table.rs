//! Lists as kubectl prints them: a server's Table.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use http::Request;
use kube::Client;
use serde::Deserialize;
use serde_json::Value;

/// What kubectl asks for.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Columns, those that only `-o wide` shows included, and the cells of each object by `namespace/name`.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name, type, format and priority.
    pub columns: Vec<Column>,
    /// In the order of the columns.
    pub rows: BTreeMap<String, Vec<Value>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Column {
    /// Its title.
    pub name: String,
    /// What its cells are.
    #[serde(rename = "type")]
    pub type_: String,
    /// How they are meant.
    pub format: String,
    /// Above 0: for `-o wide`.
    pub priority: i32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    kind: String,
    column_definitions: Vec<Column>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    cells: Vec<Value>,
    object: Value,
}

impl Table {
    /// The first page of a list, as a Table.
    pub async fn of(client: &Client, path: &str) -> Result<Self> {
        let request = Request::get(format!("{path}?limit=500"))
            .header("accept", TABLE)
            .body(Vec::new())?;
        let raw: Raw = client
            .request(request)
            .await
            .with_context(|| format!("cannot list {path} as a Table"))?;
        ensure!(raw.kind == "Table", "{path} is answered by a {}", raw.kind);
        let mut rows = BTreeMap::new();
        for Row { cells, object } in raw.rows {
            ensure!(
                cells.len() == raw.column_definitions.len(),
                "{path}: {cells:?}"
            );
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            let place = format!("{}/{}", text("namespace"), text("name"));
            let before = rows.insert(place, cells);
            ensure!(before.is_none(), "{path}: {object} was listed twice");
        }
        Ok(Self {
            columns: raw.column_definitions,
            rows,
        })
    }

    /// Without a column, which is the same in every row.
    pub fn without(mut self, name: &str, value: &str) -> Result<Self> {
        let place = self.columns.iter().position(|column| column.name == name);
        let place = place.with_context(|| format!("there is no column {name}"))?;
        self.columns.remove(place);
        for cells in self.rows.values_mut() {
            let cell = cells.remove(place);
            ensure!(cell == value, "{name} is {cell} instead of {value}");
        }
        Ok(self)
    }
}
