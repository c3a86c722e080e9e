//! What a schema is made of, whichever the database: migrations as values, and which binaries a store serves. Pure.
//!
//! Migrations only go forward. Each says the oldest version that a binary has to know to use the store afterwards: a column or a table more
//! is nothing to a binary that does not know of it, so two releases work side by side while one takes the place of the other.

use armadex_storage::StoreError;

use super::error::broken;
use crate::sql::dialect::Dialect;

/// A step from one version of the schema to the next. A released one never changes.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    /// The oldest version that a binary must know to use the store from then on; never less than that of the migration before. The store says so when all
    /// migrations have been run.
    pub(crate) serves: i64,
    pub(crate) sql: &'static str,
}

/// Every migration of a database, oldest first.
pub(crate) fn migrations(dialect: Dialect) -> &'static [Migration] {
    match dialect {
        Dialect::Sqlite => &SQLITE,
        Dialect::Postgres => &POSTGRES,
        Dialect::MySql => &MYSQL,
    }
}

static POSTGRES: [Migration; 9] = [
    Migration {
        version: 1,
        name: "store",
        serves: 1,
        sql: include_str!("../../migrations/postgres/0001_store.sql"),
    },
    Migration {
        version: 2,
        name: "tenures",
        serves: 1,
        sql: include_str!("../../migrations/postgres/0002_tenures.sql"),
    },
    Migration {
        version: 3,
        name: "streams",
        serves: 1,
        sql: include_str!("../../migrations/postgres/0003_streams.sql"),
    },
    Migration {
        version: 4,
        name: "types",
        serves: 1,
        sql: include_str!("../../migrations/postgres/0004_types.sql"),
    },
    // Who does not know of fields that are not posted would not find what has them.
    Migration {
        version: 5,
        name: "own_fields",
        serves: 5,
        sql: include_str!("../../migrations/postgres/0005_own_fields.sql"),
    },
    Migration {
        version: 6,
        name: "past",
        serves: 5,
        sql: include_str!("../../migrations/postgres/0006_past.sql"),
    },
    // Who does not know of trained dictionaries could not read what they packed, and would be refused by streams that are hidden beside others.
    Migration {
        version: 7,
        name: "dictionaries",
        serves: 7,
        sql: include_str!("../../migrations/postgres/0007_dictionaries.sql"),
    },
    // Who does not know of histories would remove them, so the store says when it begins to have one that these are not served any more.
    Migration {
        version: 8,
        name: "history",
        serves: 7,
        sql: include_str!("../../migrations/postgres/0008_history.sql"),
    },
    // Who does not know of labels of clusters shows the rows of all clusters where some are asked for: `clusterSelector` is no parameter to it, and no object has a label
    // that chooses clusters. Both ways are new with this version, so nobody asks for them before.
    Migration {
        version: 9,
        name: "cluster_labels",
        serves: 7,
        sql: include_str!("../../migrations/postgres/0009_labels.sql"),
    },
];

