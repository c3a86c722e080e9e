//! Which form of an answer a client accepts, from its `Accept` header. JSON and YAML are served; in both a client may ask for a
//! Table, for metadata alone, or for aggregated discovery.

use std::cmp::Reverse;

/// Media ranges and codings of one request that are looked at, and parameters of each: several times as many as a browser sends. A head
/// has room for 30,000, and over HTTP/2 a few bytes may stand for a whole header.
const MOST: usize = 32;

/// What an answer is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Notation {
    /// JSON, which everybody gets who does not say otherwise.
    #[default]
    Json,
    /// YAML.
    Yaml,
}

impl Notation {
    /// The media type of answers.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

/// The media types that are served, as a refusal tells them.
pub(crate) const SERVED: &str = "application/json, application/yaml";

/// A version of `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    /// `v1`.
    V1,
    /// `v1beta1`.
    V1Beta1,
}

impl MetaVersion {
    /// The `apiVersion` of objects of this version.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The form of objects and lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Objects,
    /// Metadata alone.
    PartialMetadata(MetaVersion),
    /// Rows and columns.
    Table(MetaVersion),
}

/// Whether the answer is one object or many: metadata alone is asked for under another name for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arity {
    /// A get.
    One,
    /// A list.
    Many,
}

/// The form of discovery documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discovery {
    /// `APIGroupList` and its kin.
    Legacy,
    /// `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.
    Aggregated,
}

/// The form of objects that `accept` likes best; `None` if it likes none that is served.
pub(crate) fn objects(accept: Option<&str>, arity: Arity) -> Option<(Form, Notation)> {
    choose(accept, Form::Objects, |range| object_form(range, arity))
}

/// The form of discovery that `accept` likes best; `None` if it likes none that is served.
pub(crate) fn discovery(accept: Option<&str>) -> Option<(Discovery, Notation)> {
    choose(accept, Discovery::Legacy, discovery_form)
}

/// What a document that has one form is written in; `None` if `accept` likes nothing that is served.
pub(crate) fn document(accept: Option<&str>) -> Option<Notation> {
    let plain = choose(accept, (), |range| range.transform.is_none().then_some(()));
    plain.map(|((), notation)| notation)
}

/// What a refusal is written in: JSON for those who like nothing that is served.
pub(crate) fn refusal(accept: Option<&str>) -> Notation {
    choose(accept, (), |_| Some(())).unwrap_or_default().1
}

fn object_form(range: &Range<'_>, arity: Arity) -> Option<Form> {
    let Some(kind) = range.transform else {
        return Some(Form::Objects);
    };
    let version = match (range.group, range.version) {
        ("meta.k8s.io", "v1") => MetaVersion::V1,
        ("meta.k8s.io", "v1beta1") => MetaVersion::V1Beta1,
        _ => return None,
    };
    match (kind, arity) {
        ("Table", _) => Some(Form::Table(version)),
        ("PartialObjectMetadata", Arity::One) | ("PartialObjectMetadataList", Arity::Many) => {
            Some(Form::PartialMetadata(version))
        }
        _ => None,
    }
}

fn discovery_form(range: &Range<'_>) -> Option<Discovery> {
    match (range.transform, range.group, range.version) {
        (None, _, _) => Some(Discovery::Legacy),
        (Some("APIGroupDiscoveryList"), "apidiscovery.k8s.io", "v2") => Some(Discovery::Aggregated),
        _ => None,
    }
}

/// One media range that allows something that is served.
struct Range<'a> {
    notation: Notation,
    /// `as=`: the kind that is asked for instead of the object's own.
    transform: Option<&'a str>,
    group: &'a str,
    version: &'a str,
    /// `q=` in thousandths.
    quality: u32,
}

fn choose<T>(
    accept: Option<&str>,
    default: T,
    form: impl Fn(&Range<'_>) -> Option<T>,
) -> Option<(T, Notation)> {
    let accept = accept.unwrap_or_default();
    if accept.trim().is_empty() {
        return Some((default, Notation::default()));
    }
    let ranges = accept.split(',').take(MOST);
    let mut ranges: Vec<Range<'_>> = ranges.filter_map(media_range).collect();
    ranges.sort_by_key(|range| Reverse(range.quality));
    ranges
        .iter()
        .filter(|range| range.quality > 0)
        .find_map(|range| Some((form(range)?, range.notation)))
}

fn media_range(text: &str) -> Option<Range<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let notation = match parts.next()?.to_ascii_lowercase().as_str() {
        "application/json" | "application/*" | "*/*" => Notation::Json,
        "application/yaml" => Notation::Yaml,
        _ => return None,
    };
    let mut range = Range {
        notation,
        transform: None,
        group: "",
        version: "",
        quality: 1000,
    };
    for part in parts.take(MOST) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "as" => range.transform = Some(value.trim()),
            "g" => range.group = value.trim(),
            "v" => range.version = value.trim(),
            "q" => range.quality = quality(value.trim())?,
            // The media type's other parameters (charset, profile) do not change the form.
            _ => {}
        }
    }
    Some(range)
}

/// Reads `0.8` as 800; `None` if it is no quality.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked"
)]
fn quality(text: &str) -> Option<u32> {
    let value: f32 = text.parse().ok()?;
    (0.0..=1.0)
        .contains(&value)
        .then_some((value * 1000.0) as u32)
}

