//! Terms as numbers: a keyed hash, so that no dictionary of strings has to be kept and nobody can aim at a collision.

use std::hash::Hasher;

use armadex_model::Term;
use armadex_storage::Rules;
use siphasher::sip::SipHasher13;

/// SipHash takes a key of 128 bits.
pub(crate) const HASH_KEY_BYTES: usize = 16;

/// The bits of a form that stand for the rules.
const RULES_BITS: u64 = (1 << 24) - 1;

/// Hashes terms with the key of one store. What it gives is stored: it must never change.
#[derive(Clone, Copy)]
pub(crate) struct TermHasher {
    key: [u8; HASH_KEY_BYTES],
}

impl TermHasher {
    pub(crate) fn new(key: [u8; HASH_KEY_BYTES]) -> Self {
        Self { key }
    }

    /// Whether it hashes with this key.
    pub(crate) fn has_key(&self, key: &[u8; HASH_KEY_BYTES]) -> bool {
        self.key == *key
    }

    /// What is known of the key by whoever may know which store this is, as eight digits.
    pub(crate) fn identity(&self) -> String {
        format!("{:016x}", self.parts(0, "", ""))[..8].to_owned()
    }

    /// What nobody tells who does not have the key. It says nothing of how anything is hashed.
    pub(crate) fn secret(&self) -> [u8; 32] {
        let mut secret = [0; 32];
        for (part, bytes) in secret.chunks_exact_mut(8).enumerate() {
            let part = ["0", "1", "2", "3"][part];
            bytes.copy_from_slice(&self.parts(16, "secret", part).to_le_bytes());
        }
        secret
    }

    /// The number of a term.
    pub(crate) fn term(&self, term: &Term) -> i64 {
        match term {
            Term::Label { key, value } => self.parts(1, key, value),
            Term::LabelKey { key } => self.parts(2, key, ""),
            // Whether it is posted makes no other term of it: rows of both kinds are told by it.
            Term::Field { path, value } | Term::OwnField { path, value } => {
                self.parts(3, path, value)
            }
            Term::Owner { uid } => self.parts(4, uid, ""),
        }
    }

    /// The numbers of an object's terms.
    #[cfg(test)]
    pub(crate) fn terms(&self, terms: &[Term]) -> TermSet {
        self.terms_and_labels(terms).0
    }

    /// The numbers of an object's terms, and the labels among them.
    pub(crate) fn terms_and_labels(&self, terms: &[Term]) -> (TermSet, Vec<Label>) {
        let numbers: Vec<i64> = terms.iter().map(|term| self.term(term)).collect();
        let label = |(term, &value): (&Term, &i64)| match term {
            Term::Label { key, .. } => Some(Label {
                key: self.parts(2, key, ""),
                value,
            }),
            _ => None,
        };
        let labels = terms.iter().zip(&numbers).filter_map(label).collect();
        let is_own = |(_, term): &(i64, &Term)| matches!(term, Term::OwnField { .. });
        let numbered = numbers.into_iter().zip(terms);
        let (unposted, posted): (Vec<_>, Vec<_>) = numbered.partition(is_own);
        let [posted, unposted] = [posted, unposted].map(in_order);
        (TermSet { posted, unposted }, labels)
    }

    /// One number for the form that an object is stored in: 40 bits tell its set of terms from the one it had before, 24 the rules that
    /// it was stored by.
    pub(crate) fn form(&self, terms: &TermSet, rules: Rules) -> i64 {
        let rules = self.bytes(&rules.form.to_le_bytes()) & RULES_BITS;
        self.terms_of_form(terms) | rules.cast_signed()
    }

    /// The part of [`TermHasher::form`] that stands for the terms.
    pub(crate) fn terms_of_form(&self, terms: &TermSet) -> i64 {
        (self.bytes(&terms.in_order()) & !RULES_BITS).cast_signed()
    }

    /// Whether a form stands for these terms, by whatever rules.
    pub(crate) fn is_form_of(&self, form: i64, terms: &TermSet) -> bool {
        form & !RULES_BITS.cast_signed() == self.terms_of_form(terms)
    }

    fn bytes(&self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        hasher.write(bytes);
        hasher.finish()
    }

    fn parts(&self, kind: u8, first: &str, second: &str) -> i64 {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        hasher.write(&[kind]);
        hasher.write(&(first.len() as u64).to_le_bytes());
        hasher.write(first.as_bytes());
        hasher.write(second.as_bytes());
        hasher.finish().cast_signed()
    }
}

/// A label of an object, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The term of its key.
    pub(crate) key: i64,
    /// The term of its key and value.
    pub(crate) value: i64,
}

/// The numbers of an object's terms.
///
/// They are stored beside each version, so that nobody has to parse a body to know what an object was indexed by: a writer that takes the
/// terms of a former version out of the index, a check, a search by what the index does not have, a watch that asks whether a former version
/// matched a selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TermSet {
    /// Those that posting blocks lead from. Sorted.
    posted: Vec<i64>,
    /// Those that only the object itself knows of. Sorted.
    unposted: Vec<i64>,
}

impl TermSet {
    /// One that posting blocks lead from.
    pub(crate) fn of(posted: i64) -> Self {
        Self {
            posted: vec![posted],
            unposted: vec![],
        }
    }

    /// Those that posting blocks lead from.
    pub(crate) fn posted(&self) -> &[i64] {
        &self.posted
    }

    /// Those that only the object itself knows of.
    pub(crate) fn unposted(&self) -> &[i64] {
        &self.unposted
    }

