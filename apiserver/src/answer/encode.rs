//! From rows to bytes. Objects are written by concatenation of what is stored; only the cells of a Table look inside.
//!
//! A list is written in one pass: its items first, then its metadata, because the token of the next page is known last.

use std::sync::Arc;

use armadex_model::params::IncludeObject;
use armadex_model::{ResourceType, body};
use armadex_storage::Found;
use jiff::Timestamp;
use serde::Serialize;

use crate::answer::object::{Damaged, write_bare_object, write_kind, write_partial_metadata};
use crate::answer::table::Table;
use crate::printer::Printer;
use crate::request::negotiate::{Form, MetaVersion, Notation};

/// How the rows of one answer are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The form that was negotiated.
    pub(crate) form: Form,
    /// What the bytes are rewritten into on their way out.
    pub(crate) notation: Notation,
    /// What a row of a Table carries beside its cells.
    pub(crate) include: IncludeObject,
    /// Objects are written with their metadata alone.
    pub(crate) only_metadata: bool,
    /// The time that ages are told from.
    pub(crate) now: Timestamp,
}

/// `metadata` of a list.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta {
    pub(crate) resource_version: String,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remaining_item_count: Option<u64>,
}

/// What an answer is about: what a list of it is called, and the columns of its Table. Each object says by itself of which type it is.
pub(crate) struct Listed {
    resource: ResourceType,
    printer: Arc<Printer>,
}

impl Listed {
    /// Objects of one type.
    pub(crate) fn one(resource: ResourceType, shape: Shape) -> Self {
        let printer = match shape.only_metadata {
            true => Printer::plain(),
            false => Printer::of(&resource.gvr.group, &resource.gvr.resource),
        };
        Self { resource, printer }
    }

    /// Objects of so many types: where that is more than one, all rows of a Table have the columns that every object can fill.
    pub(crate) fn of_types(resource: ResourceType, types: usize, shape: Shape) -> Self {
        match types {
            0 | 1 => Self::one(resource, shape),
            _ => Self {
                resource,
                printer: Printer::plain(),
            },
        }
    }
}

/// Writes answers in one shape.
pub(crate) struct Encoder<'a> {
    listed: &'a Listed,
    shape: Shape,
    /// Room for the printers to work in.
    scratch: Vec<u8>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(listed: &'a Listed, shape: Shape) -> Self {
        Self {
            listed,
            shape,
            scratch: Vec::new(),
        }
    }

    /// Writes a list up to its first item.
    pub(crate) fn begin(&self, out: &mut Vec<u8>) {
        match self.shape.form {
            Form::Objects => {
                let resource = &self.listed.resource;
                let kind = format!("{}List", resource.kind);
                write_kind(out, &kind, &resource.gvr.api_version());
                out.extend_from_slice(b",\"items\":[");
            }
            Form::PartialMetadata(version) => {
                write_kind(out, "PartialObjectMetadataList", version.api_version());
                out.extend_from_slice(b",\"items\":[");
            }
            Form::Table(version) => self.begin_table(out, version),
        }
    }

    /// Writes one item.
    pub(crate) fn item(
        &mut self,
        out: &mut Vec<u8>,
        found: &Found,
        first: bool,
    ) -> Result<(), Damaged> {
        if !first {
            out.push(b',');
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let written = match self.shape.form {
            Form::Table(version) => self.table(version).write_row(out, &mut scratch, found),
            Form::PartialMetadata(version) => write_partial_metadata(out, version, found),
            Form::Objects => self.write_object(out, found),
        };
        self.scratch = scratch;
        written
    }

    /// Writes what follows the last item.
    pub(crate) fn end(out: &mut Vec<u8>, metadata: &ListMeta) {
        out.extend_from_slice(b"],\"metadata\":");
        serde_json::to_writer(&mut *out, metadata).expect("texts and numbers are always encodable");
        out.extend_from_slice(b"}\n");
    }

    /// Writes the answer to a get: the object, or a Table of one row.
    pub(crate) fn object(&mut self, out: &mut Vec<u8>, found: &Found) -> Result<(), Damaged> {
        let Form::Table(version) = self.shape.form else {
            self.item(out, found, true)?;
            out.push(b'\n');
            return Ok(());
        };
        self.begin_table(out, version);
        self.item(out, found, true)?;
        let metadata = ListMeta {
            resource_version: found.resource_version.clone(),
            ..ListMeta::default()
        };
        Self::end(out, &metadata);
        Ok(())
    }

    fn begin_table(&self, out: &mut Vec<u8>, version: MetaVersion) {
        write_kind(out, "Table", version.api_version());
        out.extend_from_slice(b",\"columnDefinitions\":");
        self.table(version).write_columns(out);
        out.extend_from_slice(b",\"rows\":[");
    }

    fn table(&self, version: MetaVersion) -> Table<'_> {
        Table {
            printer: &self.listed.printer,
            version,
            include: self.shape.include,
            only_metadata: self.shape.only_metadata,
            now: self.shape.now,
        }
    }

    fn write_object(&self, out: &mut Vec<u8>, found: &Found) -> Result<(), Damaged> {
        if self.shape.only_metadata {
            return write_bare_object(out, found);
        }
        body::write_object(out, &found.resource, &found.resource_version, &found.body);
        Ok(())
    }
}
