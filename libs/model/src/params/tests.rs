//! A query string on the left, what it asks for on the right; whatever is as for an empty query string is left out.

use super::*;
use crate::query::OrderBy;
use proptest::prelude::*;

fn pods() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "pods")
}

#[track_caller]
fn check(query: &str, expected: &str) {
    assert_eq!(shown(query, &PathParams::default()), expected, "{query}");
}

#[track_caller]
fn check_at(cluster: &str, namespace: &str, query: &str, expected: &str) {
    let place = PathParams {
        cluster: ClusterName::new(cluster).ok(),
        namespace: Some(namespace.to_owned()),
        name: None,
    };
    assert_eq!(shown(query, &place), expected, "{query}");
}

fn shown(query: &str, place: &PathParams) -> String {
    match parse(pods(), place, &RawParams::from_query(query)) {
        Ok(Parsed { request, ignored }) => show(request, &ignored),
        Err(error) => format!("error: {error}"),
    }
}

fn show(request: Request, ignored: &Ignored) -> String {
    let mut parts = match request {
        Request::List(list) => show_list(list),
        Request::Watch(watch) => show_watch(watch),
        Request::Get(get) => show_get(get),
    };
    let Ignored { unknown, repeated } = ignored;
    for (word, names) in [("ignored", unknown), ("repeated", repeated)] {
        parts.extend(names.iter().map(|name| format!("{word} {name:?}")));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

fn show_list(list: ListParams) -> Vec<String> {
    let ListParams {
        query,
        limits,
        start,
        with_continue,
        with_remaining_count,
        only_metadata,
        include_object,
        pretty,
        revision,
    } = list;
    let mut parts = show_query(&query);
    parts.extend(limits.page.map(|rows| format!("page {rows}")));
    parts.extend(limits.total.map(|rows| format!("total {rows}")));
    parts.push(match start {
        Continue::Beginning => String::new(),
        Continue::Offset(rows) => format!("offset {rows}"),
        Continue::Token(token) => format!("token {token}"),
    });
    parts.push(said(!with_continue, "no continue"));
    parts.push(said(with_remaining_count, "remaining"));
    parts.push(said(only_metadata, "metadata"));
    parts.push(said(pretty, "pretty"));
    parts.push(show_included(include_object));
    parts.push(show_revision(revision));
    parts
}

fn show_watch(watch: WatchParams) -> Vec<String> {
    let WatchParams {
        query,
        revision,
        initial_events,
        bookmarks,
        timeout,
        only_metadata,
        include_object,
    } = watch;
    let mut parts = vec!["watch".to_owned()];
    parts.extend(show_query(&query));
    parts.push(show_revision(revision));
    parts.push(said(initial_events, "initial events"));
    parts.push(said(bookmarks, "bookmarks"));
    parts.extend(timeout.map(|timeout| format!("for {timeout:?}")));
    parts.push(said(only_metadata, "metadata"));
    parts.push(show_included(include_object));
    parts
}

fn show_get(get: GetParams) -> Vec<String> {
    let GetParams {
        revision,
        include_object,
        pretty,
    } = get;
    vec![
        "get".to_owned(),
        said(pretty, "pretty"),
        show_included(include_object),
        show_revision(revision),
    ]
}

fn said(yes: bool, word: &str) -> String {
    if yes { word.to_owned() } else { String::new() }
}

fn show_included(include_object: IncludeObject) -> String {
    match include_object {
        IncludeObject::Metadata => String::new(),
        other => format!("include {other:?}"),
    }
}

fn show_revision(revision: Revision) -> String {
    match revision {
        Revision::Any => String::new(),
        other => format!("{other:?}"),
    }
}

fn show_query(query: &Query) -> Vec<String> {
    let mut parts = vec![
        show_filter("clusters", &query.clusters),
        show_filter("namespaces", &query.namespaces),
        show_filter("names", &query.names),
    ];
    let of_clusters = query.cluster_labels.iter();
    parts.extend(of_clusters.map(|label| format!("of clusters {label}")));
    parts.extend(query.labels.iter().map(|label| format!("label {label}")));
    parts.extend(query.fields.iter().map(|field| format!("field {field}")));
    parts.extend(query.order.iter().map(show_order));
    parts
}

fn show_filter(name: &str, filter: &NameFilter) -> String {
    match filter {
        NameFilter::Any => String::new(),
        NameFilter::In(names) => format!("{name} in {names:?}"),
        NameFilter::NotIn(names) => format!("{name} notin {names:?}"),
    }
}

fn show_order(order: &OrderBy) -> String {
    format!(
        "by {:?}{}",
        order.field,
        if order.descending { " desc" } else { "" }
    )
}

#[test]
fn url_parameters_are_read() {
    check("", "");
    check("?clusters=a,b&limit=5", r#"clusters in {"a", "b"}; page 5"#);
    check(
        "namespaces=x,%20y&names=z",
        r#"namespaces in {"x", "y"}; names in {"z"}"#,
    );
    check("clusters=&limit=0", "");
    check("limit=-1", "");
    check(
        "orderby=cluster,name+desc,uid%20asc",
        "by Cluster; by Name desc; by Uid",
    );
    check(
        "orderby=namespace,created_at,resource_version",
        "by Namespace; by CreatedAt; by ResourceVersion",
    );
    check(
        "withContinue=false&withRemainingCount",
        "no continue; remaining",
    );
    check("withContinue=FALSE", "no continue");
    check(
        "onlyMetadata=true&pretty=1&includeObject=Object",
        "metadata; pretty; include Object",
    );
    check("pretty=nonsense&includeObject=None", "include None");
    check("timeoutSeconds=7&timeout=5s&allowWatchBookmarks=true", "");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn search_labels_are_split_off_and_their_operators_are_honoured() {
    let label = |selector: &str| {
        let encoded: String = form_urlencoded::byte_serialize(selector.as_bytes()).collect();
        format!("labelSelector={encoded}")
    };
    let s = "search.clusterpedia.io";
    check(&label("app=web,!old"), "label app in (web); label !old");
    check(
        &label(&format!("{s}/clusters in (a,b),app")),
        r#"clusters in {"a", "b"}; label app"#,
    );
    check(
        &label(&format!("{s}/clusters notin (a)")),
        r#"clusters notin {"a"}"#,
    );
    check(
        &label(&format!("{s}/clusters!=a,{s}/clusters!=b")),
        r#"clusters notin {"a", "b"}"#,
    );
    check(
        &label(&format!("{s}/namespaces=x,{s}/names==y")),
        r#"namespaces in {"x"}; names in {"y"}"#,
    );
    check(&label(&format!("{s}/clusters,{s}/names")), "");
    check(
        &label(&format!("{s}/orderby in (name_desc,created_at)")),
        "by Name desc; by CreatedAt",
    );
    check(
        &label(&format!("{s}/limit=10,{s}/offset=3")),
        "total 10; offset 3",
    );
    check(&label(&format!("{s}/limit=0,{s}/offset=0")), "");
    check(
        &label(&format!(
            "{s}/with-continue=false,{s}/with-remaining-count=true"
        )),
        "no continue; remaining",
    );
    check(
        &label("cluster.clusterpedia.io/mine=1"),
        "label cluster.clusterpedia.io/mine in (1)",
    );
    check(
        &label(&format!("!{s}/clusters")),
        "error: this operator on search label search.clusterpedia.io/clusters is not served",
    );
    check(
        &label(&format!("{s}/limit in (1,2)")),
        "error: invalid search.clusterpedia.io/limit: expected exactly one value",
    );
    check(
        &label(&format!("{s}/limit!=1")),
        "error: this operator on search label search.clusterpedia.io/limit is not served",
    );
    check(
        &label(&format!("{s}/owner-name=x")),
        "error: search label search.clusterpedia.io/owner-name is not served",
    );
    check(
        &label("internalstorage.clusterpedia.io/fuzzy-name=x"),
        "error: search label internalstorage.clusterpedia.io/fuzzy-name is not served",
    );
    check(
        &label(&format!("{s}/orderby=spec")),
        "error: invalid search.clusterpedia.io/orderby: \"spec\" is none of cluster, namespace, name, created_at, \
         resource_version, uid",
    );
}

#[test]
fn labels_of_clusters_are_told_by_their_prefix() {
    let label = |selector: &str| {
        let encoded: String = form_urlencoded::byte_serialize(selector.as_bytes()).collect();
        format!("labelSelector={encoded}")
    };
    let own = "cluster.search.clusterpedia.io";
    check(
        &label(&format!("{own}/env=prod,app=web,!{own}/old")),
        "of clusters env in (prod); of clusters !old; label app in (web)",
    );
    check(
        &label(&format!(
            "topology.kubernetes.io.{own}/region in (eu-1,eu-2),x.{own}/zone!=a,{own}/tier,{own}/size notin (s)"
        )),
        "of clusters topology.kubernetes.io/region in (eu-1,eu-2); of clusters x/zone notin (a); of clusters tier; \
         of clusters size notin (s)",
    );
    check(
        &label(&format!("{own}/nodes>3")),
        "error: the requirement nodes>3 on a label of clusters is not served",
    );
    check(
        &label("search.clusterpedia.io/cluster-labels=x"),
        "error: unknown search label \"search.clusterpedia.io/cluster-labels\": did you mean \
         cluster.search.clusterpedia.io/NAME for the label NAME of clusters, \
         PREFIX.cluster.search.clusterpedia.io/NAME for their label PREFIX/NAME, or the parameter clusterSelector?",
    );
    for typed in [
        "clusters.search.clusterpedia.io",
        "cluster.search.clusterpedia.oi",
        "topology.kubernetes.io.clusters.search.clusterpedia.io",
        "fleet.search.clusterpedia.io",
    ] {
        check(
            &label(&format!("{typed}/region=a")),
            &format!("error: unknown label prefix {typed:?}: did you mean {own}?"),
        );
    }
    // Somebody else's.
    check(
        &label("my-cluster.search.example.io/a=1,notcluster.search.clusterpedia.org/a=1"),
        "label my-cluster.search.example.io/a in (1); label notcluster.search.clusterpedia.org/a in (1)",
    );
}

#[test]
fn clusters_are_selected_by_a_selector_of_their_own() {
    let selector = |selector: &str| {
        let encoded: String = form_urlencoded::byte_serialize(selector.as_bytes()).collect();
        format!("clusterSelector={encoded}")
    };
    let query = selector("env=prod,topology.kubernetes.io/region in (a,b),!old");
    let expected = "of clusters env in (prod); of clusters topology.kubernetes.io/region in (a,b); of clusters !old";
    check(&query, expected);
    check("clusterSelector=", "");
    // All that is asked holds, whichever way, and once.
    let label = "labelSelector=cluster.search.clusterpedia.io/env%3Dprod";
    check(
        &format!("{query}&{label}&watch"),
        &format!("watch; {expected}"),
    );
    check_at(
        "path",
        "ns",
        &format!("{label}&clusters=url"),
        r#"clusters in {"path"}; namespaces in {"ns"}; of clusters env in (prod)"#,
    );
    check(
        &selector("env=(a"),
        "error: invalid clusterSelector: found '(', expected a value",
    );
    check(
        &selector("nodes<3"),
        "error: the requirement nodes<3 on a label of clusters is not served",
    );
    check(
        &selector("cluster.search.clusterpedia.io/env=prod"),
        "error: invalid clusterSelector: \"cluster.search.clusterpedia.io/env\" is a search label: labels of clusters have \
         their own keys here",
    );
    let many = |from: usize| {
        let keys = (from..from + 40).map(|number| format!("k{number}"));
        Vec::from_iter(keys).join(",")
    };
    let labels = many(40).replace('k', "cluster.search.clusterpedia.io/k");
    let both = format!("clusterSelector={}&labelSelector={labels}", many(0));
    check(
        &both,
        "error: more than 64 requirements at once: ask in several requests",
    );
}

#[test]
fn the_path_beats_the_url_and_the_url_beats_the_label() {
    let selector =
        "labelSelector=search.clusterpedia.io/clusters%3Dlabel,search.clusterpedia.io/offset%3D5";
    check(selector, r#"clusters in {"label"}; offset 5"#);
    check(
        &format!("{selector}&clusters=url&continue=7"),
        r#"clusters in {"url"}; offset 7"#,
    );
    check_at(
        "path",
        "ns",
        &format!("{selector}&clusters=url&namespaces=other"),
        r#"clusters in {"path"}; namespaces in {"ns"}; offset 5"#,
    );
}

#[test]
fn the_label_limit_caps_the_answer_and_the_url_limit_the_page() {
    check(
        "limit=500&labelSelector=search.clusterpedia.io/limit%3D10",
        "page 500; total 10",
    );
}

#[test]
fn field_selectors_take_names_namespaces_and_indexed_fields() {
    let field = |selector: &str| format!("fieldSelector={}", selector.replace('=', "%3D"));
    check(&field("metadata.name=a"), r#"names in {"a"}"#);
    check(
        &field("metadata.name=a:b,metadata.namespace!=c"),
        r#"namespaces notin {"c"}; names in {"a:b"}"#,
    );
    check(
        &field(".status.phase in (Failed,Running)"),
        "field status.phase in (Failed,Running)",
    );
    check(&field("spec.nodeName="), "field spec.nodeName in ()");
    check(
        &format!("names=b&{}", field("metadata.name=a")),
        "names in {}",
    );
    check(
        &field("spec.color=red"),
        "error: field selector \"spec.color\" on pods/v1 is not served",
    );
    check(
        &field("status.phase"),
        "error: this operator on field \"status.phase\" is not served",
    );
    check(
        &field("a=b=c"),
        "error: invalid fieldSelector: found '=', expected ',' or the end",
    );
    check(&field("spec.host=n1"), "field spec.nodeName in (n1)");
    check(&field("status.podIPs="), "");
    check(&field("status.podIPs!=10.0.0.1"), "");
    check(&field("status.podIPs=10.0.0.1"), "names in {}");
    check(&field("status.podIPs!=,metadata.name=a"), "names in {}");
    check_at(
        "c",
        "n",
        &field("metadata.namespace=m"),
        r#"clusters in {"c"}; namespaces in {}"#,
    );
}

#[test]
fn an_integer_continues_by_offset_and_anything_else_is_a_token() {
    check("continue=0", "");
    check("continue=20", "offset 20");
    check("continue=abc1", "token abc1");
    check(
        "continue=-1",
        "error: invalid continue: \"-1\" is not a number in range",
    );
    check(
        "continue=99999999999999999999",
        "error: invalid continue: \"99999999999999999999\" is not a number in range",
    );
}

#[test]
fn resource_versions_follow_the_rules_of_kubernetes() {
    check("resourceVersion=0", "");
    check("resourceVersion=7", "AtLeast(7)");
    check(
        "resourceVersion=7&resourceVersionMatch=NotOlderThan",
        "AtLeast(7)",
    );
    check("resourceVersion=7&resourceVersionMatch=Exact", "Exactly(7)");
    check("resourceVersion=0&continue=tok", "token tok");
    check(
        "resourceVersion=x",
        "error: invalid resourceVersion: \"x\" is not a number in range",
    );
    check(
        "resourceVersionMatch=Exact",
        "error: resourceVersionMatch is forbidden unless resourceVersion is provided",
    );
    check(
        "resourceVersion=0&resourceVersionMatch=Exact",
        "error: resourceVersionMatch Exact is forbidden for resourceVersion 0",
    );
    check(
        "resourceVersion=7&continue=tok",
        "error: resourceVersion is forbidden when continue is provided",
    );
    check(
        "resourceVersion=7&resourceVersionMatch=Newest",
        "error: invalid resourceVersionMatch: \"Newest\" is neither Exact nor NotOlderThan",
    );
}

#[test]
fn what_nobody_knows_is_ignored_and_told() {
    check("shiny=1&limit=2", r#"page 2; ignored "shiny""#);
    check(
        "fieldManager=kubectl&x&x=2",
        r#"ignored "fieldManager"; ignored "x""#,
    );
    check("=1", r#"ignored """#);
}

#[test]
fn our_own_names_misspelt_are_refused() {
    check(
        "cluster=a",
        "error: unknown query parameter \"cluster\": did you mean clusters?",
    );
    check(
        "OrderBy=name",
        "error: unknown query parameter \"OrderBy\": did you mean orderby?",
    );
    check(
        "labelSelector=serach.clusterpedia.io/clusters%3Da",
        "error: unknown label prefix \"serach.clusterpedia.io\": did you mean search.clusterpedia.io?",
    );
    check(
        "labelSelector=search.clusterpedia.io/cluster%3Da",
        "error: search label search.clusterpedia.io/cluster is not served",
    );
}

#[test]
fn a_parameter_of_kubernetes_that_is_repeated_counts_once_and_one_of_ours_is_refused() {
    check("limit=1&limit=2", r#"page 1; repeated "limit""#);
    check(
        "clusters=a&clusters=b",
        "error: query parameter \"clusters\" is given more than once",
    );
}

#[test]
fn what_cannot_be_served_as_it_was_meant_is_refused() {
    check(
        "limit=many",
        "error: invalid limit: \"many\" is not a number in range",
    );
    check(
        "clusters=a,,b",
        "error: invalid clusters: a name in the list is empty",
    );
    check(
        "names=a%00b",
        "error: invalid names: the name \"a\\0b\" has a control character",
    );
    check(
        "fieldSelector=metadata.name%21%3D%07",
        "error: invalid fieldSelector: the name \"\\u{7}\" has a control character",
    );
    check(
        "fieldSelector=metadata.namespace%3D%7F",
        "error: invalid fieldSelector: the name \"\\u{7f}\" has a control character",
    );
    check(
        "includeObject=All",
        "error: invalid includeObject: \"All\" is none of None, Metadata, Object",
    );
    check(
        "orderby=name%20down",
        "error: invalid orderby: \"name down\" is not a field, or a field and desc",
    );
    check(
        "orderby=name,name",
        "error: invalid orderby: a field is named twice",
    );
    check(
        "sendInitialEvents=true",
        "error: sendInitialEvents is forbidden for a list",
    );
    for name in ["since", "ownerName", "whereSQL", "groups", "shardSelector"] {
        check(
            &format!("{name}=1"),
            &format!("error: query parameter {name} is not served"),
        );
    }
}

#[test]
fn a_watch_is_a_request_of_its_own() {
    check("watch=false", "");
    check("watch", "watch");
    check(
        "watch=true&clusters=a&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=30",
        r#"watch; clusters in {"a"}; AtLeast(7); bookmarks; for 30s"#,
    );
    check(
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0",
        "watch; initial events",
    );
    check(
        "watch=1&sendInitialEvents=true",
        "error: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
    check(
        "watch=1&resourceVersionMatch=NotOlderThan",
        "error: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    );
    check(
        "watch=1&timeoutSeconds=soon",
        "error: invalid timeoutSeconds: \"soon\" is not a number in range",
    );
}

#[track_caller]
fn check_get(query: &str, expected: &str) {
    let place = PathParams {
        cluster: ClusterName::new("c").ok(),
        namespace: Some("n".to_owned()),
        name: Some("o".to_owned()),
    };
    assert_eq!(shown(query, &place), expected, "{query}");
}

#[test]
fn a_get_takes_its_own_parameters_only() {
    check_get("", "get");
    check_get("resourceVersion=0&timeout=3s", "get");
    check_get("resourceVersion=5", "get; AtLeast(5)");
    check_get(
        "resourceVersion=five",
        "error: invalid resourceVersion: \"five\" is not a number in range",
    );
    check_get(
        "pretty=true&includeObject=None",
        "get; pretty; include None",
    );
    check_get(
        "watch=true&labelSelector=a&clusters=b&shiny=1",
        r#"get; ignored "clusters"; ignored "labelSelector"; ignored "shiny"; ignored "watch""#,
    );
    check_get(
        "cluster=a",
        "error: unknown query parameter \"cluster\": did you mean clusters?",
    );
    check_get("since=1", "error: query parameter since is not served");
}

#[test]
fn a_message_never_repeats_a_long_text_in_full() {
    let long = "x".repeat(60_000);
    for query in [
        format!("labelSelector={long}!"),
        format!("limit={long}"),
        format!("orderby={long}"),
    ] {
        let message = shown(&query, &PathParams::default());
        assert!(
            message.starts_with("error: ") && message.len() < 400,
            "{} characters",
            message.len()
        );
    }
    let ignored = shown(&format!("{long}=1"), &PathParams::default());
    assert!(ignored.len() < 400, "{} characters", ignored.len());
}

proptest! {
    #[test]
    fn no_query_string_makes_it_panic(name in proptest::sample::select(names::LIST.names()), value in "\\PC{0,30}") {
        let _ = shown(&format!("{name}={value}"), &PathParams::default());
    }
}

/// How many pairs of names are compared letter by letter to answer this.
fn compared(query: &str) -> (usize, String) {
    let compared = || names::tests::COMPARED.with(std::cell::Cell::get);
    let before = compared();
    let answer = shown(query, &PathParams::default());
    (compared() - before, answer)
}

fn many(count: usize, separator: &str, one: impl Fn(usize) -> String) -> String {
    let all: Vec<String> = (0..count).map(one).collect();
    all.join(separator)
}

#[test]
fn as_many_parameters_as_a_url_has_room_for_are_refused_and_not_compared() {
    let refused = "error: more than 64 query parameters at once: ask in several requests";
    for query in [
        many(20_000, "&", |_| "x=".to_owned()),
        many(6_000, "&", |number| format!("claster{number:03}")),
        many(65, "&", |_| "limit=1".to_owned()),
    ] {
        assert_eq!(compared(&query), (0, refused.to_owned()));
    }
    // Eight of our names are about as long as these.
    let (count, answer) = compared(&many(64, "&", |number| format!("xxxxxx{number:02}")));
    assert!(answer.starts_with("ignored"), "{answer}");
    assert_eq!(count, 64 * 8);
}

#[test]
fn as_many_requirements_as_a_url_has_room_for_are_refused_and_not_compared() {
    let refused = "error: more than 64 requirements at once: ask in several requests";
    let prefixed = |number: usize| format!("serch.x.clusterpedia.io/k{number}!=v");
    let named = |number: usize| format!("metadata.name!=n{number}");
    for query in [
        format!("labelSelector={}", many(2_000, ",", prefixed)),
        format!("fieldSelector={}", many(3_000, ",", named)),
    ] {
        assert_eq!(compared(&query), (0, refused.to_owned()));
    }
    let same = many(2_000, ",", |_| "serch.x.clusterpedia.io/k!=v".to_owned());
    assert!(compared(&format!("labelSelector={same}")).0 <= 2);
    let some = many(64, ",", named);
    let (_, answer) = compared(&format!("fieldSelector={some}"));
    assert!(!answer.starts_with("error"), "{answer}");
}

#[test]
fn lists_as_long_as_a_url_has_room_for_are_refused_and_not_kept() {
    let refused = "error: more than 5000 items in lists at once: ask in several requests";
    let name = |number: usize| format!("{number:x}");
    let (half, more) = (many(2_500, ",", name), many(2_503, ",", name));
    for query in [
        format!("names={}", many(12_000, ",", name)),
        format!("labelSelector={}", many(5_002, ",", |_| "a".to_owned())),
        format!("names={half}&labelSelector=app%20in%20({more})"),
    ] {
        assert_eq!(shown(&query, &PathParams::default()), refused);
    }
    let answer = shown(
        &format!("names={half}&clusters={half}"),
        &PathParams::default(),
    );
    assert!(!answer.starts_with("error"), "{answer}");
}
