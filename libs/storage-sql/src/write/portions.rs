//! How much is written at a time.

use armadex_postings::MAX_IDS;

/// How much is written at a time. As what is read ([`crate::Tuning`]) the figures are a trade of memory and time, never of right and wrong.
#[derive(Clone, Debug)]
pub struct Portions {
    /// The most orders in one transaction. Alone they take 1 ms each, nearly all of it for the commit, and with a server some 20 round trips, however many they are: where
    /// thousands of streams have a change each, how many go together says how old what is shown is.
    pub orders: usize,
    /// The most orders in one transaction of those that are done one by one: each takes up to 15 statements of its own, round trips with a server, and what it holds
    /// everybody waits for until the last one is done.
    pub one_by_one: usize,
    /// The most changed objects in one transaction: as much as one commit is worth.
    pub changes: usize,
    /// The most edits of the index in one transaction of batches: an object that comes or goes is one for each of its terms, and some 2,000 usual objects
    /// have so many. A batch of more is stored in several transactions, and only one object may be more by itself.
    pub edits: usize,
    /// Object ids that an index block is filled with, 256 at most: about 300 bytes.
    pub ids_in_block: usize,
    /// The most streams or clusters that one step of a purge removes: where they are small a step is as long as one with many rows. A stream of a small
    /// cluster has some 30 objects.
    pub removed: u32,
    /// The most edits of the index in one step of a purge: an object is one for each of its terms, but where whole namespaces go a term that many have is
    /// one for all of them. Some 2,000 usual objects have so many terms.
    pub terms: usize,
    /// Superseded versions whose bytes MySQL is asked for in one statement: it reads a version whole to tell how long it is. Twice as many where they are short.
    pub look: u32,
    /// After so many bytes of superseded versions a step of a purge removes no more, and MySQL, which reads all of them, counts no more: each that goes is whole
    /// in the log of some databases, and everybody's writes wait.
    pub bytes: u64,
    /// Versions that one transaction looks at, where those of a damaged log are removed. One at least.
    pub orphans: u32,
}

impl Default for Portions {
    fn default() -> Self {
        Self {
            orders: 1024,
            one_by_one: 64,
            changes: 8000,
            edits: 65_536,
            ids_in_block: MAX_IDS,
            removed: 128,
            terms: 65_536,
            look: 64,
            bytes: 64 << 20,
            orphans: 2000,
        }
    }
}
