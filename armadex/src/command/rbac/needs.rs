//! What the controllers and the synchro ask a control plane for because of a policy. Pure.

use armadex_crds::{ClusterImportPolicySpec, PolicyReference};

use super::written::{Written, credential_namespaces};

/// Objects that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) verbs: &'static [&'static str],
    /// The one object; all of them if there is none.
    pub(super) name: Option<String>,
    pub(super) place: Place,
    /// They are read as credentials of members, which the synchro does too.
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

/// Of a policy.
pub(super) fn of_policy(spec: &ClusterImportPolicySpec) -> Vec<Need> {
    let references = spec.references.iter().map(of_reference);
    let credentials = credential_namespaces(&spec.template).into_iter();
    let credentials = credentials.map(|namespace| {
        let why = "credentials that the template names by authenticationFrom";
        secrets(why.to_owned(), place(namespace))
    });
    let source = std::iter::once(source(spec));
    source.chain(references).chain(credentials).collect()
}

/// Secrets with credentials of members.
pub(super) fn secrets(why: String, place: Place) -> Need {
    Need {
        group: String::new(),
        resource: "secrets".to_owned(),
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

fn is_secrets(group: &str, resource: &str) -> bool {
    group.is_empty() && resource == "secrets"
}

fn place(namespace: Written) -> Place {
    match namespace {
        Written::Fixed(namespace) => Place::In(namespace),
        Written::Rendered => Place::Credentials,
    }
}

fn source(spec: &ClusterImportPolicySpec) -> Need {
    let (group, resource) = (&spec.source.group, &spec.source.resource);
    if is_secrets(group, resource) {
        return secrets("the source objects".to_owned(), Place::Credentials);
    }
    Need {
        group: group.clone(),
        resource: resource.clone(),
        verbs: WATCHED,
        name: None,
        place: Place::Everywhere,
        are_credentials: false,
        why: "the source objects".to_owned(),
    }
}

fn of_reference(reference: &PolicyReference) -> Need {
    let PolicyReference {
        key,
        group,
        resource,
        versions: _,
        namespace_template,
        name_template,
    } = reference;
    let why = format!("references[{key}]");
    let name = match Written::of(name_template) {
        Written::Fixed(name) => Some(name),
        Written::Rendered => None,
    };
    let namespace = Written::of(namespace_template);
    if is_secrets(group, resource) && namespace == Written::Rendered {
        return secrets(why, Place::Credentials);
    }
    let named = if name.is_some() { READ } else { FOLLOWED };
    let by_name = "; it alone, so a change is known some seconds later";
    let (verbs, place, more) = match namespace {
        // Of a kind without namespaces each object is watched by itself.
        Written::Fixed(none) if none.is_empty() => (WATCHED, Place::Everywhere, ""),
        Written::Fixed(namespace) if name.is_some() => (named, Place::In(namespace), by_name),
        Written::Fixed(namespace) => (named, Place::In(namespace), ""),
        Written::Rendered => {
            let words =
                "; in all namespaces, as namespaceTemplate names another for each source object";
            (named, Place::Everywhere, words)
        }
    };
    Need {
        group: group.clone(),
        resource: resource.clone(),
        verbs,
        name,
        place,
        are_credentials: false,
        why: format!("{why}{more}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Verbs, what of, and where, of the one reference.
    fn asked(reference: &serde_json::Value) -> (Vec<&'static str>, Option<String>, Place) {
        let mut fields = json!({"key": "k", "group": "", "resource": "configmaps"});
        let more = reference.as_object().expect("fields").clone();
        fields.as_object_mut().expect("fields").extend(more);
        let spec = json!({"source": {"group": "a.example", "resource": "members"}, "references": [fields],
            "nameTemplate": "x", "template": "spec: {}", "creationCondition": "true"});
        let spec = serde_json::from_value(spec).expect("a spec");
        let needs = of_policy(&spec);
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
        assert_eq!(
            with("", "one"),
            (vec!["list", "watch"], named, Place::Everywhere)
        );
        assert_eq!(
            with("", rendered),
            (vec!["list", "watch"], None, Place::Everywhere)
        );
    }

    #[test]
    fn secrets_are_read_where_credentials_lie() {
        let secret = |namespace: &str| {
            asked(&json!({"resource": "secrets", "namespaceTemplate": namespace, "nameTemplate": "{{source.a}}"})).2
        };
        assert_eq!(secret("team-a"), Place::In("team-a".to_owned()));
        assert_eq!(secret("{{source.metadata.namespace}}"), Place::Credentials);
    }
}
