//! Keeps the certificate in its Secret, and tells those who show it and those who are to trust it.

use armadex_control_plane::{NOT_THERE_YET, Objects, Trouble, TroubleKind};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::{Client, ResourceExt};
use time::OffsetDateTime;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::authority::renewed;
use crate::kept::{Found, Kept};
use crate::looks::{Looks, answered};
use crate::registrar::FIELD_MANAGER;

/// Which Secret, and what the certificate is for.
#[derive(Clone, Debug)]
pub struct SecretTerms {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// DNS names and addresses in the certificate.
    pub names: Vec<String>,
}

/// Looks at the Secret until cancelled, makes and renews what is in it, and shows what it is. Whoever waits for the first one waits until the control
/// plane has answered.
///
/// A Secret that went away is made again with what was in it last: the certificates that other replicas show are verified by its CA.
pub async fn keep(
    client: Client,
    terms: SecretTerms,
    shown: watch::Sender<Option<Kept>>,
    cancel: CancellationToken,
) {
    let SecretTerms {
        namespace,
        name,
        names,
    } = terms;
    let mut looks = Looks::at(format!(
        "the serving certificate in Secret {namespace}/{name}"
    ));
    let secret = KeptSecret {
        api: Objects::namespaced(client, &namespace),
        namespace,
        name,
        names,
    };
    loop {
        let last = shown.borrow().clone();
        let look = looks.look(secret.look(last.as_ref(), OffsetDateTime::now_utc()));
        let Some((looked, wait)) = cancel.run_until_cancelled(look).await else {
            return;
        };
        if let Ok(kept) = looked
            && last.as_ref() != Some(&kept)
        {
            shown.send_replace(Some(kept));
        }
        if cancel.run_until_cancelled(sleep(wait)).await.is_none() {
            return;
        }
    }
}

struct KeptSecret {
    api: Objects<Secret>,
    namespace: String,
    name: String,
    names: Vec<String>,
}

impl KeptSecret {
    /// What is in it when it has been put right. `last`: what was in it.
    async fn look(&self, last: Option<&Kept>, now: OffsetDateTime) -> Result<Kept, Trouble> {
        let found = answered(self.api.get_opt(&self.name)).await?;
        let data = found.as_ref().and_then(|secret| secret.data.as_ref());
        let before = match data.map_or(Found::Nothing, Found::of) {
            Found::Ours(kept) => Some(kept),
            Found::Nothing => None,
            Found::Foreign(key) => return Err(self.is_foreign(key)),
        };
        let known = before.as_ref().or(last);
        let next = renewed(known, &self.names, now).map_err(|error| self.is_unusable(&error))?;
        let next = match (before, next) {
            (Some(before), None) => return Ok(before),
            (None, None) => last.cloned().ok_or_else(Trouble::unanswered)?,
            (_, Some(next)) => next,
        };
        let version = found.and_then(|secret| secret.resource_version());
        self.write(version, &next).await?;
        info!(
            secret = self.name,
            "the serving certificate was made or renewed"
        );
        Ok(next)
    }

