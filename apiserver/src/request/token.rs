//! Continue tokens: opaque to clients, bound to the search that they continue.
//!
//! A token carries a place and no rights: whoever presents one is authorised anew. It is sealed all the same: a page may end at an object that its client
//! may not see.

use armadex_model::NameFilter;
use armadex_model::key::LONGEST_NAME;
use armadex_model::label::{Operator, Requirement};
use armadex_model::query::{Position, Query, SortValue};
use armadex_storage::Head;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::seal::{self, Seal, Unopened};

/// A place has eight texts at most, names and sort values that are names, of each byte of which JSON may make two; what stands around them is
/// short. Base64 makes four bytes of three.
const MAX_LENGTH: usize = (8 * 2 * LONGEST_NAME + 1024 + seal::ADDED) * 4 / 3;

/// Where the next page begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Token {
    #[serde(rename = "q")]
    fingerprint: String,
    #[serde(rename = "i")]
    incarnation: String,
    /// The store's revision when the first page was read.
    #[serde(rename = "r")]
    pub(crate) revision: i64,
    #[serde(flatten)]
    progress: Progress,
    /// How far the pages before went.
    #[serde(rename = "p")]
    pub(crate) position: Position,
}

/// How far a list has come, and what holds for all of its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Rows on the pages before.
    #[serde(rename = "n")]
    pub(crate) served: u64,
    /// Rows before the first page, which began with an offset.
    #[serde(rename = "o", default, skip_serializing_if = "is_default")]
    pub(crate) skipped: u64,
    /// Every page is to be of the first one's revision.
    #[serde(rename = "x", default, skip_serializing_if = "is_default")]
    pub(crate) exact: bool,
    /// How many rows all pages have. Counted once: a fleet takes longer to be counted than a page to be read.
    #[serde(rename = "c", default, skip_serializing_if = "is_default")]
    pub(crate) counted: Counted,
}

/// What is known of how many rows a list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Counted {
    /// Nobody has asked.
    #[default]
    #[serde(rename = "?")]
    NotYet,
    /// It would take too much to tell.
    #[serde(rename = "-")]
    TooMany,
    /// So many when they were counted, those before the first page among them.
    #[serde(rename = "n")]
    Rows(u64),
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Why a token is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidToken {
    /// It was not made by this server.
    #[error("the continue token is damaged")]
    Damaged,
    /// It was made for another search.
    #[error("the continue token belongs to another search")]
    Foreign,
    /// It was made before the database was restored, rewound or made anew.
    #[error("the continue token has expired, start the list again without it")]
    Expired,
    /// What answers is a replica that is behind what the first page was read from.
    #[error("the list began at revision {asked}, and {current} is reached here")]
    Ahead { asked: u64, current: i64 },
}

impl Token {
    pub(crate) fn new(
        fingerprint: &str,
        head: &Head,
        progress: Progress,
        position: Position,
    ) -> Self {
        Self {
            fingerprint: fingerprint.to_owned(),
            incarnation: head.incarnation.clone(),
            revision: head.revision,
            progress,
            position,
        }
    }

    pub(crate) fn encode(&self, seal: &Seal) -> String {
        let json = serde_json::to_vec(self).expect("texts and numbers are always encodable");
        seal.close(json)
    }

    /// Reads a token and checks that it continues this search.
    pub(crate) fn decode(text: &str, fingerprint: &str, seal: &Seal) -> Result<Self, InvalidToken> {
        if text.len() > MAX_LENGTH {
            return Err(InvalidToken::Damaged);
        }
        let json = seal.open(text).map_err(|unopened| match unopened {
            Unopened::OfAnother => InvalidToken::Expired,
            Unopened::Damaged => InvalidToken::Damaged,
        })?;
        let token: Self = serde_json::from_slice(&json).map_err(|_| InvalidToken::Damaged)?;
        if token.revision < 0 || has_nul(&token.position) {
            return Err(InvalidToken::Damaged);
        }
        if token.fingerprint != fingerprint {
            return Err(InvalidToken::Foreign);
        }
        Ok(token)
    }

