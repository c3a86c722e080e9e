//! From a PediaCluster, its Secrets and what its policy rendered to what the session is to do.

use std::sync::Arc;

use armadex_crds::conditions::ClusterValidatedReason;
use armadex_crds::{AUDIT_ANNOTATION, AUDIT_REQUEST_CHARS, PediaCluster};
use armadex_member::{
    ConfigError, Connection, ControlPlane, Ground, Member, Policy, referenced_secrets, validate,
};
use armadex_storage::ClusterId;
use kube::ResourceExt;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{Branches, Live, Tree, edited, labels};
use crate::audit::Audits;
use crate::credentials::grounds::{SETTLING, stance};
use crate::credentials::lifecycles;
use crate::credentials::secrets::Snapshot;
use crate::session::plan::Scope;
use crate::session::{Session, Wanted};
use crate::told::board::Validated;
use crate::tree::made::{Inputs, Ready};
use crate::tree::reference::Asked;

/// What is left to do.
#[derive(Default)]
pub(super) struct Directed {
    /// The session has to end, and why.
    pub(super) ends: Option<String>,
    /// When to look again, if nothing changes before.
    pub(super) again: Option<Instant>,
    /// Nothing new can be made of the object, and the conditions say why.
    pub(super) refused: bool,
    /// What is asked for, if that can be said.
    pub(super) asked: Option<Scope>,
}

impl Directed {
    /// With what is asked for, where nothing can be made of the object; if that is not known yet it is looked at again, before anything is told.
    fn beside(self, asked: &Asked) -> Self {
        match asked {
            Asked::Awaited(due) => Self {
                again: [*due, self.again].into_iter().flatten().min(),
                refused: false,
                ..self
            },
            asked => Self {
                asked: asked.scope(),
                ..self
            },
        }
    }
}

impl Tree {
    /// Validates, and tells the session what to do. While no connection can be made of the object, a session that runs goes on as it was,
    /// unless what it was made on does not hold any more.
    pub(super) fn direct(
        &self,
        branches: &mut Branches,
        object: &Arc<PediaCluster>,
        cluster: ClusterId,
    ) -> Directed {
        let scope = self.shared.secret_scope();
        branches
            .secrets
            .follow(referenced_secrets(&object.spec, &scope));
        let policy = lifecycles::policy(branches.policy.now());
        let asked = branches
            .referred
            .asked(&object.spec, self.shared.config.gates);
        let made = match branches.secrets.snapshot() {
            Snapshot::Incomplete => return Directed::default(),
            Snapshot::Failed(error) => Err(error),
            Snapshot::Complete(secrets) => branches.made_of(Inputs {
                object: Arc::clone(object),
                scope,
                secrets,
                policy: policy.clone(),
                allowed: self.shared.config.member_addresses.clone(),
            }),
        };
        let ready = match made {
            Ok(ready) => ready,
            Err(error) => return branches.refuse(&error, &policy, object).beside(&asked),
        };
        branches.refused = None;
        if let Asked::Awaited(again) = asked {
            return Directed {
                again,
                ..Directed::default()
            };
        }
        self.take_up(branches, (ready, asked), object, cluster)
    }

    /// Tells the session what to do over the connection that was made.
    fn take_up(
        &self,
        branches: &mut Branches,
        (ready, asked): (Ready, Asked),
        object: &PediaCluster,
        cluster: ClusterId,
    ) -> Directed {
        let Ready {
            connection,
            member,
            by_control_plane,
            ground,
            warnings,
        } = ready;
        let (validated, asked) = checked(asked, object, warnings);
        // What runs goes on with the resources of before, over the connection that may be made now.
        let resources = asked.clone().or_else(|| {
            let live = branches.session.as_ref()?;
            Some(live.wanted.borrow().resources.clone())
        });
        let wanted = resources.map(|resources| Wanted {
            connection,
            member,
            by_control_plane,
            resources,
        });
        let session = &branches.session;
        branches.standing.board.update(|facts| {
            facts.generation = object.metadata.generation;
            facts.validated = validated;
            // The session says what is planned under the same lock, and not where it knows that something else is asked for.
            let is_followed = match (session, &wanted) {
                (Some(live), Some(wanted)) => !live.is_told(wanted),
                (Some(_), None) => true,
                (None, _) => false,
            };
            facts.planned = facts.planned.filter(|_| is_followed);
        });
        if let Some(wanted) = wanted {
            self.begin(branches, wanted, ground, cluster);
            branches.ask(object);
        }
        Directed {
            refused: branches.session.is_none(),
            asked,
            ..Directed::default()
        }
    }

    /// Begins a session, if none runs, that does what is wanted.
    fn begin(&self, branches: &mut Branches, wanted: Wanted, ground: Ground, cluster: ClusterId) {
        if let Some(live) = &mut branches.session {
            live.ground = ground;
            return;
        }
        let (sender, receiver) = watch::channel(wanted);
        let (ask, asked) = watch::channel(String::new());
        let last = branches
            .standing
            .board
            .facts()
            .audit
            .map(|audit| audit.time.0);
        let [cancel, left, released] = [(); 3].map(|()| CancellationToken::new());
        let session = Session {
            shared: Arc::clone(&self.shared),
            name: self.name.clone(),
            incarnation: self.uid.clone(),
            cluster,
            board: Arc::clone(&branches.standing.board),
            wanted: receiver,
            audits: Arc::new(Audits::new(self.shared.config.audit_every, last)),
            new_types: Arc::clone(&branches.standing.new_types),
            asked,
            released: released.clone(),
            cancel: cancel.clone(),
            left: left.clone(),
        };
        branches.idle = None;
        branches.session = Some(Live {
            begun: Instant::now(),
            ground,
            wanted: sender,
            asked: ask,
            released,
            cancel,
            left,
            task: AbortOnDropHandle::new(tokio::spawn(session.run())),
        });
    }
}