/// Whether a client takes gzip, by what it says that it takes.
pub(crate) fn takes_gzip(accepted: &str) -> bool {
    accepted.split(',').take(MOST).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_gzip = parts
            .next()
            .is_some_and(|coding| coding.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let is_weight = name.trim().eq_ignore_ascii_case("q");
            is_weight.then(|| value.trim())
        });
        is_gzip && weight.and_then(|weight| weight.parse().ok()) != Some(0_f32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_more_than_anybody_sends_is_not_looked_at() {
        let after = |count: usize| "text/html,".repeat(count) + "application/yaml";
        assert_eq!(document(Some(&after(MOST - 1))), Some(Notation::Yaml));
        assert_eq!(document(Some(&after(MOST))), None);
        let parameters = |count: usize| {
            format!(
                "application/json{};as=Table;v=v1;g=meta.k8s.io",
                ";a=b".repeat(count)
            )
        };
        let form = |count| objects(Some(&parameters(count)), Arity::Many).map(|(form, _)| form);
        assert_eq!(form(MOST - 3), Some(Form::Table(MetaVersion::V1)));
        assert_eq!(form(MOST), Some(Form::Objects));
        assert!(!takes_gzip(&("br,".repeat(MOST) + "gzip")));
    }

    #[test]
    fn gzip_is_taken_where_it_is_named_and_not_refused() {
        for (accepted, taken) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5", true),
            ("gzip;q=1.0, identity", true),
            ("gzip;q=0, identity", false),
            ("gzip; q=0.0", false),
            ("gzip;Q=0", false),
            ("gzip; q = 0", false),
            ("identity", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(takes_gzip(accepted), taken, "{accepted}");
        }
    }

    const KUBECTL: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

    #[test]
    fn objects_come_in_the_form_that_is_liked_best() {
        use Form::{Objects, PartialMetadata, Table};
        use MetaVersion::{V1, V1Beta1};
        for (accept, expected) in [
            ("", Some(Objects)),
            ("*/*", Some(Objects)),
            ("application/*", Some(Objects)),
            ("application/json", Some(Objects)),
            ("Application/JSON; charset=utf-8", Some(Objects)),
            (KUBECTL, Some(Table(V1))),
            (
                "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
                Some(Table(V1Beta1)),
            ),
            (
                "application/json;q=0.5,application/json;as=Table;g=meta.k8s.io;v=v1",
                Some(Table(V1)),
            ),
            (
                "application/json;as=Table;g=meta.k8s.io;v=v1;q=0.1,*/*;q=0.2",
                Some(Objects),
            ),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Some(PartialMetadata(V1)),
            ),
            (
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                None,
            ),
            ("application/json;as=Table;g=example.com;v=v1", None),
            ("application/json;as=Table;g=meta.k8s.io;v=v2", None),
            (
                "application/json;as=Nonsense;g=meta.k8s.io;v=v1,application/json",
                Some(Objects),
            ),
            ("application/vnd.kubernetes.protobuf", None),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Some(Objects),
            ),
            ("application/json;q=0", None),
            ("application/json;Q=0", None),
            ("application/json;q=2", None),
            ("text/html", None),
        ] {
            let expected = expected.map(|form| (form, Notation::Json));
            assert_eq!(objects(Some(accept), Arity::Many), expected, "{accept}");
        }
        let default = Some((Objects, Notation::Json));
        assert_eq!(objects(None, Arity::Many), default);
    }

    #[test]
    fn every_form_comes_in_yaml_to_those_who_ask_for_it() {
        for (accept, expected) in [
            ("application/yaml", Some((Form::Objects, Notation::Yaml))),
            (
                "application/yaml,application/json",
                Some((Form::Objects, Notation::Yaml)),
            ),
            (
                "application/yaml;q=0.5,application/json",
                Some((Form::Objects, Notation::Json)),
            ),
            (
                "Application/YAML;as=Table;g=meta.k8s.io;v=v1,application/json",
                Some((Form::Table(MetaVersion::V1), Notation::Yaml)),
            ),
            ("application/yaml;as=Nonsense", None),
            ("text/yaml", None),
        ] {
            assert_eq!(objects(Some(accept), Arity::Many), expected, "{accept}");
        }
        for (accept, expected) in [
            ("application/yaml;as=Nonsense", Notation::Yaml),
            ("text/html", Notation::Json),
            ("*/*", Notation::Json),
        ] {
            assert_eq!(refusal(Some(accept)), expected, "{accept}");
        }
        assert_eq!(document(Some("application/yaml")), Some(Notation::Yaml));
        assert_eq!(document(Some("application/yaml;as=Table")), None);
    }

    #[test]
    fn one_object_and_a_list_have_their_own_name_for_metadata() {
        let one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1";
        assert_eq!(
            objects(Some(one), Arity::One),
            Some((Form::PartialMetadata(MetaVersion::V1Beta1), Notation::Json))
        );
        let many = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        assert_eq!(objects(Some(many), Arity::One), None);
    }

    #[test]
    fn discovery_is_aggregated_for_those_who_know_it() {
        let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        for (accept, expected) in [
            (
                format!("{v2},application/json"),
                Some(Discovery::Aggregated),
            ),
            (format!("{v2};profile=nopeer"), Some(Discovery::Aggregated)),
            (
                format!("{},application/json", v2.replace("v=v2", "v=v2beta1")),
                Some(Discovery::Legacy),
            ),
            (v2.replace("v=v2", "v=v2beta1"), None),
            ("application/json".into(), Some(Discovery::Legacy)),
            ("application/vnd.kubernetes.protobuf".into(), None),
        ] {
            let expected = expected.map(|form| (form, Notation::Json));
            assert_eq!(discovery(Some(&accept)), expected, "{accept}");
        }
    }
}
