//! Lists: filters, pages, forms, and what a client sees when something goes wrong.

use super::*;

const PODS: &str = "resources/api/v1/pods";
const ALL: [&str; 5] = ["m1/x/a", "m1/x/b", "m1/y/c", "m2/x/a", "m2/z/d"];

#[tokio::test]
async fn the_fleet_lists_the_objects_of_all_clusters() {
    let server = Server::open(fleet()).await;
    let revision = server.store.revision().await.to_string();
    let answer = server.get(PODS).await;
    assert_eq!(answer.items(), ALL);
    let list = answer.json();
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&json!("PodList"), &json!("v1"))
    );
    assert_eq!(list["metadata"], json!({"resourceVersion": revision}));
    let first = &list["items"][0];
    assert_eq!(
        (&first["kind"], &first["apiVersion"]),
        (&json!("Pod"), &json!("v1"))
    );
    assert_eq!(first["metadata"]["resourceVersion"], "1001");
    assert_eq!(first["status"]["phase"], "Running");
    assert!(
        answer.text().find("\"items\"")
            < answer.text().find(&format!(
                "\"metadata\":{{\"resourceVersion\":\"{revision}\"}}"
            ))
    );
    assert_eq!(answer.header("content-type"), ["application/json"]);
}

#[tokio::test]
async fn a_cluster_and_a_namespace_narrow_the_list() {
    let server = Server::open(fleet()).await;
    for (path, expected) in [
        ("resources/clusters/m1/api/v1/pods", &ALL[..3]),
        ("clusters/m2/proxy/api/v1/pods", &ALL[3..]),
        ("fleets/all/proxy/api/v1/pods", &ALL[..]),
        ("resources/clusters/m1/api/v1/namespaces/y/pods", &ALL[2..3]),
        ("resources/clusters/m1/api/v1/namespaces/none/pods", &[][..]),
        ("resources/clusters/m1/apis/apps/v1/deployments", &[][..]),
        ("resources/api/v1/pods?clusters=m2", &ALL[3..]),
        (
            "resources/api/v1/pods?names=a&namespaces=x",
            &["m1/x/a", "m2/x/a"][..],
        ),
        ("resources/clusters/m1/api/v1/pods?clusters=m2", &ALL[..3]),
        (
            "resources/api/v1/pods?labelSelector=app%3Dweb",
            &["m1/x/a", "m1/y/c", "m2/x/a"][..],
        ),
        ("resources/api/v1/pods?labelSelector=!app", &ALL[4..]),
        (
            "resources/api/v1/pods?labelSelector=search.clusterpedia.io/clusters%20notin%20(m1)",
            &ALL[3..],
        ),
        (
            "resources/api/v1/pods?fieldSelector=status.phase%3DFailed",
            &ALL[1..2],
        ),
        ("resources/api/v1/nodes", &["m1//n1"][..]),
    ] {
        assert_eq!(server.get(path).await.items(), expected, "{path}");
    }
}

#[tokio::test]
async fn what_a_view_does_not_have_is_not_found() {
    let server = Server::open(fleet()).await;
    for path in [
        "resources/api/v1/services",
        "resources/clusters/m2/apis/apps/v1/deployments",
        "resources/clusters/m2/api/v1/nodes",
        "resources/api/v1/namespaces/x/nodes",
        "resources/apis/apps/v2/deployments",
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.code, 404, "{path}");
        assert_eq!(
            answer.message(),
            "the server could not find the requested resource",
            "{path}"
        );
    }
    let answer = server.get("resources/clusters/m9/api/v1/pods").await;
    assert_eq!(
        answer.message(),
        "pediaclusters.cluster.clusterpedia.io \"m9\" not found"
    );
    assert_eq!(answer.json()["details"]["name"], "m9");
}

#[tokio::test]
async fn a_list_comes_in_the_order_that_is_asked_for() {
    let server = Server::open(fleet()).await;
    let by_name = ["m1/x/a", "m2/x/a", "m1/x/b", "m1/y/c", "m2/z/d"];
    for limit in [1, 2, 5] {
        let pages = walk(&server, &format!("orderby=name&limit={limit}")).await;
        assert_eq!(pages.concat(), by_name, "limit {limit}");
    }
    let newest = walk(&server, "orderby=name%20desc&limit=4").await;
    assert_eq!(newest[0][..2], ["m2/z/d", "m1/y/c"]);
}

