//! What the controllers and the synchro ask a control plane for because of a policy, or why it cannot be followed. Pure.

use armadex_crds::{ClusterImportPolicySpec, PolicyReference, is_serving_secret};
use armadex_importpolicy::validate_namespaces;
use armadex_lifecycle::{name_in, namespace_in};
use armadex_policy::check_kind;

use super::written::{Written, credential_namespaces};
use crate::command::policy::lies_in_namespaces;

/// Objects that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) verbs: &'static [&'static str],
    /// The one object; all of them if there is none.
    pub(super) name: Option<String>,
    pub(super) place: Place,
    /// The synchro reads them too, as credentials of members.
    pub(super) are_credentials: bool,
    /// What for, in words.
    pub(super) why: String,
}

/// Where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In all namespaces, or in none.
    Everywhere,
    /// In this one.
    In(String),
    /// In each of those that Armadex may read Secrets in.
    Credentials,
}

/// The objects of a namespace are followed by a watch of metadata, and each that is named is read by itself.
pub(super) const FOLLOWED: &[&str] = &["get", "list", "watch"];
/// One that has a watch of its own.
const WATCHED: &[&str] = &["list", "watch"];
/// One that is named, in a namespace whose others are nobody's business: it is read again and again.
const READ: &[&str] = &["get"];

/// What Karmada looks for on `clusters/proxy` of those whom it may be in a member, whatever the verb: this one lets nobody do anything.
const IMPERSONATED: &[&str] = &["impersonated"];
const KARMADA: &str = "cluster.karmada.io";

/// The field of a PediaCluster by which the control plane is asked for a member.
const PROXY_FIELD: &str = "controlPlaneProxy";

/// Of a policy. Fails for one of which nothing would come on any control plane: what names no kind may be every kind where it stands in a role.
pub(super) fn of_policy(spec: &ClusterImportPolicySpec) -> Result<Vec<Need>, String> {
    let references = spec.references.iter();
    let lie_in_namespaces = references.map(|it| lies_in_namespaces(&it.group, &it.resource));
    let namespaces = validate_namespaces(spec, lie_in_namespaces);
    namespaces.map_err(|invalid| invalid.message)?;
    let mut needs = vec![source(spec)?];
    for reference in &spec.references {
        let need = of_reference(reference);
        let field = format!("references[{}]", reference.key);
        needs.push(need.map_err(|refusal| format!("{field}: {refusal}"))?);
    }
    let credentials = credential_namespaces(&spec.template).into_iter();
    needs.extend(credentials.map(|namespace| {
        let why = "credentials that the template names by authenticationFrom";
        let place = match namespace {
            Written::Fixed(namespace) => Place::In(namespace),
            Written::Rendered => Place::Credentials,
        };
        secrets(why.to_owned(), place)
    }));
    Ok(needs)
}

/// The control plane asked for members in their place: a request for each, whatever is asked for below. Where a template has the field, it
/// is the proxy of the source objects, and of no others.
pub(super) fn of_proxy(spec: &ClusterImportPolicySpec) -> Option<Need> {
    let (group, resource) = (&spec.source.group, &spec.source.resource);
    spec.template.contains(PROXY_FIELD).then(|| Need {
        group: group.clone(),
        resource: format!("{resource}/proxy"),
        verbs: READ,
        name: None,
        place: Place::Everywhere,
        are_credentials: false,
        why: "members that are asked by the control plane".to_owned(),
    })
}

/// What the groups need of whoever asks Karmada so: it asks members as these too.
pub(super) fn of_impersonated(proxy: &Need) -> Option<Need> {
    (proxy.group == KARMADA).then(|| Need {
        verbs: IMPERSONATED,
        why: "the groups of whoever asks Karmada for members, which it asks as; nobody may do anything by it".to_owned(),
        ..proxy.clone()
    })
}

/// Secrets with credentials of members.
pub(super) fn secrets(why: String, place: Place) -> Need {
    Need {
        group: String::new(),
        resource: SECRETS.to_owned(),
        verbs: FOLLOWED,
        name: None,
        place,
        are_credentials: true,
        why,
    }
}

