//! What names an object of a list and its version; nothing else of it is kept. Pure.

use armadex_model::ObjectKey;
use serde::Deserialize;

use crate::audit::comparison::Listed;
use crate::incoming::lines::Piece;
use crate::incoming::prune::{self, is_fit};

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

/// Reads an item; `None` if it does not say what it is called, as an object is left out that does not.
pub(super) fn read(piece: &Piece, namespaced: bool) -> Option<Listed> {
    match piece {
        Piece::Whole(json) => {
            let Item { metadata } = serde_json::from_slice(json).ok()?;
            let name = metadata.name.filter(|name| !name.is_empty())?;
            let fit =
                |text: Option<String>| Some(text.unwrap_or_default()).filter(|text| is_fit(text));
            Some(Listed {
                key: ObjectKey::new(fit(metadata.namespace)?, fit(Some(name))?),
                uid: fit(metadata.uid)?,
                resource_version: fit(metadata.resource_version)?,
            })
        }
        Piece::TooLong { prefix, .. } => {
            let salvaged = prune::salvage(prefix);
            let text = |found: Option<&str>| found.unwrap_or_default().to_owned();
            Some(Listed {
                key: salvaged.key(namespaced)?,
                uid: text(salvaged.uid()),
                resource_version: text(salvaged.resource_version()),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn names_and_version_are_read_of_metadata_alone_of_whole_objects_and_of_beginnings() {
        let alone = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","labels":{"name":"b"}}}"#;
        let whole = r#"{"spec":{"metadata":{"name":"x"}},"metadata":{"resourceVersion":"7","uid":"u","namespace":"n","name":"a","labels":null}}"#;
        let pieces = [
            Piece::Whole(Bytes::from(alone)),
            Piece::Whole(Bytes::from(whole)),
            Piece::TooLong {
                prefix: Bytes::from(&alone.as_bytes()[..alone.len() - 20]),
                length: 9 << 20,
            },
        ];
        for piece in pieces {
            let wanted = Listed {
                key: ObjectKey::new("n", "a"),
                uid: "u".into(),
                resource_version: "7".into(),
            };
            assert_eq!(read(&piece, true), Some(wanted));
        }
    }

    #[test]
    fn of_an_aggregated_api_there_may_be_a_name_alone() {
        let item = Piece::Whole(Bytes::from(r#"{"metadata":{"name":"node-1","uid":null}}"#));
        let wanted = Listed {
            key: ObjectKey::new("", "node-1"),
            uid: String::new(),
            resource_version: String::new(),
        };
        assert_eq!(read(&item, false), Some(wanted));
        let overlong = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "x".repeat(4 << 20));
        for nothing in [
            r#"{"metadata":{"name":""}}"#,
            r#"{"metadata":null}"#,
            "[]",
            &overlong,
        ] {
            let nothing = Bytes::copy_from_slice(nothing.as_bytes());
            assert_eq!(read(&Piece::Whole(nothing), false), None);
        }
    }
}
