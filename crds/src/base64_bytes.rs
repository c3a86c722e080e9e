//! Bytes that travel as base64 text, credentials mostly: kept as the text that came, decoded
//! when used, never printed.

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_STANDARD};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Sensitive;

/// Base64 text of a `format: byte` field.
///
/// Reading an object does not decode it: one bad field must not make a whole list of objects
/// unreadable. [`decode`](Self::decode) is strict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Base64Bytes(Sensitive<String>);

/// The text is not base64. What it was is not told: it may be a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not valid base64")]
pub struct InvalidBase64;

impl Base64Bytes {
    /// Takes plain bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(BASE64_STANDARD.encode(bytes).into())
    }

    /// Takes base64 text as it is; it is checked by [`decode`](Self::decode).
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// The bytes; standard alphabet, padding required, nothing but base64 in the text.
    pub fn decode(&self) -> Result<Vec<u8>, InvalidBase64> {
        let decoded = BASE64_STANDARD.decode(self.0.expose());
        decoded.map_err(|_| InvalidBase64)
    }

    /// Whether the field is absent or an empty string.
    pub fn is_empty(&self) -> bool {
        self.0.expose().is_empty()
    }
}

impl JsonSchema for Base64Bytes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Base64Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "byte"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        let token = Base64Bytes::from_bytes(b"token");
        assert_eq!(format!("{token:?}"), "Base64Bytes(Sensitive(not shown))");
    }

    #[test]
    fn decoding_is_strict() {
        let decoded = |text: &str| Base64Bytes::from_text(text).decode();
        assert_eq!(decoded("dG9rZW4="), Ok(b"token".to_vec()));
        for bad in [
            "dG9rZW4",
            "dG9r ZW4=",
            "dG9rZW4=\n",
            "dG9rZW4-",
            "plain text",
        ] {
            assert_eq!(decoded(bad), Err(InvalidBase64), "{bad:?}");
        }
    }

    #[test]
    fn bad_text_is_still_read_so_that_other_objects_are() {
        let bytes: Base64Bytes = serde_json::from_str("\"%%\"").unwrap();
        assert_eq!(bytes.decode(), Err(InvalidBase64));
    }
}
