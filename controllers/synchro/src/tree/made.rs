//! What was last made of a PediaCluster, with all that it was made of: a kubeconfig may have a megabyte, and each of our own status writes comes
//! through here as an event of the object.

use std::sync::Arc;

use armadex_crds::PediaCluster;
use armadex_member::{AllowList, Connection, Ground, Member, Policy, SecretData, SecretScope};

/// All that decides what connection a PediaCluster gets. Its values, and not their versions: a control plane that is restored has those twice.
pub(super) struct Inputs {
    /// Of which the spec counts.
    pub(super) object: Arc<PediaCluster>,
    /// The namespaces whose Secrets may be used.
    pub(super) scope: SecretScope,
    /// With the grants in their annotations.
    pub(super) secrets: SecretData,
    /// What was rendered under its name.
    pub(super) policy: Policy,
    /// Where members may be.
    pub(super) allowed: AllowList,
}

impl Inputs {
    fn are(&self, others: &Self) -> bool {
        let Self {
            object,
            scope,
            secrets,
            policy,
            allowed,
        } = self;
        object.spec == others.object.spec
            && *scope == others.scope
            && *secrets == others.secrets
            && *policy == others.policy
            && *allowed == others.allowed
    }
}

/// A connection that may be made.
#[derive(Clone)]
pub(super) struct Ready {
    pub(super) connection: Connection,
    /// Its client.
    pub(super) member: Arc<Member>,
    /// That of its way by the control plane.
    pub(super) by_control_plane: Option<Arc<Member>>,
    pub(super) ground: Ground,
    pub(super) warnings: Vec<String>,
}

/// What was last made.
pub(super) struct Made<T>(Option<(Inputs, T)>);

impl<T> Default for Made<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Clone> Made<T> {
    /// What `make` gives, or gave the last time, if it was of the same. An error of it is not kept: it is of something else than these.
    pub(super) fn of<E>(
        &mut self,
        inputs: Inputs,
        make: impl FnOnce(&Inputs) -> Result<T, E>,
    ) -> Result<T, E> {
        let known = self.0.take().filter(|(known, _)| known.are(&inputs));
        let made = match known {
            Some((_, made)) => made,
            None => make(&inputs)?,
        };
        // The object of now: the former one need not be held beside it.
        self.0 = Some((inputs, made.clone()));
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use armadex_crds::PediaClusterSpec;
    use armadex_member::{SecretContent, SecretId, Sensitive};

    use super::*;

    const TOKEN: &str = "token";

    fn inputs() -> Inputs {
        let id = SecretId {
            namespace: "karmada-cluster".into(),
            name: "east".into(),
        };
        let content = SecretContent {
            data: [(TOKEN.to_owned(), Sensitive::new("hunter2"))].into(),
            endpoints: Some("https://east".into()),
        };
        Inputs {
            object: Arc::new(PediaCluster::new("east", PediaClusterSpec::default())),
            scope: SecretScope {
                default_namespace: "clusterpedia-system".into(),
                allowed_namespaces: BTreeSet::new(),
                ignored: false,
            },
            secrets: [(id, Arc::new(content))].into(),
            policy: Policy::Absent,
            allowed: AllowList::default(),
        }
    }

    /// After this change to what there was.
    fn changed(change: impl FnOnce(&mut Inputs)) -> Inputs {
        let mut inputs = inputs();
        change(&mut inputs);
        inputs
    }

    /// How often something is made of these, one after the other.
    fn times_made(all: impl IntoIterator<Item = Inputs>) -> usize {
        let (mut made, mut times) = (Made::default(), 0);
        for inputs in all {
            let count = |_: &Inputs| {
                times += 1;
                Ok::<_, Infallible>(())
            };
            let Ok(()) = made.of(inputs, count);
        }
        times
    }

    fn secret(inputs: &mut Inputs) -> &mut SecretContent {
        let secret = inputs.secrets.values_mut().next();
        Arc::make_mut(secret.expect("a Secret"))
    }

    #[test]
    fn an_event_that_changes_nothing_of_what_a_connection_is_made_of_makes_none() {
        let status = changed(|inputs| {
            let object = Arc::make_mut(&mut inputs.object);
            object.metadata.resource_version = Some("7".into());
            object.metadata.generation = Some(8);
        });
        assert_eq!(times_made([inputs(), status, inputs()]), 1);
    }

    #[test]
    fn whatever_a_connection_is_made_of_makes_it_anew() {
        let rotated = |inputs: &mut Inputs| {
            let token = Sensitive::new("another");
            secret(inputs).data.insert(TOKEN.to_owned(), token);
        };
        let namespace = |inputs: &mut Inputs| {
            let namespace = "karmada-cluster".to_owned();
            inputs.scope.allowed_namespaces.insert(namespace);
        };
        let edited = |inputs: &mut Inputs| {
            let object = Arc::make_mut(&mut inputs.object);
            object.spec.apiserver = "https://east".into();
        };
        let all = [
            inputs(),
            changed(edited),
            changed(rotated),
            changed(|inputs| secret(inputs).endpoints = None),
            changed(|inputs| inputs.secrets.clear()),
            changed(namespace),
            changed(|inputs| inputs.policy = Policy::Silent),
            inputs(),
        ];
        assert_eq!(times_made(all), 8);
    }

    #[test]
    fn what_was_not_made_is_tried_again() {
        let mut made = Made::default();
        assert_eq!(
            made.of(inputs(), |_| Err::<u8, _>("no roots")),
            Err("no roots")
        );
        let again = |_: &Inputs| Ok::<_, &str>(1);
        assert_eq!(made.of(inputs(), again), Ok(1));
    }
}
