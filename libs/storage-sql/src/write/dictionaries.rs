//! Adding a dictionary that was trained, and removing those that are of no use any more.

use armadex_storage::StoreError;

use crate::backend::rows;
use crate::form::dictionaries::numbers_of;
use crate::sql::{catalog, dictionary};
use crate::write::session::Session;

/// A dictionary, the type that it is for, and how many objects that had.
#[derive(Debug)]
pub(crate) struct Lesson {
    pub(crate) resource: i32,
    pub(crate) objects: i64,
    pub(crate) bytes: Vec<u8>,
}

/// Adds it; its number, if the type is there still and has one left.
pub(crate) async fn learn(
    session: &mut Session<'_>,
    lesson: &Lesson,
) -> Result<Option<i64>, StoreError> {
    let connection = &mut *session.connection;
    let id = i64::from(lesson.resource);
    let types = catalog::types_by_id(session.dialect, &[id]);
    if rows(connection, types, |row| row.int(0)).await?.is_empty() {
        return Ok(None);
    }
    let Some(numbers) = numbers_of(lesson.resource) else {
        return Ok(None);
    };
    let taken = rows(connection, dictionary::all(), dictionary::decode_trained).await?;
    let taken = taken.iter().map(|(number, _)| *number);
    let last = taken.filter(|number| numbers.contains(number)).max();
    let number = last.map_or(*numbers.start(), |last| last + 1);
    if !numbers.contains(&number) {
        return Ok(None);
    }
    let added = dictionary::insert(number, lesson.objects, &lesson.bytes);
    connection.execute(added).await?;
    Ok(Some(number))
}

/// Removes dictionaries.
pub(crate) async fn remove(session: &mut Session<'_>, numbers: &[i64]) -> Result<(), StoreError> {
    for part in numbers.chunks(session.dialect.most_values()) {
        let statement = dictionary::delete(session.dialect, part);
        session.connection.execute(statement).await?;
    }
    Ok(())
}
