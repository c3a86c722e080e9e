//! Continue tokens: opaque to clients, bound to the search that they continue.
//!
//! A token carries a place and no rights: whoever presents one is authorised anew, so it needs no signature.

use armadex_model::NameFilter;
use armadex_model::query::{NamespaceScope, Position, Query, Scope};
use armadex_storage::Head;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The form of a token; another one is refused like a damaged token.
const FORMAT: u8 = 1;

/// A name has at most 253 characters and so has a sort value: in JSON and base64 that stays well below this.
const MAX_LENGTH: usize = 8 * 1024;

/// Where the next page begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Token {
    #[serde(rename = "v")]
    format: u8,
    #[serde(rename = "q")]
    fingerprint: String,
    #[serde(rename = "i")]
    incarnation: String,
    /// The store's revision when the first page was read.
    #[serde(rename = "r")]
    pub(crate) revision: i64,
    /// Rows on the pages before.
    #[serde(rename = "n")]
    pub(crate) served: u64,
    /// The last row of the page before.
    #[serde(rename = "p")]
    pub(crate) position: Position,
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
    /// It was made before the database was restored or rewound.
    #[error("the continue token has expired, start the list again without it")]
    Expired,
}

impl Token {
    pub(crate) fn new(fingerprint: &str, head: &Head, served: u64, position: Position) -> Self {
        Self {
            format: FORMAT,
            fingerprint: fingerprint.to_owned(),
            incarnation: head.incarnation.clone(),
            revision: head.revision,
            served,
            position,
        }
    }

    pub(crate) fn encode(&self) -> String {
        let json = serde_json::to_vec(self).expect("texts and numbers are always encodable");
        URL_SAFE_NO_PAD.encode(json)
    }

    /// Reads a token and checks that it continues this search on this database.
    pub(crate) fn decode(text: &str, fingerprint: &str, head: &Head) -> Result<Self, InvalidToken> {
        if text.len() > MAX_LENGTH {
            return Err(InvalidToken::Damaged);
        }
        let json = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| InvalidToken::Damaged)?;
        let token: Self = serde_json::from_slice(&json).map_err(|_| InvalidToken::Damaged)?;
        if token.format != FORMAT {
            return Err(InvalidToken::Damaged);
        }
        if token.fingerprint != fingerprint {
            return Err(InvalidToken::Foreign);
        }
        if token.incarnation != head.incarnation || token.revision > head.revision {
            return Err(InvalidToken::Expired);
        }
        Ok(token)
    }
}

/// A short text that is the same for the same search, and practically only then.
pub(crate) fn fingerprint(query: &Query, total: Option<u64>) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    let Query {
        resource,
        scope,
        clusters,
        namespaces,
        names,
        labels,
        fields,
        order,
    } = query;
    add(&resource.to_string());
    add_scope(&mut add, scope);
    for filter in [clusters, namespaces, names] {
        add_filter(&mut add, filter);
    }
    for requirements in [labels, fields] {
        add(&requirements.len().to_string());
        for requirement in requirements {
            add(&requirement.to_string());
        }
    }
    for key in order {
        add(&format!("{:?} {}", key.field, key.descending));
    }
    add(&total.unwrap_or(0).to_string());
    let digest = hash.finalize();
    URL_SAFE_NO_PAD.encode(&digest[..12])
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

fn add_scope(add: &mut impl FnMut(&str), scope: &Scope) {
    let Scope::Clusters(clusters) = scope else {
        return add("everything");
    };
    add(&clusters.len().to_string());
    for (cluster, namespaces) in clusters {
        add(cluster);
        match namespaces {
            NamespaceScope::All => add("all"),
            NamespaceScope::Only(names) => {
                add(&names.len().to_string());
                names.iter().for_each(|name| add(name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use armadex_model::GroupVersionResource;
    use armadex_model::label::Requirement;
    use armadex_model::query::SortValue;
    use proptest::prelude::*;

    fn head() -> Head {
        Head {
            revision: 10,
            incarnation: "first".into(),
        }
    }

    fn query() -> Query {
        Query::all(GroupVersionResource::new("", "v1", "pods"))
    }

    fn position(name: &str, key: i64) -> Position {
        Position {
            keys: vec![SortValue::Number(key), SortValue::Text(name.to_owned())],
            namespace_id: key,
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_token_of_another_search_is_foreign() {
        let print = fingerprint(&query(), None);
        let text = Token::new(&print, &head(), 5, position("a", 1)).encode();
        let mut others = vec![fingerprint(&query(), Some(10))];
        let mut other = query();
        other.labels.push(Requirement::is_in("a", ["b"]));
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
                Token::decode(&text, &other, &head()),
                Err(InvalidToken::Foreign)
            );
        }
    }

    #[test]
    fn a_token_of_another_incarnation_or_of_the_future_has_expired() {
        let print = fingerprint(&query(), None);
        let text = Token::new(&print, &head(), 5, position("a", 1)).encode();
        let restored = Head {
            incarnation: "second".into(),
            ..head()
        };
        let rewound = Head {
            revision: 9,
            ..head()
        };
        for head in [restored, rewound] {
            assert_eq!(
                Token::decode(&text, &print, &head),
                Err(InvalidToken::Expired)
            );
        }
    }

    proptest! {
        #[test]
        fn a_token_is_read_back(name in "\\PC{0,20}", key in any::<i64>(), served in any::<u64>()) {
            let print = fingerprint(&query(), None);
            let token = Token::new(&print, &head(), served, position(&name, key));
            prop_assert_eq!(Token::decode(&token.encode(), &print, &head()), Ok(token));
        }

        #[test]
        fn junk_is_damaged_and_never_panics(text in "[A-Za-z0-9_-]{0,200}", other in "\\PC{0,40}") {
            prop_assert_eq!(Token::decode(&text, "x", &head()), Err(InvalidToken::Damaged));
            prop_assert_eq!(Token::decode(&other, "x", &head()), Err(InvalidToken::Damaged));
        }

        #[test]
        fn a_token_with_one_character_changed_never_panics(index in 0_usize..100, with in "[A-Za-z0-9]") {
            let print = fingerprint(&query(), None);
            let mut text = Token::new(&print, &head(), 5, position("a", 1)).encode();
            let at = index % text.len();
            text.replace_range(at..=at, &with);
            let _ = Token::decode(&text, &print, &head());
        }
    }
}