impl Need {
    pub(super) fn is_of_secrets(&self) -> bool {
        is_secrets(&self.group, &self.resource)
    }
}

const SECRETS: &str = "secrets";

fn is_secrets(group: &str, resource: &str) -> bool {
    group.is_empty() && resource == SECRETS
}

fn source(spec: &ClusterImportPolicySpec) -> Result<Need, String> {
    let (group, resource) = (&spec.source.group, &spec.source.resource);
    check_kind(group, resource).map_err(|refusal| format!("source: {refusal}"))?;
    Ok(Need {
        group: group.clone(),
        resource: resource.clone(),
        verbs: WATCHED,
        name: None,
        place: match is_secrets(group, resource) {
            true => Place::Credentials,
            false => Place::Everywhere,
        },
        are_credentials: false,
        why: "the source objects".to_owned(),
    })
}

fn of_reference(reference: &PolicyReference) -> Result<Need, String> {
    let PolicyReference {
        key,
        group,
        resource,
        versions: _,
        namespace_template,
        name_template,
    } = reference;
    check_kind(group, resource)?;
    let of_secrets = is_secrets(group, resource);
    let name = match Written::of(name_template) {
        Written::Fixed(name) => Some(checked_name(&name, of_secrets)?),
        Written::Rendered => None,
    };
    let named = if name.is_some() { READ } else { FOLLOWED };
    let (verbs, place, more) = match Written::of(namespace_template) {
        // Of a kind without namespaces each object is watched by itself.
        _ if namespace_template.is_empty() => (WATCHED, Place::Everywhere, ""),
        Written::Fixed(text) => {
            let namespace = namespace_in(&text);
            let place = namespace.map_err(|refusal| format!("namespaceTemplate {refusal}"))?;
            (named, Place::In(place), "")
        }
        Written::Rendered if of_secrets => (named, Place::Credentials, ""),
        Written::Rendered => {
            let words =
                "; in all namespaces, as namespaceTemplate names another for each source object";
            (named, Place::Everywhere, words)
        }
    };
    let later = match verbs == READ && place != Place::Everywhere {
        true => "; it alone, so a change is known some seconds later",
        false => "",
    };
    Ok(Need {
        group: group.clone(),
        resource: resource.clone(),
        verbs,
        name,
        place,
        are_credentials: false,
        why: format!("references[{key}]{later}{more}"),
    })
}

