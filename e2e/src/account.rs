//! The account that Armadex has on its control plane: nobody who may do everything, so that a right that the manifests forget is missed here.

use anyhow::Result;

use crate::deploy::{self, NAMESPACE};
use crate::folder::Folder;
use crate::kubeconfig;
use crate::kubectl::Kubectl;
use crate::pki::write_private;

/// The ServiceAccount of the manifests.
pub const ACCOUNT: &str = "armadex";
/// How the control plane calls it.
pub const USER: &str = "system:serviceaccount:clusterpedia-system:armadex";
/// The token's file, beside the kubeconfig.
const TOKEN: &str = "armadex.token";
/// A demo may be left running; the control plane goes with it.
const LENGTH: &str = "--duration=8760h";

/// Applies the shipped account with its rights, and writes a kubeconfig with a token of it.
pub async fn create(host: &Kubectl, folder: &Folder) -> Result<()> {
    host.apply(&deploy::rights()?).await?;
    let token = ["create", "token", ACCOUNT, "--namespace", NAMESPACE, LENGTH];
    let token = host.run(&token).await?;
    let path = folder.account_kubeconfig();
    write_private(&path.with_file_name(TOKEN), token.trim())?;
    kubeconfig::write_for_token(&path, &folder.kubeconfig("host"), TOKEN)
}
