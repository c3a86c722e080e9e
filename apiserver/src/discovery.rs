//! Discovery: which groups, versions and types a view has, in the two forms that clients ask for.
//!
//! What is served is what is stored, the union over all clusters or one cluster's types, and the reviews of a caller. Documents are
//! values made from the catalog; who serves them keeps them.

mod aggregated;
mod groups;
mod legacy;
mod own;
mod types;
mod version;

pub(crate) use aggregated::{
    content_type as aggregated_content_type, core as aggregated_core, groups as aggregated_groups,
};
pub(crate) use legacy::{core_versions, group, group_list, resources};
pub(crate) use own::{
    open_api_v2, open_api_v3, open_api_v3_group, own_group, own_group_aggregated, own_groups,
    own_resources,
};
#[cfg(test)]
pub(crate) use types::tests::LOOKED_AT;
pub(crate) use types::{Types, stored_of};
pub(crate) use version::{highest, info};

#[cfg(test)]
mod tests;
