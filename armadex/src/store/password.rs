//! Where the password of a store comes from, and where it must not stand.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{bail, ensure};
use armadex_storage_sql::{Engine, Location, Password, Secret};

/// By what a store and its password are named on the command line.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) store: &'static str,
    file: &'static str,
    /// Where else a whole URL may stand.
    elsewhere: &'static str,
}

impl Named {
    /// The one that a process works with.
    pub(super) const STORE: Self = Self {
        store: "--store",
        file: "--store-password-file",
        elsewhere: ", or give the whole URL in $ARMADEX_STORE",
    };
    /// The one that is searched instead.
    pub(super) const REPLICA: Self = Self {
        store: "--read-store",
        file: "--read-store-password-file",
        elsewhere: ", or give the whole URL in $ARMADEX_READ_STORE",
    };
    /// The one that is copied.
    pub(crate) const FROM: Self = Self {
        store: "FROM",
        file: "--from-password-file",
        elsewhere: "",
    };
    /// The one that it is copied to.
    pub(crate) const TO: Self = Self {
        store: "TO",
        file: "--to-password-file",
        elsewhere: "",
    };
}

/// Refuses a URL with a password that is one of the process's arguments, which `ps` shows to everybody on the machine.
pub(super) fn refuse_in(
    arguments: impl Iterator<Item = OsString>,
    url: &str,
    named: &Named,
) -> anyhow::Result<()> {
    let Named {
        store,
        file,
        elsewhere,
    } = named;
    let shows = |argument: OsString| argument.to_string_lossy().contains(url);
    ensure!(
        !arguments.into_iter().any(shows),
        "{store} has a password in it, which everybody on this machine can see there: put it into a file and name that in {file}{elsewhere}"
    );
    Ok(())
}

/// The location with the password of the file, of the environment, or its own, in this order; what the tools of a database go by counts last.
pub(super) fn chosen(
    location: Location,
    file: Option<&Path>,
    named: &Named,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Location> {
    let conventional = match &location {
        Location::Sqlite(_) if file.is_some() => {
            let Named {
                store, file: flag, ..
            } = named;
            bail!("{flag}: a file has no password: name a server in {store}")
        }
        Location::Sqlite(_) => return Ok(location),
        Location::Server(server) => match server.engine {
            Engine::Postgres => "PGPASSWORD",
            Engine::Mysql => "MYSQL_PWD",
        },
    };
    let of_variable = |name| variable(name).map(|text| Password::Given(Secret::new(text)));
    let stated = file.map(|path| Password::File(path.to_owned()));
    let stated = stated.or_else(|| of_variable("ARMADEX_STORE_PASSWORD"));
    Ok(match stated {
        Some(password) => location.with_password(password),
        None if location.has_password() => location,
        None => match of_variable(conventional) {
            Some(password) => location.with_password(password),
            None => location,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "postgres://u:own@db/d";

    #[test]
    fn a_password_among_the_arguments_is_refused_without_being_repeated() {
        for arguments in [
            &["armadex", "all", "--store", URL][..],
            &["armadex", "--store=postgres://u:own@db/d", "all"],
        ] {
            let refused = refuse_in(arguments.iter().map(Into::into), URL, &Named::STORE);
            let refused = refused.expect_err("it is seen").to_string();
            assert!(refused.contains("--store-password-file"), "{refused}");
            assert!(!refused.contains("own@"), "{refused}");
        }
        let arguments = ["armadex", "all", "--store-connections=9"];
        refuse_in(arguments.iter().map(Into::into), URL, &Named::STORE)
            .expect("it came from elsewhere");
    }

    #[track_caller]
    fn password(url: &str, file: Option<&str>, set: &[&str]) -> Password {
        let variable = |name: &str| set.contains(&name).then(|| format!("of {name}"));
        let location = url.parse().expect("a URL");
        match chosen(location, file.map(Path::new), &Named::STORE, variable) {
            Ok(Location::Server(server)) => server.password,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_file_counts_before_the_environment_and_that_before_the_url() {
        let given = |text: &str| Password::Given(Secret::new(text));
        let all = ["ARMADEX_STORE_PASSWORD", "PGPASSWORD", "MYSQL_PWD"];
        let file = Password::File("/f".into());
        assert_eq!(password(URL, Some("/f"), &all), file);
        assert_eq!(
            password(URL, None, &all),
            given("of ARMADEX_STORE_PASSWORD")
        );
        assert_eq!(password(URL, None, &all[1..]), given("own"));
        let bare = "postgres://u@db/d";
        assert_eq!(password(bare, None, &all[1..]), given("of PGPASSWORD"));
        let bare = "mysql://u@db/d";
        assert_eq!(password(bare, None, &all[1..]), given("of MYSQL_PWD"));
        assert_eq!(password(bare, None, &[]), Password::None);
        let refused = chosen(
            "sqlite:f".parse().expect("a file"),
            Some(Path::new("/f")),
            &Named::TO,
            |_| None,
        );
        let refused = refused.expect_err("a file has none").to_string();
        assert!(refused.starts_with("--to-password-file"), "{refused}");
    }
}
