//! The ways to a member: straight to its API server, and by the control plane where that cannot be reached from here, or no credential of it is known.
//!
//! An API server that answers is never passed by, whatever it says: that a credential is refused, or that it is somebody else, is told.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::{Backoff, LIVED};
use armadex_member::{Connection, Member};
use armadex_model::ClusterName;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use crate::config::Shared;
use crate::session::by_control_plane::{ByControlPlane, Place};
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
/// The other way counts as shut when it has led nowhere for so long: a control plane that restarts is there again by then.
const GONE: Duration = Duration::from_secs(300);
/// Who was waited for in full, and in vain, is not for as long, and then for longer: a fleet may have a thousand behind a network that lets small answers through alone, and
/// they would keep those waiting who are slow.
const FIRST_IN_FULL: Duration = Duration::from_secs(120);
const LAST_IN_FULL: Duration = Duration::from_secs(6 * 60 * 60);
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

impl Way {
    fn straight(wanted: &Wanted) -> Self {
        Self {
            member: Arc::clone(&wanted.member),
            around: None,
            _place: None,
        }
    }
}

/// The way by the control plane.
struct Other<'a, A> {
    member: &'a Arc<Member>,
    places: &'a ByControlPlane,
    ask: A,
}

/// Which way came to its end.
enum Either {
    /// The straight one, so.
    Straight(Result<Reached, Unreached>),
    /// The other one, which leads there.
    Around(Result<(Reached, Way), Unreached>),
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
    /// For the straight one, to be waited for in full.
    in_full: Backoff,
    /// When that is due again, if it was in vain.
    in_full_again: Option<Instant>,
    /// Since when the other way leads nowhere, whenever it is tried.
    nowhere: Option<Instant>,
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
            in_full: Backoff::new(FIRST_IN_FULL, LAST_IN_FULL),
            in_full_again: None,
            nowhere: None,
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
        let ask = |member, discovery| reach(member, &*shared.sink, cluster, discovery);
        let Some(by_control_plane) = &wanted.by_control_plane else {
            let reached = ask(&wanted.member, &discovery.straight).await?;
            return Ok((reached, Way::straight(wanted)));
        };
        let around = Other {
            member: by_control_plane,
            places: &shared.by_control_plane,
            ask: || ask(by_control_plane, &discovery.around),
        };
        if !wanted.connection.leads_straight() {
            let why = "no credential of it is known here".to_owned();
            return self.around(wanted, &around, why).await;
        }
        let in_full = self.is_to_be_waited_for();
        let asked = match in_full {
            false => ask(&wanted.member, &discovery.hurried).await,
            true => {
                let straight = std::pin::pin!(ask(&wanted.member, &discovery.straight));
                match self.either(wanted, straight, &around).await {
                    Either::Straight(asked) => asked,
                    Either::Around(found) => {
                        wanted.member.leave_connections();
                        return found;
                    }
                }
            }
        };
        match asked {
            Err(error) if error.is_out_of_reach() => {
                if in_full && error.fell_silent() {
                    let wait = self.in_full.next(rand::random());
                    self.in_full_again = Some(Instant::now() + wait);
                }
                wanted.member.leave_connections();
                self.around(wanted, &around, error.to_string()).await
            }
            other => {
                self.in_full.reset();
                (self.in_full_again, self.nowhere, self.tried) = (None, None, None);
                other.map(|reached| (reached, Way::straight(wanted)))
            }
        }
    }

    /// Whether the straight way is waited for in full: the other one is known to be shut, or has led nowhere for long, and it was not waited for in vain a while ago.
    fn is_to_be_waited_for(&self) -> bool {
        let now = Instant::now();
        let is_gone = self.nowhere.is_some_and(|since| now >= since + GONE);
        let is_shut = |(tried, _): &(Around, Instant)| tried.is_shut() || is_gone;
        self.tried.as_ref().is_some_and(is_shut) && self.in_full_again.is_none_or(|due| due <= now)
    }

    /// Waits for the straight way, which may stand in a long line, and tries the other one meanwhile whenever that is due.
    async fn either<F: Future<Output = Result<Reached, Unreached>>>(
        &mut self,
        wanted: &Wanted,
        mut straight: Pin<&mut impl Future<Output = Result<Reached, Unreached>>>,
        around: &Other<'_, impl Fn() -> F>,
    ) -> Either {
        loop {
            let due = self.tried.as_ref().map(|(_, until)| *until);
            tokio::select! {
                asked = &mut straight => return Either::Straight(asked),
                () = sleep_until(due.unwrap_or_else(Instant::now)) => {}
            }
            let why = "it is waited for longer than usual".to_owned();
            tokio::select! {
                asked = &mut straight => {
                    around.member.leave_connections();
                    return Either::Straight(asked);
                }
                found = self.around(wanted, around, why) => match found {
                    Err(Unreached::Neither { .. }) => {}
                    found => return Either::Around(found),
                },
            }
        }
    }

    /// Asks the control plane, unless it is known what comes of that.
    async fn around<F: Future<Output = Result<Reached, Unreached>>>(
        &mut self,
        wanted: &Wanted,
        around: &Other<'_, impl Fn() -> F>,
        why: String,
    ) -> Result<(Reached, Way), Unreached> {
        if let Some((around, until)) = &self.tried
            && Instant::now() < *until
        {
            let around = around.clone();
            return Err(Unreached::Neither { why, around });
        }
        let place = match around.places.place() {
            Ok(place) => place,
            Err(most) => {
                let wait = self.turns.next(rand::random());
                return Err(self.leads_nowhere(why, Around::Full { most }, wait));
            }
        };
        self.turns.reset();
        let tried = (around.ask)().await;
        self.tell(tried, why, wanted, (around.member, place))
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
                (self.nowhere, self.tried) = (None, None);
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
                self.nowhere.get_or_insert_with(Instant::now);
                let retry = match refuses(&wanted.connection, &error) {
                    true => &mut self.refusals,
                    false => &mut self.tries,
                };
                let wait = retry.next(rand::random());
                Err(self.leads_nowhere(why, told(&error), wait))
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
            self.tries.reset();
            self.refusals.reset();
        }
    }

    /// Until the API server answers straight all that it will be asked first, whatever it says: what is wrong with it is told where it is asked anew, as it
    /// would be after a restart. For ever on the straight way.
    pub(super) async fn straight_again(
        &mut self,
        wanted: &Wanted,
        way: &Way,
        cluster: &ClusterName,
        discovery: Arc<ClusterDiscovery>,
    ) {
        if way.around.is_none() || !wanted.connection.leads_straight() {
            std::future::pending::<()>().await;
        }
        loop {
            tokio::time::sleep(self.looks.next(rand::random())).await;
            let (member, discovery) = (Arc::clone(&wanted.member), Arc::clone(&discovery));
            let cluster = cluster.clone();
            // Of its own, or its turn to be discovered would last for as long as the session does something else.
            let look = tokio::spawn(async move { answers(&member, &cluster, &discovery).await });
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
fn told(error: &Unreached) -> Around {
    match error.is_forbidden() {
        true => Around::Refused(format!("{error}; {WHAT_IT_TAKES}")),
        false => Around::Failed(error.to_string()),
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
    use crate::config::Config;
    use crate::incoming::memory::ClusterMemory;
    use crate::session::discoveries::DiscoveriesByWay;
    use crate::session::in_line::InLine;
    use crate::session::plan::Scope;
    use crate::testing::Stage;
    use crate::testing::request::{Request, through_pipes};

    /// A member that answers small questions, and what it serves once that is so.
    fn answering(discovered: &watch::Receiver<bool>) -> Arc<Member> {
        let discovered = discovered.clone();
        serving(move || {
            let mut discovered = discovered.clone();
            async move {
                // Whoever asked may have gone.
                let _ = discovered.wait_for(|is_so| *is_so).await;
            }
        })
    }

    /// The same, once this is over.
    fn serving<F: Future<Output = ()> + Send + 'static>(
        discovered: impl Fn() -> F + Send + Sync + 'static,
    ) -> Arc<Member> {
        through_pipes(move |pipe| drop(tokio::spawn(answer(pipe, discovered()))))
    }

    async fn answer(pipe: DuplexStream, discovered: impl Future<Output = ()>) {
        let mut socket = BufReader::new(pipe);
        let body = match Request::read(&mut socket).await.path.as_str() {
            "/version" => r#"{"gitVersion":"v1.36.0"}"#,
            "/api" | "/apis" => {
                discovered.await;
                r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}"#
            }
            _ => r#"{"metadata":{"uid":"u"}}"#,
        };
        say(socket, "200 OK", body).await;
    }

    async fn say(mut socket: BufReader<DuplexStream>, status: &str, body: &str) {
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let _ = socket.write_all(answer.as_bytes()).await;
    }

    /// What stands for a member whose control plane refuses all that is asked of it, or fails.
    fn saying(status: &'static str) -> Arc<Member> {
        through_pipes(move |pipe| {
            drop(tokio::spawn(refuse(pipe, status)));
        })
    }

    async fn refuse(pipe: DuplexStream, status: &str) {
        let mut socket = BufReader::new(pipe);
        Request::read(&mut socket).await;
        say(socket, status, r#"{"kind":"Status","message":"no"}"#).await;
    }

    /// A member that may be asked on either way, by a synchro that asks so many by the control plane.
    struct Journey {
        _stage: Stage,
        shared: Arc<Shared>,
        discovery: ByWay,
        wanted: Wanted,
        ways: Ways,
    }

    impl Journey {
        /// The clock stands still from here on.
        async fn begin(most: usize, straight: Arc<Member>, around: Arc<Member>) -> Self {
            let stage = Stage::new().await;
            let config = Config {
                max_by_control_plane: most,
                ..Config::default()
            };
            let shared = stage.shared("one", config);
            // What the member says is not stored: a store takes its time.
            stage.breaking.refuse("adopt", usize::MAX);
            let (name, memory) = (east(), ClusterMemory::of_nobody_else());
            let discovery = ByWay::among(&shared.discoveries, &name, &memory, &InLine::default());
            tokio::time::pause();
            let wanted = Wanted {
                connection: Connection::plain("http://member"),
                member: straight,
                by_control_plane: Some(around),
                resources: Scope::default(),
            };
            Self {
                _stage: stage,
                shared,
                discovery,
                wanted,
                ways: Ways::default(),
            }
        }

        /// Whether the member has answered all that it is asked first.
        async fn is_reached(&mut self) -> bool {
            let (name, discovery) = (east(), &self.discovery);
            let cluster = (&name, "uid");
            let found = self
                .ways
                .find(&self.wanted, &self.shared, cluster, discovery);
            match found.await.map(drop) {
                Err(Unreached::Store(_)) => true,
                Err(Unreached::Neither { .. }) => false,
                other => panic!("{other:?}"),
            }
        }
    }

    fn east() -> ClusterName {
        ClusterName::new("east").expect("a name")
    }

    /// What a member is waited for that may be asked on another way: two seconds among those that are quick, and ten; and a moment.
    const HURRIED: Duration = Duration::from_secs(13);

    fn slow() -> Arc<Member> {
        serving(|| tokio::time::sleep(Duration::from_secs(15)))
    }

    #[tokio::test]
    async fn a_slow_member_is_waited_for_where_the_other_way_is_refused_or_has_no_place() {
        for (most, around) in [(1, saying("403 Forbidden")), (0, saying("200 OK"))] {
            let mut journey = Journey::begin(most, slow(), around).await;
            let reached = [journey.is_reached().await, journey.is_reached().await];
            assert_eq!(reached, [false, true], "{most}");
            tokio::time::resume();
        }
    }

    /// It would keep those waiting who are slow, and not be asked on the other way meanwhile.
    #[tokio::test]
    async fn who_was_waited_for_in_vain_is_not_for_a_while() {
        let hangs = serving(std::future::pending);
        let mut journey = Journey::begin(1, hangs, saying("403 Forbidden")).await;
        let mut waited = Vec::new();
        for _ in 0..5 {
            let begun = Instant::now();
            assert!(!journey.is_reached().await);
            waited.push(begun.elapsed() > HURRIED);
        }
        assert_eq!(waited, [false, true, false, false, false]);
    }

    /// A whole fleet would stand in the slowest line for it.
    #[tokio::test]
    async fn a_slow_member_is_not_waited_for_where_the_other_way_is_gone_for_a_moment() {
        let away = saying("503 Service Unavailable");
        let mut journey = Journey::begin(1, slow(), away).await;
        for _ in 0..3 {
            let begun = Instant::now();
            assert!(!journey.is_reached().await);
            assert!(begun.elapsed() <= HURRIED, "{:?}", begun.elapsed());
        }
    }

    /// A blip of long ago is none of now.
    #[tokio::test]
    async fn how_long_the_other_way_is_gone_counts_from_when_the_straight_one_failed_last() {
        let away = saying("503 Service Unavailable");
        let mut journey = Journey::begin(1, slow(), Arc::clone(&away)).await;
        assert!(!journey.is_reached().await);
        journey.wanted.member = serving(|| std::future::ready(()));
        assert!(journey.is_reached().await);
        tokio::time::advance(2 * GONE).await;
        journey.wanted.member = slow();
        for _ in 0..3 {
            let begun = Instant::now();
            assert!(!journey.is_reached().await);
            assert!(begun.elapsed() <= HURRIED, "{:?}", begun.elapsed());
        }
    }

    /// The line of those that are waited for in full may be hours long.
    #[tokio::test]
    async fn who_is_waited_for_in_full_is_asked_on_the_other_way_meanwhile() {
        let (opens, opened) = watch::channel(false);
        let around = through_pipes(move |pipe| {
            match *opened.borrow() {
                true => drop(tokio::spawn(answer(pipe, std::future::ready(())))),
                false => drop(tokio::spawn(refuse(pipe, "403 Forbidden"))),
            };
        });
        let mut journey = Journey::begin(1, serving(std::future::pending), around).await;
        assert!(!journey.is_reached().await);
        let shared = Arc::clone(&journey.shared);
        let _turns = shared.discoveries.straight.all_slow_turns();
        let begun = Instant::now();
        let mut reached = std::pin::pin!(journey.is_reached());
        assert!(
            timeout(Duration::from_secs(3600), &mut reached)
                .await
                .is_err()
        );
        opens.send_replace(true);
        assert!(reached.await);
        assert!(begun.elapsed() < Duration::from_secs(3600) + 2 * LAST_REFUSED);
    }

    /// As HTTP/2 ends a connection over which nothing comes any more.
    #[tokio::test]
    async fn whose_connection_ends_in_the_middle_was_waited_for_in_vain() {
        let ends = through_pipes(|pipe| {
            drop(tokio::spawn(async move {
                let mut socket = BufReader::new(pipe);
                match Request::read(&mut socket).await.path.as_str() {
                    "/api" | "/apis" => tokio::time::sleep(Duration::from_secs(15)).await,
                    "/version" => say(socket, "200 OK", r#"{"gitVersion":"v1.36.0"}"#).await,
                    _ => say(socket, "200 OK", r#"{"metadata":{"uid":"u"}}"#).await,
                }
            }));
        });
        let mut journey = Journey::begin(1, ends, saying("403 Forbidden")).await;
        let mut waited = Vec::new();
        for _ in 0..3 {
            let begun = Instant::now();
            assert!(!journey.is_reached().await);
            waited.push(begun.elapsed() > HURRIED);
        }
        assert_eq!(waited, [false, true, false]);
    }

    #[tokio::test]
    async fn a_slow_member_is_waited_for_where_the_other_way_is_gone_for_long() {
        let away = saying("502 Bad Gateway");
        let mut journey = Journey::begin(1, slow(), away).await;
        let begun = Instant::now();
        while !journey.is_reached().await {
            assert!(begun.elapsed() < 2 * GONE, "never");
            tokio::time::advance(Duration::from_secs(20)).await;
        }
        assert!(begun.elapsed() >= GONE);
    }

    #[tokio::test]
    async fn whoever_goes_away_while_the_control_plane_is_asked_leaves_its_place() {
        let [straight, around] = [(); 2].map(|()| serving(std::future::pending));
        let mut journey = Journey::begin(1, straight, around).await;
        let metrics = Arc::clone(&journey.shared.metrics);
        {
            let mut asked = std::pin::pin!(journey.is_reached());
            let while_asked = HURRIED + Duration::from_secs(1);
            assert!(timeout(while_asked, &mut asked).await.is_err());
            assert_eq!(metrics.by_control_plane.get(), 1);
        }
        assert_eq!(metrics.by_control_plane.get(), 0);
        assert!(journey.shared.by_control_plane.place().is_ok());
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
        let (name, memory) = (east(), ClusterMemory::of_nobody_else());
        let all = DiscoveriesByWay::default();
        let discovery = ByWay::among(&all, &name, &memory, &InLine::default());
        let mut ways = Ways::default();
        let looks = 4 * LAST_LOOK;
        let looked = ways.straight_again(&wanted, &way, &name, Arc::clone(&discovery.hurried));
        let straight = timeout(looks, looked).await;
        assert!(straight.is_err(), "it is not discovered");
        discovers.send_replace(true);
        let looked = ways.straight_again(&wanted, &way, &name, Arc::clone(&discovery.hurried));
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
        let advice = String::new();
        Unreached::Member {
            what,
            source,
            advice,
        }
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
            let told = told(&by_member);
            assert!(told.is_shut() && told.to_string().ends_with(WHAT_IT_TAKES));
        }
        let other = status(500, Some(east));
        assert!(!refuses(&connection, &other));
        let told = told(&other);
        assert!(!told.is_shut());
        assert_eq!(told.to_string(), "health check: no");
    }
}
