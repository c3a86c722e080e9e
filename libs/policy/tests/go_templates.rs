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
use serde_json::json;

/// Templates by the grammar, and as many again that were spoiled.
const ROUNDS: usize = 6_000;

/// As many differences are shown.
const SHOWN: usize = 10;

/// Drawn from unless another one is asked for, so that a run says what the last one said.
const FIXED: u64 = 20_261_129;

/// What else is drawn from, and how many rounds it takes: `ARMADEX_TEST_SEED=1 cargo test -p armadex-policy --test go_templates`.
const SEED: &str = "ARMADEX_TEST_SEED";
const MANY: &str = "ARMADEX_TEST_ROUNDS";

/// How what is said ends of a template that is refused here and may be taken by Go: each is a line of `docs/compatibility.md`.
const REFUSED: &[&str] = &[
    "%p is not offered",
    "complex numbers are not offered",
    "to set it is not offered",
    "# is not offered for floating point numbers",
    "floating point numbers have no %b, %x and %X",
    "%e has no more than 1,100 digits",
    // Texts are UTF-8 here, and bytes for Go.
    "the bytes of the string are not UTF-8 text",
    "what was decoded is not UTF-8 text",
    "the cut is within a character",
    // What always is nothing is told when the policy is written.
    "a path begins with .source or .references",
    "nested too deep",
    // Go goes on to what was set apart for more items.
    "the places are not in the list",
    "a chunk has one item at least",
];

/// And what stands in it, where it ends with a name or a number.
const REFUSED_WITHIN: &[&str] = &[
    " is not offered: ",
    "no reference has the key ",
    // Found here before it is come to; that Go says so where it is come to has a test of its own.
    " arguments, and not ",
    " arguments at least, and not ",
    " is not defined",
];

#[test]
fn what_go_renders_is_rendered() {
    let rounds = asked(MANY).map_or(ROUNDS, |rounds| usize::try_from(rounds).expect("a number"));
    let Some(seed) = asked(SEED) else {
        let rendered = compared(FIXED, rounds);
        // Else nothing would be known of them.
        let tried = draw::FUNCTIONS.iter().map(|function| function.name);
        let never: Vec<_> = tried
            .filter(|name| *name != "fail" && !rendered.contains(name))
            .collect();
        assert!(never.is_empty(), "never rendered: {never:?}");
        return;
    };
    compared(seed, rounds);
}

/// The functions of those that were rendered, and nothing that differs.
#[expect(clippy::print_stdout, reason = "shown where it fails")]
fn compared(seed: u64, rounds: usize) -> BTreeSet<&'static str> {
    println!("run again with {SEED}={seed}");
    let mut dice = StdRng::seed_from_u64(seed);
    let drawn: Vec<Drawn> = (0..rounds)
        .flat_map(|_| {
            let whole = draw::template(&mut dice);
            let spoiled = draw::spoiled(&mut dice, &whole);
            [whole, spoiled]
        })
        .collect();
    let begin = Instant::now();
    let all = drawn.len();
    let asked: Vec<_> = drawn.into_iter().filter_map(to_be_asked).collect();
    println!("{all} rendered in {:?}", begin.elapsed());
    let not_asked = all - asked.len();
    let answers = oracle::ask(asked.iter().map(|(drawn, _)| drawn));
    let (mut counts, mut differences) = (Counts::default(), Vec::new());
    let mut functions = BTreeSet::new();
    for ((drawn, ours), answer) in asked.iter().zip(&answers) {
        match compare(ours, answer) {
            Some(outcome) => {
                if outcome == Outcome::Rendered {
                    functions.extend(draw::functions_in(&drawn.template));
                }
                counts.add(outcome);
            }
            None => differences.push((drawn, ours, answer)),
        }
    }
    show(&mut differences);
    assert!(differences.is_empty(), "{} differ", differences.len());
    println!("{counts:?}, {not_asked} not asked");
    // Else nothing would have been found out.
    assert!(counts.rendered > rounds / 2, "{counts:?}");
    assert!(counts.failed > rounds / 10, "{counts:?}");
    assert!(counts.refused < rounds / 40, "{counts:?}");
    assert!(not_asked < rounds / 20, "{not_asked} of {counts:?}");
    functions
}

type Difference<'a> = (&'a Drawn, &'a Result<String, TemplateError>, &'a Answer);

