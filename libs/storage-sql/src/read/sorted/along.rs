//! The first rows of an order along the index of its first key.
//!
//! The index sorts objects of one value by ids, which mean nothing: all of them are read, sorted by the other keys and by name, and as many
//! kept as are wanted. Where too many objects have one value, they are walked as a page is, if that is the order that is left.

use std::cmp::Ordering;

use armadex_model::NameFilter;
use armadex_model::query::{END, OrderBy, OrderField, SortValue};
use armadex_storage::StoreError;

use super::top::Top;
use crate::read::collect::Collector;
use crate::read::fetch::Only;
use crate::read::named::placed;
use crate::read::place::Located;
use crate::read::places::Point;
use crate::read::plan::order::{Key, Rank, key_of};
use crate::read::plan::{Plan, TypePlan, page_order};
use crate::read::reading::{Reading, Tuning};
use crate::read::tested::tested;
use crate::read::walk::{Step, Walk};
use crate::sql::select::{self, Candidate};
use crate::sql::sort::{self, Cursor, SortColumn};
use crate::sql::statement::Param;

/// What is known of one type: its first rows, and how far they are all of them.
struct Known {
    rows: Vec<Located>,
    /// Rows after this place are not known; `None` if there are none.
    until: Option<Rank>,
}

/// The first `wanted` rows, and how far everything is known; `None` for it if nothing follows. Each type has an index of its own, so its
/// first rows are found for each and put together. `None` instead of them where too many objects have one value of a column that has no index.
/// What may be looked at is for all types: each of them looks at one value at least.
pub(crate) async fn page(
    reading: &mut Reading<'_>,
    plan: &Plan,
    column: (SortColumn, bool),
    after: Option<&Rank>,
    wanted: usize,
) -> Result<Option<(Vec<Located>, Option<Rank>)>, StoreError> {
    let mut top = Top::new(&plan.order, after, wanted);
    let mut until: Option<Rank> = None;
    for planned in &plan.types {
        let Some(known) = first_rows(reading, plan, planned, column, after, wanted).await? else {
            return Ok(None);
        };
        top.extend(known.rows);
        until = match (until, known.until) {
            (Some(a), Some(b)) if b.compare(&a, &plan.order) == Ordering::Greater => Some(a),
            (one, None) => one,
            (_, other) => other,
        };
    }
    let mut rows = top.finish();
    if let Some(until) = &until {
        rows.retain(|row| !until.is_before(row, &plan.order));
    }
    Ok(Some((rows, until)))
}

async fn first_rows(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
    column: (SortColumn, bool),
    after: Option<&Rank>,
    wanted: usize,
) -> Result<Option<Known>, StoreError> {
    let ties = match rest_in_page_order(plan, planned) {
        _ if !column.0.is_indexed() => reading.tuning.ties,
        Ok(_) => reading.tuning.ties,
        // What cannot be walked has to be sorted.
        Err(_) => reading.tuning.most_sorted,
    };
    let first = plan.order[0].field;
    let mut values = Values::new(plan, planned, column, after, wanted);
    let mut top = Top::new(&plan.order, after, wanted);
    loop {
        top.extend(values.read(reading, plan).await?);
        if values.is_over {
            return Ok(Some(Known::all(top)));
        }
        let is_full = top.count(|row| !values.is_open(key_of(row, first))) >= wanted;
        if let Some(passed) = values.passed.take_if(|_| is_full || reading.is_spent()) {
            return Ok(Some(Known::up_to(end_of(plan, planned, passed), top)));
        }
        let Some(value) = values.skip_if(|count| count > ties) else {
            continue;
        };
        if !column.0.is_indexed() {
            return Ok(None);
        }
        top.retain(|row| key_of(row, first) != Key::from(&value));
        let missing = wanted.saturating_sub(top.count(|_| true));
        reading.begin_ties();
        let (rows, until) = walk(reading, plan, planned, (&value, after), missing).await?;
        top.extend(rows);
        let until = until.or_else(|| {
            let is_full = top.count(|_| true) >= wanted || reading.is_spent();
            is_full.then(|| end_of(plan, planned, value.clone()))
        });
        if let Some(until) = until {
            return Ok(Some(Known::up_to(until, top)));
        }
        values.passed = Some(value);
    }
}

impl Known {
    fn all(top: Top<'_>) -> Self {
        Self {
            rows: top.finish(),
            until: None,
        }
    }

    fn up_to(until: Rank, top: Top<'_>) -> Self {
        Self {
            rows: top.finish(),
            until: Some(until),
        }
    }
}

/// The place after every row with this value, whatever its other keys are.
fn end_of(plan: &Plan, planned: &TypePlan, value: SortValue) -> Rank {
    let last = |key: &OrderBy| match (key.field, key.descending) {
        (OrderField::CreatedAt | OrderField::ResourceVersion, false) => SortValue::Number(i64::MAX),
        (OrderField::CreatedAt | OrderField::ResourceVersion, true) => SortValue::Number(i64::MIN),
        (_, false) => SortValue::Text(END.to_owned()),
        (_, true) => SortValue::Text(String::new()),
    };
    let others = plan.order.iter().skip(1).map(last);
    Rank {
        keys: std::iter::once(value).chain(others).collect(),
        index: plan.types.last().map_or(planned.index, |last| last.index),
        cluster: END.to_owned(),
        namespace: END.to_owned(),
        name: END.to_owned(),
    }
}

/// Reads objects along the index, value after value of the first key.
struct Values<'a> {
    planned: &'a TypePlan,
    column: (SortColumn, bool),
    cursor: Cursor,
    /// The value that was read last, of which more may follow, and how many objects of it were read.
    open: Option<(SortValue, usize)>,
    /// Every object up to this value was read.
    passed: Option<SortValue>,
    is_over: bool,
    portion: usize,
}

