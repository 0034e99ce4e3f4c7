//! What every store does, told case by case.

mod cases;
mod tags;

/// Runs each case on each kind of store.
macro_rules! on_all_stores {
    ($($module:ident::$case:ident,)*) => {
        on_all_stores!(@kind memory Memory $($module::$case,)*);
        on_all_stores!(@kind sqlite Sqlite $($module::$case,)*);
        on_all_stores!(@kind postgres Postgres $($module::$case,)*);
    };
    (@kind $name:ident $kind:ident $($module:ident::$case:ident,)*) => {
        mod $name {
            use crate::fixture::Kind;
            $(
                #[tokio::test]
                async fn $case() {
                    if let Some(fixture) = Kind::$kind.start().await {
                        super::$module::$case(fixture.store.as_ref()).await;
                        assert_eq!(fixture.store.check().await.unwrap().problems, []);
                    }
                }
            )*
        }
    };
}

on_all_stores! {
    cases::an_empty_store_has_nothing,
    cases::a_put_makes_a_revision_with_the_documents_in_their_order,
    cases::a_put_replaces_its_bucket_and_leaves_others_alone,
    cases::an_unchanged_document_keeps_its_revision,
    cases::an_unchanged_put_makes_a_revision_all_the_same,
    cases::emptying_an_empty_bucket_makes_no_revision,
    cases::a_document_that_comes_back_is_new,
    cases::a_document_in_another_bucket_is_a_conflict,
    cases::a_document_twice_in_a_request_is_a_conflict,
    cases::layers_make_different_documents,
    cases::there_is_one_layering_policy,
    cases::a_stale_base_is_a_conflict,
    cases::a_dry_run_changes_nothing,
    cases::rollback_brings_documents_back,
    cases::rollback_to_nothing_empties_everything,
    cases::rollback_moves_documents_back_to_their_buckets,
    cases::deleting_everything_starts_again_at_one,
    cases::data_of_every_kind_comes_back,
    cases::names_that_some_store_cannot_hold_are_refused,
    cases::old_revisions_stay_as_they_were,
    tags::tags_are_set_replaced_listed_and_deleted,
    tags::revisions_are_listed_by_tag,
    tags::stages_follow_from_tags,
    tags::validations_are_numbered_by_name,
    tags::a_lock_has_one_owner_until_it_expires,
}
