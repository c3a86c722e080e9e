//! Takes away the Secret in which the serving certificate was kept before, beside credentials that others read: as soon as nobody is told to trust its CA any more.

use std::time::Duration;

use armadex_backoff::jittered;
use armadex_control_plane::{Objects, Outages, Trouble, TroubleKind};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::{Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::bundle::trusts_any;
use crate::kept::Found;
use crate::looks::{PERIOD, answered};
use crate::registrar::{api_service, bundle};

/// The last process that showed it is gone for a day before its CA is trusted no longer, and a rollout takes less than another.
const LONG: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// Where the certificate was kept, and who was told to trust it.
#[derive(Clone, Debug)]
pub struct FormerTerms {
    /// The namespace of the Secret.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The API group that is registered.
    pub group: String,
}

/// Looks at the Secret once a minute until it is gone or somebody else's, and deletes it when the APIService trusts the CA that is kept now and none of those in it.
///
/// A process that goes on with it, as one of an earlier release does, has its CA trusted, so nothing is taken from it.
pub async fn retire(
    client: Client,
    terms: FormerTerms,
    kept: watch::Receiver<Option<String>>,
    cancel: CancellationToken,
) {
    let former = Former {
        secrets: Objects::namespaced(client.clone(), &terms.namespace),
        api_services: Objects::all(client),
        api_service: api_service(&terms.group),
        terms,
    };
    let (outages, begun) = (Outages::default(), Instant::now());
    loop {
        let ours = kept.borrow().clone().unwrap_or_default();
        let look = former.look(&ours);
        match cancel.run_until_cancelled(look).await {
            None | Some(Ok(Left::Nothing)) => return,
            Some(Ok(Left::Shared)) => former.tell(&outages, SHARED),
            Some(Ok(Left::InUse)) if begun.elapsed() >= LONG => former.tell(&outages, STILL_IN_USE),
            Some(Ok(Left::InUse)) => {}
            Some(Err(trouble)) if trouble.kind == TroubleKind::Conflict => {}
            Some(Err(trouble)) => former.tell(&outages, &trouble.message),
        }
        let wait = sleep(jittered(PERIOD, rand::random()));
        if cancel.run_until_cancelled(wait).await.is_none() {
            return;
        }
    }
}

struct Former {
    secrets: Objects<Secret>,
    api_services: Objects<APIService>,
    api_service: String,
    terms: FormerTerms,
}

/// What there is of it.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    /// It is gone, or not ours.
    Nothing,
    /// Ours, and its CA is trusted, or none that is kept now.
    InUse,
    /// Ours, with a CA that is kept now as well, as of one that was copied.
    Shared,
}

const STILL_IN_USE: &str = "after two days its CA is still trusted, or the one that is kept now is not: end whoever shows a certificate of it, as an API server without --serving-namespace does, or take the CA out of the caBundle";
const SHARED: &str = "its CA lies in both places, as when the Secret is copied, so it is trusted for as long as it is kept: delete both while no API server runs, and a CA is made anew, or the former alone if nobody has read it";

impl Former {
    async fn look(&self, ours: &str) -> Result<Left, Trouble> {
        let name = &self.terms.name;
        let Some(secret) = answered(self.secrets.get_opt(name)).await? else {
            return Ok(Left::Nothing);
        };
        let data = secret.data.as_ref();
        let Found::Ours(former) = data.map_or(Found::Nothing, Found::of) else {
            return Ok(Left::Nothing);
        };
        if trusts_any(ours, &former.ca) {
            return Ok(Left::Shared);
        }
        let registered = answered(self.api_services.get_opt(&self.api_service)).await?;
        let trusted = registered.as_ref().map(bundle).unwrap_or_default();
        if !trusts_any(&trusted, ours) || trusts_any(&trusted, &former.ca) {
            return Ok(Left::InUse);
        }
        let uid = secret.uid().unwrap_or_default();
        if answered(self.secrets.delete(name, &uid)).await? {
            info!(
                secret = name,
                namespace = self.terms.namespace,
                "the Secret in which the serving certificate was kept before was deleted: its CA is trusted no longer"
            );
        }
        Ok(Left::Nothing)
    }

