//! What stands in a template as it is, whatever it is rendered over. Pure.

use armadex_crds::is_subdomain;

use super::keys::{value_behind, without_free_fields};

/// A name in a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Written {
    /// As it stands there.
    Fixed(String),
    /// It comes of a tag, or cannot be told.
    Rendered,
}

/// In the place of a tag: no name has it.
const TAG: char = '\0';
/// Where the fields of a PediaCluster are that name Secrets.
const REFERRING: &str = "authenticationFrom";
/// The field in which they name a namespace; no other field of a PediaCluster has this name, but where keys are anybody's.
const NAMESPACE: &str = "namespace";

impl Written {
    /// The whole text of a template.
    pub(super) fn of(template: &str) -> Self {
        match template.trim() {
            text if text.contains("{{") => Self::Rendered,
            text => Self::Fixed(text.to_owned()),
        }
    }
}

/// The namespaces that the template of a PediaCluster takes credentials from. One that is not said is that of Armadex, and is not among them.
pub(super) fn credential_namespaces(template: &str) -> Vec<Written> {
    if !template.contains(REFERRING) {
        return Vec::new();
    }
    let (text, tags) = without_tags(template);
    let text: Vec<&str> = text.lines().map(without_comment).collect();
    let text = without_free_fields(&text.join("\n"), TAG);
    let mut found: Vec<Written> = text.lines().flat_map(of_line).collect();
    let by_function = |tag: &String| {
        let quoted = ["\"", "'", "`"].map(|quote| format!("{quote}{NAMESPACE}{quote}"));
        quoted.iter().any(|quoted| tag.contains(quoted))
    };
    if tags.iter().any(by_function) {
        found.push(Written::Rendered);
    }
    found.sort();
    found.dedup();
    found
}

/// The text with a sign in the place of each tag, and the tags.
fn without_tags(template: &str) -> (String, Vec<String>) {
    let (mut text, mut tags, mut rest) = (String::new(), Vec::new(), template);
    while let Some((before, behind)) = rest.split_once("{{") {
        text.push_str(before);
        let (tag, after) = behind.split_once(end_of(behind)).unwrap_or((behind, ""));
        if is_comment(behind) {
            rest = after;
            continue;
        }
        text.push(TAG);
        tags.push(tag.to_owned());
        rest = after;
    }
    text.push_str(rest);
    (text, tags)
}

/// What ends the tag that this text begins with.
fn end_of(behind: &str) -> &'static str {
    let inner = behind.trim_start_matches(['-', '~', ' ']);
    match inner {
        _ if inner.starts_with("!--") => "--}}",
        _ if inner.starts_with("/*") => "*/}}",
        _ if inner.starts_with('{') => "}}}",
        _ => "}}",
    }
}

fn is_comment(behind: &str) -> bool {
    let inner = behind.trim_start_matches(['-', '~', ' ']);
    inner.starts_with('!') || inner.starts_with("/*")
}

fn without_comment(line: &str) -> &str {
    match line.trim_start().starts_with('#') {
        true => "",
        false => line.split(" #").next().unwrap_or_default(),
    }
}

/// In YAML of one field a line, and in JSON.
fn of_line(line: &str) -> Vec<Written> {
    let keys = line.match_indices(NAMESPACE);
    keys.filter_map(|(at, key)| {
        let value = value_behind(line, at, key)?;
        let value = value.split([',', '}']).next().unwrap_or_default().trim();
        let name = value.trim_matches(['"', '\'']);
        match name {
            "" if !value.is_empty() => None,
            name if is_subdomain(name) => Some(Written::Fixed(name.to_owned())),
            _ => Some(Written::Rendered),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(name: &str) -> Written {
        Written::Fixed(name.to_owned())
    }

    #[test]
    fn a_template_without_tags_is_what_it_says() {
        assert_eq!(Written::of(" karmada-cluster\n"), fixed("karmada-cluster"));
        assert_eq!(Written::of("{{source.metadata.name}}"), Written::Rendered);
        assert_eq!(Written::of(""), fixed(""));
    }

    #[test]
    fn namespaces_of_credentials_are_found_where_a_template_says_them() {
        let of = |fields: &str| {
            credential_namespaces(&format!("spec:\n  authenticationFrom:\n{fields}"))
        };
        for (fields, namespaces) in [
            ("    token: {name: a, key: b}", vec![]),
            ("    token:\n      namespace: team-a", vec![fixed("team-a")]),
            (
                "    token: {namespace: 'team-a', name: a}",
                vec![fixed("team-a")],
            ),
            (
                "{\"token\": {\"namespace\": \"team-a\"}}",
                vec![fixed("team-a")],
            ),
            ("      namespace: team-a # theirs", vec![fixed("team-a")]),
            ("      namespace: \"\"", vec![]),
            ("      # namespace: team-a", vec![]),
            ("      {{!-- namespace: team-a --}}", vec![]),
            ("      {{- /* namespace: team-a */}}", vec![]),
            (
                "      namespace: {{toJson source.metadata.namespace}}",
                vec![Written::Rendered],
            ),
            (
                "      namespace: \"team-{{source.team}}\"",
                vec![Written::Rendered],
            ),
            ("      namespace:\n        team-a", vec![Written::Rendered]),
            (
                "{{ dict \"namespace\" .source.team | toJson }}",
                vec![Written::Rendered],
            ),
            (
                "  syncResources: [{namespaces: [a]}]\n  my-namespace: b",
                vec![],
            ),
            (
                "      namespace: b\n{{#if x}}\n      namespace: a\n{{else}}\n      namespace: {{y}}\n{{/if}}\n      namespace: b",
                vec![fixed("a"), fixed("b"), Written::Rendered],
            ),
        ] {
            assert_eq!(of(fields), namespaces, "{fields}");
        }
        assert_eq!(credential_namespaces("metadata: {namespace: a}"), []);
    }

    /// Whoever may write a template could have any namespace granted by what is no reference to a Secret.
    #[test]
    fn no_label_annotation_or_header_is_taken_for_a_namespace() {
        for free in [
            "metadata:\n  labels:\n    namespace: b\n",
            "metadata:\n  annotations: {namespace: b}\n",
            "metadata: {labels: {namespace: b}} # c\n",
            "{{#if x}}\nmetadata:\n{{/if}}\n  labels:\n    namespace: {{y}}\n",
            "connection:\n  proxyHeader:\n    namespace: b\n",
        ] {
            let text = format!("{free}spec:\n  authenticationFrom: {{token: {{namespace: a}}}}\n");
            assert_eq!(credential_namespaces(&text), [fixed("a")], "{text}");
        }
    }
}
