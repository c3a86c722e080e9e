//! The older discovery: groups and versions first, then one request for each.

use std::collections::BTreeMap;

use armadex_crds::conditions::shortened;
use armadex_crds::is_subdomain;
use futures::{StreamExt, stream};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded::{AtMost, Verbs};
use super::holding::Holding;
use super::served::{
    Discovery, Group, MOST_ALIASES, MOST_REQUESTS, MOST_RESOURCES, MOST_VERSIONS, ServedResource,
    TOO_MUCH, Version, VersionState,
};
use crate::Member;
use crate::error::MemberError;

/// Requests at the same time; a member has about 30 groups and versions.
const PARALLEL: usize = 8;
/// The resources of one version.
const VERSION_BYTES: usize = 2 << 20;

/// What names the versions to ask for.
#[derive(Deserialize)]
struct Versions {
    #[serde(default)]
    versions: AtMost<String, MOST_VERSIONS>,
}

#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    groups: AtMost<NamedGroup, MOST_REQUESTS>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedGroup {
    name: String,
    #[serde(default)]
    versions: AtMost<NamedVersion, MOST_VERSIONS>,
    #[serde(default)]
    preferred_version: Option<NamedVersion>,
}

#[derive(Deserialize, PartialEq, Eq)]
struct NamedVersion {
    version: String,
}

#[derive(Deserialize)]
struct Resources<'a> {
    #[serde(borrow, default)]
    resources: AtMost<&'a RawValue, MOST_RESOURCES>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    verbs: Verbs,
    #[serde(default)]
    short_names: AtMost<String, MOST_ALIASES>,
    #[serde(default)]
    categories: AtMost<String, MOST_ALIASES>,
}

/// Asks for each version that the answer to `root` (`/api` or `/apis`) names. One that fails does so alone, unless there is no room for it.
pub(crate) async fn fetch(
    member: &Member,
    root: &str,
    answer: &[u8],
    holding: &Holding,
) -> Result<Discovery, MemberError> {
    let wanted = parse_root(root, answer, holding)?;
    let mut asked = stream::iter(wanted.into_iter().enumerate())
        .map(|(index, wanted)| async move { (index, fetch_version(member, wanted, holding).await) })
        .buffer_unordered(PARALLEL);
    let mut states = Vec::new();
    while let Some((index, answer)) = asked.next().await {
        let (group, version) = answer?;
        if !holding.is_whole() {
            return Err(MemberError::malformed(root, TOO_MUCH));
        }
        states.push((index, (group, version)));
    }
    states.sort_by_key(|(index, _)| *index);
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (_, (group, version)) in states {
        groups.entry(group).or_default().versions.push(version);
    }
    Ok(Discovery { groups })
}

/// One version that is to be asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    group: String,
    version: String,
    path: String,
}

async fn fetch_version(
    member: &Member,
    wanted: Wanted,
    holding: &Holding,
) -> Result<(String, Version), MemberError> {
    let answer = member.bytes(&wanted.path, VERSION_BYTES, holding).await;
    let state = match answer.and_then(|bytes| resources(&wanted.path, &bytes, holding)) {
        Ok(found) => VersionState::Served(found),
        Err(error @ MemberError::Large) => return Err(error),
        Err(error) => {
            let words = why(&error);
            holding.hold(words.len())?;
            VersionState::Failed(words)
        }
    };
    let version = Version {
        name: wanted.version,
        state,
    };
    Ok((wanted.group, version))
}

/// Why a version failed, in as many words as a condition may have: a thousand versions may fail, and those of all are held.
fn why(error: &MemberError) -> String {
    shortened(error.to_string())
}

fn parse_root(root: &str, answer: &[u8], holding: &Holding) -> Result<Vec<Wanted>, MemberError> {
    let wanted = named_in(root, answer)?;
    if !holding.requests.add(wanted.len()) {
        return Err(too_many(root));
    }
    holding.versions.add(wanted.len());
    holding
        .groups
        .add(wanted.chunk_by(|a, b| a.group == b.group).count());
    Ok(wanted)
}

fn too_many(root: &str) -> MemberError {
    let problem = format!("it names more than {MOST_REQUESTS} groups and versions");
    MemberError::malformed(root, problem)
}

