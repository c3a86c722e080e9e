//! Go templates against Go itself: random templates over random values render to the same text, or fail in both, or are one of the
//! differences that are listed here and in `docs/compatibility.md`.

mod go_templates {
    pub(crate) mod draw;
    pub(crate) mod oracle;
}

use std::{collections::BTreeSet, time::Instant};

use armadex_policy::template::{
    Scope, Template, TemplateData, TemplateEngine, TemplateError, go_functions,
};
use go_templates::{
    draw::{self, Drawn},
    oracle::{self, Answer},
};
use rand::{SeedableRng, rngs::StdRng};

/// Templates by the grammar, and as many again that were spoiled.
const ROUNDS: usize = 6_000;

/// As many differences are shown.
const SHOWN: usize = 10;

/// Where a run that failed is asked for again, and how many rounds it takes.
const SEED: &str = "ARMADEX_TEST_SEED";
const MANY: &str = "ARMADEX_TEST_ROUNDS";

/// What is said of a template that is refused here and taken by Go: each is a line of `docs/compatibility.md`.
const REFUSED: &[&str] = &[
    "is not offered",
    "are not offered",
    "floating point numbers have no %b, %x and %X",
    "%e has no more than",
    // Texts are UTF-8 here, and bytes for Go.
    "the bytes of the string are not UTF-8 text",
    "what was decoded is not UTF-8 text",
    "the cut is within a character",
    // What always fails, or always is nothing, is told when the policy is written.
    " arguments, and not ",
    " arguments at least, and not ",
    "is not defined",
    "is unknown: a path begins with",
    "no reference has the key",
    "nested too deep",
    // Go goes on to what was set apart for more items.
    "the places are not in the list",
    "a chunk has one item at least",
];

#[test]
fn what_go_renders_is_rendered() {
    let seed = asked(SEED).unwrap_or(20_261_129);
    println!("run again with {SEED}={seed}");
    let rounds = asked(MANY).map_or(ROUNDS, |rounds| usize::try_from(rounds).expect("a number"));
    let mut dice = StdRng::seed_from_u64(seed);
    let drawn: Vec<Drawn> = (0..rounds)
        .flat_map(|_| {
            let whole = draw::template(&mut dice);
            let spoiled = draw::spoiled(&mut dice, &whole);
            [whole, spoiled]
        })
        .collect();
    let begin = Instant::now();
    let ours = drawn.iter().map(render);
    let mut compared: Vec<_> = drawn.iter().zip(ours).collect();
    // Go has no limits: what came to one here, or was not begun, might take it for ever.
    compared.retain(|(_, ours)| !ours.as_ref().is_err_and(is_left_out));
    println!("{} rendered in {:?}", drawn.len(), begin.elapsed());
    let left_out = drawn.len() - compared.len();
    let answers = oracle::ask(compared.iter().map(|(drawn, _)| *drawn));
    let mut counts = Counts::default();
    let mut differences = Vec::new();
    for ((drawn, ours), answer) in compared.iter().zip(&answers) {
        match compare(ours, answer) {
            Some(outcome) => counts.add(&outcome),
            None => differences.push((drawn, ours, answer)),
        }
    }
    // The shortest says most.
    differences.sort_by_key(|(drawn, ..)| drawn.template.len());
    for (drawn, ours, answer) in differences.iter().take(SHOWN) {
        println!(
            "{:?}\n  over {}\n  here {ours:?}\n  Go   {answer:?}",
            drawn.template, drawn.source
        );
    }
    assert!(differences.is_empty(), "{} differ", differences.len());
    println!("{counts:?}, {left_out} left out");
    // Else nothing would have been found out.
    assert!(counts.rendered > rounds / 2, "{counts:?}");
    assert!(counts.failed > rounds / 10, "{counts:?}");
    assert!(left_out < rounds / 10, "{left_out} of {counts:?}");
}

/// Whether it came to a limit, or to what is not as in Go.
fn is_left_out(error: &TemplateError) -> bool {
    match error {
        TemplateError::Syntax { message, .. }
        | TemplateError::Meaning { message, .. }
        | TemplateError::Render(message) => REFUSED.iter().any(|known| message.contains(known)),
        _ => true,
    }
}

#[derive(Debug, Default)]
struct Counts {
    rendered: usize,
    failed: usize,
    not_parsed: usize,
}

enum Outcome {
    Rendered,
    Failed,
    NotParsed,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Rendered => self.rendered += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::NotParsed => self.not_parsed += 1,
        }
    }
}

/// Nothing for what differs.
fn compare(ours: &Result<String, TemplateError>, answer: &Answer) -> Option<Outcome> {
    match (ours, answer) {
        (Ok(ours), Answer::Output(go)) if ours == go => Some(Outcome::Rendered),
        (Err(TemplateError::Syntax { .. }), Answer::Parse(_)) => Some(Outcome::NotParsed),
        (Err(TemplateError::Render(_)), Answer::Execute(_)) => Some(Outcome::Failed),
        _ => None,
    }
}

fn asked(name: &str) -> Option<u64> {
    let asked = std::env::var(name).ok();
    asked.map(|asked| asked.parse().expect("a number"))
}

fn compile(template: &str) -> Result<Template, TemplateError> {
    TemplateEngine::GoTemplate.compile(template, Scope::References(&["secret"]))
}

fn render(drawn: &Drawn) -> Result<String, TemplateError> {
    let template = compile(&drawn.template)?;
    let mut data = TemplateData::of(drawn.source.clone());
    data.refer("secret", drawn.secret.clone());
    template.render(&data)
}

/// As long as what a template reads is the same, so is what it renders to.
#[test]
fn what_a_template_does_not_read_changes_nothing() {
    let seed = asked(SEED).unwrap_or(20_261_129);
    println!("run again with {SEED}={seed}");
    let mut dice = StdRng::seed_from_u64(seed);
    let (mut same, mut other) = (0, 0);
    for _ in 0..ROUNDS / 4 {
        let drawn = draw::template(&mut dice);
        let Ok(template) = compile(&drawn.template) else {
            continue;
        };
        let reads = template.reads();
        let changed = draw::changed(&mut dice, &drawn);
        if reads.digest(&drawn.source) == reads.digest(&changed.source) {
            same += 1;
            let (before, after) = (render(&drawn), render(&changed));
            assert_eq!(before, after, "{}", drawn.template);
        } else {
            other += 1;
        }
    }
    // Else nothing would have been found out.
    assert!(same > ROUNDS / 20 && other > ROUNDS / 20, "{same} {other}");
}

#[test]
fn every_function_is_tried() {
    let tried: BTreeSet<&str> = draw::FUNCTIONS
        .iter()
        .map(|function| function.name)
        .collect();
    let offered: BTreeSet<&str> = go_functions().into_iter().collect();
    let missing: Vec<_> = offered.difference(&tried).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