    /// How far the pages before went. No token is made where the last of `total` rows has been served.
    pub(crate) fn progress(&self, total: Option<u64>) -> Result<Progress, InvalidToken> {
        if total.is_some_and(|total| self.progress.served >= total) {
            return Err(InvalidToken::Damaged);
        }
        Ok(self.progress)
    }

    /// The store as the first page was read from it, if that is a past of the store as it is now; for a list of one revision, if it
    /// is the present. No list goes back: where what `follows` another store has not come so far, the page is for later; a store that is behind itself was
    /// rewound.
    pub(crate) fn first_head(&self, now: &Head, follows: bool) -> Result<Head, InvalidToken> {
        let is_of_now = self.incarnation == now.incarnation;
        if is_of_now && follows && self.revision > now.revision {
            return Err(InvalidToken::Ahead {
                asked: self.revision.unsigned_abs(),
                current: now.revision,
            });
        }
        let is_past = self.revision < now.revision && !self.progress.exact;
        if !is_of_now || !(is_past || self.revision == now.revision) {
            return Err(InvalidToken::Expired);
        }
        Ok(Head {
            revision: self.revision,
            incarnation: self.incarnation.clone(),
        })
    }
}

/// Whether a place has a text that no database takes for one.
fn has_nul(position: &Position) -> bool {
    let Position {
        keys,
        resource: _,
        cluster,
        namespace,
        name,
    } = position;
    let keys = keys.iter().filter_map(|key| match key {
        SortValue::Text(text) => Some(text),
        SortValue::Number(_) => None,
    });
    let mut texts = keys.chain([cluster, namespace, name]);
    texts.any(|text| text.contains('\0'))
}

/// A short text that is the same for the same search, and practically only then. What the caller may see is not part of it: that is
/// worked out for each page, and may change between two.
pub(crate) fn fingerprint(query: &Query, total: Option<u64>) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    let Query {
        types,
        clusters,
        namespaces,
        names,
        cluster_labels,
        labels,
        fields,
        order,
    } = query;
    add(&types.len().to_string());
    for searched in types {
        add(&searched.resource.to_string());
    }
    for filter in [clusters, namespaces, names] {
        add_filter(&mut add, filter);
    }
    for requirements in [cluster_labels, labels, fields] {
        add(&requirements.len().to_string());
        for requirement in requirements {
            add_requirement(&mut add, requirement);
        }
    }
    for key in order {
        add(&format!("{:?} {}", key.field, key.descending));
    }
    add(&total.unwrap_or(0).to_string());
    let digest = hash.finalize();
    URL_SAFE_NO_PAD.encode(&digest[..12])
}

/// Value by value: what is written as text may have commas in it.
fn add_requirement(add: &mut impl FnMut(&str), requirement: &Requirement) {
    let Requirement { key, operator } = requirement;
    add(key);
    let (word, values) = match operator {
        Operator::In(values) => ("in", values),
        Operator::NotIn(values) => ("notin", values),
        Operator::Exists => return add("exists"),
        Operator::DoesNotExist => return add("does not"),
        Operator::GreaterThan(bound) => return add(&format!("above {bound}")),
        Operator::LessThan(bound) => return add(&format!("below {bound}")),
    };
    add(word);
    add(&values.len().to_string());
    values.iter().for_each(|value| add(value));
}

fn add_filter(add: &mut impl FnMut(&str), filter: &NameFilter) {
    let (word, names) = match filter {
        NameFilter::Any => return add("any"),
        NameFilter::In(names) => ("in", names),
        NameFilter::NotIn(names) => ("notin", names),
    };
    add(word);
    add(&names.len().to_string());
    names.iter().for_each(|name| add(name));
}

#[cfg(test)]
mod tests {
    use super::*;
    use armadex_model::GroupVersionResource;
    use armadex_model::query::SortValue;
    use proptest::prelude::*;

    fn head() -> Head {
        Head {
            revision: 10,
            incarnation: "first".into(),
        }
    }

    fn served(served: u64) -> Progress {
        Progress {
            served,
            ..Progress::default()
        }
    }

