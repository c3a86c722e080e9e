//! Follows `kube-system/extension-apiserver-authentication`, so that a rotated CA counts at once.

use std::sync::Arc;

use arc_swap::ArcSwap;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

use super::trust::Trust;
use crate::answer::status::chain;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";

/// Keeps `trust` up to date until cancelled.
pub(crate) async fn follow(client: Client, trust: Arc<ArcSwap<Trust>>, cancel: CancellationToken) {
    let api: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let changes = watcher::watch_object(api, NAME)
        .default_backoff()
        .take_until(cancel.cancelled_owned());
    let mut changes = std::pin::pin!(changes);
    loop {
        match changes.try_next().await {
            Ok(Some(found)) => take(&trust, found),
            Ok(None) => return,
            Err(error) => tracing::warn!(
                error = %chain(&error),
                "configmap {NAMESPACE}/{NAME} cannot be followed, retrying"
            ),
        }
    }
}

fn take(trust: &ArcSwap<Trust>, found: Option<ConfigMap>) {
    let Some(config) = found else {
        tracing::warn!("configmap {NAMESPACE}/{NAME} is gone: only bearer tokens are accepted");
        trust.store(Arc::new(Trust::nothing()));
        return;
    };
    match Trust::from_data(&config.data.unwrap_or_default()) {
        Ok(new) => {
            tracing::info!("read the trusted certificates from {NAMESPACE}/{NAME}");
            trust.store(Arc::new(new));
        }
        Err(error) => tracing::error!(
            error = %chain(&error),
            "configmap {NAMESPACE}/{NAME} cannot be used, the former certificates stay"
        ),
    }
}
