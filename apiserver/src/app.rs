//! One request from its head to its reply. The order is fixed: method, health, caller, their place, whom they act as, outer permission,
//! target, answer.

mod asked;
mod connection;
mod context;
mod discover;
mod documents;
mod fleet_version;
mod long_heads;
mod native;
mod objects;
mod of_catalog;
mod permitted;
mod pools;
mod posted;
mod readiness;
mod reviews;
mod short_reads;
mod unhealthy;
mod view;
mod warnings;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use armadex_storage::Search;
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Version};
use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, UnixTime};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::body::{self, Body, Piece};
use crate::answer::budget::{Allowance, Budget};
use crate::answer::gzip;
use crate::answer::listing::{ListStream, Sent};
use crate::answer::reply::{Content, Reply};
use crate::answer::searches::turn_sizes;
use crate::answer::status::ApiError;
use crate::caller::attributes;
use crate::caller::authn::{Authenticator, Peer};
use crate::caller::authz::Authorizer;
use crate::caller::identity::{Identity, account_of};
use crate::caller::impersonation;
use crate::counters::{Counters, Gauge};
use crate::request::negotiate;
use crate::request::seal::Seal;
use crate::request::target::{self, Target};
use crate::seldom;
use crate::turns::{Asker, Turns};
use asked::{Asked, accept, takes_gzip};
pub(crate) use connection::{Connection, Standing};
use context::Context;
use documents::Documents;
use long_heads::LongHeads;
use of_catalog::OfCatalog;
pub(crate) use pools::PoolSizes;
use pools::{Admitted, Pools, Work};
use posted::Posted;
use readiness::Readiness;
use short_reads::ShortReads;

/// What a request may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Requests served at the same time.
    pub(crate) in_flight: PoolSizes,
    /// Bytes that are held for clients at the same time.
    pub(crate) bytes: usize,
    /// From a request's head to the last byte of its answer.
    pub(crate) time: Duration,
    /// Searches that the store has connections for.
    pub(crate) searches: usize,
}

/// The server without its sockets.
pub(crate) struct App {
    context: Context,
    pools: Pools,
    heads: LongHeads,
    budget: Arc<Budget>,
    limits: Limits,
}

impl App {
    pub(crate) fn new(
        search: Arc<dyn Search>,
        authenticator: Authenticator,
        authorizer: Authorizer,
        counters: Arc<Counters>,
        limits: Limits,
    ) -> Self {
        let budget = Arc::new(Budget::new(limits.bytes, Arc::clone(&counters)));
        let (tasks, cancel) = (TaskTracker::new(), CancellationToken::new());
        let reads = ShortReads::new(Arc::clone(&search), tasks.clone(), cancel.clone());
        let context = Context {
            seal: Arc::new(Seal::of(&search.secret())),
            search,
            reads,
            searches: Turns::new(turn_sizes(limits.searches)),
            authenticator,
            authorizer,
            counters,
            readiness: Readiness::default(),
            documents: Documents::default(),
            fleet_version: OfCatalog::default(),
            unhealthy: OfCatalog::default(),
            tasks,
            cancel,
            stopping: CancellationToken::new(),
            clock: Timestamp::now,
            group: target::GROUP.to_owned(),
        };
        Self {
            context,
            pools: Pools::new(limits.in_flight),
            heads: LongHeads::default(),
            budget,
            limits,
        }
    }

    /// Is not ready any more from when this is cancelled.
    pub(crate) fn until_stopping(mut self, stopping: CancellationToken) -> Self {
        self.context.stopping = stopping;
        self
    }