/// Follows `continue` to the end and returns the items of each page.
async fn walk(server: &Server, query: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut token = String::new();
    loop {
        let answer = server
            .get(&format!("{PODS}?{query}&continue={token}"))
            .await;
        pages.push(answer.items());
        match answer.json()["metadata"]["continue"].as_str() {
            Some(next) => next.clone_into(&mut token),
            None => return pages,
        }
        assert!(pages.len() < 20, "no end");
    }
}

#[tokio::test]
async fn pages_of_any_size_add_up_to_the_whole() {
    let server = Server::open(fleet()).await;
    for limit in 1..=6 {
        let pages = walk(&server, &format!("limit={limit}")).await;
        assert_eq!(pages.concat(), ALL, "limit {limit}");
        assert_eq!(
            pages.len(),
            ALL.len().div_ceil(limit),
            "limit {limit}: no empty page at the end"
        );
    }
}

#[tokio::test]
async fn the_label_limit_caps_all_pages_together() {
    let server = Server::open(fleet()).await;
    let cap = |rows: u32| format!("labelSelector=search.clusterpedia.io/limit%3D{rows}");
    assert_eq!(
        walk(&server, &format!("limit=500&{}", cap(3))).await,
        [&ALL[..3]]
    );
    assert_eq!(
        walk(&server, &format!("limit=2&{}", cap(3))).await,
        [&ALL[..2], &ALL[2..3]]
    );
    assert_eq!(walk(&server, &cap(4)).await, [&ALL[..4]]);
    assert_eq!(
        walk(&server, &format!("limit=2&{}", cap(9))).await.concat(),
        ALL
    );
}

#[tokio::test]
async fn a_client_may_want_no_token_and_may_want_a_count() {
    let server = Server::open(fleet()).await;
    let revision = server.store.revision().await.to_string();
    let metadata =
        async |query: &str| server.get(&format!("{PODS}?{query}")).await.json()["metadata"].clone();
    assert_eq!(
        metadata("limit=2&withContinue=false").await,
        json!({"resourceVersion": revision})
    );
    assert_eq!(
        metadata("limit=2&withRemainingCount=true").await["remainingItemCount"],
        3
    );
    assert_eq!(
        metadata("withRemainingCount=true").await["remainingItemCount"],
        0
    );
    assert_eq!(
        metadata("limit=1&continue=2&withRemainingCount=true").await["remainingItemCount"],
        2
    );
    let skipping = "limit=1&withRemainingCount=true";
    let offset = "labelSelector=search.clusterpedia.io/offset%3D1,search.clusterpedia.io/limit%3D3";
    for (query, expected) in [
        (format!("{skipping}&continue=2"), vec![2, 1, 0]),
        (format!("{skipping}&{offset}"), vec![2, 1, 0]),
        (format!("{skipping}&clusters=m1&continue=1"), vec![1, 0]),
        (
            format!("{skipping}&labelSelector=app&continue=1"),
            vec![2, 1, 0],
        ),
    ] {
        let before = server.store.counts.load(Ordering::Relaxed);
        assert_eq!(remaining(&server, &query).await, expected, "{query}");
        let counts = server.store.counts.load(Ordering::Relaxed) - before;
        assert_eq!(counts, 1, "{query}: a token knows what was counted");
    }
    let capped = "limit=1&withRemainingCount=true&labelSelector=search.clusterpedia.io/limit%3D3";
    assert_eq!(metadata(capped).await["remainingItemCount"], 2);
    let token = metadata(capped).await["continue"]
        .as_str()
        .expect("a token")
        .to_owned();
    assert_eq!(
        metadata(&format!("{capped}&continue={token}")).await["remainingItemCount"],
        1
    );
}

/// What a token says of the number of rows is an estimate, and none where it is too low; one that was made before tokens said it is read.
#[tokio::test]
async fn a_list_is_counted_anew_where_more_follows_than_was_counted() {
    let server = Server::open(fleet()).await;
    let query = "limit=1&withRemainingCount=true";
    let first = server.get(&format!("{PODS}?{query}")).await.json()["metadata"].clone();
    assert_eq!(first["remainingItemCount"], 4);
    let token = first["continue"].as_str().expect("a token");
    for (said, expected, counts) in [
        (json!({"n": 5}), json!(3), 0),
        (json!({"n": 9}), json!(7), 0),
        (json!({"n": 1}), json!(3), 1),
        (json!({"n": 0}), json!(3), 1),
        (json!("-"), Value::Null, 0),
        (json!("?"), json!(3), 1),
        (Value::Null, json!(3), 1),
    ] {
        let token = match &said {
            Value::Null => without(&server, token, "c"),
            said => forged(&server, token, "c", said),
        };
        let before = server.store.counts.load(Ordering::Relaxed);
        let answer = server
            .get(&format!("{PODS}?{query}&continue={token}"))
            .await;
        assert_eq!(
            answer.json()["metadata"]["remainingItemCount"],
            expected,
            "{said}"
        );
        let counted = server.store.counts.load(Ordering::Relaxed) - before;
        assert_eq!(counted, counts, "{said}");
    }
}

