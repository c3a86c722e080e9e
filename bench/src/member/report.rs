//! What was measured, and what it should have been. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ledger::{Counts, Purpose};
use super::role::Role;
use crate::table::{Row, at_most, told};

// Bounds are at most twice what was measured, unless they are an aim: what has come back then is seen.

/// A member of forty kinds is live within this, one after the other on two cores that everybody shares.
const SECONDS_PER_MEMBER: f64 = 0.1;
/// Starting counts as well where there are few. Turns that members hold which hang are lost after half a second each.
const SECONDS_AT_LEAST: f64 = 15.0;
/// How often a healthy member is asked how it is that sends anything: every 30 s.
const HEALTH_WHILE_HEARD: f64 = 1.0 / 25.0;
/// And one that is silent for 5 s now and then: each time.
const HEALTH: f64 = 1.0 / 4.0;
/// Each kind brings a bookmark a minute, so with so many of them a member is hardly ever silent for as long.
const HEARD_KINDS: usize = 24;
/// The rest: two documents of discovery a minute of those that do not tell what changes, and less of others.
const REQUESTS: f64 = 0.04;
/// Each watch anew, that lasts 460 to 580 s ...
const WATCHES_PER_KIND: f64 = 1.0 / 400.0;
/// ... but the first one, which lasts 120 to 290 s.
const FIRST_WATCHES_PER_KIND: f64 = 1.0 / 150.0;
const LONGEST_FIRST_WATCH: f64 = 290.0;
/// What a member is asked in a second that takes connections and says nothing: it is given 5 s, and tried again after 5.
const REQUESTS_UNANSWERED: f64 = 0.2;
/// What a member that refuses is asked in a second for each kind: every 15 to 30 s, so on average every 22.5 s, a watch and what has to be
/// known before it.
const REFUSED_PER_KIND: f64 = 2.0 / 20.0;
/// The same of one that stalls: each list keeps its turn for a while.
const STALLED_PER_KIND: f64 = 0.03;
/// Lines in a minute, whatever the fleet: an outage that goes on is no news, however many members have it.
const LINES: f64 = 4.0;
/// One of a member, of its watches, over which it is asked the rest as well. One more while it is listed.
const SOCKETS_PER_MEMBER: f64 = 1.3;
/// The control plane's, the store's, those of the API and of the admin port.
const SOCKETS: f64 = 40.0;
/// What a stream may hold while nothing happens.
const KIB_PER_STREAM: f64 = 12.0;
/// What may be busy while nothing happens, with so many streams.
const CORES: f64 = 0.02;
const STREAMS: f64 = 12_000.0;

/// What there is.
#[derive(Debug, Default, Serialize)]
pub(super) struct Plan {
    pub(super) members: BTreeMap<Role, usize>,
    pub(super) kinds: usize,
    /// Streams that have to become live.
    pub(super) streams: usize,
    /// Lists that have to end.
    pub(super) lists: usize,
    pub(super) rows: usize,
}

/// What happened in a window.
#[derive(Debug, Default, Serialize)]
pub(super) struct Window {
    pub(super) seconds: f64,
    /// Cores that Armadex kept busy.
    pub(super) cores: f64,
    pub(super) requests: Counts,
    pub(super) log_lines: usize,
}

/// What was measured.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) plan: Plan,
    pub(super) created_seconds: f64,
    /// From the first PediaCluster to the last watch of the healthy members.
    pub(super) live_seconds: f64,
    pub(super) stored_seconds: f64,
    pub(super) live_cpu_seconds: f64,
    pub(super) live_at_the_end: usize,
    pub(super) lists_begun: u64,
    pub(super) lists_ended: u64,
    pub(super) lists_expired: u64,
    pub(super) not_understood: u64,
    /// With changes.
    pub(super) trickling: Window,
    /// Without.
    pub(super) quiet: Window,
    /// From the last watch of the healthy members to the beginning of that.
    pub(super) quiet_after_seconds: f64,
    /// Changes that were made, and stored.
    pub(super) changes: (u64, u64),
    pub(super) sockets: u64,
    pub(super) before_mib: f64,
    pub(super) live_mib: f64,
    pub(super) quiet_mib: f64,
    pub(super) peak_mib: f64,
    pub(super) warnings: BTreeMap<String, usize>,
}

