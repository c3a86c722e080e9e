//! As much of a large object as is kept: its smallest parts. By them a selector can say that it is none of a policy's; whoever reads of the others is told that
//! they are not there. Pure.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::fields::{LeftOut, METADATA, hash, parts};

/// Bytes of parts that are kept: names, labels and a type have some hundred.
const ROOM: usize = 16 << 10;
/// Parts that are kept, and those that are known by their names: an object has some twenty.
const PARTS: usize = 128;

/// A part, as it stands.
struct Part<'t> {
    of_metadata: bool,
    name: String,
    value: &'t RawValue,
}

/// The text of what is kept of the text of an object, and what is not.
pub(super) fn excerpt(text: &str) -> (String, LeftOut) {
    let mut others = parts(text);
    let metadata = others.remove(METADATA);
    let metadata = metadata.map(|metadata| parts(metadata.get()));
    let mut all = of(true, metadata.unwrap_or_default());
    all.extend(of(false, others));
    all.sort_by_key(|part| part.name.len() + part.value.get().len());
    let (mut room, mut kept) = (ROOM, 0);
    let fits = |part: &Part<'_>| {
        let bytes = part.name.len() + part.value.get().len();
        let fits = bytes <= room && kept < PARTS;
        if fits {
            (room, kept) = (room - bytes, kept + 1);
        }
        fits
    };
    let (kept, left_out): (Vec<_>, Vec<_>) = all.into_iter().partition(fits);
    (text_of(&kept), names_of(&left_out))
}

fn of(of_metadata: bool, parts: BTreeMap<String, &RawValue>) -> Vec<Part<'_>> {
    let parts = parts.into_iter().map(|(name, value)| Part {
        of_metadata,
        name,
        value,
    });
    parts.collect()
}

fn text_of(kept: &[Part<'_>]) -> String {
    let fields = |of_metadata: bool| {
        let parts = kept.iter().filter(|part| part.of_metadata == of_metadata);
        let fields = parts.map(|part| {
            let name = serde_json::to_string(&part.name).unwrap_or_default();
            format!("{name}:{}", part.value.get())
        });
        Vec::from_iter(fields)
    };
    let mut all = fields(false);
    all.push(format!("\"{METADATA}\":{{{}}}", fields(true).join(",")));
    format!("{{{}}}", all.join(","))
}

fn names_of(left_out: &[Part<'_>]) -> LeftOut {
    let names = |of_metadata: bool| {
        let parts = left_out.iter().take(PARTS);
        let parts = parts.filter(|part| part.of_metadata == of_metadata);
        parts.map(|part| hash(&part.name)).collect()
    };
    LeftOut {
        metadata: names(true),
        others: names(false),
        more: left_out.len() > PARTS,
    }
}
