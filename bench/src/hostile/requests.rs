//! Who asks for what.

/// Who works.
pub(super) const ORDINARY: &str = "alice";

/// The pods of the fleet.
pub(super) const PODS: &str = "/apis/clusterpedia.io/v1beta1/resources/api/v1/pods";

/// The ConfigMaps of the fleet, nearly all of one name and made at one time.
pub(super) const TIED: &str = "/apis/clusterpedia.io/v1beta1/resources/api/v1/configmaps";

/// The clusters that there are.
pub(super) const MEMBERS: [&str; 2] = ["member1", "member2"];

/// The large object of each member, in `default`.
pub(super) const LARGE: &str = "one-mebibyte";

/// The path of the large object of the first member.
pub(super) fn large_path() -> String {
    let member = MEMBERS[0];
    format!(
        "/apis/clusterpedia.io/v1beta1/resources/clusters/{member}/api/v1/namespaces/default/configmaps/{LARGE}"
    )
}
