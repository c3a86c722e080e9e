//! Following a watch: lines come in, changes are written when nothing more is at hand, bookmarks move the position.

use std::time::Duration;

use armadex_member::{ByteStream, MemberError, WatchRequest};
use armadex_storage::{Change, Phase};
use bytes::Bytes;
use tokio::time::Instant;

use crate::event::{self, Event};
use crate::lines::{Lines, Piece};
use crate::prune::{self, Salvaged, Skipped};
use crate::step::Outcome;
use crate::stream::Stream;
use crate::stream::pull::{Gathering, too_long};
use crate::writer::Halt;

/// Below the 5 minutes after which many load balancers cut a connection off.
const LONGEST_WATCH: u32 = 290;
/// So that watches that began together do not end together.
const SHORTEST_WATCH: u32 = 230;
/// Changes that come within this time go into one transaction; short beside the 100 ms that freshness may take.
const LINGER: Duration = Duration::from_millis(20);
/// A position that moved without a change is stored this often: a restart then reads at most so much again.
const POSITION_PERIOD: Duration = Duration::from_secs(5);
/// A watch that is over sooner and brought nothing was refused in all but words.
const AT_ONCE: Duration = Duration::from_secs(1);

/// A watch that is being followed.
struct Watch {
    lines: Lines,
    gathering: Gathering,
    /// Everything up to here is gathered or written.
    version: String,
    /// What the store knows.
    stored_version: String,
    /// When something must be written.
    write_at: Option<Instant>,
}

/// Why a watch does not go on.
enum End {
    Closed,
    Error(MemberError),
}

impl Stream {
    pub(super) async fn watch(&mut self, version: String) -> Result<Outcome, Halt> {
        let begun = Instant::now();
        let mut body = match self.request_watch(&version).await? {
            Ok(body) => body,
            Err(error) => return Ok(self.watch_failed(&error, version)),
        };
        self.context.metrics.watches.add(1);
        self.context.report.syncing();
        let mut watch = Watch {
            lines: Lines::new(self.incoming_limit()),
            gathering: Gathering::default(),
            stored_version: version.clone(),
            version: version.clone(),
            write_at: None,
        };
        let end = self.follow(&mut body, &mut watch).await?;
        self.write_watched(&mut watch).await?;
        Ok(match end {
            End::Closed => Outcome::Ended {
                at_once: begun.elapsed() < AT_ONCE && watch.version == version,
                version: watch.version,
            },
            End::Error(error) => self.watch_failed(&error, watch.version),
        })
    }

    async fn request_watch(&self, version: &str) -> Result<Result<ByteStream, MemberError>, Halt> {
        let request = WatchRequest {
            resource: &self.context.resource.gvr,
            resource_version: version,
            timeout_seconds: rand::random_range(SHORTEST_WATCH..=LONGEST_WATCH),
        };
        tokio::select! {
            () = self.context.cancel.cancelled() => Err(Halt::Cancelled),
            body = self.context.member.watch(&request) => Ok(body),
        }
    }

    fn watch_failed(&mut self, error: &MemberError, version: String) -> Outcome {
        match self.failed(error) {
            Outcome::Gone => Outcome::Gone,
            _ => Outcome::Broke { version },
        }
    }

    /// Reads until the watch ends. On cancellation what is gathered is written.
    async fn follow(&self, body: &mut ByteStream, watch: &mut Watch) -> Result<End, Halt> {
        loop {
            let write_at = watch.write_at;
            let due = async {
                match write_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.context.cancel.cancelled() => {
                    self.write_watched(watch).await?;
                    return Err(Halt::Cancelled);
                }
                () = due => self.write_watched(watch).await?,
                chunk = body.next() => match chunk {
                    None => return Ok(End::Closed),
                    Some(Err(error)) => return Ok(End::Error(error)),
                    Some(Ok(chunk)) => {
                        if let Some(error) = self.take_lines(watch, chunk).await? {
                            return Ok(End::Error(error));
                        }
                    }
                },
            }
        }
    }

    /// Handles the lines that a chunk completes; an error is one that the member sent.
    async fn take_lines(
        &self,
        watch: &mut Watch,
        chunk: Bytes,
    ) -> Result<Option<MemberError>, Halt> {
        self.context.metrics.received_bytes.add(chunk.len() as u64);
        watch.lines.push(chunk);
        while let Some(piece) = watch.lines.next() {
            self.context.metrics.received_objects.add(1);
            let (change, version) = match self.read_line(&piece) {
                Ok(read) => read,
                Err(error) => return Ok(Some(error)),
            };
            if let Some(change) = change {
                let position = || Some(self.position(&watch.version, Phase::Live));
                self.gather(&mut watch.gathering, change, position).await?;
            }
            watch.advance(version);
            if watch.gathering.pending.is_full() {
                self.write_watched(watch).await?;
            }
        }
        Ok(None)
    }

    /// The change that a line tells and the version that it leads to, if it does.
    fn read_line(&self, piece: &Piece) -> Result<(Option<Change>, Option<String>), MemberError> {
        let line = match piece {
            Piece::Whole(line) => line,
            Piece::TooLong { prefix, length } => {
                let reason = too_long(*length, self.incoming_limit());
                return Ok(self.left_out(&prune::salvage(prefix), reason));
            }
        };
        match event::parse(line) {
            Err(problem) => Ok(self.left_out(&prune::salvage(line), problem.to_owned())),
            Ok(Event::Put(json)) => Ok(match prune::prune(json.as_bytes(), &self.rules) {
                Ok(object) => {
                    let version = object.resource_version.clone();
                    (Some(Change::Put(object)), Some(version))
                }
                Err(Skipped { reason, .. }) => {
                    self.left_out(&prune::salvage(json.as_bytes()), reason)
                }
            }),
            Ok(Event::Delete { key, version }) => {
                self.context.report.settled(&key);
                Ok((Some(Change::Delete(key)), Some(version)))
            }
            Ok(Event::Bookmark { version }) => Ok((None, Some(version))),
            Ok(Event::Error { code, message }) => Err(MemberError::Status {
                code,
                message,
                retry_after: None,
            }),
        }
    }

    /// An object that is left out: an older form of it that is stored is deleted, or it would be served as if it were current.
    fn left_out(&self, salvaged: &Salvaged, reason: String) -> (Option<Change>, Option<String>) {
        let key = self.salvaged_key(salvaged);
        self.skip(Skipped {
            key: key.clone(),
            reason,
        });
        let version = salvaged.resource_version().map(ToOwned::to_owned);
        (key.map(Change::Delete), version)
    }

    async fn write_watched(&self, watch: &mut Watch) -> Result<(), Halt> {
        let moved = watch.version != watch.stored_version;
        let position = moved.then(|| self.position(&watch.version, Phase::Live));
        self.flush(&mut watch.gathering, position).await?;
        watch.stored_version.clone_from(&watch.version);
        watch.write_at = None;
        Ok(())
    }
}

impl Watch {
    /// Moves on after a line, and says when that must be written.
    fn advance(&mut self, version: Option<String>) {
        if let Some(version) = version.filter(|version| !version.is_empty()) {
            self.version = version;
        }
        let wait = if self.gathering.pending.is_empty() {
            POSITION_PERIOD
        } else {
            LINGER
        };
        let latest = Instant::now() + wait;
        self.write_at = Some(self.write_at.map_or(latest, |at| at.min(latest)));
    }
}
