//! The rows of a status that an API server takes: how many types a member has, what they are called and what it says of each is for the member to
//! say, and a status that is too large would leave the last one standing. Pure.

use armadex_crds::conditions;
use armadex_crds::{
    GroupResourcesStatus, ResourceStatus, ResourceSyncCondition, ResourceSyncStatus,
};

/// All messages of all rows. With the rows that is less than a MiB, of the 1.5 MiB that etcd takes of an object: half a MiB is left for spec, metadata and conditions.
pub(super) const WORDS_BYTES: usize = 128 << 10;
/// The rows without them: 1,000 types that are synced have some 500 bytes each, as many that are not 250.
pub(super) const ROWS_BYTES: usize = 768 << 10;
/// What a group takes beside its name and its rows,
const AROUND_GROUP: usize = r#"{"group":"","resources":[]},"#.len();
/// and what a row takes beside itself.
const AROUND_ROW: usize = ",".len();

/// What has no room.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Rows.
    pub(super) rows: usize,
    /// What is counted, of all rows.
    pub(super) counts: bool,
}

impl LeftOut {
    /// In words; `None` if nothing is.
    pub(super) fn words(&self) -> Option<String> {
        let rows = (self.rows > 0).then(|| match self.rows {
            1 => "1 more resource has no room in this status".to_owned(),
            rows => format!("{rows} more resources have no room in this status"),
        });
        let counts = "how many objects and bytes each has, and how new they are, has none either";
        match (rows, self.counts) {
            (None, true) => Some("how many objects and bytes each resource has, and how new they are, has no room in this status".to_owned()),
            (Some(rows), true) => Some(format!("{rows}; {counts}")),
            (rows, false) => rows,
        }
    }
}

/// Leaves out what does not fit: what is counted first, then rows, of which those that do well go before those that do not.
pub(super) fn leave_out_what_does_not_fit(groups: &mut Vec<GroupResourcesStatus>) -> LeftOut {
    let mut sizes = sizes(groups);
    let around = groups.iter().map(around).sum::<usize>();
    let counts = around + sizes.iter().sum::<usize>() > ROWS_BYTES;
    if counts {
        conditions_of(groups).for_each(|condition| {
            (
                condition.objects,
                condition.bytes,
                condition.last_event_time,
            ) = (None, None, None);
        });
        sizes = self::sizes(groups);
    }
    let kept = kept(groups, &sizes);
    let (mut rows, mut place) = (0, 0);
    for group in groups.iter_mut() {
        group.resources.retain(|_| {
            place += 1;
            rows += usize::from(!kept[place - 1]);
            kept[place - 1]
        });
    }
    groups.retain(|group| !group.resources.is_empty());
    LeftOut { rows, counts }
}

/// Of each row whether it has room, group by group.
fn kept(groups: &[GroupResourcesStatus], sizes: &[usize]) -> Vec<bool> {
    let rows = groups.iter().enumerate();
    let rows = rows.flat_map(|(group, of)| of.resources.iter().map(move |row| (group, row)));
    let order = rows.map(|(group, row)| (does_well(row), group)).enumerate();
    let mut order = Vec::from_iter(order);
    order.sort_by_key(|&(place, (does_well, _))| (does_well, place));
    let mut around = Vec::from_iter(groups.iter().map(around));
    let (mut room, mut kept) = (ROWS_BYTES, vec![false; sizes.len()]);
    for (place, (_, group)) in order {
        if let Some(left) = room.checked_sub(sizes[place] + around[group]) {
            (room, around[group], kept[place]) = (left, 0, true);
        }
    }
    kept
}

fn around(group: &GroupResourcesStatus) -> usize {
    AROUND_GROUP + conditions::written(&group.group)
}

/// What each row takes, group by group.
fn sizes(groups: &[GroupResourcesStatus]) -> Vec<usize> {
    let rows = groups.iter().flat_map(|group| &group.resources);
    let sizes = rows.map(|row| AROUND_ROW + bytes_without_messages(row));
    sizes.collect()
}

fn does_well(row: &ResourceStatus) -> bool {
    let mut conditions = row.sync_conditions.iter();
    conditions.all(|condition| {
        condition.status == ResourceSyncStatus::Syncing && condition.reason.is_empty()
    })
}

fn conditions_of(
    groups: &mut [GroupResourcesStatus],
) -> impl Iterator<Item = &mut ResourceSyncCondition> {
    let rows = groups.iter_mut().flat_map(|group| &mut group.resources);
    rows.flat_map(|row| &mut row.sync_conditions)
}

fn bytes_without_messages(row: &ResourceStatus) -> usize {
    let messages: usize = messages(row).map(conditions::written).sum();
    Written::of(row).saturating_sub(messages)
}

fn messages(row: &ResourceStatus) -> impl Iterator<Item = &str> {
    row.sync_conditions.iter().flat_map(|condition| {
        let of_audit = condition.audit.iter().map(|audit| audit.message.as_str());
        of_audit.chain([condition.message.as_str()])
    })
}

/// Cuts each message to the same length, which is halved until all of them fit: in steps, or each would become another whenever one of them did.
pub(super) fn shorten_messages(groups: &mut [GroupResourcesStatus]) {
    let rows = groups.iter().flat_map(|group| &group.resources);
    let lengths: Vec<_> = rows.flat_map(messages).map(conditions::written).collect();
    let together = |most: usize| {
        lengths
            .iter()
            .map(|length| (*length).min(most))
            .sum::<usize>()
    };
    let mut most = conditions::MESSAGE_LIMIT;
    while together(most) > WORDS_BYTES {
        most /= 2;
    }
    for condition in conditions_of(groups) {
        let of_audit = condition.audit.iter_mut().map(|audit| &mut audit.message);
        for message in of_audit.chain([&mut condition.message]) {
            *message = conditions::shortened_to(most, std::mem::take(message));
        }
    }
}

/// Counts what is written.
#[derive(Default)]
struct Written(usize);

impl Written {
    /// Bytes of JSON.
    fn of(row: &ResourceStatus) -> usize {
        let mut written = Self::default();
        // Nothing of a row cannot be written; if there were, it would be the API server's to refuse.
        let _ = serde_json::to_writer(&mut written, row);
        written.0
    }
}

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