impl Report {
    /// Each figure and what it should be.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = vec![
            told("members", self.members()),
            told(
                "kinds, streams to become live, objects",
                format!(
                    "{}, {}, {}",
                    self.plan.kinds, self.plan.streams, self.plan.rows
                ),
            ),
        ];
        rows.extend(self.coming());
        rows.extend(self.requests());
        rows.extend([self.health(), self.watches()]);
        rows.extend(self.talk());
        rows.extend(self.memory());
        rows.extend(self.time());
        rows
    }

    fn count(&self, of: impl Fn(Role) -> bool) -> f64 {
        let members = self.plan.members.iter();
        let count: usize = members
            .filter(|(role, _)| of(**role))
            .map(|(_, count)| count)
            .sum();
        count as f64
    }

    fn all(&self) -> f64 {
        self.count(|_| true)
    }

    fn members(&self) -> String {
        let counts = self.plan.members.iter();
        let counts = counts.map(|(role, count)| format!("{count} {}", role.words()));
        counts.collect::<Vec<_>>().join(", ")
    }

    fn coming(&self) -> [Row; 7] {
        let limit = (self.all() * SECONDS_PER_MEMBER).max(SECONDS_AT_LEAST);
        let seconds = |seconds: f64| format!("{seconds:.1} s");
        [
            told("all PediaClusters created", seconds(self.created_seconds)),
            at_most("all healthy members live", self.live_seconds, limit, "s", 1),
            told("all objects stored", seconds(self.stored_seconds)),
            told("the same, CPU of Armadex", seconds(self.live_cpu_seconds)),
            self.lists(),
            exactly(
                "streams live at the end",
                self.live_at_the_end,
                self.plan.streams,
            ),
            exactly(
                "requests that no member understands",
                self.not_understood,
                0,
            ),
        ]
    }

    /// Each that began has ended, and none began twice.
    fn lists(&self) -> Row {
        let (begun, ended, expired) = (self.lists_begun, self.lists_ended, self.lists_expired);
        let wanted = self.plan.lists as u64;
        Row {
            what: "lists begun, ended, gone on with too late".to_owned(),
            measured: format!("{begun}, {ended}, {expired}"),
            aim: format!("{wanted}, {wanted}, 0"),
            met: (begun, ended, expired) == (wanted, wanted, 0),
        }
    }

    fn requests(&self) -> Vec<Row> {
        let present = self.plan.members.iter().filter(|(_, count)| **count > 0);
        present
            .map(|(&role, &count)| self.requests_of(role, count as f64))
            .collect()
    }

    fn requests_of(&self, role: Role, members: f64) -> Row {
        let kinds = self.plan.kinds as f64;
        let healthy = REQUESTS + self.most_health() + self.most_watches();
        let most = match role {
            Role::Healthy => healthy,
            Role::ForbidsAKind => healthy + REFUSED_PER_KIND,
            Role::RefusesWatches => REQUESTS + kinds * REFUSED_PER_KIND,
            Role::StallsInLists => REQUESTS + kinds * STALLED_PER_KIND,
            Role::Silent => REQUESTS_UNANSWERED,
        };
        let each = |count: u64| count as f64 / self.quiet.seconds / members;
        let purposes = self.quiet.requests.get(&role).into_iter().flatten();
        let parts: Vec<_> = purposes
            .clone()
            .filter(|(_, count)| **count > 0)
            .map(|(purpose, &count)| format!("{purpose:?} {:.3}", each(count)).to_lowercase())
            .collect();
        let sum = each(purposes.map(|(_, count)| count).sum());
        let what = format!("requests per second of a member {}", role.words());
        let row = at_most(&what, sum, most, "", 3);
        Row {
            measured: format!("{} ({})", row.measured, parts.join(", ")),
            ..row
        }
    }

    fn most_health(&self) -> f64 {
        match self.plan.kinds < HEARD_KINDS {
            true => HEALTH,
            false => HEALTH_WHILE_HEARD,
        }
    }

    fn most_watches(&self) -> f64 {
        let per_kind = match self.quiet_after_seconds < LONGEST_FIRST_WATCH {
            true => FIRST_WATCHES_PER_KIND,
            false => WATCHES_PER_KIND,
        };
        self.plan.kinds as f64 * per_kind
    }

    /// One of many purposes that is asked for too often would not be seen in the sum.
    fn health(&self) -> Row {
        let what = "health checks per second of a healthy member";
        at_most(
            what,
            self.of_healthy(Purpose::Health),
            self.most_health(),
            "",
            3,
        )
    }

    fn watches(&self) -> Row {
        let what = "watches per second of a healthy member";
        at_most(
            what,
            self.of_healthy(Purpose::Watch),
            self.most_watches(),
            "",
            3,
        )
    }

    fn of_healthy(&self, purpose: Purpose) -> f64 {
        let counts = self.quiet.requests.get(&Role::Healthy);
        let count = counts.and_then(|counts| counts.get(&purpose)).copied();
        let members = self.count(|role| role == Role::Healthy).max(1.0);
        count.unwrap_or_default() as f64 / self.quiet.seconds / members
    }

    fn talk(&self) -> [Row; 3] {
        let per_minute = |window: &Window| window.log_lines as f64 * 60.0 / window.seconds;
        let said = self.warnings.iter();
        let said: Vec<_> = said
            .map(|(said, count)| format!("{count} x {said}"))
            .collect();
        [
            at_most(
                "log lines per minute, with changes",
                per_minute(&self.trickling),
                LINES,
                "",
                1,
            ),
            at_most(
                "log lines per minute, when nothing happens",
                per_minute(&self.quiet),
                LINES,
                "",
                1,
            ),
            told("warnings since the first PediaCluster", said.join("; ")),
        ]
    }

    fn memory(&self) -> [Row; 6] {
        let streams = self.plan.streams.max(1) as f64;
        let sockets = SOCKETS + self.all() * SOCKETS_PER_MEMBER;
        let mib = |mib: f64| format!("{mib:.0} MiB");
        let held = (self.quiet_mib - self.before_mib) * 1024.0;
        let each = held / streams;
        [
            at_most("sockets", self.sockets as f64, sockets.ceil(), "", 0),
            told(
                "resident before the members, when all were live, at the end",
                [self.before_mib, self.live_mib, self.quiet_mib]
                    .map(mib)
                    .join(", "),
            ),
            told("peak resident", mib(self.peak_mib)),
            // Both are the sum of what a member costs and what a stream does, which two runs with other `--kinds` tell apart.
            told(
                "resident for each member",
                format!("{:.0} KiB", held / self.all().max(1.0)),
            ),
            at_most(
                "resident for each idle stream",
                each,
                KIB_PER_STREAM,
                "KiB",
                1,
            ),
            self.changes(),
        ]
    }

    fn changes(&self) -> Row {
        let (made, stored) = self.changes;
        exactly("changes stored of those that members told", stored, made)
    }

    fn time(&self) -> [Row; 2] {
        let most = CORES * (self.plan.streams as f64 / STREAMS).max(1.0);
        [
            told(
                "cores busy with changes",
                format!("{:.3}", self.trickling.cores),
            ),
            at_most(
                "cores busy when nothing happens",
                self.quiet.cores,
                most,
                "",
                3,
            ),
        ]
    }
}

