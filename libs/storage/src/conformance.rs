//! The behaviour suite: what every store must do, written once.
//!
//! A store's tests instantiate it in one line, with an expression that makes an empty store for each case:
//!
//! ```text
//! armadex_storage::conformance!(open_empty_store());
//! ```

pub mod cluster_labels;
pub mod clusters;
pub mod concurrency;
pub mod fixture;
pub mod lists;
pub mod model;
pub mod orders;
pub mod selectors;
pub mod streams;
pub mod writes;

pub use fixture::{Fixture, ObjectBuilder, RULES, Writer, object, resource};

/// Makes a test of each case of the suite. `$open` is a future of a [`Fixture`] on an empty store, or of an `Option` of one: whoever gives `None`
/// has said that the case was not run.
#[macro_export]
macro_rules! conformance {
    ($open:expr) => {
        $crate::conformance! { @cases $open;
            cluster_labels::clusters_are_chosen_by_their_labels,
            cluster_labels::labels_stay_with_their_cluster,
            cluster_labels::other_labels_take_a_revision,
            clusters::a_cluster_that_comes_back_in_time_is_as_it_was,
            clusters::a_cluster_that_comes_or_goes_takes_a_revision,
            clusters::a_cluster_that_joins_again_is_empty,
            clusters::a_cluster_that_stays_away_has_nothing_when_it_comes_back,
            clusters::a_cluster_that_was_taken_over_takes_nothing_from_who_had_it,
            clusters::a_member_that_is_known_brings_its_rows_along,
            clusters::a_tenure_lasts_until_the_next_one_of_its_owner_begins,
            clusters::a_type_that_nobody_reads_any_more_goes_with_its_rows,
            clusters::clusters_are_told_with_their_owner,
            clusters::a_late_leave_of_a_former_incarnation_changes_nothing,
            clusters::a_closed_type_is_hidden_at_once,
            clusters::health_and_version_are_in_the_catalog,
            clusters::joining_twice_is_joining_once,
            clusters::leaving_hides_at_once_and_purging_removes,
            clusters::the_catalog_lists_open_types_only,
            clusters::a_purge_that_is_interrupted_goes_on,
            clusters::a_name_is_told_whose_it_is,
            clusters::a_namespace_is_there_as_long_as_something_in_it_is_shown,
            clusters::a_type_that_is_opened_after_its_purge_begins_with_nothing,
            clusters::a_version_that_is_opened_beside_another_is_shown_when_it_is_listed,
            clusters::a_version_that_was_never_listed_is_told_beside_another_also_once_its_cluster_is_back,
            clusters::a_type_that_is_opened_again_keeps_its_description_up_to_date,
            clusters::a_type_that_none_has_any_more_is_forgotten,
            clusters::what_comes_and_goes_in_lists_takes_a_revision,
            clusters::what_a_type_is_stays_while_another_cluster_has_it,
            concurrency::readers_beside_a_writer_see_whole_batches,
            lists::a_page_comes_with_the_number_of_all_rows,
            lists::a_page_is_bounded_by_bytes_but_never_empty_for_them,
            lists::an_offset_skips_rows,
            lists::a_last_full_page_is_followed_by_none,
            lists::clusters_and_namespaces_restrict_a_list,
            lists::rows_come_by_cluster_namespace_and_name,
            lists::names_come_in_the_order_of_their_bytes,
            lists::a_scope_hides_rows_from_lists_and_counts,
            lists::several_types_are_paged_as_one,
            lists::writes_between_pages_neither_double_nor_hide_what_stays,
            lists::unknown_types_and_clusters_have_no_rows,
            model::random_batches_and_queries_agree_with_a_map,
            orders::a_position_of_another_order_is_gone,
            orders::labels_and_orders_go_together,
            orders::orders_sort_by_each_field_both_ways,
            orders::what_goes_between_two_pages_takes_nothing_else_along,
            orders::rows_of_equal_value_come_in_page_order,
            selectors::fields_select_as_labels_do,
            selectors::own_fields_select_whether_or_not_they_were_indexed_before,
            selectors::labels_follow_their_object,
            selectors::names_restrict_a_list,
            selectors::negative_requirements_admit_objects_without_the_key,
            selectors::positive_requirements_combine,
            selectors::what_is_not_served_is_named,
            selectors::lists_of_names_longer_than_a_statement_are_read_to_the_end,
            selectors::a_namespace_with_many_hits_is_paged,
            writes::a_batch_that_was_answered_outlives_its_stream,
            writes::a_body_comes_back_byte_for_byte,
            writes::a_deleted_object_is_gone,
            writes::a_new_uid_under_an_old_key_is_a_delete_and_an_add,
            writes::a_position_is_told_as_long_as_its_type_is_shown,
            writes::a_position_moves_without_changes,
            writes::a_replay_writes_nothing,
            writes::a_stream_that_was_taken_over_is_fenced,
            writes::a_writer_of_a_cluster_that_left_is_told_so,
            writes::an_object_that_is_too_large_is_rejected_by_name,
            writes::keys_are_listed_page_by_page,
            writes::versions_are_listed_page_by_page,
            writes::other_rules_write_what_did_not_change,
            writes::many_writers_at_once_lose_nothing,
            writes::two_batches_of_one_stream_at_once_see_each_other,
            writes::revisions_have_no_gaps,
        }
        $crate::stream_conformance!(async {
            let fixture: Option<$crate::conformance::Fixture> = $open.await.into();
            fixture.map(|fixture| (fixture.sink.clone(), Box::new(fixture) as _))
        });
    };
    (@cases $open:expr; $($module:ident::$case:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let fixture: Option<$crate::conformance::Fixture> = $open.await.into();
                let Some(fixture) = fixture else {
                    return;
                };
                $crate::conformance::$module::$case(&fixture).await;
            }
        )*
    };
}

/// Makes a test of each case that needs the write side alone, which are a part of the suite: for a double of it. `$open` is a future of an `Option` of the
/// [`Writes`](streams::Writes) of an empty store.
#[macro_export]
macro_rules! stream_conformance {
    ($open:expr) => {
        $crate::stream_conformance! { @cases $open;
            a_list_by_other_rules_that_finds_nothing_new_is_not_made_again,
            a_position_is_told_to_whoever_opens_the_stream_next,
            a_stream_of_other_rules_is_listed_and_stored_once_more,
            a_stream_that_keeps_others_is_listed_and_what_stays_is_not_stored_once_more,
            a_stream_that_left_something_out_is_listed_by_whoever_opens_it_next,
            a_stream_with_rows_has_a_position,
            a_type_that_was_closed_is_listed_by_whoever_opens_it_next,
            keys_and_versions_come_in_pages,
            what_a_batch_did_is_counted,
            who_lost_a_stream_writes_nothing,
        }
    };
    (@cases $open:expr; $($case:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let writes: Option<$crate::conformance::streams::Writes> = $open.await;
                let Some((sink, _guard)) = writes else {
                    return;
                };
                $crate::conformance::streams::$case(&*sink).await;
            }
        )*
    };
}
