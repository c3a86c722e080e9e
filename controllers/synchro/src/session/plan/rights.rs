//! The rights that the synchro takes in a member, by what its PediaCluster asks for: no more than it asks the member for. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use armadex_crds::{
    ClusterSyncResources, GroupResources, IdentitySource, PediaCluster, PediaClusterSpec,
    ResourceStatus, member_rights,
};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::builtin;
use super::list::{ALL, List};
use super::scope::{EVENTS, Gates, Scope};
use super::{InvalidSyncResources, Reference};

/// What an account of a member is to be granted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberRights {
    /// The rules of its ClusterRole.
    pub rules: Vec<PolicyRule>,
    /// What is to be known besides.
    pub notes: Vec<String>,
}

/// Those that the synchro takes in the member of this PediaCluster, which refers to this list if it refers to one that is there. The error says what cannot be asked for.
pub fn member_rights_of(
    cluster: &PediaCluster,
    referred: Option<&ClusterSyncResources>,
    gates: Gates,
) -> Result<MemberRights, String> {
    let reference = reference(&cluster.spec, referred);
    let scope = super::scope(&cluster.spec, &reference, gates);
    let (scope, warning) = scope.map_err(|error: InvalidSyncResources| error.to_string())?;
    let mut kinds = Kinds::of(cluster);
    for entry in scope.entries() {
        kinds.add(entry, &scope);
    }
    if scope.asks_for_events() {
        let (group, events) = EVENTS;
        kinds.ask(group, events.to_owned());
    }
    let mut rights = MemberRights::default();
    if scope.asks_for_customs() {
        rights.notes.push(kinds.add_customs());
    }
    rights
        .notes
        .extend((!warning.is_empty()).then_some(warning));
    if scope.asks_for_customs() || !kinds.told_now.is_empty() {
        rights.notes.extend(behind(cluster));
    }
    kinds.grant(&mut rights);
    rights.grant_identity(cluster);
    rights.rules.push(member_rights::of_health());
    rights.rules.push(member_rights::of_discovery());
    Ok(rights)
}

fn reference(spec: &PediaClusterSpec, referred: Option<&ClusterSyncResources>) -> Reference {
    match (spec.sync_resources_ref_name.as_str(), referred) {
        ("", _) => Reference::None,
        (name, None) => Reference::Missing(name.to_owned()),
        (name, Some(list)) => {
            let list = Arc::new(List::new(&list.spec.sync_resources));
            Reference::To(name.to_owned(), list)
        }
    }
}

/// A note where the status is not of what is asked for now.
fn behind(cluster: &PediaCluster) -> Option<String> {
    let told = cluster.status.as_ref()?.observed_generation?;
    let now = cluster.metadata.generation.filter(|now| told < *now)?;
    Some(format!(
        "the status of the PediaCluster is of generation {told}, and generation {now} is asked for: print it again when the synchro has taken that up"
    ))
}

/// What is to be listed and watched, as far as it is known.
struct Kinds<'a> {
    /// Group by group what the member has, by the status of the PediaCluster.
    told: BTreeMap<&'a str, Vec<&'a ResourceStatus>>,
    asked: BTreeMap<String, BTreeSet<String>>,
    /// Groups of which all is asked for and nothing is told.
    untold: BTreeSet<String>,
    /// Groups of which all is asked for, and what there is of them now is told.
    told_now: BTreeSet<String>,
    /// What was taken for the name of a resource as it stands there.
    unknown: BTreeSet<String>,
}

impl<'a> Kinds<'a> {
    fn of(cluster: &'a PediaCluster) -> Self {
        let status = cluster.status.iter();
        let groups = status.flat_map(|status| &status.sync_resources);
        let (mut told, mut leaves_some_out) = (BTreeMap::<_, Vec<_>>::new(), false);
        for group in groups {
            // One stands for those that there is no room for.
            leaves_some_out |= group.resources.iter().any(|row| row.name == ALL);
            // What is asked for and not served has no kind.
            let served = group.resources.iter().filter(|row| !row.kind.is_empty());
            told.entry(group.group.as_str()).or_default().extend(served);
        }
        told.retain(|_, rows| !rows.is_empty());
        if leaves_some_out {
            told.clear();
        }
        Self {
            told,
            asked: BTreeMap::new(),
            untold: BTreeSet::new(),
            told_now: BTreeSet::new(),
            unknown: BTreeSet::new(),
        }
    }

