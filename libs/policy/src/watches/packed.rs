//! A text as it is kept: as few bytes as it takes. Pure.

use std::borrow::Cow;

use armadex_crds::Sensitive;

/// The fastest: it makes a quarter of a Cluster of Karmada.
const LEVEL: i32 = 1;
/// Of a shorter text next to nothing is saved.
const SHORT: usize = 512;

/// A text, which may be of a Secret.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Packed {
    /// As it is.
    Plain(Sensitive<Box<str>>),
    /// Compressed, and its bytes before that.
    Compressed(Sensitive<Box<[u8]>>, usize),
}

impl Packed {
    /// Of a text. The same text comes to the same.
    pub(super) fn of(text: String) -> Self {
        let compressed = (text.len() > SHORT).then(|| zstd::bulk::compress(text.as_bytes(), LEVEL));
        match compressed {
            Some(Ok(bytes)) if bytes.len() < text.len() => {
                Self::Compressed(bytes.into_boxed_slice().into(), text.len())
            }
            _ => Self::Plain(text.into_boxed_str().into()),
        }
    }

    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text.expose()),
            Self::Compressed(bytes, long) => {
                let text = zstd::bulk::decompress(bytes.expose(), *long).ok();
                let text = text.and_then(|text| String::from_utf8(text).ok());
                Cow::Owned(text.expect("what was compressed here is a text"))
            }
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Plain(text) => text.expose().len(),
            Self::Compressed(bytes, _) => bytes.expose().len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_what_it_was_and_takes_no_more_bytes() {
        let many = "\u{e4}b\u{1f600}".repeat(1000);
        let noise: String = (0..1000u32)
            .map(|at| char::from(33 + (at * at % 89) as u8))
            .collect();
        for text in ["", "a", &many, &noise] {
            let packed = Packed::of(text.to_owned());
            assert_eq!(packed.text(), text);
            assert!(packed.bytes() <= text.len());
            assert_eq!(packed, Packed::of(text.to_owned()));
        }
        assert!(Packed::of(many.clone()).bytes() < many.len() / 20);
    }
}
