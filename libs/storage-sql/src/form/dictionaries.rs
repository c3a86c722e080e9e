//! Dictionaries that were trained on what a store has, beside those that are built in: see [`super::codec`].
//!
//! Each is of one type, and its number says of which: whoever meets the number of one that it does not know reads that row. None ever changes; a better
//! one for the same type has a number of its own, up to sixteen of them. A database that lost one gives its number again: so a body names, in zstd's
//! frame, the content as well, and so does whoever is about to write some.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tracing::error;
use zstd::zstd_safe::{self, CCtx, CDict, DDict};

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

/// A context that packs with this dictionary, and with nothing else.
pub(super) fn context<'d>(dictionary: &'d CDict<'static>) -> Result<CCtx<'d>, String> {
    let mut context = CCtx::try_create().ok_or("there is no memory to pack with")?;
    context.ref_cdict(dictionary).map_err(in_words)?;
    Ok(context)
}

/// What zstd says of an error.
pub(super) fn in_words(code: zstd_safe::ErrorCode) -> String {
    zstd_safe::get_error_name(code).to_owned()
}

/// A trained dictionary as what is packed with it names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    pub(crate) number: i64,
    /// By which zstd knows its content; `None` of bytes that no training made.
    pub(crate) content: Option<NonZeroU32>,
}

impl Mark {
    /// Of a dictionary that begins with these bytes, eight at the least.
    pub(crate) fn of(number: i64, beginning: &[u8]) -> Self {
        let content = zstd_safe::get_dict_id_from_dict(beginning);
        Self { number, content }
    }

    /// Of the dictionary that this frame was packed with.
    pub(super) fn in_frame(number: i64, frame: &[u8]) -> Self {
        let content = zstd_safe::get_dict_id_from_frame(frame);
        Self { number, content }
    }
}

/// A trained dictionary, which is prepared for each use when that is first made of it: some 80 KB to pack, and 30 KB to unpack. Nothing is prepared of one
/// whose bytes are damaged, nor where there is no memory for it.
pub(crate) struct Trained {
    mark: Mark,
    bytes: Vec<u8>,
    encoder: OnceLock<Option<CDict<'static>>>,
    decoder: OnceLock<Option<DDict<'static>>>,
}

impl Trained {
    pub(crate) fn new(number: i64, bytes: Vec<u8>) -> Self {
        Self {
            mark: Mark::of(number, &bytes),
            bytes,
            encoder: OnceLock::new(),
            decoder: OnceLock::new(),
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    /// Whether something can be unpacked with it: then it can be packed, too. What packing takes is made when that is first done.
    pub(crate) fn is_sound(&self) -> bool {
        self.decoder().is_ok()
    }

    pub(super) fn encoder(&self) -> Result<&CDict<'static>, String> {
        let make = || self.told_if_damaged(CDict::try_create(&self.bytes, LEVEL));
        self.found(self.encoder.get_or_init(make))
    }

    pub(super) fn decoder(&self) -> Result<&DDict<'static>, String> {
        let make = || self.told_if_damaged(DDict::try_create(&self.bytes));
        self.found(self.decoder.get_or_init(make))
    }

    /// Once for each use: whoever meets it again says so of what was packed with it.
    fn told_if_damaged<T>(&self, made: Option<T>) -> Option<T> {
        if made.is_none() {
            error!(
                dictionary = self.mark.number,
                "a dictionary of the store is damaged, and what was packed with it cannot be read: `armadex store check --mend` removes that"
            );
        }
        made
    }

    fn found<'d, T>(&self, made: &'d Option<T>) -> Result<&'d T, String> {
        let number = self.mark.number;
        made.as_ref()
            .ok_or_else(|| format!("dictionary {number} is damaged"))
    }
}

/// By number.
pub(crate) type Known = HashMap<i64, Arc<Trained>>;

/// The trained dictionaries that this process has met: as many as types with a thousand objects and more have.
#[derive(Default)]
pub(crate) struct Dictionaries(RwLock<Known>);

impl Dictionaries {
    /// Those of these that are known.
    pub(crate) fn among(&self, marks: &[Mark]) -> Known {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = marks.iter().filter_map(|mark| {
            let dictionary = known.get(&mark.number)?;
            (dictionary.mark == *mark).then(|| (mark.number, Arc::clone(dictionary)))
        });
        found.collect()
    }

    /// Nothing is known any more.
    pub(crate) fn forget(&self) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.clear();
    }

    /// From now on it is known, and no other of its number.
    pub(crate) fn insert(&self, number: i64, bytes: Vec<u8>) -> Arc<Trained> {
        let new = Trained::new(number, bytes);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match known.get(&number) {
            Some(same) if same.mark == new.mark => Arc::clone(same),
            _ => {
                let new = Arc::new(new);
                known.insert(number, Arc::clone(&new));
                new
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_says_with_what() {
        let number = *numbers_of(1).expect("they fit").start();
        let samples: Vec<String> = (0..500)
            .map(|number| format!("{number:08} of many"))
            .collect();
        let bytes = zstd::dict::from_samples(&samples, 1024).expect("a dictionary");
        let trained = Trained::new(number, bytes);
        let mut packed = Vec::with_capacity(100);
        context(trained.encoder().expect("it packs"))
            .expect("a context")
            .compress2(&mut packed, b"one of many")
            .expect("packed");
        let mark = Mark::in_frame(number, &packed);
        assert_eq!(mark, trained.mark());
        assert!(mark.content.is_some());
    }

    #[test]
    fn nothing_is_made_of_a_damaged_dictionary() {
        let mut bytes = zstd_safe::MAGIC_DICTIONARY.to_le_bytes().to_vec();
        bytes.extend([1, 0, 0, 0, 0xff]);
        let damaged = Trained::new(77, bytes);
        assert!(!damaged.is_sound());
        let told = damaged.decoder().map(|_| ());
        assert_eq!(told, Err("dictionary 77 is damaged".to_owned()));
    }

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
