//! What can be said of a server behind the `?` of its URL, by the names that the tools of each database use. Pure.

use std::time::Duration;

use super::server::{Engine, TlsMode};

/// One thing that can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    TlsMode,
    RootCertificate,
    Certificate,
    Key,
    ConnectTimeout,
    StatementTimeout,
    LockTimeout,
    Prepared,
    Socket,
    Application,
    Password,
}

use Parameter as P;

/// What each is called for PostgreSQL and for MySQL; nothing where there is no such thing.
const NAMES: [(Parameter, &str, &str); 11] = [
    (P::TlsMode, "sslmode", "ssl-mode"),
    (P::RootCertificate, "sslrootcert", "ssl-ca"),
    (P::Certificate, "sslcert", "ssl-cert"),
    (P::Key, "sslkey", "ssl-key"),
    (P::ConnectTimeout, "connect_timeout", "connect-timeout"),
    (
        P::StatementTimeout,
        "statement_timeout",
        "statement-timeout",
    ),
    (P::LockTimeout, "lock_timeout", "lock-timeout"),
    (P::Prepared, "prepared", "prepared"),
    (P::Socket, "host", "socket"),
    (P::Application, "application_name", ""),
    (P::Password, "password", "password"),
];

/// What other programs know and this one does not, with the way out.
const ELSEWHERE: [(&str, &str); 10] = [
    ("pool_max_conns", "say it with --store-connections"),
    ("pool_size", "say it with --store-connections"),
    ("connection_limit", "say it with --store-connections"),
    ("max_connections", "say it with --store-connections"),
    ("passfile", "say it with --store-password-file"),
    (
        "target_session_attrs",
        "of several hosts the first is used that lets us write",
    ),
    (
        "options",
        "set what you need on the role (ALTER ROLE ... SET ...)",
    ),
    ("user", "it stands before the @"),
    ("dbname", "it stands behind the /"),
    ("port", "it stands behind the host and a colon"),
];

/// The parameter of this name, in the spelling of either database; else what is wrong with it. What has other letters than a name may be a part
/// of a password that was not percent-encoded, and is not repeated.
pub(super) fn named(engine: Engine, name: &str) -> Result<Parameter, String> {
    let is_same = |other: &str| !other.is_empty() && spelling(other) == spelling(name);
    let known = NAMES.iter().find(|(_, postgres, mysql)| {
        !own_name((postgres, mysql), engine).is_empty() && (is_same(postgres) || is_same(mysql))
    });
    if let Some((parameter, ..)) = known {
        return Ok(*parameter);
    }
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| is_same(other));
    if let Some((other, way_out)) = elsewhere {
        return Err(format!("it has no parameter {other}: {way_out}"));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name = match name.chars().all(is_name) && name.len() < 32 {
        true => format!("{name:?}"),
        false => "of this name".to_owned(),
    };
    let known = NAMES.map(|(_, postgres, mysql)| own_name((&postgres, &mysql), engine));
    let known: Vec<_> = known.into_iter().filter(|name| !name.is_empty()).collect();
    Err(format!(
        "it has no parameter {name}: there are {}",
        known.join(", ")
    ))
}

fn own_name<'a>((postgres, mysql): (&&'a str, &&'a str), engine: Engine) -> &'a str {
    match engine {
        Engine::Postgres => postgres,
        Engine::Mysql => mysql,
    }
}

