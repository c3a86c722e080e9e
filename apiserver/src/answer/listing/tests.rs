use std::sync::Arc;

use armadex_model::ObjectKey;
use armadex_model::params::IncludeObject;
use jiff::Timestamp;

use super::*;
use crate::request::negotiate::{MetaVersion, Notation};
use crate::testing::resource;

fn pods() -> ResourceType {
    resource("", "v1", "pods", "Pod", true)
}

fn pod(bytes: usize) -> Found {
    let resource = pods();
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
    let shape = shape(form);
    let mut writer = Writer::new(Listed::one(pods(), shape), shape);
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
        let shape = shape(Form::Objects);
        let mut writer = Writer::new(Listed::one(pods(), shape), shape);
        let mut rows = vec![pod(bytes); 500].into_iter();
        while rows.len() > 0 {
            let room = expected(rows.as_slice(), ROWS);
            let Written { json, .. } = writer.some(&mut rows).expect("written");
            assert!(json.len() <= room, "{} of {room}, {bytes}", json.len());
        }
    }
}

/// Objects of several types in one answer: each is what it is.
#[test]
fn every_item_of_a_list_says_of_which_type_it_is() {
    let deployments = resource("apps", "v1", "deployments", "Deployment", true);
    let deployment = Found {
        resource: Arc::new(deployments),
        ..pod(1)
    };
    let rows = || vec![pod(1), deployment.clone(), pod(1)].into_iter();
    let written = |shape: Shape| {
        let listed = Listed::of_types(pods(), 2, shape);
        let mut writer = Writer::new(listed, shape);
        let mut json = writer.some(&mut rows()).expect("written").json;
        json.extend(writer.end(&ListMeta::default()));
        serde_json::from_slice::<serde_json::Value>(&json).expect("JSON")
    };
    let types = |items: &serde_json::Value, object: &str| {
        let items = items.as_array().expect("a list").clone();
        let object = items.into_iter().map(|item| match object {
            "" => item,
            field => item[field].clone(),
        });
        let said = object.map(|one| format!("{} {}", one["apiVersion"], one["kind"]));
        said.collect::<Vec<_>>()
    };
    let expected = [
        r#""v1" "Pod""#,
        r#""apps/v1" "Deployment""#,
        r#""v1" "Pod""#,
    ];
    for only_metadata in [false, true] {
        let objects = written(Shape {
            only_metadata,
            ..shape(Form::Objects)
        });
        assert_eq!(types(&objects["items"], ""), expected);
        let table = written(Shape {
            only_metadata,
            include: IncludeObject::Object,
            ..shape(Form::Table(MetaVersion::V1))
        });
        assert_eq!(types(&table["rows"], "object"), expected);
        let columns = table["columnDefinitions"]
            .as_array()
            .expect("columns")
            .len();
        for row in table["rows"].as_array().expect("rows") {
            assert_eq!(
                row["cells"].as_array().map(Vec::len),
                Some(columns),
                "{row}"
            );
            assert_eq!(row["cells"][1], "a");
        }
    }
}