    /// Into the version that was read, or where there is none: who was slower meets a conflict. Server-side apply may be granted for this name alone, as a
    /// create may not.
    async fn write(&self, version: Option<String>, kept: &Kept) -> Result<(), Trouble> {
        let version = version.unwrap_or_else(|| NOT_THERE_YET.to_owned());
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                resource_version: Some(version),
                ..ObjectMeta::default()
            },
            data: Some(kept.data()),
            ..Secret::default()
        };
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let secret = Patch::Apply(secret);
        let applied = self.api.patch(&self.name, &params, &secret);
        let written = answered(applied).await.map(drop);
        written.map_err(|trouble| match trouble.kind {
            TroubleKind::Missing => self.is_nowhere(&trouble),
            _ => trouble,
        })
    }

    /// No API server makes an object in a namespace that is not there.
    fn is_nowhere(&self, trouble: &Trouble) -> Trouble {
        let message = format!(
            "{}. `armadex install --serving-namespace {}` makes the namespace, with the right to this Secret",
            trouble.message, self.namespace
        );
        Trouble {
            kind: trouble.kind,
            message,
        }
    }

    fn is_foreign(&self, key: &str) -> Trouble {
        let message = format!(
            "it has something else than Armadex puts there: its key {key} is missing. Use it as files, or name another Secret"
        );
        Trouble {
            kind: TroubleKind::Invalid,
            message,
        }
    }

    fn is_unusable(&self, error: &crate::CertificateError) -> Trouble {
        let message = format!(
            "{error}. Delete the Secret {} to have it made anew, which is trusted when the APIService says so",
            self.name
        );
        Trouble {
            kind: TroubleKind::Invalid,
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use armadex_control_plane::testing::{Host, Log, ServedType};
    use serde_json::json;
    use tokio::time::timeout;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(600);
    const PATH: &str = "/api/v1/namespaces/own/secrets/serving";

    fn host() -> Host {
        Host::new(&[ServedType::new("", "v1", "secrets", "Secret").namespaced()])
    }

    fn terms() -> SecretTerms {
        SecretTerms {
            namespace: "own".to_owned(),
            name: "serving".to_owned(),
            names: vec!["localhost".to_owned()],
        }
    }

    /// A replica, and what it shows.
    fn replica(host: &Host) -> watch::Receiver<Option<Kept>> {
        let (shown, shows) = watch::channel(None);
        tokio::spawn(keep(
            host.client(),
            terms(),
            shown,
            CancellationToken::new(),
        ));
        shows
    }

    async fn comes_to_show(
        replica: &mut watch::Receiver<Option<Kept>>,
        is_it: impl FnMut(&Option<Kept>) -> bool,
    ) -> Kept {
        let waited = timeout(LIMIT, replica.wait_for(is_it)).await;
        let shown = waited.expect("it shows it").expect("it runs").clone();
        shown.expect("a certificate")
    }

    fn is_there(kept: &Option<Kept>) -> bool {
        kept.is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn all_replicas_show_what_the_first_one_made() {
        let host = host();
        let mut replicas = [replica(&host), replica(&host), replica(&host)];
        let [first, second, third] = &mut replicas;
        let first = comes_to_show(first, is_there).await;
        assert_eq!(comes_to_show(second, is_there).await, first);
        assert_eq!(comes_to_show(third, is_there).await, first);
        let secret = host.get(PATH).expect("a Secret");
        let data = secret["data"].as_object().expect("data");
        assert_eq!(
            Vec::from_iter(data.keys()),
            ["ca.crt", "ca.key", "tls.crt", "tls.key"]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_that_was_made_empty_is_filled_and_its_labels_stay() {
        let host = host();
        host.put(
            PATH,
            json!({"type": "kubernetes.io/tls", "metadata": {"labels": {"a": "b"}},
            "data": {"tls.crt": "", "tls.key": ""}}),
        );
        comes_to_show(&mut replica(&host), is_there).await;
        let secret = host.get(PATH).expect("a Secret");
        assert_eq!(secret["metadata"]["labels"]["a"], "b");
        assert_ne!(secret["data"]["tls.crt"], "");
    }

    #[tokio::test]
    async fn a_namespace_that_is_missing_is_told_with_the_way_out() {
        let secret = KeptSecret {
            api: Objects::namespaced(host().client(), "own"),
            namespace: "own".to_owned(),
            name: "serving".to_owned(),
            names: Vec::new(),
        };
        let told = secret.is_nowhere(&Trouble {
            kind: TroubleKind::Missing,
            message: "namespaces \"own\" not found".to_owned(),
        });
        assert_eq!(
            told.message,
            "namespaces \"own\" not found. `armadex install --serving-namespace own` makes the namespace, with the right to this Secret"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_that_goes_away_comes_back_as_it_was() {
        let host = host();
        let mut replica = replica(&host);
        let before = comes_to_show(&mut replica, is_there).await;
        let data = host.get(PATH).expect("a Secret")["data"].clone();
        host.remove(PATH);
        let again = timeout(LIMIT, host.until(|host| host.get(PATH).is_some()));
        again.await.expect("it is made again");
        assert_eq!(host.get(PATH).expect("a Secret")["data"], data);
        assert_eq!(replica.borrow().as_ref(), Some(&before));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_put_there_is_shown_by_those_that_run() {
        let (host, other) = (host(), self::host());
        let mut running = replica(&host);
        let before = comes_to_show(&mut running, is_there).await;
        comes_to_show(&mut replica(&other), is_there).await;
        let mut renewed = host.get(PATH).expect("a Secret");
        renewed["data"] = other.get(PATH).expect("a Secret")["data"].clone();
        host.put(PATH, renewed);
        let changed = |kept: &Option<Kept>| kept.as_ref() != Some(&before);
        comes_to_show(&mut running, changed).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_of_somebody_else_is_not_touched_and_is_told_once() {
        let log = Log::warnings_of("armadex_registration");
        let host = host();
        host.put(PATH, json!({"data": {"password": "c2VjcmV0"}}));
        let before = host.get(PATH);
        let replica = replica(&host);
        sleep(Duration::from_secs(600)).await;
        assert_eq!(*replica.borrow(), None);
        assert_eq!(host.get(PATH), before);
        let told = log.told();
        assert_eq!(told.len(), 1, "{told:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_control_plane_that_does_not_answer_is_waited_for() {
        let host = host();
        host.hang("get", "secrets");
        let mut replica = replica(&host);
        sleep(Duration::from_secs(120)).await;
        assert_eq!(*replica.borrow(), None, "nobody could trust it");
        host.hang_no_more();
        comes_to_show(&mut replica, is_there).await;
    }
}