    /// Serves its API in this group.
    pub(crate) fn in_group(mut self, group: String) -> Self {
        self.context.group = group;
        self
    }

    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.context.counters
    }

    /// A new connection from this address, whose other end proved to hold these certificates.
    pub(crate) fn connection(
        &self,
        address: IpAddr,
        certificates: Vec<CertificateDer<'static>>,
    ) -> Connection {
        Connection::new(Peer::new(certificates), address, self.budget.share())
    }

    /// What a connection has shown itself to be. Verifies its certificate anew where the trust has changed.
    pub(crate) fn standing(&self, connection: &Connection) -> Standing {
        let authenticator = &self.context.authenticator;
        authenticator.verify(&connection.peer, UnixTime::now());
        connection.last_standing()
    }

    /// Breaks off the lists that are still being sent and waits for their tasks.
    pub(crate) async fn close(&self) {
        self.context.cancel.cancel();
        self.context.tasks.close();
        self.context.tasks.wait().await;
    }

    /// Answers a request. Its body is read where the caller may post a review, and nowhere else.
    pub(crate) async fn respond<B>(
        self: &Arc<Self>,
        request: Request<B>,
        connection: &Connection,
    ) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let started = Instant::now();
        let (parts, sent) = request.into_parts();
        let access = Access {
            app: Arc::clone(self),
            path: seldom::logged(parts.uri.path()).to_owned(),
            verb: parts.method.clone(),
            started,
        };
        let refusal = negotiate::refusal(accept(&parts).as_deref());
        let mut ticket = Ticket {
            _counted: Counters::request(&self.context.counters),
            place: None,
        };
        let answering = self.answer(parts, sent, connection, &mut ticket);
        let answer = tokio::time::timeout_at(started + self.limits.time, answering).await;
        let is_refused = !matches!(answer, Ok(Ok(_)));
        if is_refused && let Some(place) = &mut ticket.place {
            place.leave_pool();
        }
        let reply = match answer {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => Reply::error(&error, refusal),
            Err(_) => Reply::error(&ApiError::timed_out(), refusal),
        };
        let is_head = access.verb == Method::HEAD;
        let response = self.send(reply, Arc::new(ticket), access);
        match is_head {
            true => response.map(|_| body::whole(Bytes::new())),
            false => response,
        }
    }

    fn send(self: &Arc<Self>, reply: Reply, ticket: Arc<Ticket>, access: Access) -> Response<Body> {
        let code = reply.head.status();
        let body = match reply.content {
            Content::Whole(bytes) | Content::Made(bytes) => {
                access.finish(
                    code,
                    Sent {
                        rows: 0,
                        bytes: bytes.len() as u64,
                    },
                );
                body::whole(bytes)
            }
            Content::Rewritten(object) => {
                let deadline = access.started + self.limits.time;
                access.finish(code, Sent::default());
                body::rewritten(object, deadline, Arc::clone(self.counters()))
            }
            Content::List(stream) => {
                // Room for one piece: the next is made while the client takes this one.
                let (sender, receiver) = mpsc::channel(1);
                let sending = send_list(stream, sender, Arc::clone(&ticket), access);
                self.context.tasks.spawn(sending);
                body::streamed(receiver)
            }
        };
        let body = match reply.gzip {
            Some(held) => gzip::gzipped(body, held),
            None => body,
        };
        reply.head.map(|()| body::keeping(body, ticket))
    }

    async fn answer<B>(
        &self,
        parts: Parts,
        sent: B,
        connection: &Connection,
        ticket: &mut Ticket,
    ) -> Result<Reply, ApiError>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let segments = target::segments(parts.uri.path());
        let target = segments.as_deref();
        let target = target.and_then(|path| Target::parse(path, &self.context.group));
        let is_review = target.as_ref().is_some_and(Target::is_review);
        let posts_review = parts.method == Method::POST && is_review;
        // What nobody reads is let go before anything is waited for: all requests of a connection share the room for it.
        let sent = posts_review.then_some(sent);
        let asks_health = parts.method == Method::HEAD && matches!(target, Some(Target::Health(_)));
        if parts.method != Method::GET && !posts_review && !asks_health {
            return Err(ApiError::method_not_allowed(
                target.as_ref().map_or("GET", Target::methods),
                "the server does not allow this method on the requested resource: it only reads",
            ));
        }
        let segments = segments.ok_or_else(ApiError::no_such_path)?;
        if let Some(Target::Health(health)) = target {
            // Anybody may wait here, and nobody has counted their heads.
            drop((segments, parts));
            return Ok(self.context.health(health).await);
        }
        let (caller, is_front_proxy) = self.authenticate(&parts, connection).await?;
        let account = account_of(&caller.user);
        let _head = self.heads.count(&parts, &Asker::user(account))?;
        let work = Work::of(target.as_ref());
        let (place, share) = self.pools.enter(work, account, &self.budget)?;
        ticket.place = Some(place);
        let caller =
            impersonation::assume(&self.context.authorizer, caller, &parts.headers).await?;
        let question = if posts_review {
            attributes::outer_create(&segments)
        } else {
            attributes::outer(&segments)
        };
        self.context.authorizer.require(&caller, &question).await?;
        let target = target.ok_or_else(ApiError::no_such_path)?;
        let mut shares = vec![share];
        if !is_front_proxy {
            shares.push(connection.bytes.clone());
        }
        let allowance = Allowance::new(Arc::clone(&self.budget), shares);
        let posted = match sent {
            Some(sent) => Some(posted::read(&parts.headers, sent).await?),
            None => None,
        };
        let asked = Asked::of(&parts, &segments, &caller, allowance);
        let reply = self.reply(target, posted.as_ref(), &asked).await?;
        if parts.version < Version::HTTP_11 && reply.is_streamed() {
            return Err(ApiError::old_protocol());
        }
        let reply = reply.hold(&asked.allowance).await?;
        Ok(match takes_gzip(&parts) {
            true => reply.compressed(&asked.allowance),
            false => reply,
        })
    }

    /// Who is calling, and whether a front proxy says so. The connection remembers how that went: what it has shown itself to be
    /// decides who else is kept waiting by its tokens.
    async fn authenticate(
        &self,
        parts: &Parts,
        connection: &Connection,
    ) -> Result<(Identity, bool), ApiError> {
        let standing = self.standing(connection);
        let (authenticator, now) = (&self.context.authenticator, UnixTime::now());
        let asker = connection.asker();
        // A front proxy's request waits for no review of a token.
        let _head = match standing {
            Standing::FrontProxy => None,
            Standing::Known | Standing::Unproven => self.heads.count(parts, &asker)?,
        };
        let found = authenticator
            .authenticate(&connection.peer, &parts.headers, now, &asker)
            .await;
        match &found {
            Ok(caller) => connection.prove(account_of(&caller.user)),
            Err(error) if error.code == StatusCode::UNAUTHORIZED => connection.refuse(),
            Err(_) => {}
        }
        Ok((found?, standing == Standing::FrontProxy))
    }

    async fn reply(
        &self,
        target: Target,
        posted: Option<&Posted>,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let context = &self.context;
        match target {
            Target::Health(health) => Ok(context.health(health).await),
            Target::Version => context.own_version(asked).await,
            Target::Groups => context.own_groups(asked).await,
            Target::Group => context.own_group(asked).await,
            Target::Resources => context.own_resources(asked).await,
            Target::OpenApiV2 => context.open_api_v2(asked).await,
            Target::OpenApiV3 => context.open_api_v3(asked).await,
            Target::OpenApiV3Group => context.open_api_v3_group(asked).await,
            Target::Collections => Err(ApiError::method_not_allowed(
                target.methods(),
                "collection resources are not served yet: list the types one by one",
            )),
            Target::View(view, native) => context.native(view, native, posted, asked).await,
        }
    }
}

