//! What is synced stays until whole answers say that it is gone.

use std::collections::BTreeSet;

use super::super::chosen::resource_type;
use super::*;

const WHOLE: &[&str] = &["get", "list", "watch"];

/// A member's group `example.com` with these versions of `foos`; one with a `!` does not answer, one with a `-` lacks them.
fn answer(versions: &str) -> Discovery {
    let version = |word: &str| {
        let name = word.trim_end_matches(['!', '-']);
        match word.strip_prefix(name) {
            Some("!") => Version {
                name: name.into(),
                state: VersionState::Failed("it is down".into()),
            },
            Some("-") => served(name, vec![resource("bars", "bar", WHOLE)]),
            _ => served(name, vec![resource("foos", "foo", WHOLE)]),
        }
    };
    let versions: Vec<_> = versions.split_whitespace().map(version).collect();
    let group = Group { versions };
    let groups = (!group.versions.is_empty()).then(|| ("example.com".to_owned(), group));
    Discovery {
        groups: groups.into_iter().collect(),
    }
}

fn foos(version: &str) -> ResourceType {
    let found = resource("foos", "foo", WHOLE);
    resource_type("example.com", &served(version, vec![]), &found)
}

/// The plans that follow from these answers one after the other, while these versions are there.
fn plans<const N: usize>(asked: &str, stored: &str, answers: [&str; N]) -> [String; N] {
    let mut known = Known {
        types: stored.split_whitespace().map(foos).collect(),
        ..Known::default()
    };
    answers.map(|versions| {
        // No room for anything new: what is there is not.
        let plan = negotiate(&wanted(asked), &answer(versions), &known, &most_but(10, 10));
        known.doubted = &plan.kept.doubted | &plan.kept.gone;
        told(&plan)
    })
}

const DOWN: &str = "- foos.example.com/v2: it is down\nkept foos.example.com/v2";
const SECOND: &str = "foos.example.com/v2";
const FIRST: &str = "foos.example.com/v1";

#[test]
fn a_version_that_does_not_answer_is_not_replaced_by_another() {
    // Where both are asked for by hand, the other one is no other.
    let both = self::plans("example.com: foos @v1 @v2", "v2 v1", ["v2! v1", "v2 v1"]);
    let shown = [format!("{FIRST}\n{DOWN}"), format!("{FIRST}\n{SECOND}")];
    assert_eq!(both, shown);
    let asked = "example.com: foos";
    let plans = plans(asked, "v2", ["v2! v1", "v2! v1", "v2! v1", "v2 v1"]);
    assert_eq!(plans, [DOWN, DOWN, DOWN, SECOND]);
    for asked in ["example.com: *", "*: *"] {
        for plan in self::plans(asked, "v2", ["v2! v1", "v2! v1"]) {
            assert!(plan.contains("kept foos.example.com/v2"), "{asked}: {plan}");
            assert!(!plan.contains(FIRST), "{asked}: {plan}");
        }
    }
}

#[test]
fn a_group_that_answers_in_part_changes_nothing_that_is_there() {
    // Another version is down, be it better or worse than the one that is there.
    let told = plans(
        "example.com: foos",
        "v1",
        ["v2! v1", "v1 v2!", "v2- v1 v3!"],
    );
    assert_eq!(told, [FIRST, FIRST, FIRST]);
    // The version that is there is not told, but the answer is not whole.
    let told = plans("example.com: foos", "v2", ["v3! v1", "v2- v3! v1"]);
    for plan in told {
        assert!(plan.ends_with("kept foos.example.com/v2"), "{plan}");
    }
}

#[test]
fn whole_answers_are_believed_when_they_agree() {
    let [first, second] = plans("example.com: foos", "v2", ["v1", "v1"]);
    assert!(first.ends_with("kept foos.example.com/v2"), "{first}");
    assert_eq!(second, FIRST);
    // A version that the member prefers now.
    let told = plans("example.com: foos", "v1", ["v2 v1", "v2 v1"]);
    assert_eq!(told, [FIRST, SECOND]);
    // It was nothing.
    let told = plans("example.com: foos", "v2", ["v1", "v2 v1", "v1"]);
    assert!(told[0].ends_with("kept foos.example.com/v2"), "{told:?}");
    assert_eq!(told[1], SECOND);
    assert!(told[2].ends_with("kept foos.example.com/v2"), "{told:?}");
}

/// While one has to do for another.
#[test]
fn of_two_versions_that_are_there_none_goes_by_one_answer_that_lacks_it() {
    for stored in ["v1 v2", "v2 v1"] {
        let lagging = format!("{FIRST}\nkept {SECOND}");
        let answers = ["v2 v1", "v1", "v2 v1", "v1", "v2! v1", "v1", "v1", "v1"];
        let told = plans("example.com: foos", stored, answers);
        let unproven = [&told[1], &told[3], &told[4], &told[5]];
        assert_eq!(unproven, [&lagging; 4], "{stored}");
        assert_eq!([&*told[0], &told[2]], [SECOND; 2], "{stored}");
        assert_eq!([&*told[6], &told[7]], [FIRST; 2], "it is gone: {stored}");
        // The former one, and neither of them.
        let told = plans("example.com: foos", stored, ["v2", "v2", "v2", "v2 v1"]);
        assert_eq!(told[0], format!("{SECOND}\nkept {FIRST}"), "{stored}");
        assert_eq!(&told[1..], [SECOND; 3], "{stored}");
        let [none, partly] = plans("example.com: foos", stored, ["", "v2! v1!"]);
        for plan in [none, partly] {
            let both = format!("kept {FIRST}\nkept {SECOND}");
            assert!(plan.ends_with(&both), "{stored}: {plan}");
        }
    }
}