static SQLITE: [Migration; 12] = [
    Migration {
        version: 1,
        name: "store",
        serves: 1,
        sql: include_str!("../../migrations/sqlite/0001_store.sql"),
    },
    Migration {
        version: 2,
        name: "leaving",
        serves: 2,
        sql: include_str!("../../migrations/sqlite/0002_leaving.sql"),
    },
    Migration {
        version: 3,
        name: "owners",
        serves: 3,
        sql: include_str!("../../migrations/sqlite/0003_owners.sql"),
    },
    // Who does not know of the lease would remove versions that others keep.
    Migration {
        version: 4,
        name: "upkeep",
        serves: 4,
        sql: include_str!("../../migrations/sqlite/0004_upkeep.sql"),
    },
    Migration {
        version: 5,
        name: "tenures",
        serves: 4,
        sql: include_str!("../../migrations/sqlite/0005_tenures.sql"),
    },
    Migration {
        version: 6,
        name: "streams",
        serves: 4,
        sql: include_str!("../../migrations/sqlite/0006_streams.sql"),
    },
    Migration {
        version: 7,
        name: "types",
        serves: 4,
        sql: include_str!("../../migrations/sqlite/0007_types.sql"),
    },
    // Who does not know of fields that are not posted would not find what has them.
    Migration {
        version: 8,
        name: "own_fields",
        serves: 8,
        sql: include_str!("../../migrations/sqlite/0008_own_fields.sql"),
    },
    Migration {
        version: 9,
        name: "past",
        serves: 8,
        sql: include_str!("../../migrations/sqlite/0009_past.sql"),
    },
    // Who does not know of trained dictionaries could not read what they packed, and would be refused by streams that are hidden beside others.
    Migration {
        version: 10,
        name: "dictionaries",
        serves: 10,
        sql: include_str!("../../migrations/sqlite/0010_dictionaries.sql"),
    },
    // Who does not know of histories would remove them, so the store says when it begins to have one that these are not served any more.
    Migration {
        version: 11,
        name: "history",
        serves: 10,
        sql: include_str!("../../migrations/sqlite/0011_history.sql"),
    },
    // Who does not know of labels of clusters shows the rows of all clusters where some are asked for: `clusterSelector` is no parameter to it, and no object has a label
    // that chooses clusters. Both ways are new with this version, so nobody asks for them before.
    Migration {
        version: 12,
        name: "cluster_labels",
        serves: 10,
        sql: include_str!("../../migrations/sqlite/0012_labels.sql"),
    },
];

static MYSQL: [Migration; 9] = [
    Migration {
        version: 1,
        name: "store",
        serves: 1,
        sql: include_str!("../../migrations/mysql/0001_store.sql"),
    },
    Migration {
        version: 2,
        name: "tenures",
        serves: 1,
        sql: include_str!("../../migrations/mysql/0002_tenures.sql"),
    },
    Migration {
        version: 3,
        name: "streams",
        serves: 1,
        sql: include_str!("../../migrations/mysql/0003_streams.sql"),
    },
    Migration {
        version: 4,
        name: "types",
        serves: 1,
        sql: include_str!("../../migrations/mysql/0004_types.sql"),
    },
    // Who does not know of fields that are not posted would not find what has them.
    Migration {
        version: 5,
        name: "own_fields",
        serves: 5,
        sql: include_str!("../../migrations/mysql/0005_own_fields.sql"),
    },
    Migration {
        version: 6,
        name: "past",
        serves: 5,
        sql: include_str!("../../migrations/mysql/0006_past.sql"),
    },
    // Who does not know of trained dictionaries could not read what they packed, and would be refused by streams that are hidden beside others.
    Migration {
        version: 7,
        name: "dictionaries",
        serves: 7,
        sql: include_str!("../../migrations/mysql/0007_dictionaries.sql"),
    },
    // Who does not know of histories would remove them, so the store says when it begins to have one that these are not served any more.
    Migration {
        version: 8,
        name: "history",
        serves: 7,
        sql: include_str!("../../migrations/mysql/0008_history.sql"),
    },
    // Who does not know of labels of clusters shows the rows of all clusters where some are asked for: `clusterSelector` is no parameter to it, and no object has a label
    // that chooses clusters. Both ways are new with this version, so nobody asks for them before.
    Migration {
        version: 9,
        name: "cluster_labels",
        serves: 7,
        sql: include_str!("../../migrations/mysql/0009_labels.sql"),
    },
];

/// The names of all tables and indexes that a store on a server has, with the table that says which migrations were run.
pub(crate) fn relations(dialect: Dialect) -> Vec<&'static str> {
    const MADE: [&str; 3] = ["CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX "];
    let steps = migrations(dialect).iter();
    let lines = steps.flat_map(|step| step.sql.lines());
    let made = lines.filter_map(|line| {
        let rest = MADE.iter().find_map(|words| line.strip_prefix(words))?;
        rest.split(' ').next()
    });
    made.chain(["migration"]).collect()
}

/// The newest version that this binary knows.
pub(crate) fn newest(dialect: Dialect) -> i64 {
    last(dialect).version
}

