//! JSON as values of a type: takes what is in an object, gives the values, or an error where there would be too many of them.

use serde::Deserialize;
use serde_json::Error;

/// Objects and lists that become values of a type: ten times as many as an honest object has, an Endpoints of a thousand addresses. A value of
/// a type takes some hundred bytes, however little was said of it, and a function may look at each of them several times. Texts need no such bound:
/// they take 24 bytes for three of JSON.
pub(super) const MOST: usize = 20_000;

/// A value made of JSON. A member that is no kube-apiserver may say `{}` or `[]` 700,000 times in one object, and each would become a
/// value of its type: nothing is made of that. Braces within texts count as well.
pub(super) fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Error> {
    let is_one = |byte: &&u8| matches!(byte, b'{' | b'[');
    // Each takes two bytes at least, so most objects need not be looked through.
    if json.len() / 2 > MOST && json.iter().filter(is_one).count() > MOST {
        return Err(too_much());
    }
    serde_json::from_slice(json)
}

pub(super) fn too_much<E: serde::de::Error>() -> E {
    E::custom("there is too much of it")
}