fn exactly<T: Copy + PartialEq + std::fmt::Display>(what: &str, measured: T, wanted: T) -> Row {
    Row {
        what: what.to_owned(),
        measured: measured.to_string(),
        aim: wanted.to_string(),
        met: measured == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::missed;

    /// A thousand members as they should be, for half a minute.
    fn good() -> Report {
        let asked = |role, health, watches| {
            let purposes = [(Purpose::Health, health), (Purpose::Watch, watches)];
            (role, BTreeMap::from(purposes))
        };
        let quiet = Window {
            seconds: 30.0,
            cores: 0.06,
            requests: Counts::from([
                asked(Role::Healthy, 850, 850 * 30 / 13),
                asked(Role::ForbidsAKind, 50, 50 * 5),
                asked(Role::RefusesWatches, 0, 50 * 114),
                asked(Role::StallsInLists, 0, 25 * 19),
                asked(Role::Silent, 25 * 3, 0),
            ]),
            log_lines: 1,
        };
        let members = [
            (Role::Healthy, 850),
            (Role::ForbidsAKind, 50),
            (Role::RefusesWatches, 50),
            (Role::StallsInLists, 25),
            (Role::Silent, 25),
        ];
        Report {
            plan: Plan {
                members: members.into(),
                kinds: 40,
                streams: 36_000,
                lists: 36_000,
                rows: 1,
            },
            live_seconds: 50.0,
            live_at_the_end: 36_000,
            lists_begun: 36_000,
            lists_ended: 36_000,
            trickling: Window {
                seconds: 30.0,
                ..Window::default()
            },
            quiet,
            quiet_after_seconds: 300.0,
            changes: (600, 600),
            sockets: 1_100,
            before_mib: 40.0,
            quiet_mib: 400.0,
            ..Report::default()
        }
    }

    #[test]
    fn a_fleet_that_is_as_it_should_be_misses_nothing() {
        assert_eq!(missed(&good().rows()), Vec::<String>::new());
    }

    #[test]
    fn every_bound_is_held() {
        let check = |change: fn(&mut Report), word: &str| {
            let mut report = good();
            change(&mut report);
            let missed = missed(&report.rows());
            assert!(
                missed.len() == 1 && missed[0].contains(word),
                "{word}: {missed:?}"
            );
        };
        check(|report| report.live_seconds = 101.0, "live");
        check(|report| report.lists_begun += 1, "lists begun");
        check(|report| report.lists_ended -= 1, "lists begun");
        check(|report| report.lists_expired = 1, "too late");
        check(|report| report.live_at_the_end -= 1, "at the end");
        check(|report| report.not_understood = 1, "understands");
        check(|report| report.trickling.log_lines = 3, "with changes");
        check(|report| report.quiet.log_lines = 3, "nothing happens");
        check(|report| report.sockets = 5_000, "sockets");
        check(|report| report.quiet_mib = 500.0, "KiB");
        check(|report| report.changes.1 = 599, "changes stored");
        check(|report| report.quiet.cores = 0.07, "cores");
    }

    /// Each kind of member is asked twice as often as it was in [`good`], or somewhat more.
    #[test]
    fn every_bound_of_requests_is_held() {
        let asked = |role, purpose, count| {
            let mut report = good();
            let counts = report.quiet.requests.get_mut(&role).expect("counted");
            counts.insert(purpose, count);
            missed(&report.rows()).join("; ")
        };
        let others = [
            (Role::ForbidsAKind, Purpose::List, 50 * 10, "forbidden kind"),
            (Role::RefusesWatches, Purpose::Watch, 50 * 130, "refusing"),
            (Role::StallsInLists, Purpose::List, 25 * 19, "stalling"),
            (Role::Silent, Purpose::Health, 25 * 7, "silent"),
            (Role::Healthy, Purpose::Others, 850 * 3, "a member healthy"),
            // A probe every 5 s although it sends; watches that are never long; both within what may be asked in all.
            (Role::Healthy, Purpose::Health, 850 * 3 / 2, "health checks"),
            (
                Role::Healthy,
                Purpose::Watch,
                850 * 40 * 30 / 260,
                "watches per second",
            ),
        ];
        for (role, purpose, count, words) in others {
            let missed = asked(role, purpose, count);
            assert!(missed.contains(words), "{words}: {missed:?}");
        }
    }

    #[test]
    fn first_watches_end_sooner_and_few_kinds_are_silent() {
        let mut report = good();
        report.quiet_after_seconds = 130.0;
        let settled = good().most_watches();
        assert!(report.most_watches() > 2.0 * settled);
        report.plan.kinds = 2;
        assert!(report.most_health() > good().most_health());
    }
}
