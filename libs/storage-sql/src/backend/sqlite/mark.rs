//! A mark beside the database file: the last revision that was committed to it, and in which life of the machine.
//!
//! A file that is copied back is behind its mark. If the mark was copied with it, the file is not the one that the mark names, or, where both
//! were written over what stood there, the mark is older than its file: it says when it was written, and the system when the file was
//! changed, by whomever: a new owner of the mark is taken for a copy as well, rather one 410 too many than one too few. The mark is written
//! after each commit and not forced to the disk, so it is never ahead of a database that lost nothing: a process that is killed loses
//! neither. That the database is open is on the disk before anything is committed, and not before that: what is only read loses nothing. When the machine
//! itself goes down without notice, the last commits and the mark may be lost alike (synchronous=NORMAL), which only the machine's life tells. That it was
//! closed in order only the last process says that had it open: each holds a lock on the mark.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Result};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Between making a mark and writing it, in seconds. Who brings an older state back within that is not noticed by the time alone.
const WRITTEN_WITHIN: i64 = 5;

/// What a mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) incarnation: String,
    pub(super) revision: i64,
    /// What names this life of the machine; empty where nothing does.
    pub(super) boot: String,
    /// The file's number in its file system: a copy has another.
    pub(super) inode: u64,
    /// The database was closed in order and is on the disk as it was.
    pub(super) closed: bool,
}

impl Mark {
    /// Whether the database that `found` is the mark of may have lost revisions that this mark knows.
    pub(super) fn is_ahead_of(&self, found: &Self) -> bool {
        let other_life = !self.closed && self.boot != found.boot;
        self.incarnation != found.incarnation
            || self.revision > found.revision
            || self.inode != found.inode
            || other_life
    }

    /// Whether this mark says of the very database that `found` is the mark of that it was closed in order.
    pub(super) fn closes(&self, found: &Self) -> bool {
        self.closed && self.revision == found.revision && !self.is_ahead_of(found)
    }

    /// Always as long as any other, so that writing over one leaves nothing of it.
    fn to_text(&self, written: i64) -> String {
        let Self {
            incarnation,
            revision,
            boot,
            inode,
            closed,
        } = self;
        let closed = if *closed { "closed" } else { "open" };
        format!(
            "{incarnation:<32} {revision:020} {inode:020} {written:020} {boot:<36} {closed:<6}\n"
        )
    }

    /// The mark, and the second in which it was written.
    fn parse(text: &str) -> Option<(Self, i64)> {
        let mut words = text.split(' ').filter(|word| !word.is_empty());
        let (incarnation, revision) = (words.next()?, words.next()?);
        let (inode, written) = (words.next()?, words.next()?);
        let rest: Vec<&str> = words
            .map(str::trim_end)
            .filter(|word| !word.is_empty())
            .collect();
        let (boot, closed) = match rest.as_slice() {
            [closed] => ("", *closed),
            [boot, closed] => (*boot, *closed),
            _ => return None,
        };
        let mark = Self {
            incarnation: incarnation.to_owned(),
            revision: revision.parse().ok()?,
            inode: inode.parse().ok()?,
            boot: boot.to_owned(),
            closed: match closed {
                "closed" => true,
                "open" => false,
                _ => return None,
            },
        };
        Some((mark, written.parse().ok()?))
    }
}

/// The file of a mark.
#[derive(Debug)]
pub(super) struct MarkFile {
    file: File,
    /// Whether others see that it is in use. Not every file system locks files.
    is_locked: bool,
}

impl MarkFile {
    /// The mark beside a database; `None` if there is none, what is there says nothing, or was copied there.
    pub(super) fn read(database: &Path) -> Result<Option<Mark>> {
        let mut text = String::new();
        match File::open(path_of(database)) {
            Ok(mut file) => {
                // Before it is read: somebody may be writing it now.
                let changed = file.metadata()?.ctime();
                match file.read_to_string(&mut text) {
                    Ok(_) => {
                        let mark = Mark::parse(&text);
                        let own = mark.filter(|(_, written)| changed - written <= WRITTEN_WITHIN);
                        Ok(own.map(|(mark, _)| mark))
                    }
                    Err(err) if err.kind() == ErrorKind::InvalidData => Ok(None),
                    Err(err) => Err(err),
                }
            }
            Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// Opens the file, which only its owner may read: the database's.
    pub(super) fn open(database: &Path) -> Result<Self> {
        // Both: a file system of a network gives a lock that is shared only on what may be read, and another only on what may be written.
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        let path = path_of(database);
        // What was there before is left to whom it belongs: it may be a link to anything.
        let file = match options.clone().create_new(true).open(&path) {
            Ok(file) => {
                give_to_owner_of(database, &file);
                file
            }
            Err(err) if err.kind() == ErrorKind::AlreadyExists => options.open(&path)?,
            Err(err) => return Err(err),
        };
        let is_locked = file.lock_shared().is_ok();
        Ok(Self { file, is_locked })
    }

    /// That no other process has the database open, for as long as the guard lives; nobody opens it meanwhile. `None` if one has, or if that cannot be told:
    /// where this process was given no lock another has none either.
    pub(super) fn alone(&self) -> Option<Alone<'_>> {
        if !self.is_locked {
            return None;
        }
        self.file.try_lock().ok().map(|()| Alone(&self.file))
    }

    /// Writes the mark.
    pub(super) fn write(&self, mark: &Mark) -> Result<()> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let written = i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or_default();
        self.file.write_all_at(mark.to_text(written).as_bytes(), 0)
    }

