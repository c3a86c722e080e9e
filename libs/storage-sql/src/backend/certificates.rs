//! The files of certificates that a server's URL names, looked at before the driver reads them: it says that one is missing, and not which.

use std::fs::File;

use crate::location::{Engine, Server};

/// That each can be opened.
pub(super) fn check(server: &Server) -> Result<(), sqlx::Error> {
    let [root, certificate, key] = match server.engine {
        Engine::Postgres => ["sslrootcert", "sslcert", "sslkey"],
        Engine::Mysql => ["ssl-ca", "ssl-cert", "ssl-key"],
    };
    let (tls, client) = (&server.tls, server.tls.client.as_ref());
    let named = [
        (root, tls.root.as_ref()),
        (certificate, client.map(|client| &client.certificate)),
        (key, client.map(|client| &client.key)),
    ];
    for (name, path) in named {
        if let Some(path) = path
            && let Err(err) = File::open(path)
        {
            let words = format!(
                "{name} names {}, which cannot be read: {err}",
                path.display()
            );
            return Err(sqlx::Error::Configuration(words.into()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;

    #[track_caller]
    fn told(url: &str) -> String {
        match url.parse().expect("a URL") {
            Location::Server(server) => check(&server).expect_err("no such file").to_string(),
            Location::Sqlite(path) => panic!("{path:?}"),
        }
    }

    #[test]
    fn a_certificate_that_is_not_there_is_named_with_its_parameter() {
        let there = tempfile::NamedTempFile::new().expect("a file");
        let there = there.path().display();
        let words = told("postgres://u@h/fleet?sslrootcert=/nowhere/ca.crt");
        assert!(
            words.contains("sslrootcert names /nowhere/ca.crt, which"),
            "{words}"
        );
        let words = told(&format!(
            "mysql://u@h/fleet?ssl-cert={there}&ssl-key=/nowhere/key"
        ));
        assert!(
            words.contains("ssl-key names /nowhere/key, which"),
            "{words}"
        );
    }
}