#[test]
fn of_two_versions_that_are_there_the_one_that_comes_first_makes_room_for_another() {
    for stored in ["v1 v2", "v2 v1"] {
        let answers = ["v3 v2 v1", "v3 v2 v1"];
        let told = plans("example.com: foos", stored, answers);
        assert_eq!(told, [SECOND, "foos.example.com/v3"], "{stored}");
    }
}

#[test]
fn a_version_that_is_kept_beside_another_takes_no_place() {
    let bars = resource("bars", "bar", WHOLE);
    let version = served("v1", vec![resource("foos", "foo", WHOLE), bars.clone()]);
    let bars = resource_type("example.com", &version, &bars);
    let group = Group {
        versions: vec![version],
    };
    let served = Discovery {
        groups: [("example.com".to_owned(), group)].into(),
    };
    let known = Known {
        types: vec![bars.clone(), foos("v1"), foos("v2")],
        ..Known::default()
    };
    let plan = negotiate(&wanted("example.com: *"), &served, &known, &most(2));
    assert_eq!(plan.types, [bars, foos("v1")]);
    assert_eq!(plan.kept.types, [foos("v2").gvr].into());
}

#[test]
fn one_version_that_was_listed_has_to_do_until_the_planned_one_is() {
    let plan = Plan {
        types: vec![foos("v4")],
        replaced: vec![foos("v3"), foos("v2")],
        ..Plan::default()
    };
    let check = |listed: &[&str], expected: &[&str]| {
        let gvrs = |versions: &[&str]| -> BTreeSet<_> {
            let types = versions.iter().map(|version| foos(version));
            types.map(|found| found.gvr).collect()
        };
        let of_others = GroupVersionResource::new("example.com", "v3", "bars");
        let all = gvrs(listed);
        let all = all.iter().chain([&of_others]).collect();
        assert_eq!(plan.have_to_do(&all, &[]), gvrs(expected), "{listed:?}");
    };
    check(&[], &[]);
    check(&["v2"], &["v2"]);
    check(&["v2", "v3"], &["v3"]);
    // What is served no more is shown all the same, unless there is better.
    check(&["v1"], &["v1"]);
    check(&["v0", "v1"], &["v0"]);
    check(&["v1", "v2"], &["v2"]);
    check(&["v2", "v4"], &[]);
}

#[test]
fn one_version_that_was_listed_has_to_do_while_one_that_was_not_is_kept() {
    let plan = Plan {
        kept: Kept {
            types: [foos("v2").gvr].into(),
            ..Kept::default()
        },
        ..Plan::default()
    };
    let (former, kept) = (foos("v1").gvr, foos("v2").gvr);
    let have_to_do = plan.have_to_do(&[&former].into(), &[]);
    assert_eq!(have_to_do, BTreeSet::from([former.clone()]));
    let have_to_do = plan.have_to_do(&[&former, &kept].into(), &[]);
    assert_eq!(have_to_do, BTreeSet::new());
}

/// It is shown with what it has, and what comes in its place is not, before that was listed.
#[test]
fn one_version_that_is_listed_anew_has_to_do_where_none_has_been() {
    let [v1, v2, v3] = ["v1", "v2", "v3"].map(|version| foos(version).gvr);
    let plan = Plan {
        types: vec![foos("v3")],
        replaced: vec![foos("v2"), foos("v1")],
        ..Plan::default()
    };
    let check = |listed: &[&GroupVersionResource], with_rows: &[&_], expected: &[&_]| {
        let have_to_do = plan.have_to_do(&listed.iter().copied().collect(), with_rows);
        assert_eq!(have_to_do.iter().collect::<Vec<_>>(), expected);
    };
    check(&[], &[&v1], &[&v1]);
    check(&[], &[&v1, &v3], &[&v1]);
    check(&[], &[&v3], &[]);
    // The other one is hidden beside it.
    check(&[], &[&v1, &v2], &[&v1]);
    check(&[&v1], &[&v1, &v2], &[&v1]);
    check(&[&v3], &[&v1, &v3], &[]);
}

