//! What a token of a ServiceAccount says of itself. It proves nothing: whether it is good the API server says. Pure, but for the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// What is read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claims {
    /// When it was issued, in seconds since 1970, by the clock of the API server.
    pub(crate) issued: i64,
    /// When it ends, likewise.
    pub(crate) expires: i64,
    /// The uid of its account.
    pub(crate) account: Option<String>,
}

impl Claims {
    /// Those of a token that says when it ends.
    pub(crate) fn of(token: &str) -> Option<Self> {
        let payload = token.trim().split('.').nth(1)?;
        let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
        let claims: Value = serde_json::from_slice(&payload).ok()?;
        let account = claims.pointer("/kubernetes.io/serviceaccount/uid");
        Some(Self {
            issued: claims["iat"].as_i64()?,
            expires: claims["exp"].as_i64()?,
            account: account.and_then(Value::as_str).map(str::to_owned),
        })
    }

    /// For how many seconds it is good in all.
    pub(crate) fn life(&self) -> i64 {
        self.expires.saturating_sub(self.issued)
    }
}

/// The clock here, in seconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.map(|since| since.as_secs()).unwrap_or_default();
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

/// A token that says this.
#[cfg(test)]
pub(crate) fn token(claims: &Value) -> String {
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_says_when_it_ends_and_whose_it_is() {
        let claims =
            json!({"iat": 10, "exp": 70, "kubernetes.io": {"serviceaccount": {"uid": "u"}}});
        let read = Claims::of(&format!("{}\n", token(&claims)));
        let expected = Claims {
            issued: 10,
            expires: 70,
            account: Some("u".to_owned()),
        };
        assert_eq!(read, Some(expected.clone()));
        assert_eq!(expected.life(), 60);
    }

    #[test]
    fn what_is_no_such_token_says_nothing() {
        let never_ends = token(&json!({"iat": 1}));
        for text in ["", "abc", "a.b.c", "a.%%%.c", &never_ends] {
            assert_eq!(Claims::of(text), None, "{text}");
        }
    }
}
