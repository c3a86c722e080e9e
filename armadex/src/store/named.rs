//! A store that a command names by its URL, one of two.

use std::path::Path;

use anyhow::Context as _;
use armadex_storage_sql::Location;

use super::password;
pub(crate) use super::password::Named;

/// Where it is.
pub(crate) fn location(
    named: &Named,
    url: &str,
    password_file: Option<&Path>,
) -> anyhow::Result<Location> {
    password::chosen(parsed(named, url)?, password_file, named, variable)
}

/// Where a replica is. What its own URL says is its own: the password of the store is sent elsewhere only where nothing else is said.
pub(super) fn location_of_replica(
    url: &str,
    password_file: Option<&Path>,
    of_store: Option<&Path>,
) -> anyhow::Result<Location> {
    let named = &Named::REPLICA;
    let location = parsed(named, url)?;
    match password_file {
        None if location.has_password() => Ok(location),
        None => password::chosen(location, of_store, named, variable),
        file => password::chosen(location, file, named, variable),
    }
}

fn parsed(named: &Named, url: &str) -> anyhow::Result<Location> {
    let location: Location = url.parse().context(named.store)?;
    if location.has_password() {
        password::refuse_in(std::env::args_os(), url, named)?;
    }
    Ok(location)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use armadex_storage_sql::Password;

    use super::*;

    #[test]
    fn a_replica_has_the_password_that_is_its_own_before_that_of_the_store() {
        let (own, store) = (Path::new("own"), Path::new("store"));
        let of = |url: &str, file, of_store| {
            let located = location_of_replica(url, file, of_store).expect("a place");
            let Location::Server(server) = located else {
                panic!("a server");
            };
            server.password
        };
        let (bare, whole) = ("postgres://u@db/d", "postgres://u:said@db/d");
        let file = |path: &Path| Password::File(path.to_owned());
        assert_eq!(of(bare, Some(own), Some(store)), file(own));
        assert_eq!(of(whole, Some(own), Some(store)), file(own));
        assert_eq!(of(bare, None, Some(store)), file(store));
        assert_ne!(of(whole, None, Some(store)), file(store));
        let refused = location_of_replica("sqlite:f", Some(own), None).expect_err("no password");
        assert!(
            refused.to_string().contains("--read-store-password-file"),
            "{refused}"
        );
    }
}
