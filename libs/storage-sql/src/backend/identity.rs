//! What a store draws by lot when it is made: the key of its term hashes and its incarnation.

use armadex_storage::StoreError;
use rand::Rng;

use crate::backend::error::broken;
use crate::backend::incarnation;
use crate::backend::{Connection, row};
use crate::form::term::HASH_KEY_BYTES;
use crate::sql::statement::Statement;
use crate::sql::{head, meta};

const HASH_KEY: &str = "hash-key";

/// Fills in what the migrations cannot: random values.
pub(crate) async fn create_missing(connection: &mut dyn Connection) -> Result<(), StoreError> {
    if read_hash_key(connection).await?.is_none() {
        let key: [u8; HASH_KEY_BYTES] = rand::rng().random();
        connection.execute(meta::insert(HASH_KEY, &key)).await?;
    }
    if row(connection, head::select(), head::decode)
        .await?
        .is_none()
    {
        connection
            .execute(head::insert(&incarnation::draw()))
            .await?;
    }
    Ok(())
}

/// The key of the store's term hashes.
pub(crate) async fn hash_key(
    connection: &mut dyn Connection,
) -> Result<[u8; HASH_KEY_BYTES], StoreError> {
    let bytes = read_hash_key(connection).await?;
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| broken("it has no key for its index"))
}

/// Gives a store that has no term yet the key of another one.
pub(crate) fn replace_hash_key(key: &[u8; HASH_KEY_BYTES]) -> Statement {
    meta::update(HASH_KEY, key)
}

async fn read_hash_key(connection: &mut dyn Connection) -> Result<Option<Vec<u8>>, StoreError> {
    row(connection, meta::select(HASH_KEY), |r| r.blob(0)).await
}
