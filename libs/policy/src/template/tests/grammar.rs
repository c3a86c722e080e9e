//! The look before a template is parsed against the parser: whatever the parser takes, the look has counted as many tags and calls, as
//! deep in each other, or has refused.

use std::panic::catch_unwind;

use handlebars::template::{HelperTemplate, Parameter, Template, TemplateElement};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::template::{
    scan::{Unclear, scan},
    shape::{Levels, braces, openings},
};

/// Each way to hide something from the look comes some eight times.
const ROUNDS: usize = 30_000;

/// What tags are made of, and what hides one from who looks at it carelessly.
const MARKS: [&str; 40] = [
    "{{", "}}", "{{", "}}", "{", "}", "[", "]", "(", ")", "\"", "'", "`", "-", "--", "!", "{{!",
    "~", " ", " ", "\n", "\\", "\\\\", "#", "/", "^", "&", ">", "*", "|", "=", ".", ",", "@", "a",
    "1", "else", "as", "{{{{", "}}}}",
];

/// Templates, and pieces of them, that the parser takes.
const PIECES: [&str; 34] = [
    "{{a}}",
    "{{a.b.[c d]}}",
    "{{lower (lower a)}}",
    "{{#if a}}",
    "{{/if}}",
    "{{else}}",
    "{{else if b}}",
    "{{^}}",
    "{{#each a as |b c|}}",
    "{{/each}}",
    "{{a \"}}\" b}}",
    "{{a '\"' (b \"(\")}}",
    "{{! }}",
    "{{!-- }} --}}",
    "{{! -- {{a}} --}}",
    "{{!--}}",
    " --}}",
    "{{{a}}}",
    "{{ { a } }}",
    "{{&a}}",
    "\\{{a}}",
    "\\\\{{a}}",
    "\\{{{{a",
    "{{a [1, \"]\", 2] (b c)}}",
    "{{a [\"]}}\"] b}}",
    "{{a.[}}]}}",
    "{{~a b=(c d)~}}",
    "{{a {\"b\": [1]}}}",
    "{{> a}}",
    "{{{{a}}}} {{b}} {{{{/a}}}}",
    "{{#> a}}{{/a}}",
    "{{../a}}{{@root.a}}{{./a}}",
    "{{(a (b c))}}",
    "text",
];

/// Where the parser looks for nothing but the end.
const HIDING: [(&str, &str); 20] = [
    ("{{! ", "}}"),
    ("{{!-- ", " --}}"),
    ("{{! -- ", " --}}"),
    ("{{!\n--", "--}}"),
    ("{{!--}}", " --}}"),
    ("{{a \"", "\"}}"),
    ("{{a '", "'}}"),
    ("{{a \"\\\"", "\"}}"),
    ("{{a '\\'", "'}}"),
    ("{{a \"\\\\", "\"}}"),
    ("{{a.[", "]}}"),
    ("{{a.[\"", "]}}"),
    ("{{[\"", "]}}"),
    ("{{#if [\"", "]}}{{/if}}"),
    ("{{a ([\"", "])}}"),
    ("{{a [\"", "\"]}}"),
    ("{{a [1, \"", "\", \"]\"]}}"),
    ("{{a [\"]\", 1E5", "]}}"),
    ("{{a b=[\"", "\"]}}"),
    ("\\{{", "}}"),
];

/// What could begin within.
const BEGINS: [&str; 13] = [
    "", "'", "\"", "`", "[", "(", "}}{{a \"", "}}{{a '", "}}{{a.[", "}}{{! ", "}}{{!-- ", "}}\\",
    "{{",
];

/// And end behind the tags.
const ENDS: [&str; 9] = [
    "", "'}}", "\"}}", "`}}", "]}}", "\"]}}", ")}}", " --}}", "}}",
];

