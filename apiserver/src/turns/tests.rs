use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::*;

const SIZES: TurnSizes = TurnSizes {
    at_once: 4,
    at_once_per_asker: 2,
    in_line: 10,
    in_line_per_asker: 5,
};

/// Somebody who has a turn or waits for it.
enum Wish {
    Waits(BoxFuture<'static, Result<Turn, Full>>),
    Has(Turn),
    Refused(Full),
}

fn wish(place: InLine) -> Wish {
    looked_at(place.turn().boxed())
}

fn looked_at(mut turn: BoxFuture<'static, Result<Turn, Full>>) -> Wish {
    match turn.as_mut().now_or_never() {
        Some(Ok(turn)) => Wish::Has(turn),
        Some(Err(full)) => Wish::Refused(full),
        None => Wish::Waits(turn),
    }
}

fn ask(turns: &Arc<Turns>, asker: &Asker) -> Wish {
    wish(turns.enter(asker).expect("room"))
}

fn many(turns: &Arc<Turns>, asker: &Asker, count: usize) -> Vec<Wish> {
    (0..count).map(|_| ask(turns, asker)).collect()
}

/// How many have a turn, looking again at those who waited.
fn having(wishes: &mut Vec<Wish>) -> usize {
    let looked = wishes.drain(..).map(|wish| match wish {
        Wish::Waits(turn) => looked_at(turn),
        other => other,
    });
    *wishes = looked.collect();
    let has = |wish: &&Wish| matches!(wish, Wish::Has(Turn { .. }));
    wishes.iter().filter(has).count()
}

fn from(address: u8, number: u64) -> Asker {
    Asker::stranger([10, 0, 0, address].into(), number)
}

fn is_empty(turns: &Turns) -> bool {
    let line = turns.line();
    (line.length, line.crowds.len(), line.free) == (0, 0, turns.sizes.at_once)
}

#[test]
fn whoever_asks_for_one_waits_for_no_line() {
    let turns = Turns::new(TurnSizes {
        in_line: usize::MAX,
        in_line_per_asker: usize::MAX,
        ..SIZES
    });
    let [alice, bob, carol, dave] = ["alice", "bob", "carol", "dave"].map(Asker::user);
    let mut of_alice = many(&turns, &alice, 10);
    assert_eq!(having(&mut of_alice), 2);
    let mut of_bob = many(&turns, &bob, 10);
    // The last one is for somebody who has none.
    assert_eq!(having(&mut of_bob), 1);
    let (mut of_carol, mut of_dave) = (many(&turns, &carol, 1), many(&turns, &dave, 1));
    assert_eq!((having(&mut of_carol), having(&mut of_dave)), (1, 0));
    // Of two that are given back the one who has none gets the first.
    of_alice.retain(|wish| matches!(wish, Wish::Waits(_)));
    assert_eq!((having(&mut of_dave), having(&mut of_alice)), (1, 1));
    drop((of_bob, of_carol, of_dave));
    assert_eq!(having(&mut of_alice), 2);
    drop(of_alice);
    assert!(is_empty(&turns));
}

#[test]
fn those_who_have_gone_away_are_passed_by() {
    let turns = Turns::new(TurnSizes {
        at_once: 1,
        ..SIZES
    });
    let (alice, bob) = (Asker::user("alice"), Asker::user("bob"));
    let first = ask(&turns, &alice);
    let gone = many(&turns, &bob, 4);
    let mut last = many(&turns, &bob, 1);
    drop(gone);
    assert_eq!(having(&mut last), 0);
    drop(first);
    assert_eq!(having(&mut last), 1);
    drop(last);
    assert!(matches!(ask(&turns, &alice), Wish::Has(_)));
    assert!(is_empty(&turns));
}

#[test]
fn one_asker_neither_fills_the_line_nor_takes_all_turns() {
    let (turns, alice, bob) = (Turns::new(SIZES), Asker::user("alice"), Asker::user("bob"));
    let mut of_alice = many(&turns, &alice, 5);
    assert_eq!(having(&mut of_alice), 2);
    assert_eq!(turns.enter(&alice).err(), Some(Full::OfAsker));
    assert!(matches!(ask(&turns, &bob), Wish::Has(_)));
}

#[test]
fn in_a_full_line_who_has_most_makes_room_until_all_have_as_much() {
    let (turns, askers) = (Turns::new(SIZES), ["a", "b", "c"].map(Asker::user));
    let mut places: Vec<_> = (0..10)
        .map(|number| turns.enter(&askers[number % 2]).expect("room"))
        .collect();
    let ours: Vec<_> = (0..3)
        .map(|_| turns.enter(&askers[2]).expect("room"))
        .collect();
    let sent_away = |place: &&InLine| place.sent_away().is_cancelled();
    assert_eq!(places.iter().filter(sent_away).count(), 3);
    assert_eq!(ours.iter().filter(sent_away).count(), 0);
    assert!(places[..6].iter().all(|place| !sent_away(&place)));
    assert_eq!(turns.enter(&askers[2]).err(), Some(Full::OfAll));
    let newest = wish(places.pop().expect("ten"));
    assert!(matches!(newest, Wish::Refused(Full::OfAll)));
    places.remove(0);
    assert!(turns.enter(&askers[2]).is_ok());
    drop((places, ours));
    assert!(is_empty(&turns));
}

#[test]
fn nobody_makes_room_who_has_a_turn() {
    let turns = Turns::new(TurnSizes {
        at_once: 2,
        in_line: 2,
        ..SIZES
    });
    let (alice, bob) = (Asker::user("alice"), Asker::user("bob"));
    let mut has_turn = many(&turns, &alice, 2);
    assert_eq!(having(&mut has_turn), 2);
    assert_eq!(turns.enter(&bob).err(), Some(Full::OfAll));
    drop(has_turn);
    assert!(turns.enter(&bob).is_ok());
}

#[test]
fn strangers_from_one_address_count_together() {
    let turns = Turns::new(SIZES);
    let mut crowd: Vec<_> = (0..10)
        .map(|number| ask(&turns, &from(1, number)))
        .collect();
    assert_eq!(having(&mut crowd), 3, "the last is for another address");
    let mut other = vec![ask(&turns, &from(2, 100))];
    assert_eq!(having(&mut other), 1);
    // One has made room, and it is not she who came last to an address with few.
    let refused = |wishes: &[Wish]| {
        let refused = wishes
            .iter()
            .filter(|wish| matches!(wish, Wish::Refused(_)));
        refused.count()
    };
    assert_eq!(having(&mut crowd), 3);
    assert_eq!((refused(&crowd), refused(&other)), (1, 0));
    // Of those of one address nobody has more than one, so that nobody makes room for one more.
    assert_eq!(turns.enter(&from(1, 11)).err(), Some(Full::OfAll));
    let next = ask(&turns, &from(3, 12));
    assert!(matches!(next, Wish::Waits(_)));
    let mut next = vec![next];
    crowd.remove(0);
    assert_eq!((having(&mut next), having(&mut crowd)), (1, 2));
    drop((crowd, other, next));
    assert!(is_empty(&turns));
}

#[test]
fn who_does_not_wait_has_a_turn_now_or_none() {
    let turns = Turns::new(SIZES);
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(Asker::user);
    let held: Vec<_> = [&alice, &alice, &alice, &bob, &bob, &carol, &carol]
        .into_iter()
        .filter_map(|asker| turns.now(asker))
        .collect();
    let of = |asker: &Asker| held.iter().filter(|turn| turn.asker == *asker).count();
    assert_eq!((of(&alice), of(&bob), of(&carol)), (2, 1, 1));
    drop(held);
    assert!(is_empty(&turns));
}
