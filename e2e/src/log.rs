//! What must not stand in the log of Armadex: that something broke which nobody broke on purpose, and anything secret.

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::folder::Folder;
use crate::seed;

/// What only a secret holds, as it is and in base64: a token of a kube-apiserver, a key or a certificate, and what is seeded. The passwords of stores, which are
/// others in each fleet, count as well.
const SECRETS: [&str; 6] = [
    "eyJhbGciOi",
    "ZXlKaGJHY2lPa",
    "-----BEGIN",
    "LS0tLS1CRUdJTi",
    seed::SECRET,
    seed::SECRET_ENCODED,
];
/// Letters of a password that no log has by chance: that of a server which was started for a fleet has 24, one of a server that the environment names may be a word.
const SHORTEST: usize = 12;
/// Lines that are told.
const TOLD: usize = 10;
/// Letters of a line that are told.
const LONGEST: usize = 600;

/// Reads the log of `process` and fails for what must not be there.
pub fn check(folder: &Folder, process: &str) -> Result<()> {
    let path = folder.log(process);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(!text.is_empty(), "{} is empty", path.display());
    let faults = faults(&text, &passwords(folder)?);
    let told: Vec<_> = faults.iter().take(TOLD).map(String::as_str).collect();
    let path = path.display();
    ensure!(
        faults.is_empty(),
        "{} lines of {path} must not be there:\n{}",
        faults.len(),
        told.join("\n")
    );
    Ok(())
}

/// Those of the stores of a fleet, as they are and in base64.
fn passwords(folder: &Folder) -> Result<Vec<String>> {
    let path = folder.store_passwords();
    let files = std::fs::read_dir(&path).with_context(|| format!("no {}", path.display()))?;
    let mut passwords = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file?.path())?;
        let password = text.trim_end();
        if password.len() >= SHORTEST {
            passwords.extend([password.to_owned(), STANDARD_NO_PAD.encode(password)]);
        }
    }
    Ok(passwords)
}

/// Each line that must not be there, with the reason.
fn faults(text: &str, passwords: &[String]) -> Vec<String> {
    let line = |line: &str| {
        let shown: String = line.chars().take(LONGEST).collect();
        Some(format!("{}: {shown}", fault(line, passwords)?))
    };
    text.lines().filter_map(line).collect()
}

fn fault(line: &str, passwords: &[String]) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    if has(&SECRETS) || passwords.iter().any(|password| line.contains(password)) {
        Some("something secret")
    } else if has(&["panicked at"]) {
        Some("a panic")
    } else if has(&[" ERROR ", "\"level\":\"ERROR\""]) {
        Some("an error")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::store::Store;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        assert_eq!(fault(line, &[]), expected, "{line}");
    }

    #[test]
    fn what_broke_and_what_is_secret_is_found_in_a_line() {
        check("2026-01-01T00:00:00.1Z  INFO armadex: 0 ERRORs", None);
        check(
            "2026-01-01T00:00:00.1Z ERROR armadex: it broke off",
            Some("an error"),
        );
        check(r#"{"level":"ERROR","message":"no"}"#, Some("an error"));
        check("thread 'main' panicked at src/a.rs:1:2:", Some("a panic"));
        let secret = Some("something secret");
        let password = format!("{}x", seed::SECRET);
        check(&format!(" WARN spec={password}"), secret);
        let token = r#"{"alg":"RS256"}"#;
        for text in [&password, "-----BEGIN CERTIFICATE-----"] {
            check(&STANDARD.encode(text), secret);
        }
        check(&STANDARD.encode(token), secret);
        check(&STANDARD.encode(STANDARD.encode(token)), secret);
    }

    #[test]
    fn the_password_of_a_store_is_found_in_the_log_of_its_fleet() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path()).unwrap();
        folder.create().unwrap();
        let (password, word) = ("xUf3Qk0ZbT7vLm2WsR9eYn4P", "armadex");
        Store::at(&format!("postgres://me:{password}@db/fleet"), &folder).unwrap();
        Store::at(&format!("mysql://me:{word}@db/fleet"), &folder).unwrap();
        let says = |line: &str| {
            std::fs::write(folder.log(word), line).unwrap();
            super::check(&folder, word).map_err(|error| format!("{error:#}"))
        };
        for line in [password.to_owned(), STANDARD.encode(password)] {
            let said = says(&format!("postgres://me:{line}@db/fleet")).unwrap_err();
            assert!(said.contains("something secret: postgres"), "{said}");
        }
        assert_eq!(says("armadex goes on at postgres://me@db/fleet"), Ok(()));
    }

    #[test]
    fn faults_are_told_line_by_line() {
        let text = "a\nthread 'x' panicked at b\nc\n ERROR d\n";
        assert_eq!(
            faults(text, &[]),
            ["a panic: thread 'x' panicked at b", "an error:  ERROR d"]
        );
    }
}
