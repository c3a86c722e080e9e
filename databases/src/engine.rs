//! Which database servers there are, and the facts of each.

/// A kind of database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL.
    Postgres,
    /// MariaDB, or a MySQL that is given.
    Mysql,
}

impl Engine {
    /// The variable that names an administrator's URL of a server that is there.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "ARMADEX_TEST_POSTGRES",
            Self::Mysql => "ARMADEX_TEST_MYSQL",
        }
    }

    /// What is missing where it is missing.
    pub(crate) fn product(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MariaDB",
        }
    }

    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }

    pub(crate) fn default_port(self) -> u16 {
        match self {
            Self::Postgres => 5432,
            Self::Mysql => 3306,
        }
    }

    /// The database that is there before any is made: to be connected with by who makes one.
    pub(crate) fn first_database(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "",
        }
    }

    /// The programs without which no server can be started.
    pub(crate) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &["initdb", "postgres", "psql"],
            Self::Mysql => &["mariadb-install-db", "mariadbd", "mariadb"],
        }
    }

    /// The users that Debian's packages make for a server, best first: none of them may be root.
    pub(crate) fn users(self) -> [&'static str; 2] {
        match self {
            Self::Postgres => ["postgres", "nobody"],
            Self::Mysql => ["mysql", "nobody"],
        }
    }

    /// The signals by which a server ends in order, and at once.
    pub(crate) fn signals(self) -> (&'static str, &'static str) {
        match self {
            // A fast shutdown waits for no client; an immediate one takes its processes along, which SIGKILL would not.
            Self::Postgres => ("INT", "QUIT"),
            Self::Mysql => ("TERM", "KILL"),
        }
    }
}
