//! Dictionaries that were trained on what a store has, beside those that are built in: see [`super::codec`].
//!
//! Each is of one type, and its number says of which: whoever meets the number of one that it does not know reads that row. None ever changes; a better
//! one for the same type has a number of its own, up to sixteen of them.

use std::collections::HashMap;
use std::io;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// Compresses 8 to 12 µs an object; level 3 takes twice that and six times the memory for 2 % less.
pub(super) const LEVEL: i32 = 1;
/// How many numbers a type has.
const NUMBERS: i64 = 16;
/// Those before it are for what is built in.
pub(crate) const FIRST_TRAINED: i64 = NUMBERS;
/// A body's dictionary is a number of 32 bits everywhere.
const LAST_TYPE: i32 = (1 << 27) - 2;

/// The numbers of the dictionaries of a type, the first trained first; `None` of a type whose numbers would not fit.
pub(crate) fn numbers_of(resource: i32) -> Option<RangeInclusive<i64>> {
    let first = FIRST_TRAINED + i64::from(resource) * NUMBERS;
    (0..=LAST_TYPE)
        .contains(&resource)
        .then(|| first..=first + NUMBERS - 1)
}

/// Whether it is of a type.
pub(crate) fn is_trained(number: i64) -> bool {
    number >= FIRST_TRAINED
}

/// The type that a dictionary with this number is of.
pub(crate) fn type_of(number: i64) -> Option<i32> {
    i32::try_from((number - FIRST_TRAINED).div_euclid(NUMBERS))
        .ok()
        .filter(|resource| (0..=LAST_TYPE).contains(resource))
}

/// A trained dictionary, which is prepared for each use when that is first made of it: some 80 KB to pack, and 30 KB to unpack.
pub(crate) struct Trained {
    number: i64,
    bytes: Vec<u8>,
    encoder: OnceLock<EncoderDictionary<'static>>,
    decoder: OnceLock<DecoderDictionary<'static>>,
}

impl Trained {
    pub(crate) fn new(number: i64, bytes: Vec<u8>) -> Self {
        Self {
            number,
            bytes,
            encoder: OnceLock::new(),
            decoder: OnceLock::new(),
        }
    }

    pub(crate) fn number(&self) -> i64 {
        self.number
    }

    pub(super) fn compressor(&self) -> io::Result<Compressor<'_>> {
        let make = || EncoderDictionary::copy(&self.bytes, LEVEL);
        Compressor::with_prepared_dictionary(self.encoder.get_or_init(make))
    }

    pub(super) fn decompressor(&self) -> io::Result<Decompressor<'_>> {
        let make = || DecoderDictionary::copy(&self.bytes);
        Decompressor::with_prepared_dictionary(self.decoder.get_or_init(make))
    }
}

/// By number.
pub(crate) type Known = HashMap<i64, Arc<Trained>>;

/// The trained dictionaries that this process has met: as many as types with a thousand objects and more have.
#[derive(Default)]
pub(crate) struct Dictionaries(RwLock<Known>);

impl Dictionaries {
    /// Those of these numbers that are known.
    pub(crate) fn among(&self, numbers: &[i64]) -> Known {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = numbers.iter().filter_map(|number| {
            let dictionary = known.get(number)?;
            Some((*number, Arc::clone(dictionary)))
        });
        found.collect()
    }

    /// Nothing is known any more.
    pub(crate) fn forget(&self) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.clear();
    }

    /// From now on it is known.
    pub(crate) fn insert(&self, number: i64, bytes: Vec<u8>) -> Arc<Trained> {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let dictionary = known
            .entry(number)
            .or_insert_with(|| Arc::new(Trained::new(number, bytes)));
        Arc::clone(dictionary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_say_of_which_type_they_are_and_fit_a_column_of_32_bits() {
        for resource in [0, 1, 2, 77, LAST_TYPE] {
            let numbers = numbers_of(resource).expect("they fit");
            assert_eq!(numbers.clone().count(), 16);
            for number in numbers {
                assert!(is_trained(number) && i32::try_from(number).is_ok());
                assert_eq!(type_of(number), Some(resource));
            }
        }
        assert_eq!(numbers_of(LAST_TYPE + 1), None);
        assert_eq!(numbers_of(-1), None);
        assert_eq!([0, 15].map(is_trained), [false, false]);
        assert_eq!([0, 15].map(type_of), [None, None]);
    }
}
