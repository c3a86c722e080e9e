//! A query string on the left, what it asks for on the right; whatever is as for an empty query string is left out.

use super::*;
use crate::query::OrderBy;
use proptest::prelude::*;

fn pods() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "pods")
}

#[track_caller]
fn check(query: &str, expected: &str) {
    assert_eq!(shown(query, &Place::default()), expected, "{query}");
}

#[track_caller]
fn check_at(cluster: &str, namespace: &str, query: &str, expected: &str) {
    let place = Place {
        cluster: ClusterName::new(cluster).ok(),
        namespace: Some(namespace.to_owned()),
    };
    assert_eq!(shown(query, &place), expected, "{query}");
}

fn shown(query: &str, place: &Place) -> String {
    match parse_list(pods(), place, &RawParams::from_query(query)) {
        Ok(list) => show(list),
        Err(error) => format!("error: {error}"),
    }
}

fn show(list: ListParams) -> String {
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
    let mut parts = vec![
        show_filter("clusters", &query.clusters),
        show_filter("namespaces", &query.namespaces),
        show_filter("names", &query.names),
    ];
    parts.extend(query.labels.iter().map(|label| format!("label {label}")));
    parts.extend(query.fields.iter().map(|field| format!("field {field}")));
    parts.extend(query.order.iter().map(show_order));
    parts.extend(limits.page.map(|rows| format!("page {rows}")));
    parts.extend(limits.total.map(|rows| format!("total {rows}")));
    parts.push(match start {
        Continue::Beginning => String::new(),
        Continue::Offset(rows) => format!("offset {rows}"),
        Continue::Token(token) => format!("token {token}"),
    });
    let said = |yes: bool, word: &str| if yes { word.to_owned() } else { String::new() };
    parts.push(said(!with_continue, "no continue"));
    parts.push(said(with_remaining_count, "remaining"));
    parts.push(said(only_metadata, "metadata"));
    parts.push(said(pretty, "pretty"));
    if include_object != IncludeObject::Metadata {
        parts.push(format!("include {include_object:?}"));
    }
    if revision != Revision::Any {
        parts.push(format!("{revision:?}"));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
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
fn nothing_is_ignored_in_silence() {
    check("cluster=a", "error: unknown query parameter \"cluster\"");
    check(
        "limit=1&limit=2",
        "error: query parameter \"limit\" is given more than once",
    );
    check(
        "limit=many",
        "error: invalid limit: \"many\" is not a number in range",
    );
    check(
        "clusters=a,,b",
        "error: invalid clusters: a name in the list is empty",
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
    check("watch=true", "error: watch is not served");
    check("watch", "error: watch is not served");
    check("watch=false", "");
    check(
        "sendInitialEvents=true",
        "error: sendInitialEvents is forbidden for a list",
    );
    for name in NOT_SERVED {
        check(
            &format!("{name}=1"),
            &format!("error: query parameter {name} is not served"),
        );
    }
}

#[test]
fn a_get_takes_its_own_parameters_only() {
    let get =
        |query: &str| parse_get(&RawParams::from_query(query)).map_err(|error| error.to_string());
    let plain = GetParams {
        include_object: IncludeObject::Metadata,
        pretty: false,
    };
    assert_eq!(get(""), Ok(plain));
    assert_eq!(get("resourceVersion=0&timeout=3s"), Ok(plain));
    assert_eq!(
        get("pretty=true&includeObject=None"),
        Ok(GetParams {
            include_object: IncludeObject::None,
            pretty: true
        })
    );
    assert_eq!(
        get("resourceVersion=5"),
        Err("a get at a resourceVersion other than 0 is not served".into())
    );
    assert_eq!(
        get("labelSelector=a"),
        Err("unknown query parameter \"labelSelector\"".into())
    );
}

#[test]
fn a_message_never_repeats_a_long_text_in_full() {
    let long = "x".repeat(60_000);
    for query in [
        format!("labelSelector={long}!"),
        format!("{long}=1"),
        format!("limit={long}"),
        format!("orderby={long}"),
    ] {
        let message = shown(&query, &Place::default());
        assert!(
            message.starts_with("error: ") && message.len() < 400,
            "{} characters",
            message.len()
        );
    }
}

proptest! {
    #[test]
    fn no_query_string_makes_it_panic(name in proptest::sample::select(LIST_PARAMETERS.as_slice()), value in "\\PC{0,30}") {
        let _ = shown(&format!("{name}={value}"), &Place::default());
    }
}
