//! What a type is: settled between those who have it, for all of them are told of it alike.
//!
//! The first cluster that opens a type describes it, and what its kind is and whether it lives in namespaces stays as long as another one has it: served
//! objects take both from there, so nobody changes what somebody else's are. Short names and the like are only words, and stay as well.

use std::collections::{BTreeSet, HashMap};

use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::{ClusterId, Rules, StoreError};

use crate::backend::{row, rows};
use crate::sql::catalog::{self, TypeRow};
use crate::sql::head::Numbered;
use crate::sql::stream;
use crate::write::numbers::take;
use crate::write::session::Session;

/// A stream to take over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) cluster: ClusterId,
    /// Who asks for it.
    pub(crate) owner: String,
    pub(crate) resource: ResourceType,
    pub(crate) rules: Rules,
}

/// A type as one who opens it meant it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meant {
    pub(crate) id: i32,
    pub(crate) as_known: AsKnown,
}

/// How a description agrees with what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AsKnown {
    /// It means the same.
    Same,
    /// It means something else, which it does to everybody from now on.
    Changed,
    /// Others mean something else by it, in words.
    Contradicted(String),
}

/// What each of these means. The transaction has taken epochs before: who opens something in another process comes after this one or before it, so two do
/// not settle one type at once.
pub(crate) async fn settle(
    session: &mut Session<'_>,
    openings: &[&Opening],
) -> Result<Vec<Meant>, StoreError> {
    let mut settling = Settling {
        known: known(session, openings).await?,
        opened: BTreeSet::new(),
    };
    let mut meant = Vec::with_capacity(openings.len());
    for opening in openings {
        meant.push(settling.settle(session, opening).await?);
    }
    Ok(meant)
}

async fn known(
    session: &mut Session<'_>,
    openings: &[&Opening],
) -> Result<HashMap<GroupVersionResource, TypeRow>, StoreError> {
    let asked: BTreeSet<&GroupVersionResource> = openings
        .iter()
        .map(|opening| &opening.resource.gvr)
        .collect();
    let asked = Vec::from_iter(asked);
    let mut known = HashMap::with_capacity(asked.len());
    for part in asked.chunks(session.dialect.most_values()) {
        let statement = catalog::types_called(session.dialect, part);
        let found = rows(session.connection, statement, catalog::decode_type).await?;
        known.extend(found.into_iter().map(|row| (row.resource.gvr.clone(), row)));
    }
    Ok(known)
}

struct Settling {
    known: HashMap<GroupVersionResource, TypeRow>,
    /// The type and the cluster of what was opened in this transaction.
    opened: BTreeSet<(i32, i64)>,
}

impl Settling {
    async fn settle(
        &mut self,
        session: &mut Session<'_>,
        opening: &Opening,
    ) -> Result<Meant, StoreError> {
        let Opening {
            cluster, resource, ..
        } = opening;
        let meant = match self.known.get(&resource.gvr) {
            None => self.add(session, resource).await?,
            Some(known) if known.resource == *resource => same(known.id),
            Some(known) if self.is_elsewhere(session, known.id, cluster.0).await? => {
                beside(known, resource)
            }
            Some(known) => {
                let (id, as_known) = (known.id, change(&known.resource, resource));
                self.change(session, id, resource).await?;
                Meant { id, as_known }
            }
        };
        if !matches!(meant.as_known, AsKnown::Contradicted(_)) {
            self.opened.insert((meant.id, cluster.0));
        }
        Ok(meant)
    }

    async fn add(
        &mut self,
        session: &mut Session<'_>,
        resource: &ResourceType,
    ) -> Result<Meant, StoreError> {
        let number = take(session.connection, Numbered::Type, 1).await?.start;
        let id = catalog::type_id(number)?;
        let insert = catalog::insert_type(id, resource);
        session.connection.execute(insert).await?;
        self.note(session, id, resource);
        Ok(same(id))
    }

    async fn change(
        &mut self,
        session: &mut Session<'_>,
        id: i32,
        resource: &ResourceType,
    ) -> Result<(), StoreError> {
        let update = catalog::update_type(id, resource);
        session.connection.execute(update).await?;
        self.note(session, id, resource);
        Ok(())
    }

    fn note(&mut self, session: &mut Session<'_>, id: i32, resource: &ResourceType) {
        session.catalog.types.insert(id);
        let resource = resource.clone();
        self.known
            .insert(resource.gvr.clone(), TypeRow { id, resource });
    }

    /// Whether another cluster has the type: one that has left may come back as it was.
    async fn is_elsewhere(
        &self,
        session: &mut Session<'_>,
        id: i32,
        cluster: i64,
    ) -> Result<bool, StoreError> {
        let mut here = self.opened.range((id, i64::MIN)..=(id, i64::MAX));
        if here.any(|&(_, other)| other != cluster) {
            return Ok(true);
        }
        let elsewhere = stream::elsewhere(session.dialect, id, cluster);
        let found = row(session.connection, elsewhere, |r| r.int(0)).await?;
        Ok(found.is_some())
    }
}

fn same(id: i32) -> Meant {
    Meant {
        id,
        as_known: AsKnown::Same,
    }
}

/// What a description means beside that of others.
fn beside(known: &TypeRow, resource: &ResourceType) -> Meant {
    let as_known = match change(&known.resource, resource) {
        AsKnown::Changed => AsKnown::Contradicted(contradiction(&known.resource, resource)),
        other => other,
    };
    Meant {
        id: known.id,
        as_known,
    }
}

fn change(known: &ResourceType, resource: &ResourceType) -> AsKnown {
    let meaning = |resource: &ResourceType| (resource.kind.clone(), resource.namespaced);
    match meaning(known) == meaning(resource) {
        true => AsKnown::Same,
        false => AsKnown::Changed,
    }
}

fn contradiction(known: &ResourceType, resource: &ResourceType) -> String {
    format!(
        "{} is {} in the other clusters that have it, and {} here: it is stored once they agree",
        resource.gvr,
        known.meaning(),
        resource.meaning()
    )
}