impl Live {
    /// Tells the session what is wanted; whether that is something else than before.
    fn is_told(&self, wanted: &Wanted) -> bool {
        self.wanted.send_if_modified(|known| {
            let modified =
                known.connection != wanted.connection || known.resources != wanted.resources;
            if modified {
                *known = wanted.clone();
            }
            modified
        })
    }
}

impl Branches {
    /// Tells the session which audit is asked for.
    fn ask(&self, object: &PediaCluster) {
        let asked = object.annotations().get(AUDIT_ANNOTATION);
        let asked = asked.map_or("", String::as_str).chars();
        let asked: String = asked.take(AUDIT_REQUEST_CHARS).collect();
        if let Some(live) = &self.session {
            live.asked.send_if_modified(|known| {
                let modified = *known != asked;
                *known = asked;
                modified
            });
        }
    }

    fn made_of(&mut self, inputs: Inputs) -> Result<Ready, ConfigError> {
        let session = self.session.as_ref();
        let control_plane = self.control_plane.as_ref();
        let made = self.made.of(inputs, |inputs| {
            let Inputs {
                object,
                scope,
                secrets,
                policy,
                allowed,
            } = inputs;
            match validate(&object.spec, scope, secrets, policy, allowed) {
                Ok(validated) => ready(session, control_plane, validated).map(Ok),
                Err(error) => Ok(Err(error)),
            }
        });
        made.flatten()
    }

    /// No connection can be made of the object.
    fn refuse(&mut self, error: &ConfigError, policy: &Policy, object: &PediaCluster) -> Directed {
        let due = *self.refused.get_or_insert_with(Instant::now) + SETTLING;
        let running = self.session.as_ref().map(|live| &live.ground);
        let stance = stance(running, error, policy, Instant::now() >= due);
        if stance.told {
            self.standing.board.update(|facts| {
                facts.generation = object.metadata.generation;
                facts.validated = told(error, object);
            });
        }
        Directed {
            ends: stance.ends.then(|| error.to_string()),
            again: stance.waits.then_some(due),
            refused: stance.told,
            asked: None,
        }
    }
}

/// With clients of the connection: those that are in use, if it is the same connection.
fn ready(
    session: Option<&Live>,
    control_plane: Option<&ControlPlane>,
    validated: armadex_member::Validated,
) -> Result<Ready, ConfigError> {
    let armadex_member::Validated {
        connection,
        ground,
        warnings,
    } = validated;
    let known = session.and_then(|live| {
        let wanted = live.wanted.borrow();
        let is_same = wanted.connection == connection;
        is_same.then(|| (Arc::clone(&wanted.member), wanted.by_control_plane.clone()))
    });
    let (member, by_control_plane) = match known {
        Some(clients) => clients,
        None => (
            Arc::new(Member::new(&connection)?),
            by_control_plane(control_plane, &connection)?,
        ),
    };
    Ok(Ready {
        connection,
        member,
        by_control_plane,
        ground,
        warnings,
    })
}

fn by_control_plane(
    control_plane: Option<&ControlPlane>,
    connection: &Connection,
) -> Result<Option<Arc<Member>>, ConfigError> {
    let ways = control_plane.zip(connection.control_plane_proxy.as_ref());
    let member = ways.map(|(asked, proxy)| Member::by_control_plane(asked, proxy));
    Ok(member.transpose()?.map(Arc::new))
}

/// Whether what is asked for can be, what it is then, and what should be mended beside these warnings.
fn checked(
    asked: Asked,
    object: &PediaCluster,
    warnings: Vec<String>,
) -> (Validated, Option<Scope>) {
    match asked {
        Asked::For(scope, warning) => {
            // What Clusterpedia says as well comes first.
            let first = (!warning.is_empty()).then_some(warning);
            let all = first.into_iter().chain(warnings);
            let all = Vec::from_iter(all.chain(labels::warning(object)));
            (Validated::Yes(all.join("; ")), Some(scope))
        }
        Asked::Invalid(error) => {
            let reason = ClusterValidatedReason::InvalidSyncResources;
            (Validated::No(reason, error.to_string()), None)
        }
        Asked::Unknown(why) => {
            let reason = ClusterValidatedReason::WaitSyncResources;
            (Validated::Waits(reason, why), None)
        }
        Asked::Awaited(_) => (Validated::Unknown, None),
    }
}

fn told(error: &ConfigError, object: &PediaCluster) -> Validated {
    match error {
        ConfigError::Unlisted { .. } => {
            Validated::Waits(ClusterValidatedReason::WaitLifecycles, error.to_string())
        }
        ConfigError::Unbound { .. } | ConfigError::Unrendered { .. } => Validated::No(
            ClusterValidatedReason::CredentialNotBound,
            error.to_string(),
        ),
        ConfigError::Replaced { .. } => {
            let words = match edited::by_others(object.managed_fields()) {
                Some(edits) => format!("{error}; {edits}"),
                None => error.to_string(),
            };
            Validated::No(ClusterValidatedReason::CredentialNotBound, words)
        }
        _ => {
            let words = format!("invalid cluster config: {error}");
            Validated::No(ClusterValidatedReason::InvalidConfig, words)
        }
    }
}