/// What a store whose schema is this binary's says of the binaries that it serves.
pub(crate) fn serves(dialect: Dialect) -> i64 {
    last(dialect).serves
}

/// What a store says of the binaries that it serves once a type has a history, which others would remove.
pub(crate) fn serves_with_history(dialect: Dialect) -> i64 {
    let knows = |migration: &&Migration| migration.name == "history";
    let found = migrations(dialect).iter().find(knows);
    found.map_or(i64::MAX, |migration| migration.version)
}

fn last(dialect: Dialect) -> &'static Migration {
    let last = migrations(dialect).last();
    last.expect("every database has a first migration")
}

/// What a store says of the binaries that it serves while it is filled from another one: none, earlier releases included.
pub(crate) const UNFINISHED: i64 = i64::MAX;

/// Whether this binary may use a store that serves binaries which know the version `serves`.
pub(crate) fn check(dialect: Dialect, serves: i64) -> Result<(), StoreError> {
    check_known(newest(dialect), serves)
}

fn check_known(newest: i64, serves: i64) -> Result<(), StoreError> {
    if serves <= newest {
        return Ok(());
    }
    if serves == UNFINISHED {
        return Err(broken(
            "it is a copy that is not finished: `armadex store copy` from the same store goes on with it, or remove it",
        ));
    }
    Err(broken(format!(
        "its schema serves binaries that know version {serves} of it or a later one, and this binary knows versions up to {newest}: use a newer \
         binary"
    )))
}

/// How the schema of a store and this binary stand to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaStanding {
    /// The schema's version; `None` where there is none yet.
    pub version: Option<i64>,
    /// The newest version that this binary knows.
    pub newest: i64,
    /// What this binary would run, oldest first.
    pub pending: Vec<PendingMigration>,
    /// The version that a binary has to know to be served; `None` where something would be run, which comes first.
    pub serves: Option<i64>,
}

/// A migration that was not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMigration {
    /// The version that it leads to.
    pub version: i64,
    /// Its name.
    pub name: &'static str,
}

impl SchemaStanding {
    /// Of a store in which these versions were run.
    pub(crate) fn of(dialect: Dialect, run: &[i64]) -> Self {
        let pending = migrations(dialect)
            .iter()
            .filter(|migration| !run.contains(&migration.version))
            .map(|&Migration { version, name, .. }| PendingMigration { version, name });
        Self {
            version: run.iter().copied().max(),
            newest: newest(dialect),
            pending: pending.collect(),
            serves: None,
        }
    }

    /// Whether nothing would be run, so that the store says whom it serves as this binary reads it.
    pub(crate) fn is_complete(&self) -> bool {
        self.version.is_some() && self.pending.is_empty()
    }

    /// Whether this binary may use the store.
    pub fn check_served(&self) -> Result<(), StoreError> {
        self.serves
            .map_or(Ok(()), |serves| check_known(self.newest, serves))
    }

    /// Whether an earlier release has made the schema, and no later one has been here.
    pub(crate) fn is_behind(&self) -> bool {
        self.version.is_some() && !self.pending.is_empty()
    }

    /// Whether there is a store that may be opened without a migration.
    pub(crate) fn check_as_it_is(&self) -> Result<(), StoreError> {
        self.check("there is none", "run `armadex migrate` first")
    }

    /// The same of a replica, to which all comes from the store that it follows.
    pub(crate) fn check_as_replica(&self) -> Result<(), StoreError> {
        self.check(
            "nothing has come to this replica yet from a store that it follows: see that it follows one, and that `armadex migrate` or a process that writes has \
             opened that",
            "run `armadex migrate` on the store that this replica follows",
        )
    }

    fn check(&self, none: &str, way_out: &str) -> Result<(), StoreError> {
        let newest = self.newest;
        match self.version {
            None => Err(broken(none)),
            Some(version) if self.is_behind() => Err(broken(format!(
                "its schema has version {version}, and this binary works with version {newest}: {way_out}, which may end older binaries that run, or use a \
                 binary of that release"
            ))),
            Some(_) => Ok(()),
        }
    }

