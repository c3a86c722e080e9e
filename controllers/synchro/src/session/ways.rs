//! The ways to a member: straight to its API server, and by the control plane where that cannot be reached from here, or no credential of it is known.
//!
//! An API server that answers is never passed by, whatever it says: that a credential is refused, or that it is somebody else, is told.

use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::{Backoff, LIVED};
use armadex_member::{Connection, Member};
use armadex_model::ClusterName;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::config::Shared;
use crate::session::by_control_plane::Place;
use crate::session::discoveries::{ByWay, ClusterDiscovery};
use crate::session::health::PROBE_PERIOD;
use crate::session::reach::{Around, Reached, Unreached, answers, reach};
use crate::session::task::Wanted;

/// A blip is over by then.
const FIRST_LOOK: Duration = Duration::from_secs(10);
/// Each way costs the member a discovery and its watches, and the straight one is better by little.
const LAST_LOOK: Duration = Duration::from_secs(300);
/// The control plane is asked again for a member that it did not reach either: a fleet may have a thousand that are down, and all of them ask one.
const LAST_TRY: Duration = Duration::from_secs(60);
/// A right that somebody may grant by hand is waited for longer: mostly it is not meant to be granted, and each member of a fleet asks for it.
const LAST_REFUSED: Duration = Duration::from_secs(300);
/// What is said where a request on the way is forbidden, be it by the control plane or by the member.
const WHAT_IT_TAKES: &str = "the rights that this way takes are granted by hand, see docs/permissions.md#by-the-control-plane";

/// The way that was found.
pub(super) struct Way {
    pub(super) member: Arc<Member>,
    /// Why it goes by the control plane; `None`: it does not.
    pub(super) around: Option<String>,
    /// Among the members that go so.
    _place: Option<Place>,
}

/// How the ways to a member were found so far.
pub(super) struct Ways {
    /// For the straight way, while another one is gone.
    looks: Backoff,
    /// For the other one, while neither leads there.
    tries: Backoff,
    /// For the other one, while the control plane does not let the synchro ask.
    refusals: Backoff,
    /// For a place on the other one.
    turns: Backoff,
    /// What came of the last try, and until when that has to do.
    tried: Option<(Around, Instant)>,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            looks: Backoff::new(FIRST_LOOK, LAST_LOOK),
            tries: Backoff::new(PROBE_PERIOD, LAST_TRY),
            refusals: Backoff::new(PROBE_PERIOD, LAST_REFUSED),
            turns: Backoff::new(PROBE_PERIOD, LAST_TRY),
            tried: None,
        }
    }
}

impl Ways {
    /// Asks a member its first questions on the first way that leads to it.
    pub(super) async fn find(
        &mut self,
        wanted: &Wanted,
        shared: &Shared,
        cluster: (&ClusterName, &str),
        discovery: &ByWay,
    ) -> Result<(Reached, Way), Unreached> {
        let sink = &*shared.sink;
        let straight = Way {
            member: Arc::clone(&wanted.member),
            around: None,
            _place: None,
        };
        let Some(by_control_plane) = &wanted.by_control_plane else {
            let reached = reach(&straight.member, sink, cluster, &discovery.straight).await?;
            return Ok((reached, straight));
        };
        let why = if wanted.connection.leads_straight() {
            let hurried = discovery.straight.hurried();
            match reach(&straight.member, sink, cluster, &hurried).await {
                Err(error) if error.is_out_of_reach() => error.to_string(),
                other => return other.map(|reached| (reached, straight)),
            }
        } else {
            "no credential of it is known here".to_owned()
        };
        wanted.member.leave_connections();
        if let Some((around, until)) = &self.tried
            && Instant::now() < *until
        {
            let around = around.clone();
            return Err(Unreached::Neither { why, around });
        }
        let place = match shared.by_control_plane.place() {
            Ok(place) => place,
            Err(most) => {
                let wait = self.turns.next(rand::random());
                return Err(self.leads_nowhere(why, Around::Full { most }, wait));
            }
        };
        self.turns.reset();
        let tried = reach(by_control_plane, sink, cluster, &discovery.around).await;
        self.tell(tried, why, wanted, (by_control_plane, place))
    }

    /// What came of asking the control plane.
    fn tell(
        &mut self,
        tried: Result<Reached, Unreached>,
        why: String,
        wanted: &Wanted,
        (by_control_plane, place): (&Arc<Member>, Place),
    ) -> Result<(Reached, Way), Unreached> {
        match tried {
            Ok(reached) => {
                self.tries.reset();
                self.refusals.reset();
                self.tried = None;
                let way = Way {
                    member: Arc::clone(by_control_plane),
                    around: Some(format!("{}: {why}", wanted.member.server())),
                    _place: Some(place),
                };
                Ok((reached, way))
            }
            Err(Unreached::Store(error)) => Err(Unreached::Store(error)),
            Err(error) => {
                by_control_plane.leave_connections();
                let retry = match refuses(&wanted.connection, &error) {
                    true => &mut self.refusals,
                    false => &mut self.tries,
                };
                let wait = retry.next(rand::random());
                Err(self.leads_nowhere(why, Around::Failed(told(&error)), wait))
            }
        }
    }

    /// Neither way leads to the member, which has to do for so long.
    fn leads_nowhere(&mut self, why: String, around: Around, wait: Duration) -> Unreached {
        self.tried = Some((around.clone(), Instant::now() + wait));
        Unreached::Neither { why, around }
    }

    /// The way led to the member for so long.
    pub(super) fn lasted(&mut self, way: &Way, time: Duration) {
        if way.around.is_none() && time >= LIVED {
            self.looks.reset();
        }
    }

