//! Names, uids, times and managed fields of seeded objects.

use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

/// Seeded times lie in the month before this one, so that ages differ and stay the same from run to run.
const NEWEST: &str = "2026-06-01T12:00:00Z";
/// What Kubernetes uses in generated names: no vowels, nothing that looks like something else.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The source of all choices for one member and seed.
#[derive(Debug)]
pub(super) struct Random {
    random: StdRng,
}

impl Random {
    /// The same choices for the same member and seed.
    pub(super) fn new(member: &str, seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        for (at, letter) in member.bytes().enumerate() {
            bytes[8 + at % 24] = bytes[8 + at % 24].wrapping_mul(31).wrapping_add(letter);
        }
        Self {
            random: StdRng::from_seed(bytes),
        }
    }

    /// One of `choices`.
    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        *choices
            .choose(&mut self.random)
            .expect("choices are written down here, never empty")
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.random.random_range(0..end)
    }

    /// The end of a generated name.
    pub(super) fn suffix(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| char::from(self.pick(LETTERS)))
            .collect()
    }

    /// A version 4 uid.
    pub(super) fn uid(&mut self) -> String {
        let bits: u128 = self.random.random();
        let bits = bits & !(0xf000 << 64) & !(0xc000 << 48) | (0x4000 << 64) | (0x8000 << 48);
        let hex = format!("{bits:032x}");
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }

    /// Hexadecimal digits, as in image digests and container ids.
    pub(super) fn hex(&mut self, bytes: usize) -> String {
        (0..bytes)
            .map(|_| format!("{:02x}", self.random.random::<u8>()))
            .collect()
    }

    /// A moment in the month before [`NEWEST`].
    pub(super) fn time(&mut self) -> Timestamp {
        let newest: Timestamp = NEWEST.parse().expect("a constant time");
        newest - SignedDuration::from_secs(i64::from(self.below(30 * 24 * 3600)))
    }
}

/// An object that others can be owned by.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) uid: String,
}

impl Owner {
    /// The reference that its dependents carry.
    pub(super) fn reference(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}

/// An entry of `managedFields`, with the fields that such a manager owns.
pub(super) fn managed(
    manager: &str,
    api_version: &str,
    time: Timestamp,
    subresource: &str,
    fields: &Value,
) -> Value {
    let mut entry = json!({
        "manager": manager,
        "operation": "Update",
        "apiVersion": api_version,
        "time": seconds(time),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    if !subresource.is_empty() {
        entry["subresource"] = json!(subresource);
    }
    entry
}

/// A time as Kubernetes writes it: whole seconds.
pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_differ_and_repeat() {
        let uids = |member: &str, seed| {
            let mut random = Random::new(member, seed);
            [random.uid(), random.uid()]
        };
        assert_eq!(uids("member1", 1), uids("member1", 1));
        assert_ne!(uids("member1", 1), uids("member2", 1));
        assert_ne!(uids("member1", 1), uids("member1", 2));
        let [uid, _] = uids("member1", 1);
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
    }
}
