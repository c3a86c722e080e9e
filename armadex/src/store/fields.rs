//! What becomes of each field of Clusterpedia's storage configuration. Pure.

use std::time::Duration;

use anyhow::{Context as _, bail};

/// What becomes of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// A text that is taken over.
    Text,
    /// A number or a text that is taken over.
    Number,
    /// A time that is taken over.
    Time,
    /// This is so anyway: another value is refused with the reason.
    Always(&'static str, &'static str),
    /// It is refused with the reason.
    Refused(&'static str),
}

use Meaning::{Always, Number, Refused, Text, Time};

const ONE_LOG: &str = "there is one log for everything: see --log-level";
const ONE_PORT: &str = "metrics are served on the admin port, and cost nothing there";
const CLASSES: &str = "which errors pass is known for each database; those that pass are retried for as long as it takes";

/// Each field of the file by its path.
pub(super) const FIELDS: &[(&str, Meaning)] = &[
    ("type", Text),
    ("dsn", Text),
    (
        "network",
        Always("tcp", "name a socket by its path, as the host"),
    ),
    ("host", Text),
    ("port", Number),
    ("user", Text),
    ("password", Text),
    ("database", Text),
    ("sslMode", Text),
    ("sslCertFile", Text),
    ("sslKeyFile", Text),
    ("sslRootCertFile", Text),
    ("connPool.maxOpenConns", Number),
    (
        "connPool.maxIdleConns",
        Refused("connections that are not used are closed by themselves"),
    ),
    (
        "connPool.connMaxLifetime",
        Refused("connections are renewed by themselves"),
    ),
    ("mysql.dialTimeout", Time),
    ("mysql.readTimeout", Time),
    (
        "mysql.writeTimeout",
        Refused("mysql.readTimeout is for a statement as a whole"),
    ),
    (
        "mysql.serverPubKey",
        Refused("say sslMode, sslRootCertFile: the server proves itself by its certificate"),
    ),
    ("mysql.loc", Refused("no time in the store has a zone")),
    (
        "mysql.maxAllowedPacket",
        Refused("statements are kept below what the server takes"),
    ),
    (
        "mysql.allowAllFiles",
        Always("false", "no file is ever sent to the server"),
    ),
    (
        "mysql.allowCleartextPasswords",
        Always(
            "false",
            "the server asks for the password as it likes: reach it with TLS or by its socket",
        ),
    ),
    (
        "mysql.allowNativePasswords",
        Always("true", "the user says how it is let in (CREATE USER)"),
    ),
    (
        "mysql.allowOldPasswords",
        Always("false", "no server of today has them"),
    ),
    (
        "mysql.checkConnLiveness",
        Always("true", "a connection is looked at before it is used"),
    ),
    (
        "mysql.clientFoundRows",
        Always("true", "the store's statements count on it"),
    ),
    (
        "mysql.columnsWithAlias",
        Always("false", "the store reads columns by number"),
    ),
    (
        "mysql.interpolateParams",
        Always("false", "what is stored is bound and never spliced"),
    ),
    (
        "mysql.multiStatements",
        Always("false", "statements are sent one by one"),
    ),
    (
        "mysql.parseTime",
        Always("true", "no column of the store is a time"),
    ),
    (
        "mysql.rejectReadOnly",
        Always(
            "true",
            "a server that cannot be written to is left for another",
        ),
    ),
    ("mysql.recoverableErrNumbers", Refused(CLASSES)),
    ("postgres.recoverableErrCodes", Refused(CLASSES)),
    ("log.stdout", Refused(ONE_LOG)),
    ("log.level", Refused(ONE_LOG)),
    ("log.colorful", Refused(ONE_LOG)),
    ("log.slowThreshold", Refused(ONE_LOG)),
    ("log.ignoreRecordNotFoundError", Refused(ONE_LOG)),
    ("log.logger", Refused(ONE_LOG)),
    ("metrics.disable", Refused(ONE_PORT)),
    ("metrics.dbStatsRefreshInterval", Refused(ONE_PORT)),
    ("nebula", Refused("there is no store in NebulaGraph")),
];

/// Whether a value is taken over, which an empty one is not; an error where it has no place.
pub(super) fn is_taken(path: &str, value: &str) -> anyhow::Result<bool> {
    match meaning(path)? {
        Text | Number | Time => Ok(!value.is_empty()),
        Always(so, _) if so == value || value.is_empty() => Ok(false),
        Always(so, reason) => bail!("{path} is always {so} here: {reason}"),
        Refused(reason) => bail!("{path} has no place here, leave it out: {reason}"),
    }
}

pub(super) fn meaning(path: &str) -> anyhow::Result<Meaning> {
    if path.starts_with("params.") {
        return Ok(Number);
    }
    let known = FIELDS.iter().find(|(field, _)| *field == path);
    known
        .map(|(_, meaning)| *meaning)
        .with_context(|| format!("it has an unknown field {path:?}"))
}

/// A time as Go writes it, `1m30s`.
pub(super) fn milliseconds(text: &str) -> Option<String> {
    let (mut rest, mut sum) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_lowercase).count();
        let (unit, tail) = tail.split_at(letters);
        let number: u64 = number.parse().ok()?;
        sum += match unit {
            "h" => Duration::from_secs(number.checked_mul(3600)?),
            "m" => Duration::from_secs(number.checked_mul(60)?),
            "s" => Duration::from_secs(number),
            "ms" => Duration::from_millis(number),
            "us" => Duration::from_micros(number),
            "ns" => Duration::from_nanos(number),
            _ => return None,
        };
        rest = tail;
    }
    Some(format!("{}ms", sum.as_millis().max(1)))
}

/// A parameter of MySQL's DSN, which has the name of a field: its name in a URL of ours, nothing if it says what is so anyway.
pub(super) fn mysql_parameter(
    name: &str,
    value: &str,
) -> anyhow::Result<Option<(&'static str, String)>> {
    let time = || milliseconds(value).with_context(|| format!("{name} is no time"));
    Ok(match name {
        "timeout" => Some(("connect_timeout", time()?)),
        "readTimeout" => Some(("statement_timeout", time()?)),
        "tls" => {
            let mode = match value {
                "true" => "verify-full",
                "false" => "disable",
                "skip-verify" => "require",
                _ => bail!("tls is none of true, false and skip-verify"),
            };
            Some(("sslmode", mode.to_owned()))
        }
        "charset" | "collation" if value.starts_with("utf8") => None,
        "charset" | "collation" => bail!("{name}: the store writes UTF-8"),
        name => {
            is_taken(&format!("mysql.{name}"), &value.to_ascii_lowercase())?;
            None
        }
    })
}