#[test]
fn whatever_the_parser_takes_was_counted_before() {
    let seed = seed();
    println!("run again with {SEED}={seed}");
    let mut dice = StdRng::seed_from_u64(seed);
    let (mut taken, mut compared, mut nested) = (0, 0, 0);
    for _ in 0..ROUNDS {
        let text = draw(&mut dice);
        let Ok(parsed) = catch_unwind(|| Template::compile(&text)) else {
            assert!(
                look(&text).is_err(),
                "the parser does not get along with {text:?}"
            );
            continue;
        };
        let Ok(parsed) = parsed else { continue };
        taken += 1;
        let mut counts = Counts::default();
        counts.template(&parsed, 0);
        let (pairs, marks) = (braces(&text).count(), openings(&text).count());
        assert!(
            pairs >= counts.tags && marks >= counts.calls,
            "{text:?} {counts:?}"
        );
        if let Ok(levels) = look(&text) {
            compared += 1;
            nested += usize::from(counts.deepest_calls > 1);
            let enough = levels.tags >= counts.tags
                && levels.calls >= counts.calls
                && levels.deepest >= counts.deepest
                && levels.deepest_calls >= counts.deepest_calls;
            assert!(enough, "{text:?}\n  {levels:?}\n  {counts:?}");
        }
    }
    println!("{taken} taken, {compared} compared, {nested} with calls in each other");
    // Else nothing would have been found out.
    assert!(
        compared > ROUNDS / 10 && nested > ROUNDS / 200,
        "{compared} {nested}"
    );
    assert!(compared > taken / 2, "{compared} of {taken}");
}

fn look(text: &str) -> Result<Levels, Unclear> {
    let mut levels = Levels::default();
    for tag in scan(text) {
        levels.add(tag?);
    }
    Ok(levels)
}

fn draw(dice: &mut StdRng) -> String {
    let mut text = match dice.random_range(0..4) {
        0 => several(dice, &MARKS),
        1 => several(dice, &PIECES),
        _ => hidden(dice),
    };
    for _ in 0..dice.random_range(0..8_usize).saturating_sub(3) {
        spoil(dice, &mut text);
    }
    text
}

fn several(dice: &mut StdRng, these: &[&'static str]) -> String {
    (0..dice.random_range(1..8))
        .map(|_| pick(dice, these))
        .collect()
}

/// What the parser takes for the inside of something, and who does not, for the beginning of something else: then the tags behind it
/// are inside of that.
fn hidden(dice: &mut StdRng) -> String {
    let (open, close) = pick(dice, &HIDING);
    let (begin, end) = (pick(dice, &BEGINS), pick(dice, &ENDS));
    let (tag, before) = (pick(dice, &PIECES), pick(dice, &PIECES));
    let before = if dice.random_range(0..3) == 0 {
        before
    } else {
        ""
    };
    format!("{before}{open}{begin}{close}{tag}{{{{a (b (c d))}}}}{end}")
}

fn spoil(dice: &mut StdRng, text: &mut String) {
    let places = text.char_indices().map(|(at, _)| at);
    let places: Vec<usize> = places.chain([text.len()]).collect();
    let at = pick(dice, &places);
    match dice.random_range(0..3) {
        0 if at < text.len() => drop(text.remove(at)),
        1 => text.insert_str(at, pick(dice, &PIECES)),
        _ => text.insert_str(at, pick(dice, &MARKS)),
    }
}

fn pick<T: Copy>(dice: &mut StdRng, these: &[T]) -> T {
    these[dice.random_range(0..these.len())]
}

/// What the parser made of a template.
#[derive(Debug, Default)]
struct Counts {
    tags: usize,
    calls: usize,
    deepest: usize,
    deepest_calls: usize,
}

impl Counts {
    fn template(&mut self, template: &Template, depth: usize) {
        for element in &template.elements {
            match element {
                TemplateElement::RawString(_) | TemplateElement::Comment(_) => {}
                TemplateElement::Expression(call) | TemplateElement::HtmlExpression(call) => {
                    self.tags += 1;
                    self.call(call, 0);
                }
                TemplateElement::HelperBlock(block) => {
                    self.tags += 1;
                    self.deepest = self.deepest.max(depth + 1);
                    self.call(block, 0);
                    for body in block.template.iter().chain(&block.inverse) {
                        self.template(body, depth + 1);
                    }
                }
                _ => self.tags += 1,
            }
        }
    }

    fn call(&mut self, call: &HelperTemplate, depth: usize) {
        self.deepest_calls = self.deepest_calls.max(depth);
        let arguments = call.params.iter().chain(call.hash.values());
        for argument in [&call.name].into_iter().chain(arguments) {
            if let Parameter::Subexpression(inner) = argument
                && let TemplateElement::Expression(inner) = &*inner.element
            {
                self.calls += 1;
                self.call(inner, depth + 1);
            }
        }
    }
}

/// Where a run that failed is asked for again.
const SEED: &str = "ARMADEX_TEST_SEED";

fn seed() -> u64 {
    let asked = std::env::var(SEED).ok();
    asked.map_or_else(rand::random, |seed| seed.parse().expect("a number"))
}