/// Rows come and go while a client reads pages: what was counted before is not said where the list itself shows better.
#[tokio::test]
async fn a_list_that_is_over_has_nothing_left_and_one_that_goes_on_has_not_nothing() {
    let server = Server::open(fleet()).await;
    let query = "withRemainingCount=true";
    let first = server.get(&format!("{PODS}?{query}&limit=1")).await.json()["metadata"].clone();
    let token = first["continue"].as_str().expect("a token");
    for (counted, limit, goes_on, expected) in [
        (9, 4, false, json!(0)),
        (9, 3, true, json!(5)),
        (3, 2, true, Value::Null),
        (3, 4, false, json!(0)),
    ] {
        let token = forged(&server, token, "c", &json!({"n": counted}));
        let path = format!("{PODS}?{query}&limit={limit}&continue={token}");
        let metadata = server.get(&path).await.json()["metadata"].clone();
        let found = (
            metadata["continue"].is_string(),
            &metadata["remainingItemCount"],
        );
        assert_eq!(found, (goes_on, &expected), "{counted} counted, {limit}");
    }
}

/// The counts of a list's pages. A token replaces the offset in `continue`, if there is one.
async fn remaining(server: &Server, query: &str) -> Vec<u64> {
    let mut counts = Vec::new();
    let mut token = String::new();
    loop {
        let kept: Vec<&str> = query
            .split('&')
            .filter(|part| token.is_empty() || !part.starts_with("continue="))
            .collect();
        let answer = server
            .get(&format!("{PODS}?{}{token}", kept.join("&")))
            .await;
        let metadata = answer.json()["metadata"].clone();
        counts.push(metadata["remainingItemCount"].as_u64().expect("a count"));
        match metadata["continue"].as_str() {
            Some(next) => token = format!("&continue={next}"),
            None => return counts,
        }
        assert!(counts.len() < 20, "no end");
    }
}

/// A token that says something else, sealed as the server seals its own.
fn resealed(server: &Server, token: &str, change: impl FnOnce(&mut Value)) -> String {
    let seal = &server.app.context.seal;
    let json = seal.open(token).expect("opened");
    let mut said: Value = serde_json::from_slice(&json).expect("JSON");
    change(&mut said);
    seal.close(said.to_string().into_bytes())
}

/// What a token says, but for one of its fields.
fn without(server: &Server, token: &str, field: &str) -> String {
    resealed(server, token, |said| {
        said.as_object_mut().expect("fields").remove(field);
    })
}

/// What a token says, with one of its fields changed.
fn forged(server: &Server, token: &str, field: &str, value: &Value) -> String {
    resealed(server, token, |said| said[field] = value.clone())
}

#[tokio::test]
async fn a_forged_token_gives_no_row_more_than_the_label_limit() {
    let server = Server::open(fleet()).await;
    let query = "limit=1&labelSelector=search.clusterpedia.io/limit%3D2";
    let first = server.get(&format!("{PODS}?{query}")).await.json();
    let token = first["metadata"]["continue"].as_str().expect("a token");
    for served in [2, 3, u64::MAX] {
        let forged = forged(&server, token, "n", &json!(served));
        let answer = server
            .get(&format!("{PODS}?{query}&continue={forged}"))
            .await;
        assert_eq!(
            (answer.code, answer.message()),
            (400, "the continue token is damaged".to_owned())
        );
    }
}

