//! Processes that want one Lease, on a control plane in a value and a clock that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use http::{Method, Request};
use kube::client::Body;
use serde_json::json;

use super::*;
use crate::testing::{Host, ServedType};

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/own/leases/l";

fn host() -> Host {
    Host::new(&[ServedType::new("coordination.k8s.io", "v1", "leases", "Lease").namespaced()])
}

fn claim(host: &Host, holder: &str) -> Claim {
    claim_by(host.client(), holder)
}

fn claim_by(client: Client, holder: &str) -> Claim {
    Claim::new(client, &terms(holder))
}

fn terms(holder: &str) -> LeaseTerms {
    LeaseTerms {
        holder: holder.to_owned(),
        ..LeaseTerms::of_this_process("own", "l")
    }
}

/// While it loses them updates are carried out, and their answers do not come.
fn client_that_loses_updates(host: &Host, lost: Arc<AtomicBool>) -> Client {
    let client = host.client();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, lost) = (client.clone(), Arc::clone(&lost));
        async move {
            let is_lost = request.method() == Method::PUT && lost.load(Ordering::Acquire);
            let answer = client.send(request).await;
            if is_lost {
                std::future::pending::<()>().await;
            }
            answer
        }
    });
    Client::new(service, "default")
}

fn holder(host: &Host) -> String {
    let lease = host.get(PATH).expect("a Lease");
    lease["spec"]["holderIdentity"]
        .as_str()
        .expect("a holder")
        .to_owned()
}

#[tokio::test(start_paused = true)]
async fn one_has_it_and_the_next_as_soon_as_it_is_given_back() {
    let host = host();
    let first = claim(&host, "first").hold().await;
    let mut second = claim(&host, "second");
    let waited = timeout(10 * DURATION, second.hold()).await;
    assert!(waited.is_err(), "it is renewed");
    let begun = Instant::now();
    first.release().await;
    assert_eq!(holder(&host), "");
    let second = second.hold().await;
    assert!(begun.elapsed() <= RETRY, "{:?}", begun.elapsed());
    assert_eq!(holder(&host), "second");
    let lease = host.get(PATH).expect("a Lease");
    assert_eq!(lease["spec"]["leaseTransitions"], json!(1));
    assert!(second.lost().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn who_waits_asks_for_nothing_and_has_it_at_once_when_it_is_given_back() {
    let host = host();
    let first = claim(&host, "first").hold().await;
    let mut second = claim(&host, "second");
    let hour = timeout(Duration::from_secs(240), second.hold()).await;
    assert!(hour.is_err(), "it is renewed");
    let asked = |verb| host.asked(verb, "leases");
    assert_eq!((asked("get"), asked("watch")), (2, 1));
    let (_, waited) = tokio::join!(first.release(), async {
        let begun = Instant::now();
        second.hold().await;
        begun.elapsed()
    });
    assert!(waited < Duration::from_millis(100), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn who_may_not_watch_it_looks_at_it_again_and_again() {
    let host = host();
    host.forbid("watch", "leases");
    let first = claim(&host, "first").hold().await;
    let mut second = claim(&host, "second");
    assert!(timeout(10 * DURATION, second.hold()).await.is_err());
    assert_eq!(host.asked("watch", "leases"), 1, "it is not asked again");
    let begun = Instant::now();
    first.release().await;
    second.hold().await;
    assert!(begun.elapsed() <= 2 * RETRY, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn where_a_proxy_keeps_watches_it_is_looked_at_again_and_again() {
    let host = host();
    host.hang("watch", "leases");
    let first = claim(&host, "first").hold().await;
    let mut second = claim(&host, "second");
    assert!(timeout(10 * DURATION, second.hold()).await.is_err());
    assert_eq!(host.asked("watch", "leases"), usize::from(UNANSWERED));
    let begun = Instant::now();
    first.release().await;
    second.hold().await;
    assert!(begun.elapsed() <= 2 * RETRY, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn of_a_process_that_is_gone_it_is_taken_when_it_has_run_out() {
    let host = host();
    drop(claim(&host, "first").hold().await);
    let begun = Instant::now();
    let _second = claim(&host, "second").hold().await;
    let waited = begun.elapsed();
    assert!(
        waited > DURATION && waited <= DURATION + 2 * RETRY,
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn who_was_paused_finds_that_another_has_it() {
    let host = host();
    let first = claim(&host, "first").hold().await;
    let mut lease = host.get(PATH).expect("a Lease");
    lease["spec"]["holderIdentity"] = json!("second");
    host.put(PATH, lease);
    let told = timeout(2 * RENEWAL, first.lost()).await;
    assert!(told.is_ok());
    first.release().await;
    assert_eq!(holder(&host), "second", "it is not given back for another");
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_that_is_away_ends_nothing() {
    let host = host();
    let first = claim(&host, "first").hold().await;
    host.forbid("update", "leases");
    assert!(timeout(10 * DURATION, first.lost()).await.is_err());
    host.permit_all();
    // A label is no other holder.
    let mut lease = host.get(PATH).expect("a Lease");
    lease["metadata"]["labels"] = json!({"a": "b"});
    host.put(PATH, lease);
    let renewed = || host.get(PATH).expect("a Lease")["spec"]["renewTime"].clone();
    let before = renewed();
    host.until(|_| renewed() != before).await;
    assert!(first.lost().now_or_never().is_none());
    host.remove(PATH);
    first.lost().await;
}

#[tokio::test(start_paused = true)]
async fn it_is_given_back_in_the_middle_of_a_renewal_too() {
    let host = host();
    let lost = Arc::<AtomicBool>::default();
    let client = client_that_loses_updates(&host, Arc::clone(&lost));
    let first = claim_by(client, "first").hold().await;
    lost.store(true, Ordering::Release);
    let renewals = host.asked("update", "leases");
    let is_under_way = async {
        while host.asked("update", "leases") == renewals {
            sleep(RETRY).await;
        }
    };
    timeout(DURATION, is_under_way).await.expect("a renewal");
    lost.store(false, Ordering::Release);
    first.release().await;
    assert_eq!(holder(&host), "");
}

#[tokio::test(start_paused = true)]
async fn who_asks_is_told_how_the_process_stands_to_it() {
    let host = host();
    let (first, second) = (terms("first"), terms("second"));
    let standing = |terms: &LeaseTerms| terms.standing.borrow().clone();
    assert_eq!(standing(&first), LeaseStanding::Waits);
    host.forbid("get", "leases");
    let mut claim = Claim::new(host.client(), &first);
    let refused = timeout(DURATION, claim.hold()).await;
    assert!(refused.is_err(), "it cannot be asked for");
    assert!(
        matches!(standing(&first), LeaseStanding::Refused(words) if words.starts_with("Lease l cannot be asked for: leases")),
        "{:?}",
        standing(&first)
    );
    host.permit_all();
    let held = claim.hold().await;
    assert_eq!(standing(&first), LeaseStanding::Holds);
    let mut waiting = Claim::new(host.client(), &second);
    assert!(timeout(DURATION, waiting.hold()).await.is_err());
    assert_eq!(standing(&second), LeaseStanding::Waits);
    held.release().await;
    assert_eq!(standing(&first), LeaseStanding::Waits);
    let held = waiting.hold().await;
    assert_eq!(standing(&second), LeaseStanding::Holds);
    host.remove(PATH);
    held.lost().await;
    assert_eq!(standing(&second), LeaseStanding::Waits);
}
