//! The ids of namespaces: which cluster one belongs to can be told from the number.

/// Bits of a namespace id that number the namespace within its cluster: more than any cluster makes in its life.
const NAMESPACE_BITS: u32 = 32;

/// The id of a namespace by its number within a cluster; `None` when either has run out.
pub(crate) fn namespace_id(cluster: i64, number: i64) -> Option<i64> {
    let fits = (0..1 << (63 - NAMESPACE_BITS)).contains(&cluster)
        && (0..1 << NAMESPACE_BITS).contains(&number);
    fits.then_some((cluster << NAMESPACE_BITS) | number)
}

/// The cluster that a namespace id belongs to.
pub(crate) fn cluster_of(nsid: i64) -> i64 {
    nsid >> NAMESPACE_BITS
}

/// The namespace ids of a cluster: the first, and the one after the last.
pub(crate) fn ids_of(cluster: i64) -> (i64, i64) {
    let first = cluster << NAMESPACE_BITS;
    (first, first.saturating_add(1 << NAMESPACE_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_their_cluster_and_end_before_they_overflow() {
        let last_cluster = (1 << 31) - 1;
        for (cluster, number) in [(0, 0), (7, 3), (last_cluster, (1 << 32) - 1)] {
            let id = namespace_id(cluster, number).expect("in range");
            assert_eq!(cluster_of(id), cluster);
            assert!(id >= ids_of(cluster).0 && id - ids_of(cluster).0 < 1 << 32);
        }
        assert_eq!(namespace_id(last_cluster + 1, 0), None);
        assert_eq!(namespace_id(1, 1 << 32), None);
    }
}
