//! Whether the control plane goes on from where it was.
//!
//! One that was restored from a backup counts its versions from an earlier one on. A watch that has seen more asks for what comes after that, and
//! an API server answers a version of the future with silence, not with an error: nobody would be told of anything until the control plane has
//! come that far again. So it is asked again and again who it is and where it stands. When that is not where it stood, this part ends with
//! an error, and the process with it; whoever starts it anew has it list what is there.

use std::time::Duration;

use armadex_control_plane::{Objects, Trouble, TroubleKind};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use crate::service::Parts;

/// Between two questions, each of which reads one object. What was written since the backup has to be more than what is written between two
/// answers, or the control plane has passed where it stood before anybody looks.
const PERIOD: Duration = Duration::from_secs(20);
/// While it does not answer: to be restored it has to be stopped, and as it comes back everybody writes at once.
const RETRY: Duration = Duration::from_secs(2);
/// Refusals in a row, ten seconds: an API server that starts does not know yet who may do what.
const TOLD_AFTER: u32 = 5;
/// An answer that takes longer does not come.
const ANSWER: Duration = Duration::from_secs(10);

/// Why what this process knows of the control plane is worth nothing any more.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Broken {
    /// Its versions count something else.
    #[error(
        "it is another one, or was made anew: the uid of its namespace kube-system was {before} and is {now}; this process has to be started again to know what is there"
    )]
    Replaced { before: String, now: String },
    /// Watches wait for versions that it has had and has no more.
    #[error(
        "it was restored from a backup or has lost writes: it stood at version {before} and stands at {now}; this process has to be started again to know what is there"
    )]
    Rewound { before: u64, now: u64 },
}

/// What the control plane says.
#[derive(Debug, Default)]
struct Said {
    /// The uid of its namespace `kube-system`, which lives as long as it does. `None` while it is not made yet.
    uid: Option<String>,
    /// The version of everything; `None` where versions are no numbers.
    version: Option<u64>,
}

/// What it has said so far.
#[derive(Debug, Default)]
struct Known {
    uid: Option<String>,
    version: u64,
}

impl Known {
    fn take_in(&mut self, said: Said) -> Result<(), Broken> {
        if let Some(now) = said.uid
            && let Some(before) = self.uid.replace(now.clone())
            && before != now
        {
            return Err(Broken::Replaced { before, now });
        }
        let before = self.version;
        let now = said.version.unwrap_or(before);
        if now < before {
            return Err(Broken::Rewound { before, now });
        }
        self.version = now;
        Ok(())
    }
}

/// Adds the part that asks the control plane of this client.
pub(crate) fn start(parts: &mut Parts, client: &Client) {
    let (client, cancel) = (client.clone(), parts.cancel());
    parts.start("check of the control plane", async move {
        let broken = cancel.run_until_cancelled(follow(client)).await;
        broken.map_or(Ok(()), Err)
    });
}

/// Until it is not what it was.
async fn follow(client: Client) -> Broken {
    let api = Objects::all(client);
    let mut known = Known::default();
    let mut refusals = 0;
    loop {
        let wait = match timeout(ANSWER, ask(&api)).await {
            Ok(Ok(said)) => {
                if let Err(broken) = known.take_in(said) {
                    return broken;
                }
                debug!(version = known.version, "the control plane goes on");
                if std::mem::take(&mut refusals) >= TOLD_AFTER {
                    info!("it can be seen whether the control plane is restored");
                }
                PERIOD
            }
            Ok(Err(error)) if error.kind == TroubleKind::Forbidden => {
                refusals = TOLD_AFTER.min(refusals) + 1;
                if refusals == TOLD_AFTER {
                    warn!(
                        error = %error,
                        "it cannot be seen whether the control plane is restored, retrying: that needs the right to list the namespace kube-system (role armadex-control-plane)"
                    );
                }
                RETRY
            }
            // That it does not answer is for those to tell who need it.
            Ok(Err(_)) | Err(_) => RETRY,
        };
        sleep(wait).await;
    }
}

