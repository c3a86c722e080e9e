//! What a batch changes, given the rows that are stored. Pure.

use std::collections::HashMap;

use armadex_storage::Written;

use crate::sql::object::OldRow;
use crate::write::places::Places;
use crate::write::prepare::{NewObject, PreparedChange};

/// One revision to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect<'a> {
    Add { nsid: i64, new: &'a NewObject },
    Change { old: OldRow, new: &'a NewObject },
    Remove { old: OldRow },
}

/// What a batch comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff<'a> {
    pub(crate) effects: Vec<Effect<'a>>,
    pub(crate) written: Written,
}

/// Compares the changes with the stored rows. `places` knows the namespace of every put.
pub(crate) fn diff<'a>(
    changes: &'a [PreparedChange],
    places: &Places,
    old: Vec<OldRow>,
) -> Diff<'a> {
    let mut stored: HashMap<i64, HashMap<String, OldRow>> = HashMap::new();
    for row in old {
        let namespace = stored.entry(row.nsid).or_default();
        namespace.insert(row.name.clone(), row);
    }
    let mut diff = Diff::default();
    for change in changes {
        let key = change.key();
        let nsid = places.get(&key.namespace).map(|place| place.nsid);
        let old = nsid.and_then(|nsid| stored.get_mut(&nsid)?.remove(&key.name));
        match change {
            PreparedChange::Put(new) => {
                diff.put(nsid.expect("every put has a namespace id"), old, new);
            }
            PreparedChange::Delete(_) => diff.delete(old),
        }
    }
    diff
}

impl<'a> Diff<'a> {
    fn put(&mut self, nsid: i64, old: Option<OldRow>, new: &'a NewObject) {
        match old {
            Some(old) if is_same(&old, new) => {
                self.written.unchanged += 1;
            }
            Some(old) if old.uid == new.uid => {
                self.written.changed += 1;
                self.written.bytes += new.size - old.size;
                self.effects.push(Effect::Change { old, new });
            }
            Some(old) => {
                self.remove(old);
                self.add(nsid, new);
            }
            None => self.add(nsid, new),
        }
    }

    fn delete(&mut self, old: Option<OldRow>) {
        match old {
            Some(old) => self.remove(old),
            None => self.written.unchanged += 1,
        }
    }

    fn add(&mut self, nsid: i64, new: &'a NewObject) {
        self.written.added += 1;
        self.written.bytes += new.size;
        self.effects.push(Effect::Add { nsid, new });
    }

    fn remove(&mut self, old: OldRow) {
        self.written.deleted += 1;
        self.written.bytes -= old.size;
        self.effects.push(Effect::Remove { old });
    }
}

/// The form is part of it: what is stored by other rules is another row, or a release that indexes more would never reach objects that do
/// not change.
fn is_same(old: &OldRow, new: &NewObject) -> bool {
    old.uid == new.uid && old.version == new.version && old.form == new.form
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::codec::Packed;
    use crate::form::term::TermSet;
    use crate::form::version::MemberVersion;
    use crate::write::places::FoundNamespace;
    use armadex_model::ObjectKey;

    fn old(name: &str, uid: &str, version: i64) -> OldRow {
        OldRow {
            id: 1,
            resource: 3,
            nsid: 5,
            name: name.into(),
            uid: uid.into(),
            version: MemberVersion::Number(version),
            rev: 9,
            form: 0,
            size: 30,
        }
    }

    fn put(name: &str, uid: &str, version: i64) -> PreparedChange {
        PreparedChange::Put(NewObject {
            key: ObjectKey::new("ns", name),
            uid: uid.into(),
            version: MemberVersion::Number(version),
            created: 0,
            size: 7,
            terms: TermSet::default(),
            labels: vec![],
            form: 0,
            packed: Packed {
                dictionary: 0,
                bytes: vec![],
            },
        })
    }

    #[track_caller]
    fn check(change: PreparedChange, effects: &[&str], counts: [u64; 4]) {
        let stored = vec![old("a", "uid-1", 10)];
        let changes = [change];
        let place = FoundNamespace {
            nsid: 5,
            objects: 1,
        };
        let diff = diff(&changes, &HashMap::from([("ns".into(), place)]), stored);
        let names: Vec<&str> = diff
            .effects
            .iter()
            .map(|effect| match effect {
                Effect::Add { .. } => "add",
                Effect::Change { .. } => "change",
                Effect::Remove { .. } => "remove",
            })
            .collect();
        assert_eq!(names, effects);
        let Written {
            added,
            changed,
            deleted,
            unchanged,
            bytes,
        } = diff.written;
        assert_eq!([added, changed, deleted, unchanged], counts);
        let lengthened = 7 * (added + changed) as i64 - 30 * (changed + deleted) as i64;
        assert_eq!(bytes, lengthened);
    }

    #[test]
    fn a_change_comes_to_what_differs() {
        check(put("a", "uid-1", 10), &[], [0, 0, 0, 1]);
        check(put("a", "uid-1", 11), &["change"], [0, 1, 0, 0]);
        check(put("a", "uid-1", 9), &["change"], [0, 1, 0, 0]);
        check(put("b", "uid-1", 10), &["add"], [1, 0, 0, 0]);
    }

    #[test]
    fn the_same_version_by_other_rules_is_a_change() {
        let PreparedChange::Put(mut object) = put("a", "uid-1", 10) else {
            unreachable!("a put")
        };
        object.form = 1;
        check(PreparedChange::Put(object), &["change"], [0, 1, 0, 0]);
    }

    #[test]
    fn a_new_uid_under_an_old_key_is_a_delete_and_an_add() {
        check(put("a", "uid-2", 10), &["remove", "add"], [1, 0, 1, 0]);
    }

    #[test]
    fn deleting_what_is_absent_changes_nothing() {
        let absent = |namespace| PreparedChange::Delete(ObjectKey::new(namespace, "b"));
        check(absent("ns"), &[], [0, 0, 0, 1]);
        check(absent("unknown"), &[], [0, 0, 0, 1]);
        let there = PreparedChange::Delete(ObjectKey::new("ns", "a"));
        check(there, &["remove"], [0, 0, 1, 0]);
    }
}
