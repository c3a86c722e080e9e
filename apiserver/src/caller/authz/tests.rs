use armadex_model::{GroupVersionResource, NameFilter};

use super::*;
use crate::testing::Rules;

fn identity(user: &str, group: &str) -> Identity {
    Identity {
        user: user.to_owned(),
        groups: vec![group.to_owned()],
        ..Identity::default()
    }
}

fn caller(user: &str, group: &str) -> Caller {
    Caller::from(identity(user, group))
}

fn pods(namespaces: NameFilter) -> Query {
    Query {
        namespaces,
        ..Query::all(GroupVersionResource::new("", "v1", "pods"))
    }
}

fn names(names: &[&str]) -> NameFilter {
    NameFilter::In(names.iter().map(|&name| name.to_owned()).collect())
}

/// The refusal's message; empty if granted.
async fn refusal(
    rules: &Arc<Rules>,
    path_namespace: Option<&str>,
    namespaces: NameFilter,
) -> String {
    let authorizer = Authorizer::new(Arc::clone(rules) as Arc<dyn AccessReviewer>);
    let query = pods(namespaces);
    match authorizer
        .require_list(
            &caller("alice", "dev"),
            path_namespace,
            &query,
            &query.types[0].resource,
        )
        .await
    {
        Ok(scope) => {
            assert_eq!(scope, Scope::Everything);
            String::new()
        }
        Err(error) => {
            let status: serde_json::Value =
                serde_json::from_slice(&error.body()).expect("a Status");
            status["message"].as_str().unwrap_or_default().to_owned()
        }
    }
}

#[tokio::test]
async fn who_may_list_everywhere_may_list() {
    let rules = Arc::new(Rules::new(["alice list pods in *"]));
    assert_eq!(refusal(&rules, None, NameFilter::Any).await, "");
    assert_eq!(refusal(&rules, Some("x"), names(&["x"])).await, "");
}

#[tokio::test]
async fn who_may_not_is_told_to_name_a_namespace() {
    let rules = Arc::new(Rules::new(["alice list pods in x"]));
    for filter in [
        NameFilter::Any,
        NameFilter::NotIn(["y".to_owned()].into()),
        names(&[]),
    ] {
        let message = refusal(&rules, None, filter).await;
        assert_eq!(
            message,
            "pods is forbidden: User \"alice\" cannot list resource \"pods\" in API group \"\" at the cluster scope: \
             filtering namespace by namespace is not served yet, name a namespace (or at most 50 with ?namespaces=)"
        );
    }
}

#[tokio::test]
async fn every_namespace_that_is_named_must_be_granted() {
    let rules = Arc::new(Rules::new(["alice list pods in x", "alice list pods in y"]));
    assert_eq!(refusal(&rules, None, names(&["x", "y"])).await, "");
    let message = refusal(&rules, None, names(&["x", "z"])).await;
    assert!(message.ends_with("in the namespace \"z\""), "{message}");
    let message = refusal(&rules, Some("z"), names(&["z"])).await;
    assert!(message.ends_with("in the namespace \"z\""), "{message}");
}

#[tokio::test]
async fn masters_need_no_review() {
    let rules = Arc::new(Rules::new([]));
    let authorizer = Authorizer::new(Arc::clone(&rules) as Arc<dyn AccessReviewer>);
    let master = caller("root", "system:masters");
    let query = pods(NameFilter::Any);
    authorizer
        .require_list(&master, None, &query, &query.types[0].resource)
        .await
        .expect("granted");
    assert_eq!(rules.asked(), 0);
}

#[tokio::test]
async fn an_answer_is_kept_for_the_same_question_of_the_same_caller_only() {
    let rules = Arc::new(Rules::new(["alice get /version"]));
    let authorizer = Authorizer::new(Arc::clone(&rules) as Arc<dyn AccessReviewer>);
    let question = Attributes::Path("/version".to_owned());
    for _ in 0..3 {
        authorizer
            .require(&caller("alice", "dev"), &question)
            .await
            .expect("granted");
    }
    assert_eq!(rules.asked(), 1);
    assert!(
        authorizer
            .require(&caller("bob", "dev"), &question)
            .await
            .is_err()
    );
    let other = Attributes::Path("/apis".to_owned());
    assert!(
        authorizer
            .require(&caller("alice", "dev"), &other)
            .await
            .is_err()
    );
    assert_eq!(rules.asked(), 3);
}

