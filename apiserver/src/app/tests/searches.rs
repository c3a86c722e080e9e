//! Whose search is next.

use armadex_storage_sql::Options;

use super::*;
use crate::testing::Gate;
use crate::{Certificate, Config, SelfMade};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// More places and bytes than are asked for.
const LIMITS: Limits = Limits {
    in_flight: PoolSizes {
        short: 100,
        lists: 100,
        short_per_user: 50,
    },
    bytes: 128 << 20,
    time: Duration::from_secs(60),
    searches: 4,
};

async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(came.is_ok(), "{what}");
}

#[tokio::test]
async fn who_asks_for_one_search_waits_for_none_of_a_user_who_asks_for_ten() {
    for path in ["pods", "pods?limit=1&withRemainingCount=true"] {
        let everything = ["everybody may do everything"];
        let server = Arc::new(Server::with_limits(fleet(), everything, LIMITS).await);
        server.store.gate.send_replace(Gate::Shut);
        let ask = |user: &'static str| {
            let (server, path) = (
                Arc::clone(&server),
                format!("{BASE}/resources/api/v1/{path}"),
            );
            tokio::spawn(async move {
                let token = format!("Bearer {user}");
                let headers = [("authorization", token.as_str())];
                server.ask("GET", &path, &headers).await.code
            })
        };
        let in_line = || server.app.context.searches.length();
        let begun = || server.store.searches.load(Ordering::Relaxed);
        let mut asked: Vec<_> = (0..10).map(|_| ask("alice")).collect();
        until("all of hers are in line", || in_line() == 10).await;
        until("two of hers begin", || begun() == 2).await;
        asked.push(ask("bob"));
        until("his begins", || begun() == 3).await;
        assert_eq!(in_line(), 11);
        server.store.gate.send_replace(Gate::Open);
        for answer in asked {
            assert_eq!(answer.await.expect("no panic"), 200);
        }
        assert_eq!(in_line(), 0);
    }
}

#[test]
fn as_many_searches_run_at_the_same_time_as_the_store_has_connections_for() {
    let made = SelfMade::for_names(&["localhost".to_owned()]).expect("a certificate");
    let address = "127.0.0.1:0".parse().expect("an address");
    let config = Config::new(address, Certificate::SelfMade(made));
    assert_eq!(config.searches, Options::default().readers as usize);
    let sizes = turn_sizes(config.searches);
    assert_eq!(sizes.at_once, config.searches);
    assert_eq!(sizes.at_once_per_asker, config.searches / 2);
    assert_eq!(turn_sizes(1).at_once_per_asker, 1);
}
