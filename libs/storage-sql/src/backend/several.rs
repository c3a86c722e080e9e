//! Several processes on one database, each a store of its own here: what their writers do to each other, what a reader sees beside them, and what
//! becomes of a batch whose writer was stopped or cut off. On every dialect that lets several write.

mod connections;
mod cut;
mod dictionaries;
mod duplicates;
mod fences;
mod histories;
mod late;
pub(crate) mod moments;
mod names;
mod namespaces;
mod order;
mod outdated;
mod owners;
pub(crate) mod place;
mod proxy;
mod rewound;
mod tenures;
mod types;
mod unanswered;
