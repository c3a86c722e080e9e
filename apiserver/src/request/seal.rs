//! What clients carry for the server and can neither read nor make.
//!
//! It is sealed by what the processes of one store have in common, so that each of them reads what another has made, before and after a restart. Whoever
//! carries a text learns of it how long it is, in large steps, and nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use sha2::{Digest as _, Sha256};

/// What a sealed text is made of, in this order: the form, the name of the seal, a number that no other text has, what is sealed, and the tag that holds it
/// together. Another form is damaged. The number is a digest of what is sealed, so that an answer that is given twice is the same.
const FORM: u8 = 3;
const NAME: usize = 4;
const HEAD: usize = 1 + NAME + NONCE_LEN;
/// What is sealed is as long as a multiple of this.
const STEP: usize = 128;
/// Bytes that a seal adds at most.
pub(crate) const ADDED: usize = HEAD + STEP + 16;

/// Seals and opens texts.
pub(crate) struct Seal {
    key: LessSafeKey,
    numbers: hmac::Key,
    name: [u8; NAME],
}

/// Why a text cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    /// Another store's processes have sealed it, or a release that sealed nothing has made it.
    OfAnother,
    /// Nobody has.
    Damaged,
}

impl Seal {
    /// The seal of those who know this.
    pub(crate) fn of(secret: &[u8; 32]) -> Self {
        let derived = |purpose: &str| {
            let digest = Sha256::new().chain_update(purpose).chain_update(secret);
            <[u8; 32]>::from(digest.finalize())
        };
        let key = UnboundKey::new(&AES_256_GCM, &derived("armadex seal: key"));
        Self {
            key: LessSafeKey::new(key.expect("the key has its length")),
            numbers: hmac::Key::new(hmac::HMAC_SHA256, &derived("armadex seal: number")),
            name: first(&derived("armadex seal: name")),
        }
    }

    /// Seals JSON, which may end in blanks.
    pub(crate) fn close(&self, mut json: Vec<u8>) -> String {
        json.resize(json.len().next_multiple_of(STEP), b' ');
        let number = first::<NONCE_LEN>(hmac::sign(&self.numbers, &json).as_ref());
        let mut sealed = Vec::with_capacity(HEAD + json.len() + AES_256_GCM.tag_len());
        sealed.push(FORM);
        sealed.extend(self.name);
        sealed.extend(number);
        let number = Nonce::assume_unique_for_key(number);
        let closed = self
            .key
            .seal_in_place_append_tag(number, Aad::from([FORM]), &mut json);
        closed.expect("it is shorter than what can be sealed");
        sealed.append(&mut json);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// The JSON that was sealed.
    pub(crate) fn open(&self, text: &str) -> Result<Vec<u8>, Unopened> {
        let sealed = URL_SAFE_NO_PAD.decode(text);
        let mut sealed = sealed.map_err(|_| Unopened::Damaged)?;
        if sealed.starts_with(b"{") {
            return Err(Unopened::OfAnother);
        }
        let mut head = [0; HEAD];
        head.copy_from_slice(sealed.get(..HEAD).ok_or(Unopened::Damaged)?);
        let [form, head @ ..] = head;
        let (name, number) = head.split_at(NAME);
        if form != FORM {
            return Err(Unopened::Damaged);
        }
        if name != self.name {
            return Err(Unopened::OfAnother);
        }
        let number = Nonce::try_assume_unique_for_key(number).map_err(|_| Unopened::Damaged)?;
        let opened = self
            .key
            .open_in_place(number, Aad::from([FORM]), &mut sealed[HEAD..]);
        let length = opened.map_err(|_| Unopened::Damaged)?.len();
        sealed.drain(..HEAD);
        sealed.truncate(length);
        Ok(sealed)
    }
}

/// The first bytes of a digest.
fn first<const N: usize>(digest: &[u8]) -> [u8; N] {
    let first = digest.first_chunk();
    *first.expect("a digest is longer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_read_by_who_has_the_secret_and_by_nobody_else() {
        let json = br#"{"name":"secret-of-another"}"#.to_vec();
        let text = Seal::of(&[1; 32]).close(json.clone());
        let opened = Seal::of(&[1; 32]).open(&text).expect("opened");
        assert_eq!(opened.trim_ascii_end(), json);
        assert_eq!(Seal::of(&[2; 32]).open(&text), Err(Unopened::OfAnother));
        let carried = URL_SAFE_NO_PAD.decode(&text).expect("base64");
        let shows = carried.windows(6).any(|part| part == b"secret");
        assert!(!shows);
        let again = Seal::of(&[1; 32]).close(json);
        assert_eq!(again, text, "an answer that is given twice is the same");
    }

    /// Lists go on over an upgrade by beginning anew, as with any token that has expired.
    #[test]
    fn what_a_release_made_that_sealed_nothing_is_not_damaged() {
        let text = URL_SAFE_NO_PAD.encode(r#"{"v":2}"#);
        assert_eq!(Seal::of(&[1; 32]).open(&text), Err(Unopened::OfAnother));
    }

    #[test]
    fn how_long_a_name_is_does_not_show() {
        let seal = Seal::of(&[1; 32]);
        let [short, long] = [1, 100].map(|length| seal.close(vec![b'1'; length]).len());
        assert_eq!(short, long);
    }

    #[test]
    fn what_was_changed_anywhere_is_damaged() {
        let seal = Seal::of(&[1; 32]);
        let sealed = URL_SAFE_NO_PAD.decode(seal.close(b"{}".to_vec()));
        let sealed = sealed.expect("base64");
        for index in (0..sealed.len()).filter(|index| !(1..=NAME).contains(index)) {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            let text = URL_SAFE_NO_PAD.encode(&changed);
            assert_eq!(seal.open(&text), Err(Unopened::Damaged), "byte {index}");
        }
        for length in 0..HEAD {
            let text = URL_SAFE_NO_PAD.encode(&sealed[..length]);
            assert_eq!(seal.open(&text), Err(Unopened::Damaged), "{length} bytes");
        }
    }
}
