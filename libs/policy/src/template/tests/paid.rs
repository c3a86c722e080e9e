//! That functions of Go templates pay for what they look at and for what they make. Tried with all that are offered: whoever adds one is
//! held to it.

use std::collections::BTreeSet;

use super::*;
use crate::template::go::{Function as GoFunction, LOOKED_AT, Takes, functions_table};

const LENGTH: usize = 10_000;
const ITEMS: usize = 1_000;

/// A value in a list or a map takes 24 bytes; that a part of them is paid for is enough to bound the time.
const LEAST_OF_VALUE: usize = 8;

/// Values that the paths of a call lead through, which are paid for in steps.
const OF_PATHS: usize = 16;

/// What stands in a place that takes anything, and how much of it there is.
const LARGE: [&str; 6] = [
    ".source.text",
    ".source.numbers",
    ".source.texts",
    ".source.wide",
    ".source.json",
    "(until 1000)",
];

fn data_of_paid() -> TemplateData {
    let wide: Map<String, Value> = (0..ITEMS)
        .map(|number| (format!("field{number}"), json!(number)))
        .collect();
    let text = "k".repeat(LENGTH);
    let long: Map<String, Value> = (0..10)
        .map(|number| (format!("{text}{number}"), json!(number)))
        .collect();
    TemplateData::of(json!({
        "text": text, "numbers": vec![1.5; ITEMS], "texts": vec!["word"; ITEMS], "wide": wide, "long": long,
        "same": vec![text; 100], "json": format!("[{}0]", "{\"\":0},".repeat(ITEMS)),
    }))
}

/// What came of it, what it paid, and how many values it looked at.
fn paid(expression: &str, data: &TemplateData) -> (bool, usize, usize) {
    let text = format!("{{{{ $x := {expression} }}}}");
    let Ok(template) = TemplateEngine::GoTemplate.compile(&text, Scope::Source) else {
        return (false, 0, 0);
    };
    let before = data.left.bytes_left();
    LOOKED_AT.set(0);
    let rendered = template.render(data);
    let paid = before - data.left.bytes_left();
    (rendered.is_ok(), paid, LOOKED_AT.take())
}

/// What a place takes in the others.
fn small(takes: Option<Takes>) -> &'static [&'static str] {
    match takes {
        Some(Takes::Text) => &["\"a\""],
        Some(Takes::Int) => &["1"],
        Some(Takes::Float) => &["1.5"],
        Some(Takes::Bool) => &["true"],
        Some(Takes::Map) => &["(dict \"a\" 1)"],
        _ => &["\"a\"", "1", "(list \"a\" 1)"],
    }
}

/// Calls of a function with something large in one place and something small in all others.
fn calls(function: &GoFunction, places: usize) -> Vec<String> {
    let mut calls = Vec::new();
    for (place, large) in (0..places).flat_map(|place| LARGE.map(|large| (place, large))) {
        for choice in 0..3 {
            let argument = |at| {
                let small = small(function.takes_at(at));
                if at == place {
                    large
                } else {
                    small[choice % small.len()]
                }
            };
            let arguments: Vec<&str> = (0..places).map(argument).collect();
            calls.push(format!("{} {}", function.name, arguments.join(" ")));
        }
    }
    calls.sort();
    calls.dedup();
    calls
}

#[test]
fn every_function_pays_for_what_it_looks_at() {
    // The first always fails, and the others take nothing that is large.
    let others = BTreeSet::from(["fail", "until", "untilStep", "seq"]);
    let mut data = data_of_paid();
    for function in functions_table() {
        let mut well = 0;
        let counts = (0..=5).filter(|count| function.check_count(*count).is_ok());
        for call in counts.take(3).flat_map(|places| calls(function, places)) {
            data.left = Arc::new(Budget::of_all());
            let (rendered, paid, looked_at) = paid(&call, &data);
            well += usize::from(rendered);
            assert!(
                paid >= LEAST_OF_VALUE * looked_at.saturating_sub(OF_PATHS),
                "{call}: {paid} for {looked_at} values"
            );
        }
        let name = function.name;
        assert!(well > 0 || others.contains(name), "{name} never ends well");
    }
}

#[test]
fn what_little_text_becomes_much_is_paid_for_by_what_it_becomes() {
    let data = data_of_paid();
    let table = [
        // As many texts as are alike, compared from end to end.
        ("sortAlpha .source.same", 100 * LENGTH),
        // Each a map with a node of a tree and a field.
        ("fromJson .source.json", ITEMS * 500),
        ("split \"\" .source.text", LENGTH * 100),
        ("splitList \"\" .source.text", LENGTH * 50),
        ("chunk 1 .source.numbers", ITEMS * 100),
        ("until 1000", ITEMS * 32),
        ("dict 1 2", 500),
        ("pick .source.wide \"field1\"", ITEMS * 48),
        ("printf \"%.0s\" .source.texts", ITEMS * 24),
        ("printf \"%.1100g\" .source.numbers", ITEMS * 1100),
        ("printf \"%x\" .source.text", 2 * LENGTH),
        ("printf \"%20000q\" .source.text", 2 * LENGTH),
        ("has \"none\" .source.texts", ITEMS * 16),
        // Names as long as ten texts.
        ("keys .source.long", 10 * LENGTH),
        ("values .source.long", 10 * LENGTH),
        ("omit .source.long \"a\"", 10 * LENGTH),
        ("deepEqual .source.long .source.long", 10 * LENGTH),
        ("toJson .source.long", 20 * LENGTH),
    ];
    for (call, least) in table {
        let (rendered, paid, _) = paid(call, &data);
        assert!(rendered, "{call}");
        assert!(paid >= least, "{call}: {paid} of {least}");
    }
    // A look at one of many is a look at one, and who passes a value on makes none.
    let table = [
        "has 1.5 .source.numbers",
        "first .source.numbers",
        "last .source.texts",
        "len .source.wide",
        "default 1 .source.numbers",
        "ternary .source.wide 1 true",
        "coalesce nil .source.texts",
        "index .source.numbers 7",
        "slice .source.numbers 1 2",
    ];
    for call in table {
        let (rendered, paid, _) = paid(call, &data);
        assert!(rendered, "{call}");
        assert!(paid < 200, "{call}: {paid}");
    }
}

/// What is said in `docs/compatibility.md`.
#[test]
fn a_list_grows_to_a_thousand_items_one_by_one() {
    let text = "{{ $l := list }}{{ range 1000 }}{{ $l = append $l . }}{{ end }}{{ len $l }}";
    let template = TemplateEngine::GoTemplate.compile(text, Scope::Source);
    let rendered = template.unwrap().render(&data_of_paid());
    assert_eq!(rendered.as_deref(), Ok("1000"));
}

/// Each of these took a minute.
#[test]
fn what_is_looked_for_is_looked_for_once() {
    let table = [
        (
            "{{ $f := repeat 600000 \"%[%\" }}{{ len (printf $f) }}",
            "600000",
        ),
        (
            "{{ $l := until 200000 }}{{ range 4000 }}{{ if has 0 $l }}{{ end }}{{ end }}",
            "",
        ),
    ];
    for (text, expected) in table {
        let template = TemplateEngine::GoTemplate.compile(text, Scope::Source);
        let rendered = template.unwrap().render(&data_of_paid());
        assert_eq!(rendered.as_deref(), Ok(expected), "{text}");
    }
}
