//! Tables of `meta.k8s.io`: the column definitions, and rows that begin with the cluster.

use armadex_model::body;
use armadex_model::params::IncludeObject;
use armadex_storage::Found;
use jiff::Timestamp;
use serde::Serialize;

use crate::answer::object::{Damaged, write_bare_object, write_partial_metadata};
use crate::printer::{Cells, Column, Condition, Printer, Row};
use crate::request::negotiate::MetaVersion;

/// How the rows of one answer are written.
pub(crate) struct Table<'a> {
    pub(crate) printer: &'a Printer,
    pub(crate) version: MetaVersion,
    pub(crate) include: IncludeObject,
    /// Whole objects are written with their metadata alone.
    pub(crate) only_metadata: bool,
    pub(crate) now: Timestamp,
}

/// The first column: which cluster an object lives in.
const CLUSTER: Definition<'static> = Definition {
    name: "Cluster",
    kind: "string",
    format: "",
    description: "The cluster of the object.",
    priority: 0,
};

#[derive(Serialize)]
struct Definition<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    format: &'a str,
    description: &'a str,
    priority: i32,
}

impl<'a> From<&'a Column> for Definition<'a> {
    fn from(column: &'a Column) -> Self {
        Self {
            name: &column.name,
            kind: &column.kind,
            format: &column.format,
            description: &column.description,
            priority: column.priority,
        }
    }
}

impl Table<'_> {
    /// Writes the value of `columnDefinitions`.
    pub(crate) fn write_columns(&self, out: &mut Vec<u8>) {
        let columns = self.printer.columns.iter().map(Definition::from);
        let definitions: Vec<Definition<'_>> = std::iter::once(CLUSTER).chain(columns).collect();
        serde_json::to_writer(out, &definitions).expect("texts and numbers are always encodable");
    }

    /// Writes one element of `rows`. `scratch` is room to work in, kept from row to row.
    pub(crate) fn write_row(
        &self,
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        found: &Found,
    ) -> Result<(), Damaged> {
        out.extend_from_slice(b"{\"cells\":[");
        serde_json::to_writer(&mut *out, found.cluster.as_str())
            .expect("a text is always encodable");
        let condition = self.write_cells(out, scratch, found);
        out.push(b']');
        write_condition(out, condition);
        self.write_included(out, found)?;
        out.push(b'}');
        Ok(())
    }

    fn write_cells(&self, out: &mut Vec<u8>, scratch: &mut Vec<u8>, found: &Found) -> Condition {
        scratch.clear();
        body::write_object(
            scratch,
            &found.resource,
            &found.resource_version,
            &found.body,
        );
        let row = Row {
            name: &found.key.name,
            created: (found.created != 0)
                .then(|| Timestamp::from_second(found.created).ok())
                .flatten(),
            object: scratch,
            now: self.now,
        };
        let printed = self.printer.print(&row, &mut Cells::after(out));
        printed.unwrap_or_else(|error| {
            tracing::debug!(
                cluster = %found.cluster, resource = %found.resource.gvr, name = %found.key, error = %error,
                "{} has a shape that its columns do not know", found.key
            );
            self.write_unknown_cells(out, &found.key.name);
            Condition::None
        })
    }

    /// The cells of an object that its printer cannot read: its name, and that nothing else is known.
    fn write_unknown_cells(&self, out: &mut Vec<u8>, name: &str) {
        for column in &self.printer.columns {
            let text = if column.format == "name" {
                name
            } else {
                "<unknown>"
            };
            out.push(b',');
            serde_json::to_writer(&mut *out, text).expect("a text is always encodable");
        }
    }

    fn write_included(&self, out: &mut Vec<u8>, found: &Found) -> Result<(), Damaged> {
        match self.include {
            IncludeObject::None => Ok(()),
            IncludeObject::Metadata => {
                out.extend_from_slice(b",\"object\":");
                write_partial_metadata(out, self.version, found)
            }
            IncludeObject::Object if self.only_metadata => {
                out.extend_from_slice(b",\"object\":");
                write_bare_object(out, found)
            }
            IncludeObject::Object => {
                out.extend_from_slice(b",\"object\":");
                body::write_object(out, &found.resource, &found.resource_version, &found.body);
                Ok(())
            }
        }
    }
}

/// A row says that a pod has come to its end, so that clients can tell it from the others.
fn write_condition(out: &mut Vec<u8>, condition: Condition) {
    let (reason, message) = match condition {
        Condition::None => return,
        Condition::Succeeded => ("Succeeded", "The pod ran to its end."),
        Condition::Failed => ("Failed", "The pod failed."),
    };
    let json = format!(
        ",\"conditions\":[{{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"{reason}\",\"message\":\"{message}\"}}]"
    );
    out.extend_from_slice(json.as_bytes());
}
