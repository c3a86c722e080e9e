//! A member as if it served each kind of Kubernetes in the version in which that is stored: an older one that it serves, be it of another group, is converted. Pure.
//!
//! The stored version comes first in its group, whatever the member would rather have, so it is the one that is chosen.

use std::borrow::Cow;
use std::collections::BTreeMap;

use armadex_conversion::{Conversion, GroupVersion, KINDS, Kind};
use armadex_member::{Discovery, ServedResource, Version, VersionState};
use armadex_model::GroupVersionResource;

use super::keep::Known;

/// What a member serves in this way.
#[derive(Debug)]
pub(crate) struct AsStored<'a> {
    /// With what is converted in the version in which it is stored.
    pub(crate) discovery: Cow<'a, Discovery>,
    /// What is converted, by what is stored.
    pub(crate) conversions: BTreeMap<GroupVersionResource, Conversion>,
}

/// The member in this way. What runs without being converted is not converted before the member has had no place for it twice: see [`super::keep`].
pub(crate) fn as_stored<'a>(served: &'a Discovery, known: &Known) -> AsStored<'a> {
    let mut as_stored = AsStored {
        discovery: Cow::Borrowed(served),
        conversions: BTreeMap::new(),
    };
    for kind in KINDS {
        match resources(served, kind.stored) {
            Stored::Unknown(_) => as_stored.waits_for_stored(kind, known),
            Stored::Served(resources) if named(resources, kind).is_some() => {
                as_stored.comes_first(kind);
            }
            Stored::Served(_) | Stored::Missing => {
                let gvr = gvr_of(kind);
                if !known.runs_unconverted(&gvr) {
                    as_stored.converts(served, kind, gvr);
                }
            }
        }
    }
    as_stored
}

/// What a member says of a version.
enum Stored<'a> {
    Served(&'a [ServedResource]),
    /// It does not answer, for this reason.
    Unknown(&'a str),
    Missing,
}

fn resources(served: &Discovery, of: GroupVersion) -> Stored<'_> {
    let group = served.groups.get(of.group);
    let mut versions = group.iter().flat_map(|group| &group.versions);
    match versions.find(|version| version.name == of.version) {
        None => Stored::Missing,
        Some(version) => match &version.state {
            VersionState::Failed(why) => Stored::Unknown(why),
            VersionState::Served(resources) => Stored::Served(resources),
        },
    }
}

/// The kind as it is served, if it can be synced.
fn named<'a>(resources: &'a [ServedResource], kind: &Kind) -> Option<&'a ServedResource> {
    let is_it = |served: &&ServedResource| {
        served.can_sync && (&*served.name, &*served.kind) == (kind.resource, kind.kind)
    };
    resources.iter().find(is_it)
}

fn gvr_of(kind: &Kind) -> GroupVersionResource {
    GroupVersionResource::new(kind.stored.group, kind.stored.version, kind.resource)
}

impl AsStored<'_> {
    /// The stored version is the one that the member would rather have.
    fn comes_first(&mut self, kind: &Kind) {
        let is_first = |versions: &[Version]| {
            let first = versions.first();
            first.is_some_and(|first| first.name == kind.stored.version)
        };
        let group = self.discovery.groups.get(kind.stored.group);
        if !group.is_some_and(|group| is_first(&group.versions)) {
            self.stored_first(kind);
        }
    }

    /// Adds the kind, if the member serves it in an older version. While one of those that are to be preferred does not answer, nothing is known of the stored one either: what runs
    /// goes on, whatever it reads.
    fn converts(&mut self, served: &Discovery, kind: &'static Kind, gvr: GroupVersionResource) {
        let mut found = None;
        for conversion in armadex_conversion::of_kind(kind) {
            match resources(served, conversion.served()) {
                Stored::Unknown(why) => return self.does_not_answer(kind, why),
                Stored::Served(resources) => {
                    found = named(resources, kind).map(|resource| (conversion, resource));
                }
                Stored::Missing => {}
            }
            if found.is_some() {
                break;
            }
        }
        let Some((conversion, found)) = found else {
            return;
        };
        if let VersionState::Served(resources) = &mut self.stored_first(kind).state {
            resources.retain(|resource| resource.name != found.name);
            resources.push(found.clone());
            self.conversions.insert(gvr, conversion);
        }
    }

    /// As if it were the stored version that does not.
    fn does_not_answer(&mut self, kind: &Kind, why: &str) {
        self.stored_first(kind).state = VersionState::Failed(why.to_owned());
        let GroupVersion { group, version } = kind.stored;
        let is_of_it = |gvr: &GroupVersionResource| gvr.group == group && gvr.version == version;
        self.conversions.retain(|gvr, _| !is_of_it(gvr));
    }

    /// The stored version does not answer: an older one of its group is not stored as it is meanwhile, unless it was before.
    fn waits_for_stored(&mut self, kind: &'static Kind, known: &Known) {
        let older = armadex_conversion::of_kind(kind).map(|conversion| conversion.served());
        for older in older.filter(|older| older.group == kind.stored.group) {
            let gvr = GroupVersionResource::new(older.group, older.version, kind.resource);
            let is_served = matches!(resources(&self.discovery, older), Stored::Served(resources) if named(resources, kind).is_some());
            if !is_served || known.types.iter().any(|known| known.gvr == gvr) {
                continue;
            }
            let group = self.discovery.to_mut().groups.get_mut(older.group);
            let versions = group.into_iter().flat_map(|group| &mut group.versions);
            for version in versions.filter(|version| version.name == older.version) {
                if let VersionState::Served(resources) = &mut version.state {
                    resources.retain(|resource| resource.name != kind.resource);
                }
            }
        }
    }

    /// The version in which the kind is stored, as the first of its group.
    fn stored_first(&mut self, kind: &Kind) -> &mut Version {
        let groups = &mut self.discovery.to_mut().groups;
        let versions = &mut groups
            .entry(kind.stored.group.to_owned())
            .or_default()
            .versions;
        let is_stored = |version: &Version| version.name == kind.stored.version;
        let version = match versions.iter().position(is_stored) {
            Some(place) => versions.remove(place),
            None => Version {
                name: kind.stored.version.to_owned(),
                state: VersionState::Served(Vec::new()),
            },
        };
        versions.insert(0, version);
        &mut versions[0]
    }
}
