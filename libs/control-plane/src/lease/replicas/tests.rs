//! Replicas that come, go, die and stand still, on a control plane in a value and a clock that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Request;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::lease::{LeaseStanding, SHARES};
use crate::testing::{Host, ServedType};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/own/leases";
/// Longer than it takes to see that one is gone.
const LONG: Duration = Duration::from_secs(30);

fn host() -> Host {
    Host::new(&[ServedType::new("coordination.k8s.io", "v1", "leases", "Lease").namespaced()])
}

fn terms(holder: &str) -> LeaseTerms {
    LeaseTerms {
        holder: holder.to_owned(),
        ..LeaseTerms::of_this_process("own", "l")
    }
}

fn replicas(host: &Host, holder: &str) -> Replicas {
    Replicas::new(host.client(), &terms(holder))
}

async fn joins(host: &Host, holder: &str) -> Place {
    let joined = timeout(LONG, replicas(host, holder).join()).await;
    joined.expect("in time").expect("they share")
}

fn lease(host: &Host, number: u32) -> Value {
    let path = format!("{LEASES}/{}", name_of("l", number));
    host.get(&path).unwrap_or_default()
}

fn holder(host: &Host, number: u32) -> Value {
    lease(host, number)["spec"]["holderIdentity"].clone()
}

/// Waits until a process sees these, and gives how long that took.
async fn sees(place: &Place, numbers: &[u32]) -> Duration {
    let (begun, mut members) = (Instant::now(), place.members());
    let are_seen = |seen: &Members| seen.loads.keys().copied().eq(numbers.iter().copied());
    let seen = timeout(10 * LONG, members.wait_for(are_seen)).await;
    let is_seen = matches!(&seen, Ok(Ok(_)));
    drop(seen);
    assert!(is_seen, "{numbers:?}: {:?}", members.borrow());
    begun.elapsed()
}

/// Somebody else's process holds a Lease and does not say that it shares.
fn is_held(host: &Host, number: u32, holder: &str) {
    let mut lease = lease(host, number);
    lease["spec"]["holderIdentity"] = json!(holder);
    lease["spec"]["leaseDurationSeconds"] = json!(15);
    host.put(&format!("{LEASES}/{}", name_of("l", number)), lease);
}

