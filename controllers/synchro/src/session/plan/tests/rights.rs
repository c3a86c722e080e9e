//! What an account of a member is granted, in the lines of a role.

use std::fmt::Write as _;

use armadex_crds::{ClusterSyncResources, PediaCluster, member_rights, read_yaml};
use insta::assert_snapshot;

use super::*;

/// The rules and notes for a spec and a status in YAML, and the list that it refers to.
fn told_with(spec: &str, referred: Option<&str>, gates: Gates) -> String {
    let head = "apiVersion: cluster.clusterpedia.io/v1alpha2\nmetadata: {name: m}\nkind:";
    let cluster: PediaCluster =
        read_yaml(&format!("{head} PediaCluster\n{spec}")).expect("a PediaCluster");
    let list = referred.map(|list| {
        let text = format!("{head} ClusterSyncResources\nspec: {{syncResources: {list}}}");
        read_yaml::<ClusterSyncResources>(&text).expect("a list")
    });
    lines(member_rights_of(&cluster, list.as_ref(), gates))
}

fn lines(rights: Result<MemberRights, String>) -> String {
    let rights = match rights {
        Ok(rights) => rights,
        Err(error) => return error,
    };
    let mut told = String::new();
    for rule in &rights.rules {
        writeln!(told, "{}", member_rights::in_a_line(rule)).expect("text");
    }
    for note in &rights.notes {
        writeln!(told, "note: {note}").expect("text");
    }
    told
}

fn told(spec: &str) -> String {
    told_with(spec, None, Gates::default())
}

const STATUS: &str = "
status:
  syncResources:
  - group: shop.example
    resources:
    - {name: people, kind: Person, namespaced: true, syncConditions: []}
    - {name: things, kind: '', namespaced: false, syncConditions: []}
  - group: ''
    resources:
    - {name: pods, kind: Pod, namespaced: true, syncConditions: []}
    - {name: secrets, kind: Secret, namespaced: true, syncConditions: []}
";