#[tokio::test]
async fn an_unanswered_review_is_not_kept_and_grants_nothing() {
    let rules = Arc::new(Rules::new(["unanswered"]));
    let authorizer = Authorizer::new(Arc::clone(&rules) as Arc<dyn AccessReviewer>);
    let question = Attributes::Path("/version".to_owned());
    for asked in 1..=2 {
        let error = authorizer
            .require(&caller("alice", "dev"), &question)
            .await
            .expect_err("refused");
        assert_eq!(error.code, http::StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(rules.asked(), asked);
    }
}

#[tokio::test]
async fn an_answer_is_not_kept_for_others_of_the_same_name() {
    let rules = Arc::new(Rules::new(["alice get /version"]));
    let authorizer = Authorizer::new(Arc::clone(&rules) as Arc<dyn AccessReviewer>);
    let question = Attributes::Path("/version".to_owned());
    let alice = identity("alice", "dev");
    let others = [
        identity("alice", "ops"),
        Identity {
            groups: vec!["dev".to_owned(), "ops".to_owned()],
            ..alice.clone()
        },
        Identity {
            uid: "u-1".to_owned(),
            ..alice.clone()
        },
        Identity {
            extra: [("scopes".to_owned(), vec!["narrow".to_owned()])].into(),
            ..alice.clone()
        },
        Identity {
            extra: [("scopes".to_owned(), vec!["wide".to_owned()])].into(),
            ..alice.clone()
        },
    ];
    for (before, who) in std::iter::once(&alice).chain(&others).enumerate() {
        assert_eq!(rules.asked(), before);
        for _ in 0..2 {
            let granted = authorizer.require(&who.clone().into(), &question).await;
            granted.expect("granted");
        }
        assert_eq!(rules.asked(), before + 1, "{who:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_for_ten_seconds() {
    let rules = Arc::new(Rules::new(["alice get /version"]));
    let authorizer = Authorizer::new(Arc::clone(&rules) as Arc<dyn AccessReviewer>);
    let question = Attributes::Path("/version".to_owned());
    for (seconds, asked) in [(0, 1), (9, 1), (2, 2), (9, 2), (2, 3)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        let granted = authorizer.require(&caller("alice", "dev"), &question).await;
        granted.expect("granted");
        assert_eq!(rules.asked(), asked);
    }
}

/// Never answers about what is not its own, and counts what it is asked.
#[derive(Default)]
struct Slow(std::sync::atomic::AtomicUsize);

#[async_trait::async_trait]
impl AccessReviewer for Slow {
    async fn review(&self, who: &Identity, _: &Attributes) -> Result<Decision, ReviewFailed> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if who.user == "alice" {
            std::future::pending::<()>().await;
        }
        Ok(Decision::Allowed)
    }
}

#[tokio::test]
async fn a_user_with_many_questions_is_turned_away_and_keeps_nobody_else_waiting() {
    let host = Arc::new(Slow::default());
    let authorizer = Authorizer::new(Arc::clone(&host) as Arc<dyn AccessReviewer>);
    let (alice, bob) = (caller("alice", "dev"), caller("bob", "dev"));
    let question = |number: usize| Attributes::Path(format!("/{number}"));
    let questions: Vec<Attributes> = (0..1000).map(question).collect();
    let mut asking: Vec<_> = questions
        .iter()
        .map(|question| Box::pin(authorizer.require(&alice, question)))
        .collect();
    let refused: Vec<ApiError> = asking
        .iter_mut()
        .filter_map(|asking| futures::FutureExt::now_or_never(asking.as_mut()))
        .map(|answer| answer.expect_err("no answer"))
        .collect();
    assert_eq!(refused.len(), 1000 - TURNS.in_line_per_asker);
    assert!(refused.iter().all(|error| {
        (error.code, error.retry_after()) == (http::StatusCode::TOO_MANY_REQUESTS, Some(1))
    }));
    assert!(authorizer.require(&bob, &question(0)).await.is_ok());
    let asked = host.0.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(asked, TURNS.at_once_per_asker + 1);
}

#[tokio::test]
async fn who_acts_as_somebody_takes_none_of_their_turns() {
    let host = Arc::new(Slow::default());
    let authorizer = Authorizer::new(Arc::clone(&host) as Arc<dyn AccessReviewer>);
    // What is asked about alice is never answered.
    let as_alice = Caller {
        account: "bob".to_owned(),
        ..caller("alice", "dev")
    };
    let question = |number: usize| Attributes::Path(format!("/{number}"));
    let questions: Vec<Attributes> = (0..TURNS.in_line_per_asker).map(question).collect();
    let mut asking: Vec<_> = questions
        .iter()
        .map(|question| Box::pin(authorizer.require(&as_alice, question)))
        .collect();
    for one in &mut asking {
        assert!(futures::FutureExt::now_or_never(one.as_mut()).is_none());
    }
    let bob = caller("bob", "dev");
    let more = authorizer.require(&bob, &question(0)).await;
    let refused = more.expect_err("all of his are taken");
    assert_eq!(refused.code, http::StatusCode::TOO_MANY_REQUESTS);
    let asked = |times: usize| {
        let host = &host;
        async move {
            while host.0.load(std::sync::atomic::Ordering::Relaxed) < times {
                tokio::task::yield_now().await;
            }
        }
    };
    asked(TURNS.at_once_per_asker).await;
    let (alice, other) = (caller("alice", "dev"), question(TURNS.in_line_per_asker));
    tokio::select! {
        answer = authorizer.require(&alice, &other) => panic!("{answer:?}"),
        () = asked(TURNS.at_once_per_asker + 1) => {}
    }
}
