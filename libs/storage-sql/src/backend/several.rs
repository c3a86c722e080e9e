//! Several processes on one database, each a store of its own here: what their writers do to each other, what a reader sees beside them, and what
//! becomes of a batch whose writer was stopped or cut off. On every dialect that lets several write.

mod cut;
mod fences;
mod order;
mod place;
mod proxy;

use armadex_databases::Engine;
use place::Place;

/// Each case on each server, by a line.
macro_rules! on_each_server {
    ($($module:ident::$case:ident,)*) => {
        on_each_server! { @on postgres Postgres; $($module::$case,)* }
        on_each_server! { @on mysql Mysql; $($module::$case,)* }
    };
    (@on $name:ident $engine:ident; $($module:ident::$case:ident,)*) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(place) = super::Place::of(super::Engine::$engine) {
                        super::$module::$case(place).await;
                    }
                }
            )*
        }
    };
}

on_each_server! {
    order::a_reader_beside_four_writers_finds_no_gap,
    order::writers_that_collide_lose_nothing,
    fences::a_writer_whose_stream_was_taken_over_writes_nothing_more,
    fences::a_writer_that_was_stopped_in_the_middle_writes_nothing_more,
    cut::a_batch_whose_commit_was_not_answered_is_stored_once,
    cut::a_batch_whose_commit_was_not_sent_is_stored_once,
    cut::a_batch_that_was_cut_off_in_the_middle_is_stored_once,
}