/// What an answer names, if all of that was read. What is no name is no part of a path either: behind a gateway a member could have others asked for
/// with our credential.
fn named_in(root: &str, answer: &[u8]) -> Result<Vec<Wanted>, MemberError> {
    let undecoded = |error: serde_json::Error| MemberError::undecoded(root, &error);
    let too_much = || MemberError::malformed(root, TOO_MUCH);
    if root == "/api" {
        let Versions { versions } = serde_json::from_slice(answer).map_err(undecoded)?;
        return match versions.beyond {
            true => Err(too_much()),
            false => Ok(proper(versions.items.into_iter().map(core_version))),
        };
    }
    let Groups { groups } = serde_json::from_slice(answer).map_err(undecoded)?;
    if groups.beyond {
        return Err(too_many(root));
    }
    if groups.items.iter().any(|group| group.versions.beyond) {
        return Err(too_much());
    }
    let named = |group: &NamedGroup| is_subdomain(&group.name);
    let groups = groups.items.into_iter().filter(named);
    Ok(proper(groups.flat_map(group_versions)))
}

/// Those with a proper name, and of too many one more than may be: each is many times what it took in the answer.
fn proper(wanted: impl Iterator<Item = Wanted>) -> Vec<Wanted> {
    let named = |wanted: &Wanted| is_subdomain(&wanted.version);
    wanted.filter(named).take(MOST_REQUESTS + 1).collect()
}

fn core_version(version: String) -> Wanted {
    Wanted {
        group: String::new(),
        path: format!("/api/{version}"),
        version,
    }
}

/// The preferred version first, the others as the member orders them.
fn group_versions(group: NamedGroup) -> Vec<Wanted> {
    let NamedGroup {
        name,
        versions,
        preferred_version: preferred,
    } = group;
    let mut versions = versions.items;
    versions.sort_by_key(|version| Some(version) != preferred.as_ref());
    versions
        .into_iter()
        .map(|NamedVersion { version }| Wanted {
            group: name.clone(),
            path: format!("/apis/{name}/{version}"),
            version,
        })
        .collect()
}

fn resources(
    path: &str,
    bytes: &[u8],
    holding: &Holding,
) -> Result<Vec<ServedResource>, MemberError> {
    let undecoded = |error: serde_json::Error| MemberError::undecoded(path, &error);
    let list: Resources<'_> = serde_json::from_slice(bytes).map_err(undecoded)?;
    // Types of which nothing was read would look as if they were gone.
    if list.resources.beyond {
        return Err(MemberError::malformed(path, TOO_MUCH));
    }
    let read = || list.resources.decoded(|item| resource(item, holding));
    holding.counted(read).map_err(undecoded)
}

fn resource(item: NamedResource, holding: &Holding) -> Option<ServedResource> {
    holding.resource(ServedResource {
        name: item.name,
        singular: item.singular_name,
        kind: item.kind,
        namespaced: item.namespaced,
        can_sync: item.verbs.can_sync(),
        short_names: item.short_names.items,
        categories: item.categories.items,
    })
}

#[cfg(test)]
mod tests {
    use armadex_crds::conditions::MESSAGE_LIMIT;

    use super::*;
    use crate::discovery::holding::Room;
    use crate::discovery::served::{MOST_ALIASES_IN_ALL, MOST_GROUPS, MOST_VERSIONS_IN_ALL};

    fn named(root: &str, answer: &[u8]) -> Result<Vec<Wanted>, MemberError> {
        parse_root(root, answer, &Holding::new(Room::Usual))
    }