#[tokio::test]
async fn a_forged_place_is_no_failure_of_the_store() {
    let server = Server::open(fleet()).await;
    // A place is one of its order: it has a key for each of that, of its kind, and is in a type that is searched. No text has a NUL in it.
    for (order, expected) in [
        ("", [200, 400, 410, 410]),
        ("&orderby=name", [410, 400, 410, 410]),
    ] {
        let mut codes = Vec::new();
        let query = format!("limit=2{order}");
        let first = server.get(&format!("{PODS}?{query}")).await.json();
        let token = first["metadata"]["continue"].as_str().expect("a token");
        let place = |text: &str, keys: Value, resource: &str| {
            let gvr = json!({"group": "", "version": "v1", "resource": resource});
            json!({"k": keys, "t": gvr, "c": text, "s": text, "n": text})
        };
        let places = [
            place("", json!([]), "pods"),
            place("\u{0}'\"%", json!([-1]), "pods"),
            place("m1", json!(["x", "y"]), "pods"),
            place(&"m".repeat(1000), json!([]), "secrets"),
        ];
        for place in &places {
            let forged = forged(&server, token, "p", place);
            let answer = server
                .get(&format!("{PODS}?{query}&continue={forged}"))
                .await;
            codes.push(answer.code);
        }
        assert_eq!(codes, expected, "{order}");
    }
}

#[tokio::test]
async fn every_page_of_an_exact_list_is_of_that_revision() {
    let server = Server::open(fleet()).await;
    let revision = server.store.revision().await;
    let exact = format!("{PODS}?limit=2&resourceVersion={revision}&resourceVersionMatch=Exact");
    let token_of = async |query: &str| {
        let first = server.get(query).await.json();
        let token = first["metadata"]["continue"].as_str().expect("a token");
        format!("{PODS}?limit=2&continue={token}")
    };
    let (next, plain) = (
        token_of(&exact).await,
        token_of(&format!("{PODS}?limit=2")).await,
    );
    assert_eq!(server.get(&next).await.items(), ALL[2..4]);
    server.store.write().await;
    let expired = server.get(&next).await;
    assert_eq!(
        (expired.code, &expired.json()["reason"]),
        (410, &json!("Expired"))
    );
    assert_eq!(server.get(&plain).await.items(), ALL[2..4]);
}

/// Its rows are written by nobody, and are in no list any more.
#[tokio::test]
async fn an_exact_list_ends_when_a_cluster_leaves() {
    let server = Server::open(fleet()).await;
    let revision = server.store.revision().await;
    let exact = format!("{PODS}?limit=2&resourceVersion={revision}&resourceVersionMatch=Exact");
    let first = server.get(&exact).await.json();
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let whole = server.get(PODS).await.json();
    server.store.leave("m2").await;
    let next = server
        .get(&format!("{PODS}?limit=2&continue={token}"))
        .await;
    assert_eq!(
        (next.code, &next.json()["reason"]),
        (410, &json!("Expired"))
    );
    assert_eq!(server.get(&exact).await.code, 410);
    let without = server.get(PODS).await.json();
    let version = |list: &Value| list["metadata"]["resourceVersion"].clone();
    assert_ne!(version(&without), version(&whole));
}

#[tokio::test]
async fn an_exact_list_breaks_off_when_its_revision_ends() {
    for (matching, breaks_off) in [("Exact", true), ("NotOlderThan", false)] {
        let server = Server::open(many()).await;
        let revision = server.store.revision().await;
        server.store.writing_page.store(2, Ordering::Relaxed);
        let query = format!("{PODS}?resourceVersion={revision}&resourceVersionMatch={matching}");
        let answer = server.get(&query).await;
        assert_eq!((answer.code, answer.body.is_none()), (200, breaks_off));
    }
}

#[tokio::test]
async fn an_integer_continues_by_offset() {
    let server = Server::open(fleet()).await;
    assert_eq!(
        server.get(&format!("{PODS}?continue=3")).await.items(),
        ALL[3..]
    );
    assert_eq!(
        server.get(&format!("{PODS}?continue=9")).await.items(),
        [""; 0]
    );
    assert_eq!(
        walk(
            &server,
            "limit=2&labelSelector=search.clusterpedia.io/offset%3D1"
        )
        .await
        .concat(),
        ALL[1..]
    );
}

#[tokio::test]
async fn a_token_of_another_search_or_another_database_is_refused() {
    let server = Server::open(fleet()).await;
    let first = server.get(&format!("{PODS}?limit=2")).await.json();
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let other = server
        .get(&format!("{PODS}?limit=2&clusters=m1&continue={token}"))
        .await;
    assert_eq!(
        (other.code, other.message()),
        (
            400,
            "the continue token belongs to another search".to_owned()
        )
    );
    let damaged = server.get(&format!("{PODS}?continue=x{token}")).await;
    assert_eq!(
        (damaged.code, damaged.message()),
        (400, "the continue token is damaged".to_owned())
    );
    assert_eq!(
        server
            .get(&format!("{PODS}?limit=3&continue={token}"))
            .await
            .items(),
        ALL[2..]
    );
    server.store.restored.store(true, Ordering::Relaxed);
    let expired = server
        .get(&format!("{PODS}?limit=2&continue={token}"))
        .await;
    assert_eq!(
        (expired.code, &expired.json()["reason"]),
        (410, &json!("Expired"))
    );
}

