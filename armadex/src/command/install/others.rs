//! Whether the rights that lie outside of a home are of another Armadex: all have them under the same names. Asks, and changes nothing.

use armadex_control_plane::{Trouble, TroubleKind};
use kube::Client;

use super::applying::objects_of;
use super::homes::Identity;
use super::manifests::{Manifest, Sort};
use super::patience::{Patience, is_the_end};

/// Who looks.
pub(crate) struct Search<'a> {
    pub(crate) client: &'a Client,
    pub(crate) ours: &'a Identity,
    pub(crate) patience: &'a Patience,
}

impl Search<'_> {
    /// The first right of another Armadex, and which one that is. An error: nothing can be asked any more, as about this right. Whoever may not see one is told so by what is done with it.
    pub(crate) async fn first<'m>(
        &self,
        manifests: &'m [Manifest],
    ) -> Result<Option<(&'m Manifest, Identity)>, (&'m Manifest, Trouble)> {
        let home = Some(&self.ours.home);
        let is_shared = |manifest: &&Manifest| {
            manifest.sort == Sort::Right && manifest.namespace.as_ref() != home
        };
        for manifest in manifests.iter().filter(is_shared) {
            let objects = objects_of(self.client, manifest);
            let look = async || objects.get_opt(&manifest.name).await;
            let found = match self.patience.ask(TroubleKind::is_outage, look).await {
                Ok(found) => found,
                Err(trouble) if is_the_end(&trouble) => return Err((manifest, trouble)),
                Err(_) => continue,
            };
            if let Some(other) = found.and_then(|found| self.ours.other(&found)) {
                return Ok(Some((manifest, other)));
            }
        }
        Ok(None)
    }
}
