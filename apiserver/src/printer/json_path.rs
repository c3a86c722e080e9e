//! The paths of custom columns, as a kube-apiserver reads them: `.spec.image`, `.status.conditions[?(@.type=="Ready")].status`,
//! `.spec.ports[*].port`, `.metadata.labels.app\.kubernetes\.io/name`.
//!
//! Keys that are missing are no errors. What makes a path fail on an object (an index past the end, a list where none is, values
//! that cannot be compared) makes it lead nowhere.

mod find;
mod parse;

/// The longest path. People write some dozen characters; a path is kept for as long as its type is served.
const MAX_BYTES: usize = 2048;

/// A path through a JSON value: steps from values to values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JsonPath {
    steps: Vec<Step>,
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidPath {
    #[error("it is longer than {} bytes", MAX_BYTES)]
    TooLong,
    #[error("it ends in the middle of {0}")]
    Unfinished(&'static str),
    #[error("{0:?} is not expected there")]
    Unexpected(char),
    #[error("[{0}] is no index")]
    Index(String),
    #[error("{0} is no number")]
    Number(String),
    #[error("{0} is no quoted text")]
    Text(String),
    #[error("two recursive descents follow each other")]
    TwoDescents,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// `.name`
    Field(String),
    /// `.*`
    All,
    /// `..`
    Descent,
    /// `[1]`, `[-1]`, `[0:2]`, `[*]`
    Slice(Slice),
    /// `['a','b']`
    Union(Vec<JsonPath>),
    /// `[?(@.a==1)]`; without a comparison, whether there is anything.
    Filter(JsonPath, Option<(Comparison, JsonPath)>),
    /// A number, a text, true or false.
    Literal(serde_json::Value),
    /// A word that means nothing: it leads nowhere.
    Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: End,
    step: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Of one element: `[2]`.
    OneElement,
    /// `[2:]`
    Open,
    /// `[:2]`
    At(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
    /// An operator that does not exist: it makes the path fail where it is met.
    Unknown,
}

impl JsonPath {
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Takes the fields off that the path begins with, so that they can be found without parsing what lies around them.
    pub(super) fn take_fields(&mut self) -> Vec<String> {
        let is_field = |step: &Step| matches!(step, Step::Field(_));
        let fields = self.steps.iter().take_while(|step| is_field(step)).count();
        let taken = self.steps.drain(..fields);
        taken
            .filter_map(|step| match step {
                Step::Field(name) => Some(name),
                _ => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
