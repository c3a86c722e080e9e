//! What is learnt from. Pure.

use super::*;

#[test]
fn nothing_is_learnt_from_what_is_secret() {
    let core = |resource| may_be_learnt(&GroupVersionResource::new("", "v1", resource));
    assert_eq!(
        ["secrets", "configmaps", "pods"].map(core),
        [false, false, true]
    );
    assert!(may_be_learnt(&GroupVersionResource::new(
        "example.com",
        "v1",
        "configmaps"
    )));
}