/// A name that stands in the text. In a role the empty one would be every object.
fn checked_name(text: &str, of_secrets: bool) -> Result<String, String> {
    let name = name_in(text).map_err(|refusal| format!("nameTemplate {refusal}"))?;
    match of_secrets && is_serving_secret(&name) {
        true => Err(format!(
            "the Secret {name} is read for no policy: it is the serving certificate of Armadex"
        )),
        false => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// With one reference, to ConfigMaps where it does not say otherwise.
    fn spec(reference: &serde_json::Value) -> ClusterImportPolicySpec {
        let mut fields = json!({"key": "k", "group": "", "resource": "configmaps"});
        let more = reference.as_object().expect("fields").clone();
        fields.as_object_mut().expect("fields").extend(more);
        let spec = json!({"source": {"group": "a.example", "resource": "members"}, "references": [fields],
            "nameTemplate": "x", "template": "spec: {}", "creationCondition": "true"});
        serde_json::from_value(spec).expect("a spec")
    }

    /// Verbs, what of, and where, of the one reference.
    fn asked(reference: &serde_json::Value) -> (Vec<&'static str>, Option<String>, Place) {
        let spec = spec(reference);
        let needs = of_policy(&spec).expect("it is followed");
        let [source, need] = &needs[..] else {
            panic!("{needs:#?}");
        };
        assert_eq!((source.verbs, &source.place), (WATCHED, &Place::Everywhere));
        let Need {
            verbs, name, place, ..
        } = need.clone();
        (verbs.to_vec(), name, place)
    }

    #[test]
    fn what_is_fixed_is_granted_alone() {
        let (rendered, followed) = ("{{source.metadata.name}}", FOLLOWED.to_vec());
        let with = |namespace: &str, name: &str| {
            asked(&json!({"namespaceTemplate": namespace, "nameTemplate": name}))
        };
        let named = Some("one".to_owned());
        assert_eq!(
            with("a", "one"),
            (vec!["get"], named.clone(), Place::In("a".to_owned()))
        );
        assert_eq!(
            with("a", rendered),
            (followed.clone(), None, Place::In("a".to_owned()))
        );
        assert_eq!(
            with(rendered, rendered),
            (followed, None, Place::Everywhere)
        );
        assert_eq!(
            with(rendered, "one"),
            (vec!["get"], named.clone(), Place::Everywhere)
        );
        let alone = |name: &str| asked(&json!({"resource": "nodes", "nameTemplate": name}));
        let watched = vec!["list", "watch"];
        assert_eq!(alone("one"), (watched.clone(), named, Place::Everywhere));
        assert_eq!(alone(rendered), (watched, None, Place::Everywhere));
    }

    #[test]
    fn secrets_are_read_where_credentials_lie() {
        let secret = |namespace: &str, name: &str| {
            asked(
                &json!({"resource": "secrets", "namespaceTemplate": namespace, "nameTemplate": name}),
            )
        };
        let (rendered, one) = ("{{source.a}}", Some("one".to_owned()));
        let team_a = Place::In("team-a".to_owned());
        let followed = FOLLOWED.to_vec();
        assert_eq!(secret("team-a", rendered), (followed.clone(), None, team_a));
        let anywhere = Place::Credentials;
        assert_eq!(
            secret(rendered, rendered),
            (followed, None, anywhere.clone())
        );
        assert_eq!(secret(rendered, "one"), (vec!["get"], one, anywhere));
    }

    #[test]
    fn what_would_be_more_in_a_role_than_in_a_policy_is_refused() {
        let rendered = "{{source.a}}";
        let secret = |namespace: &str, name: &str| json!({"resource": "secrets", "namespaceTemplate": namespace, "nameTemplate": name});
        let kind = |group: &str, resource: &str| json!({"group": group, "resource": resource, "namespaceTemplate": rendered, "nameTemplate": rendered});
        for (reference, refusal) in [
            (kind("", "*"), "\"*\" is not the name of a resource"),
            (kind("", ""), "\"\" is not the name of a resource"),
            (kind("*", "pods"), "\"*\" is not the name of a group"),
            (
                kind("", "pods/exec"),
                "\"pods/exec\" is not the name of a resource",
            ),
            (
                kind("", "Secrets"),
                "\"Secrets\" is not the name of a resource",
            ),
            (
                secret("", rendered),
                "secrets lie in namespaces: namespaceTemplate is missing",
            ),
            (
                secret(" \n", rendered),
                "namespaceTemplate renders to nothing",
            ),
            (
                secret("a/b", rendered),
                "namespaceTemplate renders to something that can't be a name",
            ),
            (secret(rendered, " "), "nameTemplate renders to nothing"),
            (
                secret(rendered, "*"),
                "nameTemplate renders to something that can't be a name",
            ),
            (
                secret("a", "armadex-serving"),
                "is the serving certificate of Armadex",
            ),
            (
                json!({"nameTemplate": rendered}),
                "configmaps lie in namespaces: namespaceTemplate is missing",
            ),
        ] {
            let words = of_policy(&spec(&reference)).expect_err(refusal);
            assert!(words.starts_with("references[k]: "), "{words}");
            assert!(words.contains(refusal), "{words}");
        }
        let mut source = spec(&kind("", "pods"));
        source.source.resource = "*".to_owned();
        let words = of_policy(&source).expect_err("every kind");
        assert_eq!(words, "source: \"*\" is not the name of a resource");
    }
}
