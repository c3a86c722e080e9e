//! The ways to an Armadex that are on a control plane, in whatever API group: a trial registers itself in one of its own, and whoever takes it away later need not know which.

use armadex_control_plane::{Objects, Trouble};
use kube::Client;
use kube::core::DynamicObject;

use super::manifests::Manifest;
use super::withdrawing::labelled_ours;

/// The APIServices that lead to the Armadex of this home.
pub(crate) async fn registrations(client: &Client, home: &str) -> Result<Vec<Manifest>, Trouble> {
    let kind = Manifest::api_service("", home).kind;
    let objects = Objects::<DynamicObject>::of_kind(client.clone(), &kind, None);
    let mut found = Vec::new();
    for metadata in labelled_ours(client, &kind).await? {
        let name = metadata.name.unwrap_or_default();
        let object = objects.get_opt(&name).await?;
        if object.as_ref().and_then(leads_to) == Some(home) {
            found.push(Manifest::api_service(&name, home));
        }
    }
    Ok(found)
}

/// The namespace of the Service that an APIService leads to.
pub(crate) fn leads_to(object: &DynamicObject) -> Option<&str> {
    object.data.pointer("/spec/service/namespace")?.as_str()
}