/// Options of MySQL may be written with either.
fn spelling(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// A mode by PostgreSQL's name or by MySQL's; `name` is the parameter's as it was typed.
pub(super) fn tls_mode(name: &str, text: &str) -> Result<TlsMode, String> {
    let refused = |why: &str| Err(format!("{name} {why}"));
    match spelling(text).as_str() {
        "disable" | "disabled" => Ok(TlsMode::Disable),
        "require" | "required" => Ok(TlsMode::Require),
        // The driver trusts the system's authorities beside those that are named.
        "verify-ca" => refused(
            "is verify-ca, which would trust whoever has a certificate of any public authority, for whatever name: say verify-full",
        ),
        "verify-full" | "verify-identity" => Ok(TlsMode::VerifyFull),
        "allow" | "prefer" | "preferred" => refused(
            "would let whoever is in between turn encryption off: say disable, require or verify-full",
        ),
        _ => refused("is none of disable, require and verify-full"),
    }
}

/// A time with its unit. Of a bare number each database's tools think something else, milliseconds or seconds; only of the time to connect
/// all of them think seconds. `name` is the parameter's as it was typed.
pub(super) fn duration(
    (parameter, name): (Parameter, &str),
    text: &str,
) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit.trim() {
        "" if parameter == P::ConnectTimeout => 1000,
        "ms" => 1,
        "s" => 1000,
        "min" | "m" => 60_000,
        _ => 0,
    };
    let number: u64 = number.parse().unwrap_or_default();
    match number.saturating_mul(milliseconds) {
        0 => Err(format!(
            "{name} takes a time with its unit, such as 500ms, 30s or 2min"
        )),
        // A day is as good as no limit, and no clock overflows with it.
        milliseconds => Ok(Duration::from_millis(milliseconds.min(86_400_000))),
    }
}

/// Whether statements may be prepared.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err("prepared is either on or off".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_has_the_names_of_both_databases() {
        for engine in [Engine::Postgres, Engine::Mysql] {
            for name in ["sslmode", "ssl-mode", "ssl_mode", "SSL-MODE"] {
                assert_eq!(named(engine, name), Ok(P::TlsMode), "{name}");
            }
        }
        assert_eq!(named(Engine::Postgres, "host"), Ok(P::Socket));
        assert!(named(Engine::Mysql, "application_name").is_err());
    }

    #[test]
    fn an_unknown_parameter_is_named_beside_those_that_exist() {
        let refused = named(Engine::Mysql, "sslmod").expect_err("unknown");
        assert_eq!(
            refused,
            "it has no parameter \"sslmod\": there are ssl-mode, ssl-ca, ssl-cert, ssl-key, connect-timeout, statement-timeout, \
             lock-timeout, prepared, socket, password"
        );
        let refused = named(Engine::Postgres, "pool_max_conns").expect_err("elsewhere");
        assert!(refused.contains("--store-connections"), "{refused}");
        let refused = named(Engine::Postgres, "se/cret").expect_err("no name");
        assert!(!refused.contains("cret:"), "{refused}");
    }

    #[test]
    fn a_time_has_a_unit() {
        for (text, expected) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("2min", 120_000),
            ("1 m", 60_000),
            ("99999999999999999999999min", 0),
            ("99999min", 86_400_000),
        ] {
            let found = duration((P::LockTimeout, "lock_timeout"), text).ok();
            let expected = (expected > 0).then(|| Duration::from_millis(expected));
            assert_eq!(found, expected, "{text}");
        }
        for text in ["", "0", "0s", "5", "s", "-1s", "5 hours"] {
            let refused = duration((P::LockTimeout, "lock-timeout"), text).expect_err(text);
            assert!(refused.starts_with("lock-timeout takes"), "{refused}");
        }
        let connect = duration((P::ConnectTimeout, "connect_timeout"), "10");
        assert_eq!(connect, Ok(Duration::from_secs(10)));
    }

    #[test]
    fn a_mode_that_falls_back_to_no_encryption_is_refused() {
        for text in ["prefer", "allow", "PREFERRED"] {
            let refused = tls_mode("sslmode", text).expect_err(text);
            assert!(refused.contains("in between"), "{refused}");
        }
        let mode = tls_mode("ssl-mode", "VERIFY_IDENTITY");
        assert_eq!(mode, Ok(TlsMode::VerifyFull));
        let refused = tls_mode("ssl-mode", "on").expect_err("none");
        assert!(refused.starts_with("ssl-mode is none of"), "{refused}");
    }
}
