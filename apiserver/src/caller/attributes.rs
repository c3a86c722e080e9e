//! What a request asks permission for, outside (the path, as the host's kube-apiserver sees it) and inside (the objects).

use armadex_model::{GroupVersionResource, NameFilter, Query};
use serde::Serialize;

/// One question to the host's authoriser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Attributes {
    /// About objects.
    Resource {
        /// `get`, `list` or `create`, or `impersonate` for what a caller wants to act as.
        verb: &'static str,
        /// The API group.
        group: String,
        /// Its version.
        version: String,
        /// The plural name.
        resource: String,
        /// Empty for the object itself.
        subresource: String,
        /// Empty for all namespaces and for cluster-scoped objects.
        namespace: String,
        /// Empty for all names.
        name: String,
    },
    /// About a path that is no object, always to `get` it.
    Path(String),
}

/// The largest number of namespaces that are asked about one by one.
pub(crate) const MAX_NAMESPACES: usize = 50;

/// What a kube-apiserver makes of a path, by its rules for resource requests: `/apis/<group>/<version>/<resource>/<name>/<subresource>`,
/// where a GET with a name is a `get`, however long the path goes on.
pub(crate) fn outer(segments: &[String]) -> Attributes {
    outer_as(segments, "get")
}

/// The same for a POST, which is a `create` wherever it goes.
pub(crate) fn outer_create(segments: &[String]) -> Attributes {
    outer_as(segments, "create")
}

fn outer_as(segments: &[String], verb: &'static str) -> Attributes {
    match segments {
        [apis, group, version, resource, rest @ ..] if apis == "apis" => Attributes::Resource {
            verb: if rest.is_empty() { "list" } else { verb },
            group: group.clone(),
            version: version.clone(),
            resource: resource.clone(),
            subresource: rest.get(1).cloned().unwrap_or_default(),
            namespace: String::new(),
            name: rest.first().cloned().unwrap_or_default(),
        },
        _ => Attributes::Path(format!("/{}", segments.join("/"))),
    }
}

/// The inner question of a get.
pub(crate) fn inner_get(
    resource: &GroupVersionResource,
    namespace: Option<&str>,
    name: &str,
) -> Attributes {
    // A kube-apiserver takes a namespace to lie in itself.
    let is_namespace = resource.group.is_empty() && resource.resource == "namespaces";
    let namespace = namespace.or(is_namespace.then_some(name));
    inner("get", resource, namespace.unwrap_or_default(), name)
}

/// The inner questions of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListQuestions {
    /// If this is granted, all is well.
    pub(crate) first: Attributes,
    /// Otherwise these must all be; empty if there is nothing else to ask.
    pub(crate) otherwise: Vec<Attributes>,
}

/// What to ask for a list of one type: for the namespace of its path; else for all namespaces, and failing that for each of the few that
/// the query names.
pub(crate) fn inner_list(
    path_namespace: Option<&str>,
    query: &Query,
    resource: &GroupVersionResource,
) -> ListQuestions {
    // Who may list only some names may list these.
    let name = match &query.names {
        NameFilter::In(names) if names.len() == 1 => names.first().map_or("", String::as_str),
        _ => "",
    };
    let first = inner("list", resource, path_namespace.unwrap_or_default(), name);
    let otherwise = match (&query.namespaces, path_namespace) {
        (NameFilter::In(namespaces), None)
            if (1..=MAX_NAMESPACES).contains(&namespaces.len()) && !namespaces.contains("") =>
        {
            let ask = |namespace: &String| inner("list", resource, namespace, name);
            namespaces.iter().map(ask).collect()
        }
        _ => Vec::new(),
    };
    ListQuestions { first, otherwise }
}

