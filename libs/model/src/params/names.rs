//! Which parameters there are, whose they are, and what becomes of one that is not among them.

use std::collections::BTreeSet;

/// What was left out of a request, for a warning to its client. Names are cut to a length that fits a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Parameters that have no effect on this request.
    pub unknown: BTreeSet<String>,
    /// Parameters of Kubernetes that were given more than once; as on a kube-apiserver only the first value counts.
    pub repeated: BTreeSet<String>,
}

/// The parameters of one kind of request.
pub(super) struct Known {
    /// Clusterpedia's and ours.
    own: &'static [&'static str],
    /// Those of Kubernetes, with those that change nothing about an answer. A time-out is kept by the client, which hangs up.
    kubernetes: &'static [&'static str],
}

/// What becomes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// One of ours.
    Own,
    /// One of Kubernetes.
    Kubernetes,
    /// Known, and refused by name.
    NotServed,
    /// Almost the name of one of ours.
    Misspelt(&'static str),
    /// Without effect on this request.
    Ignored,
}

/// Those of a list or a watch.
pub(super) const LIST: Known = Known {
    own: &OWN,
    kubernetes: &[
        "allowWatchBookmarks",
        "continue",
        "fieldSelector",
        "includeObject",
        "labelSelector",
        "limit",
        "pretty",
        "resourceVersion",
        "resourceVersionMatch",
        "sendInitialEvents",
        "timeout",
        "timeoutSeconds",
        "watch",
    ],
};

/// Those of a get.
pub(super) const GET: Known = Known {
    own: &[],
    kubernetes: &["includeObject", "pretty", "resourceVersion", "timeout"],
};

/// Ours, and of Clusterpedia those that are served.
const OWN: [&str; 8] = [
    "clusterSelector",
    "clusters",
    "names",
    "namespaces",
    "onlyMetadata",
    "orderby",
    "withContinue",
    "withRemainingCount",
];

/// Parameters of Clusterpedia that are refused by name.
const NOT_SERVED: [&str; 13] = [
    "since",
    "before",
    "ownerUID",
    "ownerName",
    "ownerGR",
    "ownerSeniority",
    "injectEvents",
    "whereSQL",
    "whereSQLStatement",
    "whereSQLParam",
    "whereSQLJSONParams",
    "groups",
    "resources",
];

/// Asks a kube-apiserver for a part of a list. Who asks that must not be given all.
const SHARD: &str = "shardSelector";

impl Known {
    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.own.iter().chain(self.kubernetes).copied().collect()
    }

    pub(super) fn standing(&self, name: &str) -> Standing {
        if self.own.contains(&name) {
            Standing::Own
        } else if self.kubernetes.contains(&name) {
            Standing::Kubernetes
        } else if NOT_SERVED.contains(&name) || name == SHARD {
            Standing::NotServed
        } else if LIST.own.contains(&name) || LIST.kubernetes.contains(&name) {
            Standing::Ignored
        } else {
            let ours = OWN.iter().chain(&NOT_SERVED).copied();
            meant(name, ours).map_or(Standing::Ignored, Standing::Misspelt)
        }
    }
}

/// The name that was probably meant: the same but for case, `-` and `_`, or with so few mistakes that nobody else's name is as near.
pub(crate) fn meant(
    name: &str,
    ours: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    if name.len() > LONGEST_LOOKED_AT {
        return None;
    }
    let name = folded(name);
    ours.into_iter().find(|ours| {
        let ours = folded(ours);
        let allowed = if ours.len() < LONG { 1 } else { 2 };
        name.len().abs_diff(ours.len()) <= allowed && mistakes(&name, &ours) <= allowed
    })
}

/// The longest of our names has 30 characters; what is much longer is no mistake of the fingers.
const LONGEST_LOOKED_AT: usize = 40;
/// From this length on two mistakes still leave a name that can only be ours.
const LONG: usize = 8;

fn folded(name: &str) -> Vec<char> {
    let kept = name.chars().filter(|char| !matches!(char, '-' | '_'));
    kept.flat_map(char::to_lowercase).collect()
}

/// How many letters have to be put in, left out, replaced, or swapped with their neighbour.
fn mistakes(a: &[char], b: &[char]) -> usize {
    #[cfg(test)]
    tests::COMPARED.with(|compared| compared.set(compared.get() + 1));
    let mut rows: [Vec<usize>; 3] = [vec![0; b.len() + 1], (0..=b.len()).collect(), Vec::new()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[0][j - 2] + 1);
            }
            row.push(least);
        }
        rows.rotate_left(1);
        rows[1] = row;
    }
    rows[1][b.len()]
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Pairs of names that this thread has compared letter by letter.
        pub(crate) static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn a_near_miss_of_our_names_is_no_stranger() {
        for (typed, ours) in [
            ("cluster", "clusters"),
            ("clusterselector", "clusterSelector"),
            ("cluster-selector", "clusterSelector"),
            ("clustersSelector", "clusterSelector"),
            ("Clusters", "clusters"),
            ("clsuters", "clusters"),
            ("namespace", "namespaces"),
            ("name", "names"),
            ("order-by", "orderby"),
            ("orderBy", "orderby"),
            ("only_metadata", "onlyMetadata"),
            ("withContinued", "withContinue"),
            ("withRemainingCounts", "withRemainingCount"),
            ("ownername", "ownerName"),
            ("whereSql", "whereSQL"),
        ] {
            assert_eq!(LIST.standing(typed), Standing::Misspelt(ours), "{typed}");
        }
    }

    #[test]
    fn what_is_not_near_is_a_stranger() {
        let strangers = [
            "",
            "shiny",
            "fieldManager",
            "fieldValidation",
            "dryRun",
            "export",
            "noHeaders",
            "color",
            "x",
        ];
        for typed in strangers {
            assert_eq!(LIST.standing(typed), Standing::Ignored, "{typed}");
            assert_eq!(GET.standing(typed), Standing::Ignored, "{typed}");
        }
    }

    #[test]
    fn no_name_of_kubernetes_is_a_near_miss_of_ours() {
        let ours = || OWN.iter().chain(&NOT_SERVED).copied();
        for name in LIST.kubernetes {
            assert_eq!(meant(name, ours()), None, "{name}");
        }
    }

    #[test]
    fn mistakes_are_counted() {
        let count = |a, b| mistakes(&folded(a), &folded(b));
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", ""), 3);
        assert_eq!(count("abc", "acb"), 1);
        assert_eq!(count("kitten", "sitting"), 3);
        assert_eq!(count("same", "same"), 0);
    }
}
