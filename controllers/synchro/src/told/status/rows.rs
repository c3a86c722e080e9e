//! The rows of a status that an API server takes: how many types a member has, what they are called and what it says of each is for the member to
//! say, and a status that is too large would leave the last one standing. Pure.

use armadex_crds::conditions;
use armadex_crds::{GroupResourcesStatus, ResourceStatus};

/// All messages of all rows. Etcd takes 1.5 MiB of an object, of which spec and metadata have some, too.
pub(super) const WORDS_BYTES: usize = 256 << 10;
/// The rows without them: 1,000 types that are synced have some 450 bytes each, as many that are not 250.
pub(super) const ROWS_BYTES: usize = 832 << 10;
/// What a group takes beside its name and its rows,
const AROUND_GROUP: usize = r#"{"group":"","resources":[]},"#.len();
/// and what a row takes beside itself.
const AROUND_ROW: usize = ",".len();

/// Leaves out rows that do not fit; gives how many.
pub(super) fn leave_out_what_does_not_fit(groups: &mut Vec<GroupResourcesStatus>) -> usize {
    let (mut room, mut untold) = (ROWS_BYTES, 0);
    for group in groups.iter_mut() {
        let mut around = AROUND_GROUP + conditions::written(&group.group);
        group.resources.retain(|row| {
            let bytes = around + AROUND_ROW + bytes_without_messages(row);
            let Some(left) = room.checked_sub(bytes) else {
                untold += 1;
                return false;
            };
            (room, around) = (left, 0);
            true
        });
    }
    groups.retain(|group| !group.resources.is_empty());
    untold
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
    let rows = groups.iter_mut().flat_map(|group| &mut group.resources);
    for condition in rows.flat_map(|row| &mut row.sync_conditions) {
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