    /// The same terms, of which these are not posted either.
    pub(crate) fn without_posting(&self, terms: &[i64]) -> Self {
        let (more, posted): (Vec<i64>, _) =
            self.posted.iter().partition(|term| terms.contains(term));
        let mut unposted = [self.unposted.as_slice(), &more].concat();
        unposted.sort_unstable();
        Self { posted, unposted }
    }

    /// How many terms there are.
    pub(crate) fn len(&self) -> usize {
        self.posted.len() + self.unposted.len()
    }

    /// Whether any of these, which are sorted, is in the set.
    pub(crate) fn has_any(&self, sorted: &[i64]) -> bool {
        meet(&self.posted, sorted) || meet(&self.unposted, sorted)
    }

    /// As stored beside each version: 8 bytes for each that is posted; then, if there are others, those and 4 bytes that say how many they are.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = bytes_of(self.posted.iter().chain(&self.unposted));
        if !self.unposted.is_empty() {
            let count = u32::try_from(self.unposted.len()).expect("an object has fewer labels");
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        bytes
    }

    /// `None` for bytes that are no term set.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (chunks, rest) = bytes.as_chunks::<8>();
        let mut posted: Vec<i64> = chunks
            .iter()
            .map(|chunk| i64::from_le_bytes(*chunk))
            .collect();
        let count = match rest {
            [] => 0,
            rest => u32::from_le_bytes(rest.try_into().ok()?),
        };
        let at = posted.len().checked_sub(usize::try_from(count).ok()?)?;
        let unposted = posted.split_off(at);
        let sorted = |terms: &[i64]| terms.windows(2).all(|pair| pair[0] < pair[1]);
        (sorted(&posted) && sorted(&unposted)).then_some(Self { posted, unposted })
    }

    /// All of them sorted, whether they are posted or not.
    fn in_order(&self) -> Vec<u8> {
        if self.unposted.is_empty() {
            return bytes_of(self.posted.iter());
        }
        let mut all = [self.posted.as_slice(), &self.unposted].concat();
        all.sort_unstable();
        bytes_of(all.iter())
    }
}

fn in_order(terms: Vec<(i64, &Term)>) -> Vec<i64> {
    let mut numbers: Vec<i64> = terms.into_iter().map(|(number, _)| number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Whether two sorted lists have a number in common: those of the shorter one are looked for in what is left of the longer one.
fn meet(one: &[i64], other: &[i64]) -> bool {
    let (few, mut left) = match one.len() <= other.len() {
        true => (one, other),
        false => (other, one),
    };
    few.iter().any(|number| {
        left = &left[left.partition_point(|other| other < number)..];
        left.first() == Some(number)
    })
}

fn bytes_of<'a>(terms: impl Iterator<Item = &'a i64>) -> Vec<u8> {
    terms.flat_map(|term| term.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(key: &str, value: &str) -> Term {
        Term::Label {
            key: key.into(),
            value: value.into(),
        }
    }

    #[test]
    fn the_numbers_of_a_key_never_change() {
        let hasher = TermHasher::new(*b"0123456789abcdef");
        let numbers = [
            hasher.term(&label("app", "web")),
            hasher.term(&Term::LabelKey { key: "app".into() }),
            hasher.term(&Term::Field {
                path: "status.phase",
                value: "Running".into(),
            }),
            hasher.term(&Term::Owner { uid: "app".into() }),
        ];
        insta::assert_debug_snapshot!(numbers);
    }

    #[test]
    fn where_a_key_ends_matters() {
        let hasher = TermHasher::new([7; 16]);
        assert_ne!(
            hasher.term(&label("ab", "c")),
            hasher.term(&label("a", "bc"))
        );
        assert_ne!(
            hasher.term(&label("a", "")),
            hasher.term(&Term::LabelKey { key: "a".into() })
        );
    }

    #[test]
    fn a_set_survives_its_bytes_and_damage_is_seen() {
        let hasher = TermHasher::new([7; 16]);
        let set = hasher.terms(&[label("a", "1"), label("b", "2"), label("a", "1")]);
        assert_eq!(set.posted().len(), 2);
        assert_eq!(TermSet::from_bytes(&set.to_bytes()), Some(set.clone()));
        assert_eq!(TermSet::from_bytes(&set.to_bytes()[1..]), None);
        let twice = [set.to_bytes(), set.to_bytes()].concat();
        assert_eq!(TermSet::from_bytes(&twice), None);
    }

    #[test]
    fn what_is_posted_changes_neither_the_form_nor_what_an_object_has() {
        let hasher = TermHasher::new([7; 16]);
        let terms = [label("a", "1"), label("b", "2"), label("c", "3")];
        let set = hasher.terms(&terms);
        let [a, b, _] = hasher.terms_and_labels(&terms).1[..] else {
            panic!("three labels")
        };
        let less = set.without_posting(&[a.value, b.value]);
        assert_eq!(less.posted().len(), 1);
        assert_eq!(less.unposted().len(), 2);
        assert!(less.has_any(&[a.value]));
        assert!(!less.has_any(&[a.key]));
        assert_eq!(hasher.terms_of_form(&less), hasher.terms_of_form(&set));
        assert_eq!(TermSet::from_bytes(&less.to_bytes()), Some(less.clone()));
        let bytes = less.to_bytes();
        assert_eq!(TermSet::from_bytes(&bytes[..bytes.len() - 1]), None);
        let too_many = [&bytes[..bytes.len() - 4], &4_u32.to_le_bytes()].concat();
        assert_eq!(TermSet::from_bytes(&too_many), None);
    }
}
