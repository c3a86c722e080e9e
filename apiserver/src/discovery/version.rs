//! Versions: the order of API versions, and what `/version` answers.

use serde_json::{Value, json};

/// What an API version is worth: `v2` before `v1`, those before `v2beta1`, that before `v1alpha1`, and anything else last and by
/// name from a to z. The greater comes first.
pub(super) fn priority(name: &str) -> impl Ord + use<'_> {
    let parsed = parse(name);
    (parsed.is_some(), parsed, std::cmp::Reverse(name))
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

fn parse(name: &str) -> Option<(Stability, u32, u32)> {
    let rest = name.strip_prefix('v')?;
    let digits = rest
        .find(|char: char| !char.is_ascii_digit())
        .unwrap_or(rest.len());
    let major = rest[..digits].parse().ok()?;
    let (stability, minor) = match &rest[digits..] {
        "" => (Stability::Stable, "0"),
        rest => match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
            (Some(minor), _) => (Stability::Alpha, minor),
            (_, Some(minor)) => (Stability::Beta, minor),
            _ => return None,
        },
    };
    Some((stability, major, minor.parse().ok()?))
}

/// The document of `/version` for a `gitVersion`.
pub(crate) fn info(git_version: &str) -> Value {
    let (major, minor) = numbers(git_version).map_or_else(
        || (String::new(), String::new()),
        |(major, minor, _)| (major.to_string(), minor.to_string()),
    );
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": git_version,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    })
}

/// The highest of several `gitVersion`s.
pub(crate) fn highest<'a>(versions: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    versions.max_by_key(|version| numbers(version))
}

fn numbers(git_version: &str) -> Option<(u32, u32, u32)> {
    let core = git_version.strip_prefix('v')?.split(['-', '+']).next()?;
    let mut parts = core.split('.').map(str::parse);
    Some((
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_are_ordered_as_kubernetes_orders_them() {
        let mut names = [
            "foo1",
            "v1alpha1",
            "v10",
            "v11beta2",
            "v3beta1",
            "v1",
            "foo10",
            "v12alpha1",
            "v2",
            "v11alpha2",
        ];
        names.sort_by(|a, b| priority(b).cmp(&priority(a)));
        assert_eq!(
            names,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v3beta1",
                "v12alpha1",
                "v11alpha2",
                "v1alpha1",
                "foo1",
                "foo10"
            ]
        );
    }

    #[test]
    fn a_version_is_taken_apart() {
        let info = info("v1.36.2+k3s1");
        assert_eq!(
            (info["major"].as_str(), info["minor"].as_str()),
            (Some("1"), Some("36"))
        );
        assert_eq!(info["gitVersion"], "v1.36.2+k3s1");
    }

    #[test]
    fn the_highest_version_is_found_by_number() {
        let versions = ["v1.9.1", "v1.36.0-rc.1", "strange", "v1.10.0"];
        assert_eq!(highest(versions.into_iter()), Some("v1.36.0-rc.1"));
        assert_eq!(highest(std::iter::empty()), None);
    }
}
