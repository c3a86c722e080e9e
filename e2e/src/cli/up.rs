//! `up`: a fleet that goes on without this process.

use anyhow::{Context, Result};
use armadex_e2e::process::Program;
use armadex_e2e::progress::result;
use armadex_e2e::{Folder, Harness};
use futures::future::try_join_all;

/// Starts the control plane and `members` members and joins them.
pub(crate) async fn run(folder: &Folder, members: usize) -> Result<()> {
    let fleet = Harness::start_detached(folder, members).await?;
    start_controllers(folder)?;
    let names = folder.members()?;
    try_join_all(names.iter().map(|name| fleet.join(name))).await?;
    result(format_args!(
        "{} members are joined to {}",
        names.len(),
        fleet.control_plane().kind()
    ));
    result(format_args!(
        "kubeconfigs: {}/*.kubeconfig",
        folder.root().display()
    ));
    Ok(())
}

/// The stand-in's controllers need a process that stays; with Karmada it ends at once by itself.
fn start_controllers(folder: &Folder) -> Result<()> {
    let own = std::env::current_exe().context("this program does not know its own path")?;
    let arguments = vec![
        "--folder".to_owned(),
        folder.root().display().to_string(),
        "stand-in".to_owned(),
    ];
    Program::new("stand-in", own, arguments).start(folder)?;
    Ok(())
}

/// Runs the stand-in's controllers until this process is ended.
pub(crate) async fn stand_in(folder: &Folder) -> Result<()> {
    match Harness::attach(folder)?
        .control_plane()
        .start_controllers()
        .await?
    {
        Some(controllers) => controllers.wait().await,
        None => Ok(()),
    }
}