    fn seal() -> Seal {
        Seal::of(&[7; 32])
    }

    fn query() -> Query {
        Query::all(GroupVersionResource::new("", "v1", "pods"))
    }

    fn position(name: &str, key: i64) -> Position {
        Position {
            keys: vec![SortValue::Number(key), SortValue::Text(name.to_owned())],
            resource: GroupVersionResource::new("", "v1", "pods"),
            cluster: "member1".into(),
            namespace: "default".into(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_token_of_another_search_is_foreign() {
        let print = fingerprint(&query(), None);
        let text = Token::new(&print, &head(), served(5), position("a", 1)).encode(&seal());
        let mut others = vec![fingerprint(&query(), Some(10))];
        let mut other = query();
        other.labels.push(Requirement::is_in("a", ["b"]));
        others.push(fingerprint(&other, None));
        let mut other = query();
        other.cluster_labels.push(Requirement::is_in("a", ["b"]));
        others.push(fingerprint(&other, None));
        let mut other = query();
        other.fields.push(Requirement::is_in("a", ["b"]));
        others.push(fingerprint(&other, None));
        let mut other = query();
        other.clusters = NameFilter::only("x");
        others.push(fingerprint(&other, None));
        let mut other = query();
        other.namespaces = NameFilter::only("x");
        others.push(fingerprint(&other, None));
        for other in others {
            assert_eq!(
                Token::decode(&text, &other, &seal()),
                Err(InvalidToken::Foreign)
            );
        }
    }

    #[test]
    fn one_value_with_a_comma_is_another_search_than_two() {
        let of = |values: &[&str]| {
            let mut query = query();
            let values = values.iter().copied();
            query.fields.push(Requirement::is_in("reason", values));
            fingerprint(&query, None)
        };
        assert_ne!(of(&["a,b"]), of(&["a", "b"]));
    }

    #[test]
    fn a_token_tells_the_revision_of_the_first_page() {
        let print = fingerprint(&query(), None);
        let text = Token::new(&print, &head(), served(5), position("a", 1)).encode(&seal());
        let later = Head {
            revision: 12,
            ..head()
        };
        let token = Token::decode(&text, &print, &seal()).expect("a token");
        assert_eq!(token.first_head(&later, false), Ok(head()));
    }

    #[test]
    fn rights_that_change_between_two_pages_make_no_other_search() {
        use armadex_model::query::Scope;
        let narrowed = query().scoped(&Scope::Clusters(Default::default()));
        assert_eq!(fingerprint(&narrowed, None), fingerprint(&query(), None));
    }

    #[test]
    fn a_token_of_another_incarnation_or_of_the_future_has_expired_but_of_a_replica() {
        let print = fingerprint(&query(), None);
        let text = Token::new(&print, &head(), served(5), position("a", 1)).encode(&seal());
        let restored = Head {
            incarnation: "second".into(),
            ..head()
        };
        let behind = Head {
            revision: 9,
            ..head()
        };
        let token = Token::decode(&text, &print, &seal()).expect("a token");
        for (now, follows) in [(&restored, false), (&restored, true), (&behind, false)] {
            let first = token.first_head(now, follows);
            assert_eq!(first, Err(InvalidToken::Expired));
        }
        let early = InvalidToken::Ahead {
            asked: 10,
            current: 9,
        };
        assert_eq!(token.first_head(&behind, true), Err(early));
    }

    #[test]
    fn a_token_of_a_list_that_was_not_counted_has_no_word_of_it_and_is_read() {
        let print = fingerprint(&query(), None);
        let token = Token::new(&print, &head(), served(5), position("a", 1));
        let json = seal().open(&token.encode(&seal())).expect("opened");
        let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        assert_eq!(json.get("c"), None);
        assert_eq!(
            Token::decode(&token.encode(&seal()), &print, &seal()),
            Ok(token)
        );
    }

    #[test]
    fn a_token_of_another_store_has_expired() {
        let print = fingerprint(&query(), None);
        let token = Token::new(&print, &head(), served(5), position("a", 1));
        let text = token.encode(&Seal::of(&[8; 32]));
        let read = Token::decode(&text, &print, &seal());
        assert_eq!(read, Err(InvalidToken::Expired));
    }

    #[test]
    fn a_list_of_one_revision_ends_with_it() {
        let print = fingerprint(&query(), None);
        for (exact, revision, expected) in [
            (true, 10, Ok(head())),
            (true, 11, Err(InvalidToken::Expired)),
            (false, 11, Ok(head())),
        ] {
            let progress = Progress { exact, ..served(5) };
            let now = Head { revision, ..head() };
            let token = Token::new(&print, &head(), progress, position("a", 1));
            assert_eq!(token.first_head(&now, true), expected, "{exact} {revision}");
        }
    }

    #[test]
    fn a_token_that_this_server_never_makes_is_damaged() {
        let print = fingerprint(&query(), Some(5));
        for (rows, expected) in [
            (4, Ok(served(4))),
            (5, Err(InvalidToken::Damaged)),
            (u64::MAX, Err(InvalidToken::Damaged)),
        ] {
            let token = Token::new(&print, &head(), served(rows), position("a", 1));
            assert_eq!(token.progress(Some(5)), expected);
        }
        let before_the_first = Head {
            revision: -1,
            ..head()
        };
        let text =
            Token::new(&print, &before_the_first, served(1), position("a", 1)).encode(&seal());
        assert_eq!(
            Token::decode(&text, &print, &seal()),
            Err(InvalidToken::Damaged)
        );
    }

    #[test]
    fn a_token_is_read_back_whatever_names_a_member_has() {
        let worst = "\"".repeat(LONGEST_NAME);
        let place = Position {
            keys: vec![SortValue::Text(worst.clone()); 4],
            cluster: worst.clone(),
            namespace: worst.clone(),
            ..position(&worst, 1)
        };
        let print = fingerprint(&query(), None);
        let token = Token::new(&print, &head(), served(u64::MAX), place);
        assert_eq!(
            Token::decode(&token.encode(&seal()), &print, &seal()),
            Ok(token)
        );
    }

    #[test]
    fn a_place_that_no_database_takes_is_damaged() {
        let print = fingerprint(&query(), None);
        let key = Position {
            keys: vec![SortValue::Text("a\0b".to_owned())],
            ..position("a", 1)
        };
        for place in [position("a\0b", 1), key] {
            let text = Token::new(&print, &head(), served(1), place).encode(&seal());
            assert_eq!(
                Token::decode(&text, &print, &seal()),
                Err(InvalidToken::Damaged)
            );
        }
    }

    proptest! {
        #[test]
        fn a_token_is_read_back(name in "\\PC{0,20}", key in any::<i64>(), served in any::<u64>(), skipped in any::<u64>(), exact in any::<bool>(), counted in any::<Option<Option<u64>>>()) {
            let counted = match counted {
                None => Counted::NotYet,
                Some(None) => Counted::TooMany,
                Some(Some(rows)) => Counted::Rows(rows),
            };
            let print = fingerprint(&query(), None);
            let progress = Progress { served, skipped, exact, counted };
            let token = Token::new(&print, &head(), progress, position(&name, key));
            prop_assert_eq!(Token::decode(&token.encode(&seal()), &print, &seal()), Ok(token));
        }

        #[test]
        fn junk_is_damaged_and_never_panics(text in "[A-Za-z0-9_-]{0,200}", other in "\\PC{0,40}") {
            for junk in [&text, &other] {
                let read = Token::decode(junk, "x", &seal());
                let is_junk = matches!(read, Err(InvalidToken::Damaged | InvalidToken::Expired));
                prop_assert!(is_junk, "{:?}", read);
            }
        }

        #[test]
        fn a_token_with_one_character_changed_never_panics(index in 0_usize..100, with in "[A-Za-z0-9]") {
            let print = fingerprint(&query(), None);
            let mut text = Token::new(&print, &head(), served(5), position("a", 1)).encode(&seal());
            let at = index % text.len();
            text.replace_range(at..=at, &with);
            let _ = Token::decode(&text, &print, &seal());
        }
    }
}