/// A store that was rewound says so to whoever asks: a client begins anew.
#[tokio::test]
async fn a_database_that_was_rewound_has_nothing_to_go_on_from() {
    let server = Server::open(fleet()).await;
    server.store.rewound.store(true, Ordering::Relaxed);
    for path in [
        PODS,
        "resources/clusters/m1/api/v1/namespaces/x/pods/a",
        "resources/api/v1",
    ] {
        let answer = server.get(path).await;
        assert_eq!(
            (answer.code, answer.message(), &answer.json()["reason"]),
            (
                410,
                "the database was rewound".to_owned(),
                &json!("Expired")
            ),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_resource_version_must_have_been_reached() {
    let server = Server::open(fleet()).await;
    let now = server.store.revision().await;
    for (revision, matching, code) in [
        (0, "", 200),
        (now, "", 200),
        (now - 1, "", 200),
        (now, "&resourceVersionMatch=Exact", 200),
        (now - 1, "&resourceVersionMatch=Exact", 410),
        (now + 1, "", 504),
    ] {
        let query = format!("resourceVersion={revision}{matching}");
        assert_eq!(
            server.get(&format!("{PODS}?{query}")).await.code,
            code,
            "{query}"
        );
    }
}

#[tokio::test]
async fn what_is_not_served_is_refused_by_name() {
    let server = Server::open(fleet()).await;
    for (query, expected) in [
        (
            "cluster=m1",
            "unknown query parameter \"cluster\": did you mean clusters?",
        ),
        ("since=2026-01-01", "query parameter since is not served"),
        (
            "orderby=size",
            "invalid orderby: \"size\" is none of cluster, namespace, name, created_at, resource_version, uid",
        ),
        (
            "fieldSelector=spec.x%3D1",
            "field selector \"spec.x\" on pods/v1 is not served",
        ),
        (
            "labelSelector=a%3D%3D%3D",
            "invalid labelSelector: found '=', expected a value",
        ),
    ] {
        let answer = server.get(&format!("{PODS}?{query}")).await;
        assert_eq!(
            (answer.code, answer.message().as_str()),
            (400, expected),
            "{query}"
        );
    }
    let watch = server.get(&format!("{PODS}?watch=true")).await;
    assert_eq!(
        (watch.code, &watch.json()["reason"]),
        (405, &json!("MethodNotAllowed"))
    );
}

/// What the store refuses is told with the way out, as it says it.
#[tokio::test]
async fn what_is_too_much_is_refused_with_the_way_out() {
    let server = Server::open(fleet()).await;
    let each = |clause: fn(usize) -> String| Vec::from_iter((0..40).map(clause)).join(",");
    let labels = each(|number| format!("l{number}%3Dx"));
    let fields = each(|number| format!("status.phase!%3Dp{number}"));
    for (query, expected) in [
        (
            "orderby=name&continue=20000".to_owned(),
            "an offset of 20000 is too far into this search: go on with the continue token of the page before, or restrict the search",
        ),
        (
            format!("labelSelector={labels}&fieldSelector={fields}"),
            "80 requirements at once are more than 64: ask in several requests",
        ),
    ] {
        let answer = server.get(&format!("{PODS}?{query}")).await;
        assert_eq!(
            (answer.code, answer.message().as_str()),
            (400, expected),
            "{query}"
        );
    }
}

#[tokio::test]
async fn what_nobody_knows_is_ignored_with_a_warning() {
    let answer = Server::open(fleet())
        .await
        .get("resources/clusters/m1/api/v1/pods?shiny=1&limit=1&limit=2")
        .await;
    assert_eq!(answer.items(), ALL[..1]);
    assert_eq!(
        answer.header("warning"),
        [
            r#"299 - "query parameters without effect here are ignored: \"shiny\"""#,
            r#"299 - "of query parameters that are given more than once the first value counts: \"limit\"""#,
        ]
    );
}

#[tokio::test]
async fn a_table_begins_with_the_cluster() {
    let server = Server::open(fleet()).await;
    let table = server
        .get_as(
            "resources/clusters/m1/api/v1/namespaces/x/pods?limit=1",
            TABLE,
        )
        .await
        .json();
    assert_eq!(
        (&table["kind"], &table["apiVersion"]),
        (&json!("Table"), &json!("meta.k8s.io/v1"))
    );
    let columns = table["columnDefinitions"].as_array().expect("columns");
    assert_eq!(columns[0]["name"], "Cluster");
    assert_eq!(
        (&columns[1]["name"], &columns[1]["format"]),
        (&json!("Name"), &json!("name"))
    );
    let row = &table["rows"][0];
    let cells = row["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), columns.len());
    assert_eq!(
        cells[..6],
        [
            json!("m1"),
            json!("a"),
            json!("0/1"),
            json!("Running"),
            json!("0"),
            json!("61m")
        ]
    );
    assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(row["object"]["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(path_of(&row["object"]), "m1/x/a");
    assert!(row["object"].get("spec").is_none());
    assert!(table["metadata"]["continue"].is_string());
}

#[tokio::test]
async fn a_row_carries_what_was_asked_for() {
    let server = Server::open(fleet()).await;
    let row = async |query: &str, accept: &str| {
        server
            .get_as(&format!("{PODS}?{query}"), accept)
            .await
            .json()["rows"][0]
            .clone()
    };
    assert!(
        row("includeObject=None", TABLE)
            .await
            .get("object")
            .is_none()
    );
    let whole = row("includeObject=Object", TABLE).await;
    assert_eq!(
        (
            &whole["object"]["kind"],
            &whole["object"]["status"]["phase"]
        ),
        (&json!("Pod"), &json!("Running"))
    );
    let old = row("", "application/json;as=Table;v=v1beta1;g=meta.k8s.io").await;
    assert_eq!(old["object"]["apiVersion"], "meta.k8s.io/v1beta1");
    let failed = Server::open(fleet())
        .await
        .get_as(&format!("{PODS}?names=b"), TABLE)
        .await
        .json();
    assert_eq!(failed["rows"][0]["conditions"][0]["reason"], "Failed");
}

#[tokio::test]
async fn metadata_alone_comes_in_both_ways() {
    let server = Server::open(fleet()).await;
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let list = server.get_as(PODS, accept).await;
    assert_eq!(list.json()["kind"], "PartialObjectMetadataList");
    assert_eq!(list.items(), ALL);
    assert!(list.json()["items"][0].get("spec").is_none());
    let list = server.get(&format!("{PODS}?onlyMetadata=true")).await;
    assert_eq!(
        (&list.json()["kind"], &list.json()["items"][0]["kind"]),
        (&json!("PodList"), &json!("Pod"))
    );
    assert_eq!(list.items(), ALL);
    assert!(list.json()["items"][0].get("spec").is_none());
    let table = server
        .get_as(&format!("{PODS}?onlyMetadata=true"), TABLE)
        .await
        .json();
    assert_eq!(table["rows"][0]["cells"], json!(["m1", "a", "61m"]));
    let table = server
        .get_as(
            &format!("{PODS}?onlyMetadata=true&includeObject=Object"),
            TABLE,
        )
        .await
        .json();
    let object = &table["rows"][0]["object"];
    assert_eq!(
        (&object["kind"], path_of(object)),
        (&json!("Pod"), "m1/x/a".to_owned())
    );
    assert!(object.get("spec").is_none() && object.get("status").is_none());
}

#[tokio::test]
async fn a_form_that_is_not_served_is_not_acceptable() {
    let server = Server::open(fleet()).await;
    for accept in ["text/yaml", "application/vnd.kubernetes.protobuf"] {
        let answer = server.get_as(PODS, accept).await;
        assert_eq!(
            (answer.code, &answer.json()["reason"]),
            (406, &json!("NotAcceptable")),
            "{accept}"
        );
    }
    let answer = server
        .get_as(PODS, "application/vnd.kubernetes.protobuf,application/json")
        .await;
    assert_eq!(answer.items(), ALL);
}

#[tokio::test]
async fn an_indented_list_is_the_same_list() {
    let server = Server::open(fleet()).await;
    let answer = server.get(&format!("{PODS}?pretty=true")).await;
    assert!(answer.text().starts_with("{\n  \"kind\": \"PodList\",\n"));
    assert_eq!(answer.json(), server.get(PODS).await.json());
}

#[tokio::test]
async fn clusters_that_do_not_exist_or_do_not_answer_are_warned_of() {
    let server = Server::open(fleet()).await;
    let warnings = async |path: &str| {
        let answer = server.get(path).await;
        assert_eq!(answer.code, 200);
        answer.header("warning").join("; ")
    };
    let m2 = "299 - \"m2 is not ready and the resources obtained may be inaccurate, reason: NotReachable\"";
    assert_eq!(warnings("resources/clusters/m1/api/v1/pods").await, "");
    assert_eq!(warnings("resources/clusters/m2/api/v1/pods").await, m2);
    assert_eq!(warnings(PODS).await, m2);
    assert_eq!(warnings(&format!("{PODS}?clusters=m1")).await, "");
    let first = server.get(&format!("{PODS}?limit=1")).await;
    assert_eq!(first.header("warning"), [""; 0], "m2 is for other pages");
    let token = first.json()["metadata"]["continue"].clone();
    let token = token.as_str().expect("more pages");
    assert_eq!(warnings(&format!("{PODS}?continue={token}")).await, m2);
    assert_eq!(warnings("resources/api/v1/nodes").await, "", "m2 has none");
    assert_eq!(
        warnings(&format!("{PODS}?clusters=m1,m8,M%2F")).await,
        "299 - \"no such cluster: M/, m8\""
    );
    assert_eq!(
        warnings(&format!("{PODS}?clusters=a,b,c,d,e,f,g")).await,
        "299 - \"no such cluster: a, b, c, d, e and 2 more\""
    );
}

/// More rows than are read at a time.
fn many() -> Contents {
    (0..1200).fold(
        Contents::new().cluster("m1", "v1.36.1", ""),
        |contents, number| {
            contents.object(
                "m1",
                &pods(),
                "x",
                &format!("p{number:04}"),
                json!({"spec": {"text": "x".repeat(200)}}),
            )
        },
    )
}

#[tokio::test]
async fn a_long_list_is_read_in_pages_and_arrives_whole() {
    let server = Server::open(many()).await;
    let names: Vec<String> = (0..1200)
        .map(|number| format!("m1/x/p{number:04}"))
        .collect();
    assert_eq!(server.get(PODS).await.items(), names);
    assert_eq!(
        server.get(&format!("{PODS}?limit=700")).await.items(),
        names[..700]
    );
    assert_eq!(server.store.largest_budget.load(Ordering::Relaxed), 500);
    assert_eq!(server.store.largest_bytes.load(Ordering::Relaxed), 2 << 20);
}

#[tokio::test]
async fn the_next_page_is_read_while_the_last_is_sent_and_no_further() {
    let server = Server::open(many()).await;
    let request = Request::get(format!("{BASE}/{PODS}")).header("authorization", "Bearer alice");
    let connection = server.app.connection(HOME, Vec::new());
    let request = request.body(String::new()).expect("a request");
    let response = server.app.respond(request, &connection).await;
    // The client has taken nothing of the first page.
    let read = || server.store.read_bytes.load(Ordering::Relaxed);
    let first = read();
    while read() == first {
        tokio::task::yield_now().await;
    }
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.store.pages.load(Ordering::Relaxed), 2);
    let room = 2 * crate::answer::outbox::OUTBOX;
    let held = server.app.counters().read().held_bytes;
    assert!(
        held >= (read() + room) as u64,
        "{held} for {} bytes of rows and {room} for what is made of them",
        read()
    );
    drop(response);
    server.app.close().await;
    assert_eq!(server.app.counters().read().held_bytes, 0);
}

#[tokio::test]
async fn a_failure_in_the_middle_breaks_the_answer_off() {
    let server = Server::open(many()).await;
    server.store.failing_page.store(2, Ordering::Relaxed);
    let answer = server.get(PODS).await;
    assert_eq!((answer.code, answer.body.is_none()), (200, true));
    server.app.close().await;
    assert_eq!(server.app.context.counters.read().broken_off, 1);
}

#[tokio::test]
async fn a_failure_at_the_beginning_is_a_status_without_details() {
    let server = Server::open(many()).await;
    server.store.failing_page.store(1, Ordering::Relaxed);
    let answer = server.get(PODS).await;
    assert_eq!(
        (answer.code, &answer.json()["reason"]),
        (500, &json!("InternalError"))
    );
    assert!(!answer.text().contains("the test says so"));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_taken_breaks_off_after_the_time_limit_and_holds_its_place_until_it_is_gone()
 {
    let server = Server::open(many()).await;
    let request = Request::get(format!("{BASE}/{PODS}")).header("authorization", "Bearer alice");
    let connection = server.app.connection(HOME, Vec::new());
    let response = server
        .app
        .respond(request.body(String::new()).expect("a request"), &connection)
        .await;
    server.app.context.tasks.close();
    server.app.context.tasks.wait().await;
    let counts = || server.app.counters().read();
    assert_eq!((counts().in_flight, counts().broken_off), (1, 1));
    assert!(
        response.into_body().collect().await.is_err(),
        "the client sees that it broke off"
    );
    assert_eq!((counts().in_flight, counts().held_bytes), (0, 0));
}

#[tokio::test]
async fn a_long_query_string_is_served() {
    let server = Server::open(fleet()).await;
    let names: Vec<String> = (0..4000)
        .map(|number| format!("long-name{number:05}"))
        .collect();
    let answer = server
        .get(&format!("{PODS}?names=a,{}", names.join(",")))
        .await;
    assert_eq!(answer.items(), ["m1/x/a", "m2/x/a"]);
}

/// A page of the store has a budget of work and may have found nothing; who asked for all gets all, who asked for pages goes on.
#[tokio::test]
async fn empty_pages_end_an_answer_only_for_who_asked_for_pages() {
    let after_empty = async |pages| {
        let server = Server::open(fleet()).await;
        server.store.empty_pages.store(pages, Ordering::Relaxed);
        server
    };
    let limited = "labelSelector=search.clusterpedia.io/limit%3D3";
    let answer = after_empty(40)
        .await
        .get(&format!("{PODS}?{limited}"))
        .await;
    assert_eq!(answer.items(), &ALL[..3]);
    let server = after_empty(40).await;
    let answer = server.get(&format!("{PODS}?limit=2")).await;
    assert_eq!(answer.items(), [""; 0]);
    let token = answer.json()["metadata"]["continue"].clone();
    let token = token.as_str().expect("a place to go on from");
    let answer = server
        .get(&format!("{PODS}?limit=2&continue={token}"))
        .await;
    assert_eq!(answer.items(), &ALL[..2]);
}

/// Nothing is sent of pages that have found nothing, so sending does not show it.
#[tokio::test]
async fn a_list_that_finds_nothing_ends_with_its_client() {
    let server = Server::open(fleet()).await;
    server
        .store
        .empty_pages
        .store(usize::MAX, Ordering::Relaxed);
    let request = Request::get(format!("{BASE}/{PODS}")).header("authorization", "Bearer alice");
    let request = request.body(String::new()).expect("a request");
    let connection = server.app.connection(HOME, Vec::new());
    let response = server.app.respond(request, &connection).await;
    let pages = || server.store.pages.load(Ordering::Relaxed);
    let until = async |what: &str, condition: &dyn Fn() -> bool| {
        let waiting = async {
            while !condition() {
                tokio::task::yield_now().await;
            }
        };
        let came = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        assert!(came.is_ok(), "{what}");
    };
    until("it goes on", &|| pages() > 3).await;
    drop(response);
    let in_flight = || server.app.counters().read().in_flight;
    until("it ends", &|| in_flight() == 0).await;
}

/// HTTP/1.0 ends an answer with its connection.
#[tokio::test]
async fn what_could_break_off_unseen_is_not_sent() {
    let server = Server::open(fleet()).await;
    let get = "resources/clusters/m1/api/v1/namespaces/x/pods/a";
    for (path, accept, code) in [
        ("resources/api/v1/pods", "application/yaml", 505),
        ("resources/api/v1/pods", "application/json", 505),
        (get, "application/yaml", 505),
        (get, "application/json", 200),
        ("resources/apis", "application/yaml", 200),
    ] {
        let request = Request::get(format!("{BASE}/{path}"))
            .version(http::Version::HTTP_10)
            .header("authorization", "Bearer alice")
            .header("accept", accept);
        let request = request.body(String::new()).expect("a request");
        let connection = server.app.connection(HOME, Vec::new());
        let response = server.app.respond(request, &connection).await;
        assert_eq!(response.status(), code, "{path} {accept}");
    }
}

/// What a request reads of the store: the catalogue that its caller is reviewed by, and after the review one state of the store with
/// catalogue, head, rows and their number.
#[tokio::test]
async fn a_list_is_read_in_one_transaction_after_its_review() {
    let server = Server::open(fleet()).await;
    for query in ["", "?limit=2", "?limit=2&withRemainingCount=true"] {
        let read = || {
            let store = &server.store;
            [&store.catalogs, &store.heads, &store.searches]
                .map(|reads| reads.load(Ordering::Relaxed))
        };
        let [catalogs, heads, searches] = read();
        assert_eq!(server.get(&format!("{PODS}{query}")).await.code, 200);
        assert_eq!(read(), [catalogs + 1, heads, searches + 1], "{query}");
    }
}