/// No version is asked for, so the answer is of a quorum of its etcd: each is of the version of the one before or of a later one, whichever of
/// several API servers gives it and however far its cache lags behind.
async fn ask(api: &Objects<Namespace>) -> Result<Said, Trouble> {
    let itself = ListParams::default().fields("metadata.name=kube-system");
    let list = api.list_metadata(&itself).await?;
    let version = list.metadata.resource_version.unwrap_or_default();
    Ok(Said {
        uid: list.items.first().and_then(ResourceExt::uid),
        version: version.parse().ok(),
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use armadex_control_plane::testing::{Host, ServedType};
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;

    const KUBE_SYSTEM: &str = "/api/v1/namespaces/kube-system";
    const LIMIT: Duration = Duration::from_secs(600);

    fn said(uid: &str, version: u64) -> Said {
        Said {
            uid: Some(uid.to_owned()),
            version: Some(version),
        }
    }

    #[test]
    fn a_control_plane_that_goes_on_is_the_same() {
        let mut known = Known::default();
        let unknown = [Said::default(), said("a", 5), Said::default()];
        for said in unknown.into_iter().chain([said("a", 5), said("a", 7)]) {
            assert_eq!(known.take_in(said), Ok(()));
        }
    }

    #[test]
    fn an_earlier_version_and_another_uid_are_seen() {
        let mut known = Known::default();
        assert_eq!(known.take_in(said("a", 7)), Ok(()));
        let rewound = known.take_in(said("a", 6)).expect_err("rewound");
        assert_eq!(rewound, Broken::Rewound { before: 7, now: 6 });
        let replaced = known.take_in(said("b", 9)).expect_err("replaced");
        assert!(replaced.to_string().contains("was a and is b"));
    }

    fn host() -> Host {
        let host = Host::new(&[ServedType::new("", "v1", "namespaces", "Namespace")]);
        host.put(KUBE_SYSTEM, json!({}));
        host
    }

    /// Waits until it was asked once more.
    async fn asked(host: &Host) {
        let before = host.asked("list", "namespaces");
        let wait = async {
            while host.asked("list", "namespaces") == before {
                sleep(RETRY).await;
            }
        };
        timeout(LIMIT, wait).await.expect("it is asked");
    }

    /// What the process of a control plane ends with.
    async fn end_of(parts: Parts) -> String {
        let ended = timeout(LIMIT, parts.run()).await;
        let error = ended.expect("it ends").expect_err("with an error");
        format!("{error:#}")
    }

    fn parts(host: &Host) -> Parts {
        let mut parts = Parts::new(CancellationToken::new());
        start(&mut parts, &host.client());
        parts
    }

    #[tokio::test(start_paused = true)]
    async fn a_control_plane_that_is_restored_ends_the_process_with_plain_words() {
        let host = host();
        let backup = host.back_up();
        host.put("/api/v1/namespaces/since", json!({}));
        let parts = parts(&host);
        asked(&host).await;
        host.restore(backup);
        let words = end_of(parts).await;
        assert!(
            words.starts_with("the check of the control plane failed: it was restored from a backup or has lost writes: it stood at version 3 and stands at 2"),
            "{words}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_control_plane_that_is_made_anew_ends_the_process_with_plain_words() {
        let host = host();
        let parts = parts(&host);
        asked(&host).await;
        host.remove(KUBE_SYSTEM);
        host.put(KUBE_SYSTEM, json!({}));
        let words = end_of(parts).await;
        assert!(
            words.starts_with("the check of the control plane failed: it is another one, or was made anew: the uid of its namespace kube-system was uid-2 and is uid-4"),
            "{words}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_known_counts_after_the_control_plane_was_away() {
        let host = host();
        let backup = host.back_up();
        host.put("/api/v1/namespaces/since", json!({}));
        let parts = parts(&host);
        asked(&host).await;
        host.forbid("list", "namespaces");
        for _ in 0..3 {
            asked(&host).await;
        }
        host.restore(backup);
        host.permit_all();
        assert!(end_of(parts).await.contains("stands at 2"));
    }

    #[tokio::test(start_paused = true)]
    async fn no_cache_may_answer_and_one_object_is_read() {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            let uri = request.uri().to_string();
            noted.lock().expect("no panic").push(uri);
            let body = json!({"metadata": {"resourceVersion": "5"}, "items": []});
            let body = Body::from(body.to_string().into_bytes());
            async move { Ok::<_, Infallible>(Response::new(body)) }
        });
        let api = Objects::all(Client::new(service, "default"));
        let said = ask(&api).await.expect("an answer");
        assert_eq!((said.uid, said.version), (None, Some(5)));
        let asked = asked.lock().expect("no panic").clone();
        assert_eq!(
            asked,
            ["/api/v1/namespaces?&fieldSelector=metadata.name%3Dkube-system"]
        );
    }
}