    /// Whether a newer binary has been here.
    pub(crate) fn is_ahead(&self) -> bool {
        self.version.is_some_and(|version| version > self.newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECTS: [Dialect; 3] = [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql];

    #[test]
    fn versions_rise_one_by_one_and_never_serve_what_they_did_not_before() {
        for dialect in DIALECTS {
            let all = migrations(dialect);
            for pair in all.windows(2) {
                assert_eq!(pair[1].version, pair[0].version + 1, "{dialect:?}");
                assert!(pair[1].serves >= pair[0].serves, "{dialect:?}");
            }
            let possible = |migration: &Migration| migration.serves <= migration.version;
            assert!(all.iter().all(possible), "{dialect:?}");
        }
    }

    /// What a later migration waits for would keep the former release away from the store, and this one, too.
    #[test]
    fn whom_the_store_serves_is_said_after_all_migrations() {
        for migration in DIALECTS.into_iter().flat_map(migrations) {
            let lines = migration.sql.lines();
            let mut text = lines.filter(|line| !line.trim_start().starts_with("--"));
            let name = migration.name;
            assert!(text.all(|line| !line.contains("SET serves")), "{name}");
        }
    }

    #[test]
    fn what_a_store_has_is_known_by_name() {
        let names = relations(Dialect::Postgres);
        for name in ["migration", "head", "obj_key", "ns_empty", "history"] {
            assert!(names.contains(&name), "{name}");
        }
        let texts = migrations(Dialect::Postgres).iter().map(|step| step.sql);
        let made: usize = texts.map(|text| text.matches("CREATE ").count()).sum();
        assert_eq!(names.len(), made + 1);
    }

    #[test]
    fn a_standing_says_what_is_to_be_run() {
        let of = |run: &[i64]| SchemaStanding::of(Dialect::Sqlite, run);
        let versions = |standing: &SchemaStanding| {
            let pending = standing.pending.iter().map(|pending| pending.version);
            pending.collect::<Vec<_>>()
        };
        assert_eq!(
            (of(&[]).version, versions(&of(&[]))),
            (None, vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        );
        assert_eq!(versions(&of(&[1, 2])), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let ahead = of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 99]);
        assert!(ahead.is_ahead() && ahead.pending.is_empty());
        assert!(!of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).is_ahead());
    }

    #[test]
    fn only_what_needs_no_migration_is_opened_as_it_is() {
        let of = |run: &[i64]| SchemaStanding::of(Dialect::Sqlite, run).check_as_it_is();
        assert!(of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).is_ok());
        assert!(of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 99]).is_ok());
        let refused = of(&[1, 2, 3, 4]).expect_err("refused").to_string();
        for words in ["version 4", "version 12", "`armadex migrate` first"] {
            assert!(refused.contains(words), "{refused}");
        }
        assert!(of(&[]).is_err(), "there is none");
    }

    /// Nobody can migrate a replica.
    #[test]
    fn a_replica_that_lacks_something_leads_to_the_store_that_it_follows() {
        let of = |run: &[i64]| SchemaStanding::of(Dialect::Postgres, run).check_as_replica();
        assert!(of(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).is_ok());
        for run in [&[][..], &[1, 2]] {
            let refused = of(run).expect_err("refused").to_string();
            assert!(refused.contains("replica"), "{refused}");
            assert!(refused.contains("`armadex migrate`"), "{refused}");
            assert!(refused.contains("follows"), "{refused}");
        }
    }

    #[test]
    fn a_store_that_serves_later_binaries_only_is_refused_with_both_versions() {
        let newest = newest(Dialect::Sqlite);
        assert!(check(Dialect::Sqlite, newest).is_ok());
        let refused = check(Dialect::Sqlite, 99).expect_err("refused").to_string();
        for words in ["version 99", &format!("up to {newest}"), "newer binary"] {
            assert!(refused.contains(words), "{refused}");
        }
    }
}