    fn add(&mut self, entry: &GroupResources, scope: &Scope) {
        let group = entry.group.as_str();
        if group == ALL || entry.resources.iter().any(|asked| asked == ALL) {
            return self.add_all(group);
        }
        for asked in &entry.resources {
            let resource = self.plural_of(group, asked);
            if !scope.leaves_out_resource(group, &resource) {
                self.ask(group, resource);
            }
        }
    }

    /// All of a group, or of all groups.
    fn add_all(&mut self, asked: &str) {
        let told = self.told_of(|group| asked == ALL || asked == group);
        let noted = match told.is_empty() {
            true => {
                self.ask(asked, ALL.to_owned());
                &mut self.untold
            }
            false => &mut self.told_now,
        };
        noted.insert(asked.to_owned());
        for (group, resource) in told {
            self.ask(&group, resource);
        }
    }

    /// All that is custom, as far as it is told what that is; a note on the rest. To grant all of all groups for it would be to grant what is not asked for.
    fn add_customs(&mut self) -> String {
        let told = self.told_of(|group| !builtin::is_builtin(group));
        for (group, resource) in told {
            self.ask(&group, resource);
        }
        "syncAllCustomResources: the role has those custom resources that the status of the PediaCluster tells of; of each that is missing, or comes later, the status says which rule is"
            .to_owned()
    }

    /// What the status tells of in such groups: group and resource.
    fn told_of(&self, is_meant: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let told = self.told.iter().filter(|(group, _)| is_meant(group));
        let told = told.flat_map(|(group, rows)| {
            let names = rows.iter().map(|row| row.name.clone());
            names.map(|name| ((*group).to_owned(), name))
        });
        told.collect()
    }

    /// And what the member serves instead of it, in another group.
    fn ask(&mut self, group: &str, resource: String) {
        let instead = self.told_instead(group, &resource);
        let all = instead.into_iter().chain([(group.to_owned(), resource)]);
        for (group, resource) in all {
            self.asked.entry(group).or_default().insert(resource);
        }
    }

    /// What the status tells that is watched in the place of a resource: group and resource.
    fn told_instead(&self, group: &str, resource: &str) -> Option<(String, String)> {
        let mut rows = self.told.get(group)?.iter();
        let row = rows.find(|row| row.name == resource)?;
        let watched = row.sync_conditions.iter().map(|row| &row.sync_resource);
        let mut watched = watched.filter_map(|watched| watched.split_once('.'));
        let (resource, group) = watched.next()?;
        Some((group.to_owned(), resource.to_owned()))
    }

    /// What a resource is called in a role: by the member, by Kubernetes, or as it is asked for.
    fn plural_of(&mut self, group: &str, asked: &str) -> String {
        let is_meant = |row: &&&ResourceStatus| {
            [&row.name, &row.kind]
                .iter()
                .any(|name| name.eq_ignore_ascii_case(asked))
        };
        let told = self
            .told
            .get(group)
            .and_then(|rows| rows.iter().find(is_meant));
        if let Some(row) = told {
            return row.name.clone();
        }
        builtin::plural_of(group, asked).unwrap_or_else(|| {
            let name = asked.to_ascii_lowercase();
            self.unknown.insert(dotted(&name, group));
            name
        })
    }

