//! A snapshot of the database, and what reading it has cost so far.

use armadex_storage::StoreError;

use crate::backend::{Connection, Row, rows};
use crate::sql::dialect::Dialect;
use crate::sql::pieces::MAX_LIST;
use crate::sql::statement::Statement;

/// How much is read at a time and for one page. The figures are a trade of memory and time, never of right and wrong: tests set them to
/// next to nothing, so that every continuation is taken.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Rows and index blocks that one page looks at before it ends where it is; as many again among those of one value that it begins with. 20,000 take some 30 ms.
    pub work: u64,
    /// Index blocks or named objects that are read to find where a search has hits at all.
    pub probe: usize,
    /// Index blocks that are decoded at a time: half a MiB of ids.
    pub blocks: usize,
    /// Namespaces that are looked at together.
    pub places: usize,
    /// Objects that are fetched together; a namespace with more is walked along its index.
    pub rows: usize,
    /// Objects that are sorted in memory rather than found along a sort index.
    pub sorted: usize,
    /// Objects that are sorted in memory after all where the index leads past too many that do not match.
    pub refetched: usize,
    /// Objects that are looked at for an order that no index has. A query with more is refused.
    pub most_sorted: usize,
    /// Objects with one value of a sort key that are read to be sorted; more are walked by namespace.
    pub ties: usize,
    /// Rows that a page may skip where they have to be looked at.
    pub most_skipped: u64,
    /// Values of one list in a statement; more are asked for in several.
    pub list: usize,
    /// Keys that are looked for at a time, each in each place.
    pub lookups: usize,
    /// Named namespaces that are looked for at a time, each in each cluster.
    pub named: usize,
    /// Keys times clusters that are looked for by themselves, each at a place of its own in an index: the other way is to read up to two thousand rows of the
    /// fleet.
    pub ranges: usize,
    /// Clusters whose namespaces are read together.
    pub clusters: usize,
    /// Namespaces that a walk looks at first; it looks at four times as many each time.
    pub first_places: usize,
    /// By how many objects beyond twice the wanted ones a namespace is walked along its index though all of it could be fetched.
    pub few: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            work: 20_000,
            probe: 2048,
            blocks: 2048,
            places: 256,
            rows: 2000,
            sorted: 5000,
            refetched: 50_000,
            most_sorted: 100_000,
            ties: 10_000,
            most_skipped: 10_000,
            list: MAX_LIST,
            lookups: 8192,
            named: 2048,
            ranges: 1024,
            clusters: 64,
            first_places: 8,
            few: 64,
        }
    }
}

/// Numbers of terms that are looked for among others in the time that a row takes, 1.5 µs.
const COMPARED_IN_ROW: u64 = 64;

/// A snapshot of the database and what is needed to ask it.
pub(crate) struct Reading<'a> {
    pub(crate) connection: &'a mut dyn Connection,
    pub(crate) dialect: Dialect,
    pub(crate) tuning: &'a Tuning,
    /// Rows and blocks that were looked at.
    pub(crate) looked_at: u64,
    /// How many may have been when the page ends.
    limit: u64,
    /// Whether the page has walked through many objects of one value.
    has_walked_ties: bool,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(
        connection: &'a mut dyn Connection,
        dialect: Dialect,
        tuning: &'a Tuning,
    ) -> Self {
        Self {
            connection,
            dialect,
            tuning,
            looked_at: 0,
            limit: tuning.work,
            has_walked_ties: false,
        }
    }

    /// All rows of a query, decoded and counted. Statements are made so that a database looks at no more rows than it gives, but for a
    /// constant factor: what is counted here is what it costs.
    pub(crate) async fn rows<T: Send>(
        &mut self,
        statement: Statement,
        decode: fn(&dyn Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let found = rows(self.connection, statement, decode).await?;
        // A statement that finds nothing has cost something too.
        self.looked_at += found.len().max(1) as u64;
        Ok(found)
    }

    /// Rows of two numbers.
    pub(crate) async fn pairs(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        self.rows(statement, |row| Ok((row.int(0)?, row.int(1)?)))
            .await
    }

    /// Gives what follows the whole budget: what led to it was bounded otherwise.
    pub(crate) fn begin(&mut self) {
        self.allow(self.tuning.work);
    }

    /// Gives a walk through many objects of one value the whole budget, once a page: to find out that they are many has taken as much as `ties` says,
    /// which may be more than was left, and would be taken again by the next page.
    pub(crate) fn begin_ties(&mut self) {
        if !std::mem::replace(&mut self.has_walked_ties, true) {
            self.begin();
        }
    }

    /// Gives what follows the budget of ten pages, for an answer that cannot come in parts.
    pub(crate) fn begin_long(&mut self) {
        self.allow(self.tuning.work.saturating_mul(10));
    }

    /// Gives what follows a budget of its own.
    pub(crate) fn allow(&mut self, work: u64) {
        self.limit = self.looked_at.saturating_add(work);
    }

    /// Counts keys that are looked for, whether they are there or not.
    pub(crate) fn looked_for(&mut self, keys: usize) {
        self.looked_at += work_of(keys);
    }

    /// Counts numbers of terms that were looked for among others in memory.
    pub(crate) fn compared(&mut self, terms: u64) {
        self.looked_at += terms / COMPARED_IN_ROW;
    }

    /// Whether a page has looked at as much as it may.
    pub(crate) fn is_spent(&self) -> bool {
        self.looked_at >= self.limit
    }
}

/// What it costs to look for so many keys, in rows: a few of them are as much as one.
pub(crate) fn work_of(keys: usize) -> u64 {
    (keys / 4) as u64
}