/// The shortest says most.
#[expect(clippy::print_stdout, reason = "shown where it fails")]
fn show(differences: &mut [Difference<'_>]) {
    differences.sort_by_key(|(drawn, ..)| drawn.template.len());
    for (drawn, ours, answer) in differences.iter().take(SHOWN) {
        println!(
            "{:?}\n  over {}\n  here {ours:?}\n  Go   {answer:?}",
            drawn.template, drawn.source
        );
    }
}

/// With what comes of it here. Go has no limits: what came to one might take it for ever, and is not asked for; of what was refused before a
/// large number was come to, all numbers are small.
fn to_be_asked(drawn: Drawn) -> Option<(Drawn, Result<String, TemplateError>)> {
    let ours = render(&drawn);
    match &ours {
        Err(error) if is_refused(error) => Some((draw::tamed(&drawn), ours)),
        Ok(_)
        | Err(
            TemplateError::Syntax { .. } | TemplateError::Meaning { .. } | TemplateError::Render(_),
        ) => Some((drawn, ours)),
        Err(_) => None,
    }
}

/// Whether Go may take it all the same.
fn is_refused(error: &TemplateError) -> bool {
    match error {
        TemplateError::Syntax { message, .. }
        | TemplateError::Meaning { message, .. }
        | TemplateError::Render(message) => {
            REFUSED.iter().any(|end| message.ends_with(end))
                || REFUSED_WITHIN.iter().any(|part| message.contains(part))
        }
        _ => false,
    }
}

#[derive(Debug, Default)]
struct Counts {
    rendered: usize,
    failed: usize,
    not_parsed: usize,
    /// Here alone.
    refused: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Rendered,
    Failed,
    NotParsed,
    Refused,
}

impl Counts {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Rendered => self.rendered += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::NotParsed => self.not_parsed += 1,
            Outcome::Refused => self.refused += 1,
        }
    }
}

/// Nothing for what differs.
fn compare(ours: &Result<String, TemplateError>, answer: &Answer) -> Option<Outcome> {
    match (ours, answer) {
        (Ok(ours), Answer::Output(go)) if ours == go => Some(Outcome::Rendered),
        (Err(TemplateError::Syntax { .. }), Answer::Parse(_)) => Some(Outcome::NotParsed),
        (Err(TemplateError::Render(_)), Answer::Execute(_)) => Some(Outcome::Failed),
        (Err(error), Answer::Parse(_) | Answer::Execute(_)) if is_refused(error) => {
            Some(Outcome::Failed)
        }
        (Err(error), Answer::Output(_)) if is_refused(error) => Some(Outcome::Refused),
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
    let seed = asked(SEED).unwrap_or(FIXED);
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
    let tried = draw::FUNCTIONS.iter().map(|function| function.name);
    let offered: BTreeSet<&str> = go_functions().into_iter().collect();
    assert_eq!(tried.collect::<BTreeSet<_>>(), offered);
}

#[test]
fn functions_take_as_many_arguments_as_in_go() {
    let functions = go_functions().into_iter();
    let calls = functions.flat_map(|name| (0..7).map(move |count| (name, count)));
    let drawn: Vec<Drawn> = calls
        .map(|(name, count)| of(format!("{{{{ {name}{} }}}}", " 1".repeat(count)), ""))
        .collect();
    let answers = oracle::ask(drawn.iter());
    for (drawn, answer) in drawn.iter().zip(answers) {
        let template = &drawn.template;
        let fits = compile(template).is_ok();
        let fits_in_go = match &answer {
            Answer::Execute(why) => {
                !why.contains("wrong number of args") && !why.contains("needs at least")
            }
            _ => true,
        };
        assert_eq!(fits, fits_in_go, "{template}: {answer:?}");
    }
}

fn of(template: String, text: impl Into<String>) -> Drawn {
    Drawn {
        template,
        source: json!({"text": text.into()}),
        secret: json!({}),
    }
}

/// Letters that came with Unicode 16 and 17, or that have another case since: Go 1.26 has those of Unicode 15.
fn is_newer(letter: char) -> bool {
    matches!(letter, '\u{19b}' | '\u{264}' | '\u{1c89}' | '\u{1c8a}')
        || ('\u{a7cb}'..='\u{a7dc}').contains(&letter)
        || ('\u{10d50}'..='\u{10d85}').contains(&letter)
        || ('\u{16ea0}'..='\u{16ed3}').contains(&letter)
}

/// All of them, where a word begins and within one.
#[test]
fn letters_are_put_in_the_case_that_go_puts_them_in() {
    let letters = ('!'..='\u{1ffff}').filter(|letter| !is_newer(*letter));
    let letters: Vec<char> = letters.collect();
    let mut drawn = Vec::new();
    for letters in letters.chunks(1024) {
        let text: String = letters
            .iter()
            .flat_map(|letter| [' ', *letter, 'x', *letter])
            .collect();
        for function in ["upper", "lower", "title", "untitle", "swapcase"] {
            drawn.push(of(format!("{{{{ {function} .source.text }}}}"), &*text));
        }
    }
    let answers = oracle::ask(drawn.iter());
    for (drawn, answer) in drawn.iter().zip(answers) {
        let ours = render(drawn).expect("it is text");
        let Answer::Output(go) = answer else {
            panic!("{answer:?}")
        };
        let text = drawn.source["text"].as_str().expect("it is text");
        let differing: Vec<(&str, &str, &str)> = text
            .split(' ')
            .zip(ours.split(' ').zip(go.split(' ')))
            .filter(|(_, (ours, go))| ours != go)
            .map(|(text, (ours, go))| (text, ours, go))
            .collect();
        assert!(differing.is_empty(), "{}: {differing:?}", drawn.template);
    }
}