fn inner(
    verb: &'static str,
    resource: &GroupVersionResource,
    namespace: &str,
    name: &str,
) -> Attributes {
    Attributes::Resource {
        verb,
        group: resource.group.clone(),
        version: resource.version.clone(),
        resource: resource.resource.clone(),
        subresource: String::new(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::target::segments;

    fn shown(attributes: &Attributes) -> String {
        match attributes {
            Attributes::Path(path) => path.clone(),
            Attributes::Resource {
                verb,
                group,
                version,
                resource,
                subresource,
                namespace,
                name,
            } => format!(
                "{verb} {group}/{version} {resource}[{name}]/{subresource} in [{namespace}]"
            ),
        }
    }

    #[track_caller]
    fn check(path: &str, expected: &str) {
        assert_eq!(
            shown(&outer(&segments(path).expect("a path"))),
            expected,
            "{path}"
        );
    }

    #[test]
    fn the_outer_question_is_what_a_kube_apiserver_asks() {
        let base = "/apis/clusterpedia.io/v1beta1";
        let resource = |rest: &str| format!("get clusterpedia.io/v1beta1 {rest} in []");
        check(
            &format!("{base}/resources/api/v1/pods"),
            &resource("resources[api]/v1"),
        );
        check(
            &format!("{base}/resources/apis/apps/v1/deployments"),
            &resource("resources[apis]/apps"),
        );
        check(
            &format!("{base}/resources/clusters/m1/api/v1/pods"),
            &resource("resources[clusters]/m1"),
        );
        check(
            &format!("{base}/resources/version"),
            &resource("resources[version]/"),
        );
        check(
            &format!("{base}/fleets/all/proxy/api/v1/pods"),
            &resource("fleets[all]/proxy"),
        );
        check(
            &format!("{base}/clusters/m1/proxy/api"),
            &resource("clusters[m1]/proxy"),
        );
        check(
            &format!("{base}/collectionresources/any"),
            &resource("collectionresources[any]/"),
        );
        check(
            &format!("{base}/collectionresources"),
            "list clusterpedia.io/v1beta1 collectionresources[]/ in []",
        );
        check(base, base);
        check("/apis", "/apis");
        check("/openapi/v2", "/openapi/v2");
        check("/version", "/version");
    }

    #[test]
    fn the_outer_question_of_a_post_is_a_create() {
        let path = "/apis/clusterpedia.io/v1beta1/fleets/all/proxy/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
        assert_eq!(
            shown(&outer_create(&segments(path).expect("a path"))),
            "create clusterpedia.io/v1beta1 fleets[all]/proxy in []"
        );
    }

    fn query() -> Query {
        Query::all(GroupVersionResource::new("", "v1", "pods"))
    }

    fn questions(path_namespace: Option<&str>, query: &Query) -> Vec<String> {
        let ListQuestions { first, otherwise } =
            inner_list(path_namespace, query, &query.types[0].resource);
        std::iter::once(&first)
            .chain(&otherwise)
            .map(shown)
            .collect()
    }

    #[test]
    fn a_list_asks_for_its_namespace_or_for_all_and_then_for_each() {
        assert_eq!(questions(None, &query()), ["list /v1 pods[]/ in []"]);
        let mut named = query();
        named.namespaces = NameFilter::only("x");
        assert_eq!(questions(Some("x"), &named), ["list /v1 pods[]/ in [x]"]);
        named.namespaces = NameFilter::In(["x".into(), "y".into()].into());
        assert_eq!(
            questions(None, &named),
            [
                "list /v1 pods[]/ in []",
                "list /v1 pods[]/ in [x]",
                "list /v1 pods[]/ in [y]"
            ]
        );
        named.namespaces = NameFilter::NotIn(["x".into()].into());
        assert_eq!(questions(None, &named).len(), 1);
        named.namespaces = NameFilter::In((0..51).map(|n| n.to_string()).collect());
        assert_eq!(questions(None, &named).len(), 1);
    }

    #[test]
    fn a_question_names_the_group_and_the_version_of_its_type() {
        let mut query = Query::all(GroupVersionResource::new("apps", "v1", "deployments"));
        query.namespaces = NameFilter::only("x");
        assert_eq!(
            questions(None, &query),
            [
                "list apps/v1 deployments[]/ in []",
                "list apps/v1 deployments[]/ in [x]"
            ]
        );
        let leases = GroupVersionResource::new("coordination.k8s.io", "v1beta1", "leases");
        assert_eq!(
            shown(&inner_get(&leases, Some("x"), "l")),
            "get coordination.k8s.io/v1beta1 leases[l]/ in [x]"
        );
        // Only those of the core group lie in themselves.
        let others = GroupVersionResource::new("acme.com", "v1", "namespaces");
        assert_eq!(
            shown(&inner_get(&others, None, "n")),
            "get acme.com/v1 namespaces[n]/ in []"
        );
    }

    #[test]
    fn a_list_of_one_name_asks_for_that_name() {
        let mut named = query();
        named.names = NameFilter::only("p");
        assert_eq!(questions(Some("x"), &named), ["list /v1 pods[p]/ in [x]"]);
    }

    #[test]
    fn a_namespace_lies_in_itself() {
        let namespaces = GroupVersionResource::new("", "v1", "namespaces");
        assert_eq!(
            shown(&inner_get(&namespaces, None, "x")),
            "get /v1 namespaces[x]/ in [x]"
        );
        let nodes = GroupVersionResource::new("", "v1", "nodes");
        assert_eq!(
            shown(&inner_get(&nodes, None, "n")),
            "get /v1 nodes[n]/ in []"
        );
    }
}
