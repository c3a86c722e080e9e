//! What variables of libpq would say of a connection beside the store's URL. The driver reads them by itself, and most are overruled by what every URL says; the
//! others are refused, for two processes with one URL would reach a server in two ways.

use armadex_storage::StoreError;

use crate::location::{Server, TlsMode};

/// Refuses a variable that would take effect.
pub(super) fn check(server: &Server, is_set: impl Fn(&str) -> bool) -> Result<(), StoreError> {
    let tls = &server.tls;
    let is_encrypted = tls.mode != TlsMode::Disable;
    let has_effect = [
        (
            "PGSSLROOTCERT",
            "say sslrootcert in the store's URL",
            is_encrypted && tls.root.is_none(),
        ),
        (
            "PGSSLCERT",
            "say sslcert and sslkey in the store's URL",
            is_encrypted && tls.client.is_none(),
        ),
        (
            "PGSSLKEY",
            "say sslcert and sslkey in the store's URL",
            is_encrypted && tls.client.is_none(),
        ),
        (
            "PGOPTIONS",
            "set what you need on the role (ALTER ROLE ... SET ...)",
            true,
        ),
    ];
    let mut refused = has_effect
        .into_iter()
        .filter(|(name, _, has_effect)| *has_effect && is_set(name));
    match refused.next() {
        Some((name, way_out, _)) => Err(StoreError::Unsupported {
            what: format!(
                "{server} is reached by what its URL says, and ${name} is set: {way_out}, and unset ${name}"
            ),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;

    /// What is refused with one variable that is set.
    fn with(set: &str, url: &str) -> String {
        let Ok(Location::Server(server)) = url.parse() else {
            panic!("a server")
        };
        let refused = check(&server, |name| name == set);
        refused.map_or_else(|err| err.to_string(), |()| String::new())
    }

    #[test]
    fn a_variable_that_would_take_effect_is_named_with_the_way_out() {
        let bare = "postgres://u@db.example.com/fleet";
        for (name, way_out) in [
            ("PGSSLROOTCERT", "say sslrootcert"),
            ("PGSSLCERT", "say sslcert and sslkey"),
            ("PGSSLKEY", "say sslcert and sslkey"),
            ("PGOPTIONS", "ALTER ROLE"),
        ] {
            let refused = with(name, bare);
            assert!(
                refused.contains(name) && refused.contains(way_out),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_variable_without_effect_is_no_matter() {
        let said = "postgres://u@db.example.com/fleet?sslrootcert=/ca&sslcert=/c&sslkey=/k";
        let bare = "postgres://u@127.0.0.1/fleet?sslmode=disable";
        for name in ["PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY", "PGHOST", "PGUSER"] {
            assert_eq!([said, bare].map(|url| with(name, url)), ["", ""], "{name}");
        }
    }
}