    #[test]
    fn the_preferred_version_is_asked_first() {
        let answer = br#"{"groups":[{"name":"autoscaling","versions":[
            {"groupVersion":"autoscaling/v1","version":"v1"},{"groupVersion":"autoscaling/v2","version":"v2"}],
            "preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}}]}"#;
        let paths: Vec<_> = named("/apis", answer)
            .unwrap()
            .into_iter()
            .map(|wanted| wanted.path)
            .collect();
        assert_eq!(paths, ["/apis/autoscaling/v2", "/apis/autoscaling/v1"]);
    }

    #[test]
    fn subresources_are_left_out() {
        let answer = br#"{"groupVersion":"v1","resources":[
            {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list"]},
            {"name":"pods/log","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]}]}"#;
        let found = resources("/api/v1", answer, &Holding::new(Room::Usual)).unwrap();
        assert_eq!(found.len(), 1);
        assert!(!found[0].can_sync);
    }

    #[test]
    fn a_version_that_has_more_resources_than_are_read_fails_as_a_whole() {
        let answer = |resources| {
            let resources = vec![r#"{"name":"r","kind":"R"}"#; resources].join(",");
            format!(r#"{{"resources":[{resources}]}}"#)
        };
        let read = |resources| {
            let holding = Holding::new(Room::Large);
            super::resources("/apis/apps/v1", answer(resources).as_bytes(), &holding)
        };
        assert_eq!(read(MOST_RESOURCES).expect("so many").len(), MOST_RESOURCES);
        let error = read(MOST_RESOURCES + 1).unwrap_err().to_string();
        assert!(
            error.contains("/apis/apps/v1") && error.contains(TOO_MUCH),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_name_is_not_held() {
        let long = "k".repeat(1 << 20);
        let answer = format!(
            r#"{{"resources":[
              {{"name":"things","kind":"{long}"}},
              {{"name":"pods","kind":"Pod","singularName":"{long}","shortNames":["{long}","po"]}}]}}"#
        );
        let holding = Holding::new(Room::Large);
        let found = resources("/api/v1", answer.as_bytes(), &holding).expect("it is understood");
        let [pods] = &found[..] else {
            panic!("{} are kept", found.len());
        };
        assert_eq!(
            (pods.singular.capacity(), &pods.short_names[..]),
            (0, &["po".to_owned()][..])
        );
    }

    #[test]
    fn what_a_member_tells_of_is_counted_over_all_versions() {
        let letters = vec![r#""a""#; MOST_ALIASES].join(",");
        let answer = |number, rest: &str| {
            let resources = vec![format!(r#"{{"name":"r","kind":"R"{rest}}}"#); number].join(",");
            format!(r#"{{"resources":[{resources}]}}"#)
        };
        let aliased = |number| answer(number, &format!(r#","shortNames":[{letters}]"#));
        let plain = |number| answer(number, "");
        for (half, one_more) in [
            (plain(MOST_RESOURCES / 2), plain(1)),
            (aliased(MOST_ALIASES_IN_ALL / 2 / MOST_ALIASES), aliased(1)),
        ] {
            let holding = Holding::new(Room::Large);
            let read = |answer: &str| {
                resources("/api/v1", answer.as_bytes(), &holding)
                    .unwrap()
                    .len()
            };
            assert_eq!(read(&half), read(&half));
            assert!(holding.is_whole());
            assert_eq!((read(&one_more), holding.is_whole()), (0, false));
        }
    }

    #[test]
    fn of_a_version_that_cannot_be_read_nothing_is_counted() {
        let letters = vec![r#""a""#; MOST_ALIASES].join(",");
        let aliased = format!(r#"{{"name":"r","kind":"R","shortNames":[{letters}]}}"#);
        let plain = r#"{"name":"r","kind":"R"}"#;
        let answer = |items: &[&str]| format!(r#"{{"resources":[{}]}}"#, items.join(","));
        for (item, most) in [
            (plain, MOST_RESOURCES),
            (&*aliased, MOST_ALIASES_IN_ALL / MOST_ALIASES),
        ] {
            let holding = Holding::new(Room::Large);
            let read = |answer: &str| resources("/apis/apps/v1", answer.as_bytes(), &holding);
            let mut broken = vec![item; most / 2];
            broken.push(r#"{"name":7}"#);
            let error = read(&answer(&broken)).unwrap_err().to_string();
            assert!(error.contains("/apis/apps/v1"), "{error}");
            let found = read(&answer(&vec![item; most])).expect("so many");
            assert_eq!(found.len(), most);
            assert!(holding.is_whole());
        }
    }

    #[test]
    fn nothing_is_asked_for_that_has_no_proper_name() {
        let answer = br#"{"groups":[
            {"name":"../c2/apis/apps","versions":[{"version":"v1"}]},
            {"name":"..","versions":[{"version":"v1"}]},
            {"name":"apps","versions":[{"version":"v1"},{"version":"../../c2"},{"version":".."},{"version":"v1?x="}]}]}"#;
        let wanted = named("/apis", answer).unwrap();
        let paths: Vec<_> = wanted.iter().map(|wanted| wanted.path.as_str()).collect();
        assert_eq!(paths, ["/apis/apps/v1"]);
        let core = named("/api", br#"{"versions":["v1","../c2","..","."]}"#).unwrap();
        assert_eq!(core.len(), 1);
    }

    #[test]
    fn why_a_version_failed_is_told_in_as_many_words_as_can_be_shown() {
        let failed = |message: String| why(&MemberError::malformed("/apis/apps/v1", message));
        assert!(failed("it is down".into()).ends_with("it is down"));
        assert!(failed("\u{1f6a2}".repeat(2000)).len() <= MESSAGE_LIMIT);
    }

    #[test]
    fn no_more_is_asked_for_than_a_member_may_have() {
        let group = r#"{"name":"apps","versions":[{"version":"v1"},{"version":"v2"}]}"#;
        let answer = |groups| format!(r#"{{"groups":[{}]}}"#, vec![group; groups].join(","));
        assert!(named("/apis", answer(MOST_REQUESTS / 2).as_bytes()).is_ok());
        for groups in [MOST_REQUESTS / 2 + 1, MOST_REQUESTS + 1] {
            assert!(named("/apis", answer(groups).as_bytes()).is_err());
        }
        // What was not read may have versions.
        let empty = |groups| {
            let groups = vec![r#"{"name":"apps"}"#; groups].join(",");
            format!(r#"{{"groups":[{groups}]}}"#)
        };
        assert!(named("/apis", empty(MOST_REQUESTS).as_bytes()).is_ok());
        assert!(named("/apis", empty(MOST_REQUESTS + 1).as_bytes()).is_err());
    }

    #[test]
    fn a_group_with_too_many_versions_is_refused_for_these() {
        let versions = |number| vec![r#"{"version":"v1"}"#; number].join(",");
        let group = |number| {
            let versions = versions(number);
            format!(r#"{{"groups":[{{"name":"apps","versions":[{versions}]}}]}}"#)
        };
        let core = |number| format!(r#"{{"versions":[{}]}}"#, vec![r#""v1""#; number].join(","));
        for (root, most, more) in [
            ("/apis", group(MOST_VERSIONS), group(MOST_VERSIONS + 1)),
            ("/api", core(MOST_VERSIONS), core(MOST_VERSIONS + 1)),
        ] {
            let wanted = named(root, most.as_bytes()).expect("so many");
            assert_eq!(wanted.len(), MOST_VERSIONS);
            let error = named(root, more.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("50 versions of a group"), "{error}");
        }
    }

    #[test]
    fn what_is_asked_for_is_counted_over_both_answers() {
        let version = r#"{"version":"v1"}"#;
        let groups = |number| {
            let group = |number| format!(r#"{{"name":"g{number}","versions":[{version}]}}"#);
            let groups: Vec<_> = (0..number).map(group).collect();
            format!(r#"{{"groups":[{}]}}"#, groups.join(","))
        };
        let core = br#"{"versions":["v1"]}"#;
        for (number, is_within) in [(MOST_REQUESTS - 1, true), (MOST_REQUESTS, false)] {
            let holding = Holding::new(Room::Usual);
            assert!(parse_root("/api", core, &holding).is_ok());
            let named = parse_root("/apis", groups(number).as_bytes(), &holding);
            assert_eq!(named.is_ok(), is_within, "{number}");
        }
        for (groups_before, versions_before) in
            [(MOST_GROUPS - 2, 0), (0, MOST_VERSIONS_IN_ALL - 2)]
        {
            let holding = Holding::new(Room::Usual);
            assert!(holding.groups.add(groups_before) && holding.versions.add(versions_before));
            let told = |number| {
                let told = parse_root("/apis", groups(number).as_bytes(), &holding);
                told.is_ok() && holding.is_whole()
            };
            assert!(told(2) && !told(1));
        }
    }

    #[test]
    fn of_too_many_versions_only_one_too_many_is_made() {
        let versions = vec![r#"{"version":"v1"}"#; MOST_VERSIONS].join(",");
        let group = format!(r#"{{"name":"apps","versions":[{versions}]}}"#);
        let groups = vec![group; MOST_REQUESTS].join(",");
        let answer = format!(r#"{{"groups":[{groups}]}}"#);
        let wanted = named_in("/apis", answer.as_bytes()).expect("all of it was read");
        assert_eq!(wanted.len(), MOST_REQUESTS + 1);
        assert!(named("/apis", answer.as_bytes()).is_err());
    }
}
