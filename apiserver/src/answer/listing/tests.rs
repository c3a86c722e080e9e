use std::sync::Arc;

use armadex_model::ObjectKey;
use armadex_model::params::IncludeObject;
use jiff::Timestamp;

use super::*;
use crate::request::negotiate::{MetaVersion, Notation};
use crate::testing::resource;

fn pod(bytes: usize) -> Found {
    let resource = resource("", "v1", "pods", "Pod", true);
    let text = "x".repeat(bytes);
    Found {
        resource: Arc::new(resource),
        cluster: "m1".parse().expect("a name"),
        key: ObjectKey::new("x", "a"),
        resource_version: "1".to_owned(),
        revision: 1,
        created: 0,
        body: format!(r#""name":"a"}},"spec":{{"text":"{text}"}}}}"#).into(),
    }
}

fn shape(form: Form) -> Shape {
    Shape {
        form,
        notation: Notation::Json,
        include: IncludeObject::None,
        only_metadata: false,
        now: Timestamp::UNIX_EPOCH,
    }
}

/// How many of many pods are written at a time.
fn at_a_time(form: Form, bytes: usize) -> usize {
    let mut writer = Writer::new(resource("", "v1", "pods", "Pod", true), shape(form));
    let mut rows = vec![pod(bytes); 1000].into_iter();
    writer.some(&mut rows).expect("written");
    1000 - rows.len()
}

#[test]
fn what_is_done_at_a_time_is_bounded_by_rows_by_what_is_written_and_by_what_is_looked_at() {
    let table = Form::Table(MetaVersion::V1);
    assert_eq!(at_a_time(table, 1000), ROWS_OF_TABLE);
    assert_eq!(at_a_time(table, 100 << 10), 3);
    assert_eq!(
        at_a_time(Form::PartialMetadata(MetaVersion::V1), 100 << 10),
        3
    );
    assert_eq!(at_a_time(Form::Objects, 30 << 10), 3);
    assert_eq!(at_a_time(Form::Objects, 10), ROWS);
}

#[test]
fn a_piece_never_outgrows_the_room_that_was_made_for_it() {
    for bytes in [1, 150, 700, 3900, 4000, 30_000, FLUSH_BYTES - 1] {
        let mut writer = Writer::new(
            resource("", "v1", "pods", "Pod", true),
            shape(Form::Objects),
        );
        let mut rows = vec![pod(bytes); 500].into_iter();
        while rows.len() > 0 {
            let room = expected(rows.as_slice(), ROWS);
            let Written { json, .. } = writer.some(&mut rows).expect("written");
            assert!(json.len() <= room, "{} of {room}, {bytes}", json.len());
        }
    }
}