#[test]
fn the_first_has_the_name_of_all_and_others_have_a_number() {
    for number in [0, 1, 17] {
        assert_eq!(number_of("a.b", &name_of("a.b", number)), Some(number));
    }
    for other in [
        "", "a", "a.b.0", "a.b.01", "a.b.+1", "a.b.x", "a.b.", "a.b1", "a.c",
    ] {
        assert_eq!(number_of("a.b", other), None, "{other}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_has_the_first_place_that_is_free_and_all_see_him() {
    let host = host();
    let one = joins(&host, "one").await;
    assert_eq!(
        sees(&one, &[0]).await,
        Duration::ZERO,
        "it waits for nobody"
    );
    let two = joins(&host, "two").await;
    assert_eq!((one.number(), two.number()), (0, 1));
    assert_eq!(
        (holder(&host, 0), holder(&host, 1)),
        (json!("one"), json!("two"))
    );
    assert_eq!(
        *two.members().borrow(),
        Members {
            loads: [(0, Load::default())].into(),
            looks: 0
        }
    );
    // Before it takes anything the others have seen it.
    let (before, own) = tokio::join!(sees(&one, &[0, 1]), sees(&two, &[0, 1]));
    assert!(
        before < own && own <= SETTLING + RETRY,
        "{before:?} {own:?}"
    );

    one.release().await;
    let taken = sees(&two, &[1]).await;
    assert!(taken <= RETRY, "{taken:?}");
    let three = joins(&host, "three").await;
    assert_eq!(three.number(), 0, "it is used again");
    sees(&two, &[0, 1]).await;
}

#[tokio::test(start_paused = true)]
async fn many_that_come_at_once_have_a_place_each() {
    let host = host();
    let all = (0..8).map(|number| replicas(&host, &format!("r{number}")).join());
    let all = futures::future::join_all(all).await;
    let all: Vec<Place> = all.into_iter().map(|place| place.expect("one")).collect();
    let mut numbers: Vec<u32> = all.iter().map(Place::number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    for place in &all {
        sees(place, &[0, 1, 2, 3, 4, 5, 6, 7]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_dies_is_seen_to_be_gone_within_the_time_of_a_lease() {
    let host = host();
    let (one, two) = (joins(&host, "one").await, joins(&host, "two").await);
    sees(&one, &[0, 1]).await;
    drop(two);
    let taken = sees(&one, &[0]).await;
    let least = Duration::from_secs(12);
    assert!(
        least < taken && taken <= Duration::from_secs(19),
        "{taken:?}"
    );
    // Others free its place, for whoever comes.
    host.until(|host| holder(host, 1) == "").await;
    assert_eq!(joins(&host, "again").await.number(), 1);
    sees(&one, &[0, 1]).await;
}

/// As one that stood still for a minute: it learns that it lost its place, and comes as one that is new.
#[tokio::test(start_paused = true)]
async fn who_is_there_after_all_has_lost_his_place() {
    let host = host();
    let one = joins(&host, "one").await;
    let cut_off = Arc::new(AtomicBool::new(false));
    let client = client_that_is_cut_off(&host, Arc::clone(&cut_off));
    let two = Replicas::new(client, &terms("two")).join().await;
    let two = two.expect("they share");
    sees(&two, &[0, 1]).await;
    cut_off.store(true, Ordering::Release);
    sees(&one, &[0]).await;
    assert!(timeout(LONG, two.lost()).await.is_err(), "it cannot know");
    assert_eq!(two.members().borrow().loads.len(), 2);
    cut_off.store(false, Ordering::Release);
    timeout(LONG, two.lost()).await.expect("lost");
    two.release().await;
    assert_eq!(holder(&host, 1), "");
}

/// A client for which there is no control plane while that is so.
fn client_that_is_cut_off(host: &Host, cut_off: Arc<AtomicBool>) -> Client {
    let client = host.client();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, cut_off) = (client.clone(), Arc::clone(&cut_off));
        async move {
            match cut_off.load(Ordering::Acquire) {
                true => Err("no route to host".into()),
                false => client.send(request).await.map_err(tower::BoxError::from),
            }
        }
    });
    Client::new(service, "default")
}

/// Nobody could renew meanwhile, and none takes the others for dead.
#[tokio::test(start_paused = true)]
async fn while_the_control_plane_is_away_the_shares_stay_as_they_are() {
    let host = host();
    let (one, two) = two_of(&host).await;
    for verb in ["list", "update", "get"] {
        host.hang(verb, "leases");
    }
    assert!(stay_together(&one, &two).await);
    host.hang_no_more();
    assert!(stay_together(&one, &two).await);
}

/// Two that see each other.
async fn two_of(host: &Host) -> (Place, Place) {
    let (one, two) = (joins(host, "one").await, joins(host, "two").await);
    sees(&one, &[0, 1]).await;
    sees(&two, &[0, 1]).await;
    (one, two)
}

/// Whether neither of two loses sight of the other for two minutes.
async fn stay_together(one: &Place, two: &Place) -> bool {
    let fewer = |place: &Place| {
        let mut members = place.members();
        async move {
            let fewer = members.wait_for(|members| members.loads.len() < 2).await;
            fewer.map(drop)
        }
    };
    let fewer = futures::future::select(Box::pin(fewer(one)), Box::pin(fewer(two)));
    timeout(4 * LONG, fewer).await.is_err()
}

/// Its database is full, or a webhook is away: what all see then is that nobody renews.
#[tokio::test(start_paused = true)]
async fn while_the_control_plane_takes_no_writes_the_shares_stay_as_they_are() {
    let host = host();
    let (one, two) = two_of(&host).await;
    for verb in ["create", "update"] {
        host.fail_slowly(verb, "leases");
    }
    // Who comes meanwhile takes nobody's place as soon as that can be written.
    let three = tokio::spawn(replicas(&host, "three").join());
    assert!(stay_together(&one, &two).await);
    let looks = one.members().borrow().looks;
    sleep(LONG).await;
    assert_eq!(
        one.members().borrow().looks,
        looks,
        "nobody is told that he has a cluster"
    );
    // Who renews first does not find the other one to be late.
    host.permit_all();
    assert!(stay_together(&one, &two).await);
    assert!(one.members().borrow().looks > looks);
    let three = three.await.expect("no panic").expect("they share");
    assert_eq!(three.number(), 2);
    let holders = [0, 1, 2].map(|number| holder(&host, number));
    assert_eq!(holders, ["one", "two", "three"]);
}

/// It sees all, and the others see that it does not renew.
#[tokio::test(start_paused = true)]
async fn who_alone_cannot_renew_does_not_count_itself_for_ever() {
    let host = host();
    let one = joins(&host, "one").await;
    host.forbid_of("update", "leases", "l.1");
    let two = joins(&host, "two").await;
    sees(&two, &[0, 1]).await;
    sees(&one, &[0]).await;
    // Nor can its Lease be taken from it: it sees no more then who has what.
    let looks = two.members().borrow().looks;
    sleep(LONG).await;
    assert_eq!(two.members().borrow().looks, looks);
    // The right is back, and the others, who look as often, are the first to use it.
    is_held(&host, 1, "");
    timeout(RETRY, two.lost()).await.expect("it is seen");
}

#[tokio::test(start_paused = true)]
async fn nobody_works_beside_one_that_does_not_share() {
    let host = host();
    // As a process of an earlier release holds it, which renews it.
    let former = Claim::new(host.client(), &terms("former")).hold().await;
    let waits = timeout(4 * LONG, replicas(&host, "one").join()).await;
    assert!(waits.is_err());
    let coming = replicas(&host, "one").join();
    let (one, ()) = tokio::join!(coming, former.release());
    let one = one.expect("it shares");
    let two = joins(&host, "two").await;
    sees(&two, &[0, 1]).await;

    // One that comes back, when the first place is free.
    one.release().await;
    let former = Claim::new(host.client(), &terms("former")).hold().await;
    // A release that knows of no mark leaves that of who was before.
    let mut marked = lease(&host, 0);
    marked["metadata"]["annotations"] = json!({ SHARES: "one" });
    host.put(&format!("{LEASES}/l"), marked);
    timeout(LONG, two.lost()).await.expect("it works no more");
    former.release().await;
}

#[tokio::test(start_paused = true)]
async fn what_one_has_of_the_work_is_seen_by_all_and_not_passed_on_with_its_place() {
    let host = host();
    let (one, two) = (joins(&host, "one").await, joins(&host, "two").await);
    sees(&two, &[0, 1]).await;
    let load = Load {
        weight: 90,
        cost: 7,
    };
    two.say(load);
    for place in [&one, &two] {
        let mut members = place.members();
        let loads = BTreeMap::from([(0, Load::default()), (1, load)]);
        let seen = timeout(LONG, members.wait_for(|members| members.loads == loads));
        seen.await.expect("in time").expect("a place");
    }
    two.release().await;
    let three = joins(&host, "three").await;
    sees(&three, &[0, 1]).await;
    let loads = three.members().borrow().loads.clone();
    assert!(loads.values().all(|load| *load == Load::default()));
}

#[tokio::test(start_paused = true)]
async fn a_mark_that_is_taken_away_is_put_back() {
    let host = host();
    let (one, two) = (joins(&host, "one").await, joins(&host, "two").await);
    sees(&one, &[0, 1]).await;
    let mut unmarked = lease(&host, 1);
    unmarked["metadata"]["annotations"] = json!({});
    host.put(&format!("{LEASES}/l.1"), unmarked);
    let is_marked = |host: &Host| lease(host, 1)["metadata"]["annotations"][SHARES] == "two";
    host.until(is_marked).await;
    sees(&one, &[0, 1]).await;
    two.release().await;
}

#[tokio::test(start_paused = true)]
async fn who_finds_another_in_his_place_has_lost_it() {
    let host = host();
    let one = joins(&host, "one").await;
    is_held(&host, 0, "another");
    timeout(LONG, one.lost()).await.expect("lost");
}

/// Nobody would see who comes, and who is gone.
#[tokio::test(start_paused = true)]
async fn who_may_not_list_them_any_more_gives_his_place_back() {
    let host = host();
    let (one, two) = (joins(&host, "one").await, joins(&host, "two").await);
    sees(&one, &[0, 1]).await;
    // Once is no sign of it: whoever answers for rights may be away for a moment.
    for _ in 0..8 {
        host.forbid("list", "leases");
        sleep(RETRY.mul_f64(0.9)).await;
        host.permit_all();
        sleep(RETRY.mul_f64(1.1)).await;
    }
    assert!(stay_together(&one, &two).await);

    host.forbid("list", "leases");
    for place in [one, two] {
        timeout(LONG, place.lost()).await.expect("lost");
        place.release().await;
    }
    assert!(replicas(&host, "one").join().await.is_none());
    // It has everything then, and says no more that it shares.
    let alone = Claim::new(host.client(), &terms("one")).hold().await;
    host.permit_all();
    let waits = timeout(4 * LONG, replicas(&host, "two").join()).await;
    assert!(waits.is_err());
    alone.release().await;
    assert_eq!(joins(&host, "two").await.number(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_was_under_way_when_the_right_went_is_no_sign_that_others_are_made() {
    let trouble = Trouble {
        kind: TroubleKind::Forbidden,
        message: String::new(),
    };
    let (renewed, renewals) = watch::channel(7);
    let mut own = Own {
        number: 0,
        renewals,
        unseen_since: None,
    };
    assert!(!own.is_blind(Some(&trouble)));
    renewed.send_replace(8);
    assert!(!own.is_blind(Some(&trouble)));
    renewed.send_replace(9);
    assert!(own.is_blind(Some(&trouble)));
    assert!(!own.is_blind(None));
    assert!(!own.is_blind(Some(&trouble)), "it was seen meanwhile");
}

/// As when their role is deleted and made anew: nobody could have a place again.
#[tokio::test(start_paused = true)]
async fn who_may_do_nothing_with_them_keeps_his_place() {
    let host = host();
    let (one, two) = two_of(&host).await;
    for verb in ["list", "get", "update"] {
        host.forbid(verb, "leases");
    }
    assert!(stay_together(&one, &two).await);
    host.permit_all();
    assert!(stay_together(&one, &two).await);
}

#[tokio::test(start_paused = true)]
async fn who_may_not_list_them_works_alone() {
    let host = host();
    host.forbid("list", "leases");
    let joined = replicas(&host, "one").join().await;
    assert!(joined.is_none());
    // Who may do nothing at all waits for his rights, and shares when he has them.
    host.forbid("get", "leases");
    let terms = terms("one");
    let standing = terms.standing.subscribe();
    let waits = timeout(LONG, Replicas::new(host.client(), &terms).join()).await;
    assert!(waits.is_err());
    let told = standing.borrow().clone();
    assert!(
        matches!(&told, LeaseStanding::Refused(words) if words.contains("forbidden")),
        "{told:?}"
    );
    host.permit_all();
    assert_eq!(joins(&host, "one").await.number(), 0);
}