    /// Each reason once.
    fn tell(&self, outages: &Outages, why: &str) {
        let FormerTerms {
            namespace, name, ..
        } = &self.terms;
        if outages.begins(name, why) {
            warn!(
                secret = name,
                namespace,
                error = why,
                "Secret {namespace}/{name}, in which the serving certificate was kept before, is not taken away yet, and whoever reads Secrets there has a key of Armadex as long as its CA is trusted: {why}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::{Host, Log, ServedType};
    use k8s_openapi::ByteString;
    use serde_json::{Value, json};
    use time::OffsetDateTime;
    use tokio::time::timeout;

    use super::*;
    use crate::authority::renewed;
    use crate::kept::Kept;

    const LIMIT: Duration = Duration::from_secs(600);
    const SECRET: &str = "/api/v1/namespaces/own/secrets/serving";
    const REGISTERED: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.clusterpedia.io";

    fn host() -> Host {
        let group = "apiregistration.k8s.io";
        Host::new(&[
            ServedType::new("", "v1", "secrets", "Secret").namespaced(),
            ServedType::new(group, "v1", "apiservices", "APIService"),
        ])
    }

    fn made() -> Kept {
        let made = renewed(None, &["localhost".to_owned()], OffsetDateTime::now_utc());
        made.expect("keys").expect("a certificate")
    }

    fn put(host: &Host, former: &Kept) {
        host.put(SECRET, json!({"data": former.data()}));
    }

    fn trust(host: &Host, cas: &[&Kept]) {
        let bundle: String = cas.iter().map(|kept| kept.ca.as_str()).collect();
        let bundle = ByteString(bundle.into_bytes());
        host.put(REGISTERED, json!({"spec": {"caBundle": bundle}}));
    }

    /// What runs until it has nothing more to do.
    fn retiring(host: &Host, ours: Option<&Kept>) -> tokio::task::JoinHandle<()> {
        let (_, kept) = watch::channel(ours.map(|kept| kept.ca.clone()));
        let terms = FormerTerms {
            namespace: "own".to_owned(),
            name: "serving".to_owned(),
            group: "clusterpedia.io".to_owned(),
        };
        tokio::spawn(retire(host.client(), terms, kept, CancellationToken::new()))
    }

    async fn ends(retiring: tokio::task::JoinHandle<()>) {
        let ended = timeout(LIMIT, retiring).await;
        ended.expect("it ends").expect("no panic");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_kept_before_goes_when_its_ca_is_trusted_no_longer() {
        let (host, former, ours) = (host(), made(), made());
        put(&host, &former);
        trust(&host, &[&ours, &former]);
        let retiring = retiring(&host, Some(&ours));
        sleep(LIMIT).await;
        assert!(host.get(SECRET).is_some(), "an older process may show it");
        trust(&host, &[&ours]);
        ends(retiring).await;
        assert_eq!(host.get(SECRET), None);
    }

    #[tokio::test(start_paused = true)]
    async fn it_stays_while_nothing_else_is_trusted() {
        let (host, former, ours) = (host(), made(), made());
        put(&host, &former);
        for kept in [None, Some(&ours)] {
            let retiring = retiring(&host, kept);
            sleep(LIMIT).await;
            assert!(host.get(SECRET).is_some() && !retiring.is_finished());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_there_or_somebody_elses_is_left_alone() {
        let (host, ours) = (host(), made());
        trust(&host, &[&ours]);
        ends(retiring(&host, Some(&ours))).await;
        let theirs: Value = json!({"data": {"password": "c2VjcmV0"}});
        host.put(SECRET, theirs);
        ends(retiring(&host, Some(&ours))).await;
        assert!(host.get(SECRET).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn one_whose_ca_is_kept_now_or_trusted_for_long_is_told_once() {
        let log = Log::warnings_of("armadex_registration");
        let (host, former, ours) = (host(), made(), made());
        put(&host, &former);
        trust(&host, &[&ours, &former]);
        let copied = retiring(&host, Some(&former));
        sleep(LIMIT).await;
        let told = log.told();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("in both places"), "{told:?}");
        copied.abort();
        let _used = retiring(&host, Some(&ours));
        sleep(LONG - LIMIT).await;
        assert_eq!(log.told().len(), 1, "a rollout may take a while");
        sleep(2 * LIMIT).await;
        let told = log.told();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].contains("after two days"), "{told:?}");
        assert!(host.get(SECRET).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_that_is_missing_is_told_once() {
        let log = Log::warnings_of("armadex_registration");
        let (host, former, ours) = (host(), made(), made());
        put(&host, &former);
        trust(&host, &[&ours]);
        host.forbid("delete", "secrets");
        let retiring = retiring(&host, Some(&ours));
        sleep(LIMIT).await;
        let told = log.told();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("Secret own/serving"), "{told:?}");
        host.permit_all();
        ends(retiring).await;
        assert_eq!(host.get(SECRET), None);
    }
}
