//! Deletion of what was looked at, and of nothing else.

use std::fmt::Debug;

use kube::api::{DeleteParams, Preconditions};
use serde::de::DeserializeOwned;

use crate::{Objects, Trouble, TroubleKind};

/// Deletes an object if it is still the one of this uid. Whether it was: one that is gone, or
/// another one by now, is no more either way.
pub async fn delete<K: Clone + Debug + DeserializeOwned>(
    api: &Objects<K>,
    name: &str,
    uid: &str,
) -> Result<bool, Trouble> {
    let same = Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    };
    let params = DeleteParams {
        preconditions: Some(same),
        ..DeleteParams::background()
    };
    match api.api.delete(name, &params).await.map_err(Trouble::from) {
        Ok(_) => Ok(true),
        Err(Trouble {
            kind: TroubleKind::Missing | TroubleKind::Conflict,
            ..
        }) => Ok(false),
        Err(trouble) => Err(trouble),
    }
}
