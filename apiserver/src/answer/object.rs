//! One object as bytes: what is common to lists, tables and single objects.

use armadex_model::body;
use armadex_storage::Found;

use crate::request::negotiate::MetaVersion;

/// A stored object that is no object: the answer breaks off, so that it cannot pass for a shorter one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored form of {0} is damaged")]
pub(crate) struct Damaged(String);

/// Writes an object's metadata as an object of `meta.k8s.io`.
pub(crate) fn write_partial_metadata(
    out: &mut Vec<u8>,
    version: MetaVersion,
    found: &Found,
) -> Result<(), Damaged> {
    let metadata = metadata_part(found)?;
    write_kind(out, "PartialObjectMetadata", version.api_version());
    out.extend_from_slice(b",\"metadata\":{\"resourceVersion\":");
    body::write_text(out, &found.resource_version);
    out.push(b',');
    out.extend_from_slice(metadata);
    out.push(b'}');
    Ok(())
}

/// Writes an object of its own kind with its metadata alone.
pub(super) fn write_bare_object(out: &mut Vec<u8>, found: &Found) -> Result<(), Damaged> {
    let metadata = metadata_part(found)?;
    body::write_object(out, &found.resource, &found.resource_version, metadata);
    out.push(b'}');
    Ok(())
}

/// The metadata of a stored object, up to and with its closing brace.
fn metadata_part(found: &Found) -> Result<&[u8], Damaged> {
    body::metadata_part(&found.body)
        .ok_or_else(|| Damaged(format!("{} of cluster {}", found.key, found.cluster)))
}

/// Writes how every object begins, up to its apiVersion.
pub(super) fn write_kind(out: &mut Vec<u8>, kind: &str, api_version: &str) {
    for (member, text) in [("{\"kind\":", kind), (",\"apiVersion\":", api_version)] {
        out.extend_from_slice(member.as_bytes());
        body::write_text(out, text);
    }
}
