//! The watches on the source objects of a policy: one for all of them, or for Secrets one in each namespace that they may be read in.

use std::sync::Arc;

use armadex_control_plane::Trouble;
use armadex_policy::{
    Found, Gvr, Interest, ObjectName, Readiness, SecretNamespaces, Watch, WatchKey, Watches,
};

/// Shares in them.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    watches: Vec<Watch>,
}

impl Sources {
    /// Shares in the watches on what may be read of a kind; why nothing may.
    pub(crate) fn acquire(
        gvr: &Gvr,
        secrets: &SecretNamespaces,
        watches: &Watches,
    ) -> Result<Self, String> {
        let keys = secrets.scopes(gvr)?.into_iter().map(|scope| WatchKey {
            gvr: gvr.clone(),
            scope,
        });
        let watches = keys.map(|key| watches.acquire(&key)).collect();
        Ok(Self { watches })
    }

    /// All of their objects concern the policy.
    pub(crate) fn interests(&self) -> Vec<Interest> {
        let of = |watch: &Watch| Interest {
            watch: watch.clone(),
            object: None,
        };
        self.watches.iter().map(of).collect()
    }

    /// Whether all of them know their objects: those of one namespace are not all there are.
    pub(crate) fn readiness(&self) -> Readiness {
        let all = self.watches.iter().map(Watch::readiness);
        let unknown = all.filter(|readiness| !matches!(readiness, Readiness::Listed));
        let fails = |readiness: &Readiness| matches!(readiness, Readiness::Failing(_));
        unknown
            .reduce(|one, other| if fails(&one) { one } else { other })
            .unwrap_or(Readiness::Listed)
    }

    /// Why what is known of some may be out of date.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.watches.iter().find_map(Watch::trouble)
    }

    /// Whether there may be objects that are not known.
    pub(crate) fn lack_some(&self) -> bool {
        let mut watches = self.watches.iter();
        watches.any(|watch| watch.lacks_some().is_some())
    }

    /// Whether all that there is is known, and followed.
    pub(crate) fn are_followed(&self) -> bool {
        self.readiness() == Readiness::Listed && self.trouble().is_none()
    }

    /// One object.
    pub(crate) fn get(&self, name: &ObjectName) -> Option<Arc<Found>> {
        self.watches.iter().find_map(|watch| watch.get(name))
    }

    /// Every object, by namespace and name.
    pub(crate) fn objects(&self) -> Vec<Arc<Found>> {
        self.watches.iter().flat_map(Watch::objects).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use armadex_control_plane::testing::{Host, ServedType};
    use futures::StreamExt;
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn secrets_are_asked_for_in_the_namespaces_that_the_administrator_allows() {
        let host = Host::new(&[ServedType::new("", "v1", "secrets", "Secret").namespaced()]);
        for namespace in ["a", "b", "kube-system"] {
            host.put(
                &format!("/api/v1/namespaces/{namespace}/secrets/of-{namespace}"),
                json!({}),
            );
        }
        let gvr = Gvr {
            group: String::new(),
            version: "v1".into(),
            resource: "secrets".into(),
        };
        let watches = Watches::new(host.client());
        let none = Sources::acquire(&gvr, &SecretNamespaces::default(), &watches);
        assert!(none.unwrap_err().ends_with("allows none"));
        assert_eq!(host.asked("list", "secrets"), 0);
        let mut changes = std::pin::pin!(watches.changes());
        let sources = Sources::acquire(&gvr, &SecretNamespaces::new(["a", "b"]), &watches).unwrap();
        assert_eq!(sources.readiness(), Readiness::Listing);
        while sources.readiness() != Readiness::Listed {
            changes.next().await;
        }
        let objects = sources.objects();
        let names: Vec<&str> = objects
            .iter()
            .map(|found| found.name.name.as_str())
            .collect();
        assert_eq!(names, ["of-a", "of-b"]);
        assert_eq!(host.asked("list", "secrets"), 2);
        watches.shutdown().await;
    }
}
