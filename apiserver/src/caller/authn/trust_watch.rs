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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use http::HeaderMap;
    use rustls::pki_types::UnixTime;

    use super::*;
    use crate::testing::{Authority, extension_authentication};

    fn config(data: BTreeMap<String, String>) -> ConfigMap {
        ConfigMap {
            data: Some(data),
            ..ConfigMap::default()
        }
    }

    /// Whether the present trust believes a front proxy of each authority, and a user of it.
    fn believed(trust: &ArcSwap<Trust>, authorities: [&Authority; 2]) -> [(bool, bool); 2] {
        let headers = HeaderMap::from_iter([(
            "x-remote-user".parse().expect("a name"),
            "alice".parse().expect("a value"),
        )]);
        let (trust, now) = (trust.load(), UnixTime::now());
        authorities.map(|authority| {
            let proxy = authority.peer("front-proxy-client", &[]);
            let user = trust.verdict(&authority.peer("bob", &[]), now);
            (
                trust.front_proxy_identity(&proxy, &headers, now).is_some(),
                user.is_some_and(|verdict| verdict.user.is_some()),
            )
        })
    }

    #[test]
    fn a_new_configuration_counts_a_broken_one_does_not_and_a_missing_one_trusts_nobody() {
        let (first, second) = (Authority::new("first"), Authority::new("second"));
        let data = |one: &Authority| extension_authentication(one, one);
        let mut broken = data(&second);
        broken.insert("requestheader-allowed-names".into(), "no list".into());
        let trust = ArcSwap::from_pointee(Trust::default());
        let (yes, no) = ((true, true), (false, false));
        assert!(!trust.load().is_loaded());
        for (step, update, expected) in [
            ("first", Some(config(data(&first))), [yes, no]),
            ("broken", Some(config(broken.clone())), [yes, no]),
            ("second", Some(config(data(&second))), [no, yes]),
            ("broken again", Some(config(broken)), [no, yes]),
            ("gone", None, [no, no]),
            ("back", Some(config(data(&first))), [yes, no]),
            ("empty", Some(config(BTreeMap::new())), [no, no]),
        ] {
            take(&trust, update);
            assert!(trust.load().is_loaded(), "{step}");
            assert_eq!(believed(&trust, [&first, &second]), expected, "{step}");
        }
    }
}
