//! What the Lease of the synchros that would look after the same clusters is called.

/// Of a `shardingName` that is part of the name of an object, which may have 253.
const MOST_BYTES: usize = 200;

/// The Lease of the synchros of a `shardingName` that write one store. `store` tells the store from all others, in lower-case letters and digits: those
/// who write others are in nobody's way.
#[must_use]
pub fn lease_name(sharding_name: &str, store: &str) -> String {
    format!("{}-{store}", of_shard(sharding_name))
}

/// A `shardingName` that cannot be in a name is told apart by a hash.
fn of_shard(sharding_name: &str) -> String {
    let is_fit = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    match sharding_name {
        "" => "armadex-synchro".to_owned(),
        name if name.bytes().all(is_fit) && !name.ends_with('-') && name.len() <= MOST_BYTES => {
            format!("armadex-synchro-{name}")
        }
        name => {
            // FNV-1a: the same in all releases.
            let step =
                |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, step);
            format!("armadex-synchro.{hash:016x}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_has_a_lease_of_its_own() {
        assert_eq!(lease_name("", "1f"), "armadex-synchro-1f");
        assert_eq!(lease_name("shard-1", "1f"), "armadex-synchro-shard-1-1f");
        let long = "a".repeat(MOST_BYTES + 1);
        let odd = ["Shard", "shard/1", "a.b", "a-", long.as_str()].map(of_shard);
        for (index, name) in odd.iter().enumerate() {
            assert!(
                name.starts_with("armadex-synchro.") && name.len() == 32,
                "{name}"
            );
            assert!(!odd[..index].contains(name));
        }
    }
}
