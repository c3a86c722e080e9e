//! What a store answers, compared with what the map says.

use armadex_model::Query;
use armadex_model::query::Start;

use super::dice::Dice;
use super::evaluate::evaluate;
use super::fleet::Fleet;
use super::map::Model;
use crate::Found;
use crate::conformance::fixture::{Fixture, path};

/// Pages of a query, how many rows it has, and a page that begins somewhere in it.
pub(super) async fn compare(
    fixture: &Fixture,
    (model, fleet): (&Model, &Fleet),
    query: &Query,
    dice: &mut Dice,
) {
    let expected = evaluate(model, fleet, query);
    let rows = 1 + dice.below(30);
    let page_size = u32::try_from(rows).expect("small");
    let listed = fixture.rows(query, page_size).await;
    let listed: Vec<String> = listed.iter().map(full_path).collect();
    assert_eq!(listed, expected, "{query:#?} in pages of {rows}");
    let count = fixture.count(query).await;
    assert_eq!(count, expected.len() as u64, "{query:#?}");
    let offset = dice.below(20);
    let start = Start::Offset(offset as u64);
    let Some(found) = fixture.rows_from(query, &start, page_size).await else {
        return;
    };
    let found: Vec<String> = found.iter().map(full_path).collect();
    let part: Vec<String> = expected.iter().skip(offset).take(rows).cloned().collect();
    assert_eq!(found, part, "{query:#?} from {offset}");
}

/// `Kind cluster/namespace/name`.
fn full_path(row: &Found) -> String {
    format!("{} {}", row.resource.kind, path(row))
}
