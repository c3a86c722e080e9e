//! What holds for every way of writing: right, in proportion, and in pieces of a known size.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::answer::budget::{Allowance, Budget};
use crate::answer::lines::DEEPEST;
use crate::answer::outbox::OUTBOX;
use crate::counters::Counters;

/// A comma or a bracket may cost a line with all the blanks that one can have, and a sign.
const MOST_PER_BYTE: usize = 2 * DEEPEST + 6;

fn ways() -> [Rewrite; 2] {
    [
        Rewrite::to(Notation::Json, true),
        Rewrite::to(Notation::Yaml, false),
    ]
}

#[track_caller]
fn check_length(json: &str) {
    for way in ways() {
        let name = format!("{way:?}");
        let length = way.whole(json.as_bytes().to_vec()).len();
        let most = MOST_PER_BYTE * json.len();
        assert!(length <= most, "{length} of {} bytes as {name}", json.len());
    }
}

/// Brackets, and numbers within them.
fn nested(open: &str, close: &str, depth: usize, inside: &str) -> String {
    open.repeat(depth) + inside + &close.repeat(depth)
}

#[test]
fn brackets_without_end_cost_no_more_than_a_few_lines_each() {
    let numbers = "1,".repeat(10_000) + "1";
    for depth in [1, DEEPEST, DEEPEST + 1, 9_000] {
        check_length(&nested("[", "]", depth, &numbers));
        check_length(&nested("[{\"\":", "}]", depth, "[]"));
        check_length(&nested("{\"\":", "}", depth, "\"\\n\\na\\nb\\n\\n\""));
    }
    check_length("\"\\u0001\u{7f}\u{85}\"");
}

#[test]
fn what_is_nested_too_deep_for_lines_is_still_there() {
    // The reader goes 64 deep, and no further than that.
    for depth in [DEEPEST / 2 - 1, DEEPEST / 2, DEEPEST - 5, DEEPEST - 2] {
        let inside = r#"[[],{},"a: b",{"c d":"true","e":[-1.5,null,"x\ny\"\\é😀",{"":""}]}]"#;
        for json in [
            nested("[", "]", 2 * depth, inside),
            nested("{\"k\":", "}", 2 * depth, inside),
            nested("[{\"k\":", "},1]", depth, inside),
        ] {
            let expected: Value = serde_json::from_str(&json).expect("JSON");
            let [pretty, yaml] = ways()
                .map(|way| String::from_utf8(way.whole(json.as_bytes().to_vec())).expect("text"));
            let read: Value = serde_json::from_str(&pretty).expect("indented JSON");
            assert_eq!(read, expected);
            let read: Value =
                serde_saphyr::from_str(&yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"));
            assert_eq!(read, expected, "{yaml}");
        }
    }
}

#[test]
fn a_long_key_deep_down_says_that_it_is_one() {
    let key = "k ".repeat(3000);
    let json = nested("[", "]", DEEPEST + 2, &format!("{{\"{key}\":[1]}}"));
    let yaml = Rewrite::to(Notation::Yaml, false).whole(json.clone().into_bytes());
    let read: Value = serde_saphyr::from_slice(&yaml).expect("YAML");
    assert_eq!(read, serde_json::from_str::<Value>(&json).expect("JSON"));
}

fn allowance(bytes: usize) -> (Allowance, Arc<Counters>) {
    let counters = Arc::new(Counters::default());
    let budget = Arc::new(Budget::new(bytes, Arc::clone(&counters)));
    (Allowance::new(budget, Vec::new()), counters)
}

/// A text of lines, a long word, and many small things: 3 MB.
fn large() -> Vec<u8> {
    let object = serde_json::json!({
        "lines": "a\nb: c\n\n".repeat(100_000),
        "word": "x".repeat(1_000_000),
        "odd": "\u{85}\"\t".repeat(100_000),
        "list": vec![1; 200_000],
    });
    object.to_string().into_bytes()
}

#[tokio::test]
async fn large_things_come_in_pieces_that_are_reserved_before_they_are_made() {
    for mut way in ways() {
        let (allowance, counters) = allowance(16 << 20);
        // What is made is three times as long as what was reserved for it.
        let mut page = allowance.reserve_now(OUTBOX + (1 << 20)).expect("room");
        let outbox = Outbox::out_of(&mut page, allowance.clone());
        let json = large();
        let length = json.len();
        let mut json = outbox.hold(json, page).await.expect("room");
        let mut whole = Vec::new();
        while let Some(piece) = way.next(&mut json, &outbox).await {
            assert!(piece.len() <= PIECE);
            assert!(counters.read().held_bytes as usize <= OUTBOX + length);
            whole.extend_from_slice(&piece);
        }
        assert!(whole.len() > length);
        let read: Value = serde_saphyr::from_slice(&whole).expect("YAML, which JSON is too");
        assert_eq!(
            read,
            serde_json::from_slice::<Value>(&large()).expect("JSON")
        );
        drop((json, outbox));
        assert_eq!(counters.read().held_bytes, 0);
    }
}

#[tokio::test]
async fn nothing_is_made_for_a_client_that_takes_nothing() {
    for mut way in ways() {
        let (allowance, _) = allowance(16 << 20);
        let mut page = allowance.reserve_now(OUTBOX + (4 << 20)).expect("room");
        let outbox = Outbox::out_of(&mut page, allowance);
        let mut json = outbox.hold(large(), page).await.expect("room");
        let mut kept = Vec::new();
        loop {
            let next = futures::FutureExt::now_or_never(way.next(&mut json, &outbox));
            match next {
                Some(piece) => kept.push(piece.expect("there is more")),
                None => break,
            }
        }
        assert_eq!(kept.len(), OUTBOX / PIECE);
        kept.pop();
        assert!(futures::FutureExt::now_or_never(way.next(&mut json, &outbox)).is_some());
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Into::into),
        "[a-z:\n\u{7f}\u{85}\u{1}\"\\\\ ]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(60, 200, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Into::into),
            proptest::collection::vec(("[a-z\n\u{7f} ]{0,3}", inner), 0..3)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_in_proportion_to_what_is_read(value in any_json()) {
        check_length(&value.to_string());
    }

    #[test]
    fn indenting_is_what_serde_does_where_it_is_not_too_deep(value in shallow()) {
        let pretty = Rewrite::to(Notation::Json, true).whole(value.to_string().into_bytes());
        let expected = serde_json::to_string_pretty(&value).expect("JSON");
        prop_assert_eq!(String::from_utf8(pretty).expect("text"), expected);
    }
}

fn shallow() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Into::into),
        "\\PC{0,6}".prop_map(Into::into)
    ];
    leaf.prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            proptest::collection::vec(("[a-z\"\\\\]{0,3}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}
