//! Whether the rights that lie outside of a home are of another Armadex: all have them under the same names. Asks, and changes nothing.

use armadex_control_plane::{Trouble, TroubleKind};
use kube::Client;
use kube::core::DynamicObject;

use super::applying::objects_of;
use super::homes::Identity;
use super::manifests::{Manifest, Sort};
use super::patience::{Patience, is_the_end};

/// Who looks.
pub(crate) struct Search<'a> {
    pub(crate) client: &'a Client,
    pub(crate) ours: &'a Identity,
    pub(crate) patience: &'a Patience,
    /// Whether all that is ours says our release: what says none is another's then.
    pub(crate) is_noted: bool,
}

impl Search<'_> {
    /// The rights of other Armadexes, and which ones those are. An error: nothing can be asked any more, as about this right. Whoever may not see one is told so by what is done with it.
    pub(crate) async fn all<'m>(
        &self,
        manifests: &'m [Manifest],
    ) -> Result<Vec<(&'m Manifest, Identity)>, (&'m Manifest, Trouble)> {
        let home = Some(&self.ours.home);
        let mut others = Vec::new();
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
            let other = found.and_then(|found| self.other(&found));
            others.extend(other.map(|other| (manifest, other)));
        }
        Ok(others)
    }

    fn other(&self, right: &DynamicObject) -> Option<Identity> {
        let other = self.ours.other(right);
        other.or_else(|| self.ours.unsaid(right).filter(|_| self.is_noted))
    }
}