    /// Until the API server answers straight all that it will be asked first, whatever it says: what is wrong with it is told where it is asked anew, as it
    /// would be after a restart. For ever on the straight way.
    pub(super) async fn straight_again(
        &mut self,
        wanted: &Wanted,
        way: &Way,
        discovery: ClusterDiscovery,
    ) {
        if way.around.is_none() || !wanted.connection.leads_straight() {
            std::future::pending::<()>().await;
        }
        let discovery = Arc::new(discovery);
        loop {
            tokio::time::sleep(self.looks.next(rand::random())).await;
            let (member, discovery) = (Arc::clone(&wanted.member), Arc::clone(&discovery));
            // Of its own, or its turn to be discovered would last for as long as the session does something else.
            let look = tokio::spawn(async move { answers(&member, &discovery).await });
            match AbortOnDropHandle::new(look).await {
                Ok(Err(error)) if error.is_out_of_reach() => wanted.member.leave_connections(),
                _ => return,
            }
        }
    }
}

/// Whether it is the control plane that refuses: what a member forbids is told of something else.
fn refuses(connection: &Connection, error: &Unreached) -> bool {
    let Some(proxy) = &connection.control_plane_proxy else {
        return false;
    };
    error.forbidden().is_some_and(|about| {
        about.group == proxy.group && about.kind == proxy.resource && about.name == proxy.name
    })
}

/// In words, with what would help.
fn told(error: &Unreached) -> String {
    match error.is_forbidden() {
        true => format!("{error}; {WHAT_IT_TAKES}"),
        false => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use armadex_crds::ControlPlaneProxy;
    use armadex_member::{MemberError, StatusDetails};
    use tokio::io::{AsyncWriteExt as _, BufReader, DuplexStream};
    use tokio::sync::watch;
    use tokio::time::timeout;

    use super::*;
    use crate::incoming::memory::ClusterMemory;
    use crate::session::in_line::InLine;
    use crate::session::plan::Scope;
    use crate::testing::request::{Request, through_pipes};

    /// A member that answers small questions, and what it serves once that is so.
    fn answering(discovered: &watch::Receiver<bool>) -> Arc<Member> {
        let discovered = discovered.clone();
        through_pipes(move |pipe| drop(tokio::spawn(answer(pipe, discovered.clone()))))
    }

    async fn answer(pipe: DuplexStream, mut discovered: watch::Receiver<bool>) {
        let mut socket = BufReader::new(pipe);
        let body = match Request::read(&mut socket).await.path.as_str() {
            "/version" => r#"{"gitVersion":"v1.36.0"}"#,
            "/api" | "/apis" => {
                // Whoever asked may have gone.
                let _ = discovered.wait_for(|is_so| *is_so).await;
                r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}"#
            }
            _ => r#"{"metadata":{"uid":"u"}}"#,
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let _ = socket.write_all(answer.as_bytes()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_member_that_answers_small_questions_alone_stays_on_the_other_way() {
        let (discovers, discovered) = watch::channel(false);
        let member = answering(&discovered);
        let wanted = Wanted {
            connection: Connection::plain("http://member"),
            member: Arc::clone(&member),
            by_control_plane: None,
            resources: Scope::default(),
        };
        let way = Way {
            member,
            around: Some("it was not reached".into()),
            _place: None,
        };
        let name = ClusterName::new("east").expect("a name");
        let memory = ClusterMemory::of_nobody_else();
        let discovery = ClusterDiscovery::new(Arc::default(), name, memory, InLine::default());
        let mut ways = Ways::default();
        let looks = 4 * LAST_LOOK;
        let looked = ways.straight_again(&wanted, &way, discovery.hurried());
        let straight = timeout(looks, looked).await;
        assert!(straight.is_err(), "it is not discovered");
        discovers.send_replace(true);
        let looked = ways.straight_again(&wanted, &way, discovery.hurried());
        let straight = timeout(looks, looked).await;
        assert!(straight.is_ok(), "it answers");
    }

    fn status(code: u16, about: Option<(&str, &str, &str)>) -> Unreached {
        let details = about.map(|(group, kind, name)| StatusDetails {
            group: group.into(),
            kind: kind.into(),
            name: name.into(),
        });
        let source = MemberError::Status {
            code,
            message: "no".into(),
            retry_after: None,
            fresh_token: None,
            details: details.map(Box::new),
        };
        let what = "health check";
        Unreached::Member { what, source }
    }

    /// Words do not tell them apart: a name that is asked for is quoted in them.
    #[test]
    fn the_control_plane_that_refuses_is_told_from_a_member_that_does() {
        let mut connection = Connection::plain("http://east");
        let east = ("cluster.karmada.io", "clusters", "east");
        assert!(!refuses(&connection, &status(403, Some(east))));
        connection.control_plane_proxy = Some(ControlPlaneProxy {
            group: "cluster.karmada.io".into(),
            version: "v1alpha1".into(),
            resource: "clusters".into(),
            name: "east".into(),
        });
        assert!(refuses(&connection, &status(403, Some(east))));
        for by_member in [
            None,
            Some(("", "", "")),
            Some(("", "groups", "\"clusters/proxy\"")),
            Some(("cluster.karmada.io", "clusters", "west")),
            Some(("cluster.example.com", "clusters", "east")),
        ] {
            let by_member = status(403, by_member);
            assert!(!refuses(&connection, &by_member), "{by_member:?}");
            assert!(told(&by_member).ends_with(WHAT_IT_TAKES));
        }
        let other = status(500, Some(east));
        assert!(!refuses(&connection, &other));
        assert_eq!(told(&other), "health check: no");
    }
}