/// What a request takes up, from its head until the last byte of its answer is on its way.
struct Ticket {
    _counted: Gauge,
    place: Option<Admitted>,
}

/// A request for the log: told once, when its answer has been made.
struct Access {
    app: Arc<App>,
    verb: Method,
    path: String,
    started: Instant,
}

impl Access {
    fn finish(self, code: StatusCode, sent: Sent) {
        let code = code.as_u16();
        self.app.context.counters.answered(code);
        self.app.context.counters.served(sent.rows, sent.bytes);
        let duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(
            verb = %self.verb, target = self.path, rows = sent.rows, duration_ms, code,
            "{} {} {code}", self.verb, self.path
        );
    }
}

/// Sends a list from a task of its own, so that a client that stops reading holds nothing longer than the time limit.
async fn send_list(
    stream: Box<ListStream>,
    pieces: mpsc::Sender<Piece>,
    ticket: Arc<Ticket>,
    access: Access,
) {
    let app = Arc::clone(&access.app);
    let mut sent = Sent::default();
    let sending = stream.send(pieces, access.started, app.limits.time, &mut sent);
    let result = app.context.cancel.run_until_cancelled(sending).await;
    match result {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            error.log(&access.path);
            app.context.counters.broke_off();
        }
        None => app.context.counters.broke_off(),
    }
    access.finish(StatusCode::OK, sent);
    drop(ticket);
}

#[cfg(test)]
mod tests;
