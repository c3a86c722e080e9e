//! The way out, where a member refuses something to the account by which it is asked. Pure.

use armadex_crds::member_rights;
use armadex_member::{Member, MemberError};
use armadex_model::ClusterName;
use k8s_openapi::api::rbac::v1::PolicyRule;

/// What is to be said behind an error where it may be this right that is missing; empty where something else is wrong, or where the control plane asks the member: what is
/// refused then may be refused by that, or to whoever it asks as.
pub(crate) fn advice(
    error: &MemberError,
    member: &Member,
    right: impl FnOnce() -> PolicyRule,
    cluster: &ClusterName,
) -> String {
    match error.is_forbidden() && !member.is_asked_by_control_plane() {
        true => format!(": {}", member_rights::advice(&right(), cluster.as_str())),
        false => String::new(),
    }
}
