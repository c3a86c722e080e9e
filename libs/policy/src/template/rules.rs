//! What a template may name and how long it may be, and what is wrong with one that does not keep to it.

use super::bounded::OUTPUT_LIMIT;

/// Where a template finds the source object.
pub(super) const SOURCE: &str = "source";

/// Longest template, in bytes. A PediaCluster with an inline kubeconfig needs a tenth of this.
pub const TEMPLATE_LIMIT: usize = 64 * 1024;

/// All templates of one object together, in bytes: twice the longest. What is compiled of nothing but names takes 500 times their text, and each
/// takes a run of the parser; a policy has room for hundreds of references.
pub const TEMPLATES_LIMIT: usize = 2 * TEMPLATE_LIMIT;

/// Text of all templates that the controller of lifecycles keeps compiled, in bytes: two hundred policies as long as the longest shipped one, of 4 KB, and one
/// of 64 KiB. What is compiled of 64 KiB of nothing but names takes 32 MiB, so all that is kept takes 448 MiB at the worst; of policies as the shipped ones it is
/// a part of that.
pub const KEPT_LIMIT: usize = 14 * TEMPLATE_LIMIT;
const _: () = assert!(TEMPLATES_LIMIT <= KEPT_LIMIT, "one object's are kept");

/// Tags in one template. The shipped policy has 30. The parser takes up to a second for so many in a
/// build without optimisation, and half a minute for five times as many.
pub const TAG_LIMIT: usize = 1000;

/// Tags of all templates of one object together, for which the parser takes up to two seconds in a build without optimisation.
pub const TAGS_LIMIT: usize = 2 * TAG_LIMIT;

/// Steps of one rendering: what stands in an `each`, for every item. Half a second in a build
/// without optimisation; a PediaCluster with an entry for each of a hundred labels takes a
/// hundredth of them.
pub const STEP_LIMIT: usize = 100_000;

/// Bytes of a name that are copied, or looked up, in one step.
pub(super) const BYTES_OF_STEP: usize = 64;

/// Bytes of text and values that the functions of one rendering take and give. Ten times an object
/// as large as an API server stores.
pub const WORK_LIMIT: usize = 16 * 1024 * 1024;

/// How deep blocks, parentheses and templates stand in each other while a Go template is rendered. In a template they are 32 deep; one that calls
/// itself may come to this. Without optimisation each takes some 8 KiB of the stack, of which a thread has 2 MiB.
pub(super) const RUN_DEPTH_LIMIT: usize = 100;

/// Steps of all renderings of one object together. A lifecycle has up to 130 templates, two for each of 64 references; that each takes nearly as much as
/// one may would be 50 s at every look, where four take 1.5 s.
pub const STEPS_LIMIT: usize = 4 * STEP_LIMIT;

/// Bytes that the functions of all of them take and give.
pub const WORKS_LIMIT: usize = 4 * WORK_LIMIT;

/// What is told where a template says itself that it fails, in words that are not written in it as they are: they may hold what is in a Secret.
pub(super) const NOT_TOLD: &str =
    "its message is put together from values, which are not told: write the message in quotes";

/// What is wrong with a template or with its result. Says where and what, never a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Too long to be looked at.
    #[error("template is longer than {TEMPLATE_LIMIT} bytes")]
    TooLong,
    /// They are too long together.
    #[error(
        "the templates of one object have {bytes} bytes together and may have {TEMPLATES_LIMIT}: shorten them, the longest is {longest} with {of_longest}"
    )]
    TooLongTogether {
        /// All of them.
        bytes: usize,
        /// The field of the longest.
        longest: String,
        /// Its bytes.
        of_longest: usize,
    },
    /// They have too many tags together.
    #[error("the templates of one object have {tags} tags together and may have {TAGS_LIMIT}")]
    TooManyTags {
        /// All of them.
        tags: usize,
    },
    /// Not of its language.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// It parses, but can't mean anything.
    #[error("line {line}, column {column}: {message}")]
    Meaning {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// The parser did not come to an end.
    #[error("the parser gave up on it")]
    Unparsed,
    /// The parser could not begin, which says nothing of the template: the process has as many threads as it may, or no memory for another.
    #[error("there is no thread for the parser now")]
    NoThread,
    /// It failed for this source object.
    #[error("{0}")]
    Render(String),
    /// The result is too long.
    #[error("result is longer than {OUTPUT_LIMIT} bytes")]
    OutputTooLong,
    /// It repeats too much.
    #[error(
        "rendering takes more than {STEP_LIMIT} steps: an each or range has too many items, or too many of them stand in each other"
    )]
    TooManySteps,
    /// It stands in itself too deep.
    #[error(
        "blocks, parentheses and templates stand in each other more than {RUN_DEPTH_LIMIT} deep: a template calls itself too often"
    )]
    TooDeep,
    /// It handles too much.
    #[error(
        "the functions of the template handle more than {WORK_LIMIT} bytes: they make texts too long, or take too large ones too often"
    )]
    TooMuchWork,
    /// It does not itself, but with those before it.
    #[error(
        "the templates of one object take more than {STEPS_LIMIT} steps together, or their functions handle more than {WORKS_LIMIT} bytes: have fewer \
         of them repeat things or handle large texts"
    )]
    TooMuchTogether,
}

impl TemplateError {
    /// Whether the same template may be found well the next time.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        *self == Self::NoThread
    }
}

/// What a template may name.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// `source` alone.
    Source,
    /// `source`, and `references` of these keys.
    References(&'a [&'a str]),
}