    /// Writes the mark so that it is on the disk afterwards.
    pub(super) fn write_through(&self, mark: &Mark) -> Result<()> {
        self.write(mark)?;
        self.file.sync_all()
    }
}

/// The one process that has the database open.
pub(super) struct Alone<'a>(&'a File);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        // The lock goes with the file at the latest.
        let _ = self.0.unlock();
    }
}

/// Whoever looks after a store as root leaves a mark that the store's own process may read, as SQLite does with its log. Everybody else may give no file away,
/// and is left with what there is.
fn give_to_owner_of(database: &Path, file: &File) {
    if let (Ok(of), Ok(own)) = (fs::metadata(database), file.metadata())
        && (of.uid(), of.gid()) != (own.uid(), own.gid())
    {
        let _ = fchown(file, Some(of.uid()), Some(of.gid()));
    }
}

fn path_of(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-mark");
    path.into()
}

/// What names this life of the machine (Linux); empty elsewhere.
pub(super) fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.map(|boot| boot.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(revision: i64, closed: bool) -> Mark {
        Mark {
            incarnation: "a".repeat(32),
            revision,
            boot: "first".into(),
            inode: 7,
            closed,
        }
    }

    #[test]
    fn a_mark_is_read_back_and_anything_else_is_none() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = place.path().join("store.db");
        assert_eq!(MarkFile::read(&path).expect("read"), None);
        let file = MarkFile::open(&path).expect("a file");
        let nowhere = Mark {
            boot: String::new(),
            ..mark(3, false)
        };
        for mark in [mark(12_345, false), mark(7, true), nowhere] {
            file.write(&mark).expect("written");
            assert_eq!(MarkFile::read(&path).expect("read"), Some(mark));
        }
        let of_an_hour_ago = {
            let text = std::fs::read_to_string(path_of(&path)).expect("read");
            let (mark, written) = Mark::parse(&text).expect("a mark");
            mark.to_text(written - 3600)
        };
        std::fs::write(path_of(&path), of_an_hour_ago).expect("copied");
        assert_eq!(MarkFile::read(&path).expect("read"), None);
        std::fs::write(path_of(&path), b"junk \xff").expect("written");
        assert_eq!(MarkFile::read(&path).expect("read"), None);
    }

    #[test]
    fn a_mark_belongs_to_whom_the_database_does() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = place.path().join("store.db");
        std::fs::write(&path, "").expect("a file");
        // Only root can give a file away: for everybody else both are their own, and this says nothing.
        let _ = std::os::unix::fs::chown(&path, Some(65_534), Some(65_534));
        let of = |path: &Path| {
            let file = std::fs::metadata(path).expect("a file");
            (file.uid(), file.gid())
        };
        drop(MarkFile::open(&path).expect("a mark"));
        assert_eq!(of(&path_of(&path)), of(&path));
        // One that is there may be a link to what is somebody else's.
        let others = place.path().join("others");
        std::fs::write(&others, "").expect("a file");
        let before = of(&others);
        std::fs::remove_file(path_of(&path)).expect("removed");
        std::os::unix::fs::symlink(&others, path_of(&path)).expect("a link");
        drop(MarkFile::open(&path).expect("a mark"));
        assert_eq!(of(&others), before);
    }

    #[test]
    fn nobody_is_alone_where_files_cannot_be_locked() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = place.path().join("store.db");
        let file = MarkFile::open(&path).expect("a file");
        assert!(file.alone().is_some());
        let unlocked = MarkFile {
            is_locked: false,
            ..file
        };
        assert!(unlocked.alone().is_none());
        let mut text = String::new();
        let mut file = unlocked.file;
        file.read_to_string(&mut text).expect("it may be read");
    }

    #[test]
    fn what_the_database_has_lost_is_seen() {
        let found = |revision, boot: &str| Mark {
            boot: boot.into(),
            ..mark(revision, false)
        };
        let ahead = |mark: Mark, revision, boot| mark.is_ahead_of(&found(revision, boot));
        assert!(!ahead(mark(10, false), 10, "first"));
        // The mark is written after the commit: a kill in between leaves it behind.
        assert!(!ahead(mark(9, false), 10, "first"));
        assert!(ahead(mark(10, false), 9, "first"));
        assert!(ahead(mark(10, false), 10, "second"));
        assert!(!ahead(mark(10, true), 10, "second"));
        let (same, mut other) = (mark(10, true), found(10, "first"));
        other.incarnation = "b".repeat(32);
        assert!(same.is_ahead_of(&other));
        let (same, mut copied) = (mark(10, true), found(10, "first"));
        copied.inode = 8;
        assert!(same.is_ahead_of(&copied));
        assert!(same.closes(&found(10, "second")));
        assert!(!same.closes(&found(11, "second")) && !same.closes(&copied));
        assert!(!mark(10, false).closes(&found(10, "first")));
    }
}