#[test]
fn kinds_by_name_are_listed_and_watched_and_nothing_else() {
    let spec = "spec:
  caData: YQ==
  syncResources:
  - {group: apps, resources: [Deployment, statefulset]}
  - {group: shop.example, resources: [person, Gadgets]}
  - {group: apps, resources: [deployments]}
  - {group: networking.k8s.io, resources: [ingress]}
";
    assert_snapshot!(told(&format!("{spec}{STATUS}")), @r#"
    {apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["list", "watch"]}
    {apiGroups: ["apiregistration.k8s.io"], resources: ["apiservices"], verbs: ["list", "watch"]}
    {apiGroups: ["apps"], resources: ["deployments", "statefulsets"], verbs: ["list", "watch"]}
    {apiGroups: ["networking.k8s.io"], resources: ["ingresses"], verbs: ["list", "watch"]}
    {apiGroups: ["shop.example"], resources: ["gadgets", "people"], verbs: ["list", "watch"]}
    {nonResourceURLs: ["/healthz", "/readyz", "/version"], verbs: ["get"]}
    {nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]}
    note: not known here, and taken for the plural names of resources: gadgets.shop.example
    note: the member is known by its CA bundle and its address, and not told from another cluster that has both: with one rule more, {apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"]}, it is
    "#);
}

/// As in a member that knows the kind by the name of another group alone.
#[test]
fn what_is_read_in_another_group_is_granted_beside_what_is_asked_for() {
    let spec = "spec:
  syncResources:
  - {group: networking.k8s.io, resources: [ingress]}
status:
  syncResources:
  - group: networking.k8s.io
    resources:
    - name: ingresses
      kind: Ingress
      namespaced: true
      syncConditions:
      - {version: v1, syncVersion: v1beta1, syncResource: ingresses.extensions, storageVersion: v1, status: Error, lastTransitionTime: 2026-11-30T12:00:00Z}
";
    let told = told(spec);
    for group in ["extensions", "networking.k8s.io"] {
        let rule = format!(
            r#"{{apiGroups: ["{group}"], resources: ["ingresses"], verbs: ["list", "watch"]}}"#
        );
        assert!(told.contains(&rule), "{told}");
    }
}

#[test]
fn a_star_is_what_the_status_tells_and_all_where_it_tells_nothing() {
    let spec = "spec:
  syncResources:
  - {group: '', resources: ['*']}
  - {group: apps, resources: ['*']}
";
    assert_snapshot!(told(&format!("{spec}{STATUS}")), @r#"
    {apiGroups: [""], resources: ["pods", "secrets"], verbs: ["list", "watch"]}
    {apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["list", "watch"]}
    {apiGroups: ["apiregistration.k8s.io"], resources: ["apiservices"], verbs: ["list", "watch"]}
    {apiGroups: ["apps"], resources: ["*"], verbs: ["list", "watch"]}
    {apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"]}
    {nonResourceURLs: ["/healthz", "/readyz", "/version"], verbs: ["get"]}
    {nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]}
    note: all of group apps is asked for, and the status of the PediaCluster does not tell what there is: the role has all of it, what comes later too; print it again when it is synced, or name what is meant in syncResources
    note: all of group "" is asked for: the role has what the status of the PediaCluster tells of, and of what comes later the status says which rule is missing
    "#);
    let all = "spec: {syncResources: [{group: '*', resources: ['*']}]}";
    let gates = Gates {
        allow_sync_all_resources: true,
        ..Gates::default()
    };
    assert_snapshot!(told(all), @r#"syncResources: group "*" needs the feature gate AllowSyncAllResources"#);
    assert_snapshot!(told_with(all, None, gates), @r#"
    {apiGroups: ["*"], resources: ["*"], verbs: ["list", "watch"]}
    {nonResourceURLs: ["/healthz", "/readyz", "/version"], verbs: ["get"]}
    {nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]}
    note: all of group * is asked for, and the status of the PediaCluster does not tell what there is: the role has all of it, what comes later too; print it again when it is synced, or name what is meant in syncResources
    "#);
    assert_snapshot!(told_with(&format!("{all}{STATUS}"), None, gates), @r#"
    {apiGroups: [""], resources: ["pods", "secrets"], verbs: ["list", "watch"]}
    {apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["list", "watch"]}
    {apiGroups: ["apiregistration.k8s.io"], resources: ["apiservices"], verbs: ["list", "watch"]}
    {apiGroups: ["shop.example"], resources: ["people"], verbs: ["list", "watch"]}
    {apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"]}
    {nonResourceURLs: ["/healthz", "/readyz", "/version"], verbs: ["get"]}
    {nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]}
    note: all of group * is asked for: the role has what the status of the PediaCluster tells of, and of what comes later the status says which rule is missing
    "#);
}

#[test]
fn a_status_that_is_of_before_the_last_edit_is_told_of() {
    let note =
        "note: the status of the PediaCluster is of generation 1, and generation 2 is asked for";
    for (observed, is_told) in [(1, true), (2, false)] {
        let status = STATUS.replace(
            "status:",
            &format!("status:\n  observedGeneration: {observed}"),
        );
        let spec = "spec: {syncResources: [{group: '', resources: ['*']}]}\nmetadata: {name: m, generation: 2}";
        let cluster: PediaCluster = read_yaml(&format!(
            "apiVersion: cluster.clusterpedia.io/v1alpha2\nkind: PediaCluster\n{spec}{status}"
        ))
        .expect("a PediaCluster");
        let told = lines(member_rights_of(&cluster, None, Gates::default()));
        assert_eq!(told.contains(note), is_told, "{told}");
    }
}

#[test]
fn a_list_that_is_referred_to_counts_and_what_a_gate_leaves_out_does_not() {
    let spec = "spec:
  syncResourcesRefName: all
  syncResources:
  - {group: '', resources: [services]}
";
    let list =
        "[{group: coordination.k8s.io, resources: [leases]}, {group: batch, resources: [job]}]";
    let gates = Gates {
        ignore_sync_lease: true,
        ..Gates::default()
    };
    assert_snapshot!(told_with(spec, Some(list), gates), @r#"
    {apiGroups: [""], resources: ["services"], verbs: ["list", "watch"]}
    {apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["list", "watch"]}
    {apiGroups: ["apiregistration.k8s.io"], resources: ["apiservices"], verbs: ["list", "watch"]}
    {apiGroups: ["batch"], resources: ["jobs"], verbs: ["list", "watch"]}
    {nonResourceURLs: ["/healthz", "/readyz", "/version"], verbs: ["get"]}
    {nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]}
    "#);
    assert_snapshot!(told(spec), @r#"
    {apiGroups: [""], resources: ["services"], verbs: ["list", "watch"]}
    {apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["list", "watch"]}
    {apiGroups: ["apiregistration.k8s.io"], resources: ["apiservices"], verbs: ["list", "watch"]}
    {nonResourceURLs: ["/healthz", "/readyz", "/version"], verbs: ["get"]}
    {nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]}
    note: Warning: sync resource ref is not found: there is no ClusterSyncResources all, so syncResources alone count
    "#);
}

/// Where nothing else says who the member is.
#[test]
fn the_namespace_kube_system_is_read_where_nothing_else_tells_the_member_from_others() {
    for (fields, is_read) in [
        ("caData: YQ==", false),
        ("authenticationFrom: {ca: {name: a, key: b}}", false),
        ("caData: YQ==\n  apiserver: http://a", true),
        (
            "caData: YQ==\n  connection: {insecureSkipTLSVerification: true}",
            true,
        ),
        (
            "caData: YQ==\n  connection: {controlPlaneProxy: {group: a, version: v1, resource: b, name: c}}",
            true,
        ),
        (
            "authenticationFrom: {ca: {name: a, key: b}, kubeconfig: {name: a, key: b}}",
            true,
        ),
        ("kubeconfig: YQ==", true),
        ("apiserver: https://a", true),
    ] {
        for (resource, tells) in [("pods", false), ("namespaces", true), ("services", true)] {
            let spec = format!(
                "spec:\n  {fields}\n  syncResources: [{{group: '', resources: [{resource}]}}]\n"
            );
            let told = told(&spec);
            let rule = member_rights::in_a_line(&member_rights::of_identity());
            let has = told.lines().any(|line| line == rule);
            // What another account may not read it is not known by, on the other way.
            let tells = tells && !(resource == "services" && fields.contains("controlPlaneProxy"));
            assert_eq!(has, is_read && !tells, "{spec}: {told}");
        }
    }
}

/// Or all would be listed anew as soon as the role is what is printed.
#[test]
fn the_namespace_kube_system_is_read_on_where_the_member_is_known_by_it() {
    let rule = member_rights::in_a_line(&member_rights::of_identity());
    for (identity, resource, is_read) in [
        ("KubeSystemNamespace", "pods", true),
        ("KubeSystemNamespace", "services", true),
        ("KubeSystemNamespace", "namespaces", false),
        ("KubernetesService", "services", false),
        ("KubernetesService", "pods", false),
        ("CertificateAuthority", "pods", false),
    ] {
        let told = told(&format!(
            "spec:\n  caData: YQ==\n  syncResources: [{{group: '', resources: [{resource}]}}]\nstatus: {{identity: {identity}}}\n"
        ));
        let has = told.lines().any(|line| line == rule);
        assert_eq!(has, is_read, "{identity} {resource}: {told}");
        let service = member_rights::in_a_line(&member_rights::of_service());
        let has = told.lines().any(|line| line == service);
        let is_known_by_it = identity == "KubernetesService" && resource == "pods";
        assert_eq!(has, is_known_by_it, "{identity} {resource}: {told}");
    }
}

/// By the control plane another account asks, which has no rule by this role.
#[test]
fn a_member_with_two_ways_that_is_known_by_its_service_is_granted_the_namespace_as_well() {
    let ways = "connection: {controlPlaneProxy: {group: a, version: v1, resource: b, name: c}}";
    let told = told(&format!(
        "spec:\n  caData: YQ==\n  {ways}\n  syncResources: [{{group: '', resources: [pods]}}]\nstatus: {{identity: KubernetesService}}\n"
    ));
    for rule in [member_rights::of_service(), member_rights::of_identity()] {
        let rule = member_rights::in_a_line(&rule);
        assert!(told.lines().any(|line| line == rule), "{rule}: {told}");
    }
}

#[test]
fn of_all_that_is_custom_those_are_granted_that_are_told() {
    let spec = "spec: {caData: YQ==, syncAllCustomResources: true, syncResources: []}";
    let gates = Gates {
        allow_sync_all_custom_resources: true,
        ..Gates::default()
    };
    let people =
        r#"{apiGroups: ["shop.example"], resources: ["people"], verbs: ["list", "watch"]}"#;
    let told = |status: &str| told_with(&format!("{spec}{status}"), None, gates);
    assert!(told(STATUS).contains(people), "{}", told(STATUS));
    for told in [told(STATUS), told("")] {
        let rules = told.lines().filter(|line| line.contains("list"));
        let others = rules
            .filter(|line| !line.contains("apiextensions") && !line.contains("apiregistration"));
        let others =
            Vec::from_iter(others.filter(|line| *line != people && !line.starts_with("note")));
        assert_eq!(others, [""; 0]);
        assert!(told.contains(
            "note: syncAllCustomResources: the role has those custom resources that the status"
        ));
    }
}

#[test]
fn the_events_of_what_is_asked_for_are_granted_beside_it() {
    let of = |involved: &str| {
        let entry = format!("{{group: apps, resources: [deployments], {involved}}}");
        told(&format!("spec: {{syncResources: [{entry}]}}"))
    };
    let rule = r#"{apiGroups: [""], resources: ["events"], verbs: ["list", "watch"]}"#;
    for involved in ["[deployments]", "['*']"] {
        let told = of(&format!("eventsInvolvedResources: {involved}"));
        assert!(told.contains(rule), "{told}");
    }
    for involved in ["", "eventsInvolvedResources: [pods]"] {
        let told = of(involved);
        assert!(!told.contains("events\""), "{told}");
    }
}
