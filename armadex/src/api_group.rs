//! The group that the search API is served in.

use armadex_apiserver::API_GROUP;
use armadex_crds::is_subdomain;
use clap::Args;

/// Groups of Clusterpedia's CRDs, which control planes serve themselves.
const OF_CRDS: [&str; 2] = ["cluster.clusterpedia.io", "policy.clusterpedia.io"];
/// Of these Kubernetes says what is in them.
const PROTECTED: [&str; 2] = ["k8s.io", "kubernetes.io"];

/// Which group it is.
#[derive(Clone, Debug, Args)]
pub(crate) struct ApiGroupFlag {
    /// API group of the search API. Another one than the default is for a trial beside a Clusterpedia that is used, as trial.clusterpedia.io: with the paths
    /// /apis/GROUP/v1beta1/..., the APIService v1beta1.GROUP, and rights of callers in GROUP.
    #[arg(long, value_name = "GROUP", default_value = API_GROUP, value_parser = api_group)]
    pub(crate) api_group: String,
}

fn api_group(text: &str) -> Result<String, String> {
    // With the version before it, it is the name of an APIService.
    if !is_subdomain(text) || !text.contains('.') || text.len() > 200 {
        return Err(
            "a group is a DNS name with a dot, in lower case, as trial.clusterpedia.io".to_owned(),
        );
    }
    let is_of = |domain: &&str| text == *domain || text.ends_with(&format!(".{domain}"));
    if OF_CRDS.contains(&text) || PROTECTED.iter().any(is_of) {
        return Err(
            "this group is somebody else's: say one of your own, as trial.clusterpedia.io"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_one_of_ones_own() {
        for good in [API_GROUP, "trial.clusterpedia.io", "search.example.com"] {
            assert_eq!(api_group(good), Ok(good.to_owned()));
        }
        for (bad, words) in [
            ("", "a DNS name with a dot"),
            ("trial", "a DNS name with a dot"),
            ("Trial.example.com", "a DNS name with a dot"),
            ("a/b.example.com", "a DNS name with a dot"),
            ("policy.clusterpedia.io", "somebody else's"),
            ("apps.k8s.io", "somebody else's"),
            ("k8s.io", "somebody else's"),
        ] {
            let refused = api_group(bad).expect_err(bad);
            assert!(refused.contains(words), "{bad}: {refused}");
        }
    }
}