/// Which lets none of them be listed but the first.
#[test]
fn a_member_that_puts_one_version_after_another_first_has_two_streams_of_it() {
    let listed = foos("v1").gvr;
    for others_are_served in [true, false] {
        let mut known = Known {
            types: vec![foos("v1")],
            ..Known::default()
        };
        for newest in 2..10 {
            let last = if others_are_served { 1 } else { newest };
            let answer = (last..=newest).rev();
            let answer: Vec<_> = answer.map(|version| format!("v{version}")).collect();
            for _ in 0..2 {
                let served = self::answer(&answer.join(" "));
                let wanted = wanted("example.com: foos");
                let plan = negotiate(&wanted, &served, &known, &most(10));
                let have_to_do = plan.have_to_do(&[&listed].into(), &[]);
                let stays =
                    |gvr: &GroupVersionResource| plan.keeps(gvr) || have_to_do.contains(gvr);
                known.types.retain(|known| stays(&known.gvr));
                let begun = plan
                    .types
                    .iter()
                    .filter(|found| !known.types.contains(found));
                let begun = Vec::from_iter(begun.cloned());
                known.types.extend(begun);
                known.doubted = &plan.kept.doubted | &plan.kept.gone;
            }
            let newest = foos(&format!("v{newest}"));
            assert_eq!(known.types, [foos("v1"), newest]);
        }
    }
}

/// As of API servers one of which lags: what is being listed is not given up for one answer.
#[test]
fn an_answer_in_another_order_is_believed_the_second_time() {
    let mut known = Known {
        types: vec![foos("v1"), foos("v2")],
        listed: [foos("v1").gvr].into(),
        ..Known::default()
    };
    let mut keeps_second = |served: &str| {
        let plan = negotiate(
            &wanted("example.com: foos"),
            &answer(served),
            &known,
            &most(10),
        );
        known.doubted = &plan.kept.doubted | &plan.kept.gone;
        plan.keeps(&foos("v2").gvr)
    };
    assert!(keeps_second("v1 v2"));
    assert!(keeps_second("v2 v1"), "the other one was in order");
    assert!(keeps_second("v1 v2"), "again it is the first");
    assert!(!keeps_second("v1 v2"));
}

#[test]
fn who_has_too_many_new_versions_keeps_the_former_ones() {
    let new = most_but(1, 1);
    assert!(new.replaces(&foos("v9").gvr));
    let stays = |served: &str| {
        let known = Known {
            types: vec![foos("v1")],
            doubted: [foos("v1").gvr].into(),
            ..Known::default()
        };
        let plan = negotiate(&wanted("example.com: foos"), &answer(served), &known, &new);
        assert!(!plan.kept.is_doubted(), "it is known what becomes of it");
        assert_eq!((plan.wait, plan.kept.doubted), (1, known.doubted));
        let mut missing = plan.missing.iter();
        let rest = missing.find(|missing| missing.resource == "*").unwrap();
        assert!(
            rest.why.starts_with("of others another version"),
            "{}",
            rest.why
        );
        (plan.types, plan.kept.types)
    };
    assert_eq!(stays("v2 v1"), (vec![foos("v1")], [].into()));
    assert_eq!(stays("v2"), (vec![], [foos("v1").gvr].into()));
}

#[test]
fn a_group_that_is_gone_is_gone_the_second_time() {
    let [first, second] = plans("example.com: foos", "v2", ["", ""]);
    let gone = "- foos.example.com/: the member has no such group";
    assert_eq!(first, format!("{gone}\nkept foos.example.com/v2"));
    assert_eq!(second, gone);
}

#[test]
fn what_is_not_asked_for_any_more_goes_at_once() {
    for asked in ["example.com: bars", "example.com: foos @v1", ": pods"] {
        let [plan] = plans(asked, "v2", ["v2! v1"]);
        assert!(!plan.contains("kept"), "{asked}: {plan}");
    }
}

#[test]
fn a_type_that_is_described_anew_is_one_stream() {
    let mut before = foos("v2");
    before.short_names = vec!["fo".into()];
    let known = Known {
        types: vec![before.clone()],
        ..Known::default()
    };
    let plan = negotiate(
        &wanted("example.com: foos"),
        &answer("v2"),
        &known,
        &most(usize::MAX),
    );
    assert!(!plan.runs_on(&before), "its stream begins anew");
    assert!(plan.keeps(&before.gvr), "its rows stay");
}

/// Of a version that does not answer everything stays that was ever told of it.
#[test]
fn a_member_that_tells_other_names_each_time_has_no_more_streams_than_it_may() {
    const MOST: usize = 10;
    let mut known = Known::default();
    for answer in 0..10 {
        let names = (0..MOST).map(|number| format!("r{answer}x{number}"));
        let resources = names.map(|name| resource(&name, "", WHOLE)).collect();
        let down = Version {
            name: "v2".into(),
            state: VersionState::Failed("it is down".into()),
        };
        let group = Group {
            versions: vec![down, served("v1", resources)],
        };
        let served = Discovery {
            groups: [("example.com".to_owned(), group)].into(),
        };
        let plan = negotiate(&wanted("example.com: *"), &served, &known, &most(MOST));
        let known_before = known.types.iter().cloned();
        known.types = known_before
            .filter(|resource| plan.runs_on(resource))
            .chain(plan.types.iter().cloned())
            .collect();
        assert_eq!(known.types.len(), MOST);
        if answer > 0 {
            let beyond = |missing: &Missing| missing.why.starts_with("10 more resources");
            assert!(plan.missing.iter().any(beyond), "{:?}", plan.missing);
        }
    }
}
