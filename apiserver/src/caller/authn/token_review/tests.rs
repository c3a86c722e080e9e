//! What the host is asked of a token, and whose it is by its answer.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::UserInfo;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::testing::{Posted, host};

fn status(authenticated: bool, audiences: &[&str], user: &str) -> TokenReviewStatus {
    TokenReviewStatus {
        authenticated: Some(authenticated),
        audiences: Some(audiences.iter().map(|&one| one.to_owned()).collect()),
        user: Some(UserInfo {
            username: Some(user.to_owned()),
            ..UserInfo::default()
        }),
        ..TokenReviewStatus::default()
    }
}

#[test]
fn a_token_counts_if_it_is_valid_and_meant_for_us() {
    let ours = ["armadex".to_owned()];
    for (status, audiences, known) in [
        (status(true, &[], "alice"), &[][..], true),
        (status(true, &["host"], "alice"), &[][..], true),
        (status(true, &["armadex"], "alice"), &ours[..], true),
        (status(true, &["host"], "alice"), &ours[..], false),
        (status(true, &[], "alice"), &ours[..], false),
        (status(false, &["armadex"], "alice"), &ours[..], false),
        (status(true, &[], ""), &[][..], false),
        (TokenReviewStatus::default(), &[][..], false),
    ] {
        assert_eq!(
            owner(status.clone(), audiences).is_some(),
            known,
            "{status:?}"
        );
    }
}

fn tokens(audiences: &[&str], code: u16, answer: Value) -> (KubeTokens, Posted) {
    let (client, posted) = host(move |_| {
        let answer = answer.clone();
        async move { (code, answer) }
    });
    let audiences = audiences.iter().map(|&one| one.to_owned()).collect();
    (KubeTokens::new(client, audiences, Arc::default()), posted)
}

#[tokio::test]
async fn a_token_is_shown_to_the_host_with_whom_it_must_be_meant_for() {
    for (audiences, spec) in [
        (&[][..], json!({"token": "t"})),
        (
            &["armadex", "fleet"],
            json!({"token": "t", "audiences": ["armadex", "fleet"]}),
        ),
    ] {
        let (tokens, posted) = tokens(audiences, 201, json!({}));
        let owner = tokens.review("t").await;
        assert_eq!(owner.expect("an answer"), None, "no status names nobody");
        let posted = posted.lock().expect("no panic");
        let [(path, review)] = posted.as_slice() else {
            panic!("not one question: {posted:?}");
        };
        assert_eq!(path, "/apis/authentication.k8s.io/v1/tokenreviews");
        assert_eq!(review["kind"], "TokenReview");
        assert_eq!(review["spec"], spec);
    }
}

#[tokio::test]
async fn all_that_the_host_knows_of_an_owner_is_taken_over() {
    let user = json!({"username": "alice", "uid": "u-1", "groups": ["dev", "ops"], "extra": {"scopes": ["a", "b"]}});
    let status = json!({"authenticated": true, "audiences": ["host", "armadex"], "user": user});
    let (tokens, _) = tokens(&["armadex"], 201, json!({"status": status}));
    let owner = tokens.review("t").await.expect("an answer");
    let expected = Identity {
        user: "alice".to_owned(),
        uid: "u-1".to_owned(),
        groups: vec!["dev".to_owned(), "ops".to_owned()],
        extra: [("scopes".to_owned(), vec!["a".to_owned(), "b".to_owned()])].into(),
    };
    assert_eq!(owner, Some(expected));
}

#[tokio::test]
async fn an_answer_that_is_none_names_nobody_and_is_told_from_one_that_does() {
    let yes = json!({"status": {"authenticated": true, "user": {"username": "alice"}}});
    for (code, answer) in [(500, yes.clone()), (401, yes), (201, json!("alice"))] {
        let (tokens, _) = tokens(&[], code, answer.clone());
        assert!(tokens.review("t").await.is_err(), "{code} {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_says_nothing_is_given_up() {
    let (client, _) = host(|_| std::future::pending());
    let tokens = KubeTokens::new(client, Vec::new(), Arc::default());
    let begun = Instant::now();
    let asked = tokio::time::timeout(Duration::from_secs(3600), tokens.review("t")).await;
    assert!(asked.expect("given up").is_err());
    assert_eq!(begun.elapsed().as_secs(), 10);
}