    fn grant(mut self, rights: &mut MemberRights) {
        for rule in member_rights::of_changes() {
            let [groups, resources] =
                [rule.api_groups, rule.resources].map(Option::unwrap_or_default);
            for (group, resource) in groups.into_iter().zip(resources) {
                self.ask(&group, resource);
            }
        }
        let is_all = |resources: &BTreeSet<String>| resources.contains(ALL);
        if self.asked.get(ALL).is_some_and(is_all) {
            self.asked.retain(|group, _| group == ALL);
        }
        for (group, resources) in &self.asked {
            let resources = match is_all(resources) {
                true => vec![ALL.to_owned()],
                false => Vec::from_iter(resources.clone()),
            };
            rights
                .rules
                .push(member_rights::of_resources(group, resources));
        }
        rights.notes.extend(self.notes());
    }

    fn notes(&self) -> Vec<String> {
        let each = |names: &BTreeSet<String>| {
            let names = names
                .iter()
                .map(|name| if name.is_empty() { "\"\"" } else { name });
            names.collect::<Vec<_>>().join(", ")
        };
        let notes = [
            (!self.untold.is_empty()).then(|| {
                format!(
                    "all of group {} is asked for, and the status of the PediaCluster does not tell what there is: the role has all of it, what comes later too; print \
                     it again when it is synced, or name what is meant in syncResources",
                    each(&self.untold)
                )
            }),
            (!self.told_now.is_empty()).then(|| {
                format!(
                    "all of group {} is asked for: the role has what the status of the PediaCluster tells of, and of what comes later the status says which rule is missing",
                    each(&self.told_now)
                )
            }),
            (!self.unknown.is_empty()).then(|| {
                format!(
                    "not known here, and taken for the plural names of resources: {}",
                    each(&self.unknown)
                )
            }),
        ];
        notes.into_iter().flatten().collect()
    }
}

fn dotted(resource: &str, group: &str) -> String {
    match group {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    }
}

impl MemberRights {
    /// Who the member is has to be known, and something may say that already: see [`armadex_member::Identity`]. What it is known by now stays granted, or all is
    /// listed anew. By the control plane another account asks, of which only the surest source is sure to be what the first one tells too.
    fn grant_identity(&mut self, cluster: &PediaCluster) {
        let spec = &cluster.spec;
        let connection = spec.connection.as_ref();
        let has_two_ways = connection.is_some_and(|way| way.control_plane_proxy.is_some());
        let known = cluster.status.as_ref().and_then(|status| status.identity);
        let is_known_by_it = known == Some(IdentitySource::KubeSystemNamespace);
        if known == Some(IdentitySource::KubernetesService) && !self.tells("services") {
            self.rules.push(member_rights::of_service());
            if !has_two_ways {
                return;
            }
        }
        if self.tells("namespaces") || self.tells("services") && !has_two_ways && !is_known_by_it {
            return;
        }
        if is_vouched_for(spec) && !is_known_by_it {
            let rule = member_rights::in_a_line(&member_rights::of_identity());
            return self.notes.push(format!(
                "the member is known by its CA bundle and its address, and not told from another cluster that has both: with one rule more, {rule}, it is"
            ));
        }
        self.rules.push(member_rights::of_identity());
    }

    /// Whether its rules let this resource of the core group be listed.
    fn tells(&self, resource: &str) -> bool {
        let has = |names: &Option<Vec<String>>, name: &str| {
            let mut names = names.iter().flatten();
            names.any(|one| one == name || one == ALL)
        };
        let mut rules = self.rules.iter();
        rules.any(|rule| has(&rule.api_groups, "") && has(&rule.resources, resource))
    }
}

/// Whether the spec itself says whom to believe to be the member, on the only way that there is.
fn is_vouched_for(spec: &PediaClusterSpec) -> bool {
    let connection = spec.connection.as_ref();
    let is_verified = connection.is_none_or(|connection| {
        !connection.insecure_skip_tls_verification && connection.control_plane_proxy.is_none()
    });
    let from = spec.authentication_from.as_ref();
    let has_kubeconfig =
        !spec.kubeconfig.is_empty() || from.is_some_and(|from| from.kubeconfig.is_some());
    let has_bundle = !spec.ca_data.is_empty() || from.is_some_and(|from| from.ca.is_some());
    is_verified && has_bundle && !has_kubeconfig && !spec.apiserver.starts_with("http://")
}
