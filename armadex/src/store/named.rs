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
    let location: Location = url.parse().context(named.store)?;
    if location.has_password() {
        password::refuse_in(std::env::args_os(), url, named)?;
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    password::chosen(location, password_file, named, variable)
}