impl<'a> Values<'a> {
    fn new(
        plan: &Plan,
        planned: &'a TypePlan,
        column: (SortColumn, bool),
        after: Option<&Rank>,
        wanted: usize,
    ) -> Self {
        // Types before the one that a page ended in have no more rows of the value. Where further keys come before the type, they may.
        let has_no_more = |rank: &Rank| {
            rank.cluster == END || (plan.order.len() == 1 && rank.index > planned.index)
        };
        let cursor = match after {
            None => Cursor::Start,
            Some(rank) if has_no_more(rank) => beyond(column, &rank.keys[0]),
            Some(rank) => Cursor::At(Param::from(&rank.keys[0])),
        };
        Self {
            planned,
            column,
            cursor,
            open: None,
            passed: None,
            is_over: false,
            portion: wanted.saturating_add(1),
        }
    }

    /// How many objects to read at a time. Without an index the database sorts all of them each time.
    fn next_portion(&mut self, tuning: &Tuning) -> usize {
        let most = tuning.rows.max(1);
        let portion = match self.column.0.is_indexed() {
            true => self.portion.clamp(1, most),
            false => self.portion.max(most),
        };
        self.portion = portion.saturating_mul(2);
        portion
    }

    /// Whether more objects of a value may follow.
    fn is_open(&self, value: Key<'_>) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|(open, _)| Key::from(open) == value)
    }

    /// Leaves out what is left of the open value, if so many objects of it were read.
    fn skip_if(&mut self, are_many: impl FnOnce(usize) -> bool) -> Option<SortValue> {
        let (value, _) = self.open.take_if(|(_, count)| are_many(*count))?;
        self.cursor = beyond(self.column, &value);
        Some(value)
    }

    /// The next objects that match.
    async fn read(
        &mut self,
        reading: &mut Reading<'_>,
        plan: &Plan,
    ) -> Result<Vec<Located>, StoreError> {
        let portion = self.next_portion(reading.tuning);
        let limit = i64::try_from(portion).unwrap_or(i64::MAX);
        let (dialect, resource) = (reading.dialect, self.planned.id);
        let statement = sort::along(dialect, resource, self.column, &self.cursor, limit);
        let mut found = reading.rows(statement, select::decode).await?;
        self.is_over = found.len() < portion;
        for object in &found {
            self.note(object);
        }
        found.retain(|object| plan.names.admits(&object.name));
        let rows = placed(reading, self.planned, found).await?;
        tested(reading, plan, rows, |row| row.object.rev).await
    }

    /// Notes that an object was read, whether it matches or not.
    fn note(&mut self, object: &Candidate) {
        let value = self.value(object);
        self.cursor = Cursor::After {
            value: Param::from(&value),
            nsid: object.nsid,
            id: object.id,
        };
        match &mut self.open {
            Some((open, count)) if *open == value => *count += 1,
            open => {
                let before = open.replace((value, 1));
                self.passed = before.map(|(value, _)| value).or(self.passed.take());
            }
        }
    }

    fn value(&self, object: &Candidate) -> SortValue {
        match self.column.0 {
            SortColumn::Created => SortValue::Number(object.created),
            SortColumn::Version => SortValue::Number(object.version.number()),
            SortColumn::Name => SortValue::Text(object.name.clone()),
            SortColumn::Uid => SortValue::Text(object.uid.clone()),
        }
    }
}

/// Right after all objects of a value.
fn beyond((_, descending): (SortColumn, bool), value: &SortValue) -> Cursor {
    let last = if descending { i64::MIN } else { i64::MAX };
    Cursor::After {
        value: Param::from(value),
        nsid: last,
        id: last,
    }
}

/// The next rows of a value that has many, in page order, and how far they go; `None` for it at the value's end.
async fn walk(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
    (value, after): (&SortValue, Option<&Rank>),
    wanted: usize,
) -> Result<(Vec<Located>, Option<Rank>), StoreError> {
    let backwards = rest_in_page_order(plan, planned)?;
    let named = match value {
        SortValue::Text(name) => plan.names.clone().and(NameFilter::only(name)),
        SortValue::Number(_) => plan.names.clone(),
    };
    let only = match value {
        SortValue::Text(_) => Only::Named(&named),
        SortValue::Number(created) => Only::Created(*created, &named),
    };
    let here = |rank: &&Rank| rank.keys[0] == *value && rank.index == planned.index;
    let from = after.filter(here).map(Point::of_rank);
    let mut walk = Walk::begin(reading, plan, planned, (only, backwards), from).await?;
    let mut collector = Collector::new(0, wanted);
    while walk.step(reading, &mut collector).await? == Step::More {
        if collector.missing() == 0 {
            let rows = collector.drain();
            let until = rows.last().map(|row| Rank::of_row(row, &plan.order));
            return Ok((rows, until));
        }
        if reading.is_spent() {
            let until = walk.reached().map(|reached| {
                let mut until = reached.into_rank(planned.index, plan);
                until.keys[0] = value.clone();
                until
            });
            return Ok((collector.drain(), until));
        }
    }
    Ok((collector.drain(), None))
}

/// Whether what is left of the order, once the first key is the same, is that of a walk.
fn rest_in_page_order(plan: &Plan, planned: &TypePlan) -> Result<bool, StoreError> {
    let rest: Vec<OrderBy> = plan.order[1..].to_vec();
    // Further keys come before the type, so several types would have to be walked side by side.
    let side_by_side = plan.types.len() > 1 && !rest.is_empty();
    let walked = match side_by_side {
        true => None,
        false => page_order(&rest, plan, planned),
    };
    walked.ok_or_else(|| StoreError::Unsupported {
        what: "too many objects have the same first key of this order: leave the other keys out"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests;
