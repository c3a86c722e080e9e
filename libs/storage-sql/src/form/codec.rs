//! Bodies as stored bytes: zstd level 1 with a dictionary of the object's family, or as they are where that is no gain.
//!
//! Each body names its dictionary by number. Numbers 1 to 15 are built in and immutable for ever; 0 means "as it is"; greater ones were trained on what the
//! store has.

use std::sync::{Arc, OnceLock};

use armadex_model::GroupVersionResource;
use zstd::zstd_safe::{self, CCtx, CDict, DCtx, DDict};

use super::dictionaries::{Known, LEVEL, Mark, Trained, context, in_words, is_trained};

/// Bodies without compression.
const AS_IT_IS: i64 = 0;
/// The largest body that is stored. A member's etcd refuses objects of 1.5 MiB; this leaves room for one set up otherwise.
pub(crate) const MAX_BODY_BYTES: usize = 16 << 20;

/// Objects that look alike and share a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Pod = 1,
    Workload = 2,
    Event = 3,
    Config = 4,
    Node = 5,
    Generic = 6,
}

impl Family {
    const ALL: [Self; 6] = [
        Self::Pod,
        Self::Workload,
        Self::Event,
        Self::Config,
        Self::Node,
        Self::Generic,
    ];

    /// The family of a resource type.
    pub(crate) fn of(gvr: &GroupVersionResource) -> Self {
        match (gvr.group.as_str(), gvr.resource.as_str()) {
            ("", "pods" | "podtemplates") => Self::Pod,
            ("", "replicationcontrollers") | ("apps" | "batch", _) => Self::Workload,
            ("" | "events.k8s.io", "events") => Self::Event,
            ("", "configmaps" | "secrets" | "serviceaccounts")
            | ("rbac.authorization.k8s.io", _) => Self::Config,
            ("", "nodes") => Self::Node,
            _ => Self::Generic,
        }
    }

    fn dictionary(self) -> &'static [u8] {
        match self {
            Self::Pod => include_bytes!("../../dictionaries/pod.zdict"),
            Self::Workload => include_bytes!("../../dictionaries/workload.zdict"),
            Self::Event => include_bytes!("../../dictionaries/event.zdict"),
            Self::Config => include_bytes!("../../dictionaries/config.zdict"),
            Self::Node => include_bytes!("../../dictionaries/node.zdict"),
            Self::Generic => include_bytes!("../../dictionaries/generic.zdict"),
        }
    }

    fn index(self) -> usize {
        self as usize - 1
    }
}

/// Dictionaries prepared for use, about 80 KB each; each is made when it is first needed.
static ENCODERS: [OnceLock<CDict<'static>>; 6] = [const { OnceLock::new() }; 6];
static DECODERS: [OnceLock<DDict<'static>>; 6] = [const { OnceLock::new() }; 6];

fn encoder(family: Family) -> &'static CDict<'static> {
    ENCODERS[family.index()].get_or_init(|| CDict::create(family.dictionary(), LEVEL))
}

fn decoder(family: Family) -> &'static DDict<'static> {
    DECODERS[family.index()].get_or_init(|| DDict::create(family.dictionary()))
}

/// A body as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) dictionary: i64,
    pub(crate) bytes: Vec<u8>,
}

impl Packed {
    /// The trained dictionary that it was packed with, if it was with one.
    pub(crate) fn mark(&self) -> Option<Mark> {
        is_trained(self.dictionary).then(|| Mark::in_frame(self.dictionary, &self.bytes))
    }
}

/// What the bodies of a type are packed with.
#[derive(Clone)]
pub(crate) enum Dictionary {
    BuiltIn(Family),
    Trained(Arc<Trained>),
}

impl Dictionary {
    pub(crate) fn number(&self) -> i64 {
        match self {
            Self::BuiltIn(family) => *family as i64,
            Self::Trained(trained) => trained.mark().number,
        }
    }

    /// `None` of what is built in.
    pub(crate) fn mark(&self) -> Option<Mark> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Trained(trained) => Some(trained.mark()),
        }
    }

    fn encoder(&self) -> Result<&CDict<'static>, String> {
        match self {
            Self::BuiltIn(family) => Ok(encoder(*family)),
            Self::Trained(trained) => trained.encoder(),
        }
    }
}

/// Packs the bodies of one type.
pub(crate) struct Packer<'d> {
    number: i64,
    context: CCtx<'d>,
}

impl<'d> Packer<'d> {
    /// An error in words for a dictionary that nothing can be packed with.
    pub(crate) fn new(dictionary: &'d Dictionary) -> Result<Self, String> {
        Ok(Self {
            number: dictionary.number(),
            context: context(dictionary.encoder()?)?,
        })
    }

    pub(crate) fn pack(&mut self, body: &[u8]) -> Result<Packed, String> {
        let mut packed = Vec::with_capacity(zstd_safe::compress_bound(body.len()));
        self.context
            .compress2(&mut packed, body)
            .map_err(in_words)?;
        Ok(if packed.len() < body.len() {
            Packed {
                dictionary: self.number,
                bytes: packed,
            }
        } else {
            Packed {
                dictionary: AS_IT_IS,
                bytes: body.to_vec(),
            }
        })
    }
}

/// Unpacks bodies, all in one context: it is some 95 KB, and a page may have met fifty dictionaries.
pub(crate) struct Unpacker<'d> {
    trained: &'d Known,
    context: DCtx<'static>,
}

impl<'d> Unpacker<'d> {
    /// Of bodies that were packed with what is built in, or with these.
    pub(crate) fn new(trained: &'d Known) -> Self {
        Self {
            trained,
            context: DCtx::create(),
        }
    }

    /// The body, which has as many bytes as its row says; an error in words for what cannot be unpacked, before anything is made room for.
    pub(crate) fn unpack(&mut self, packed: Packed, expected: i64) -> Result<Vec<u8>, String> {
        let Packed { dictionary, bytes } = packed;
        if dictionary == AS_IT_IS {
            has_size(bytes.len(), expected)?;
            return Ok(bytes);
        }
        let prepared = prepared(dictionary, self.trained)?;
        let size = body_size(&bytes).ok_or("its size is not sound")?;
        has_size(size, expected)?;
        let mut body = Vec::with_capacity(size);
        self.context
            .decompress_using_ddict(&mut body, &bytes, prepared)
            .map_err(in_words)?;
        has_size(body.len(), expected)?;
        Ok(body)
    }
}

/// What a page may hold is counted by what the rows say.
fn has_size(bytes: usize, expected: i64) -> Result<(), String> {
    match i64::try_from(bytes) == Ok(expected) {
        true => Ok(()),
        false => Err(format!("it has {bytes} bytes instead of {expected}")),
    }
}

fn prepared(number: i64, trained: &Known) -> Result<&DDict<'static>, String> {
    let mut families = Family::ALL.into_iter();
    match families.find(|family| *family as i64 == number) {
        Some(family) => Ok(decoder(family)),
        None => match trained.get(&number) {
            Some(trained) => trained.decoder(),
            None => Err(format!("dictionary {number} is not known")),
        },
    }
}

/// What a frame says of its content, if it is within bounds.
fn body_size(frame: &[u8]) -> Option<usize> {
    let size = zstd_safe::get_frame_content_size(frame).ok()??;
    usize::try_from(size)
        .ok()
        .filter(|&size| size <= MAX_BODY_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hasher;

    #[track_caller]
    fn survives(family: Family, body: &[u8]) -> Packed {
        let dictionary = Dictionary::BuiltIn(family);
        let packed = Packer::new(&dictionary)
            .expect("packer")
            .pack(body)
            .expect("packed");
        let unpacked = Unpacker::new(&Known::new())
            .unpack(packed.clone(), body.len() as i64)
            .expect("unpacked");
        assert_eq!(unpacked, body);
        packed
    }

    #[test]
    fn every_family_gives_back_what_it_packed() {
        let body =
            br#""name":"a","namespace":"b","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{}}"#;
        for family in Family::ALL {
            assert_eq!(survives(family, body).dictionary, family as i64);
        }
    }

    #[test]
    fn what_does_not_shrink_is_stored_as_it_is() {
        assert_eq!(survives(Family::Pod, b"x").dictionary, AS_IT_IS);
        assert_eq!(survives(Family::Pod, b"").dictionary, AS_IT_IS);
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let mut packed = survives(Family::Generic, &[b'a'; 4000]);
        packed.bytes.truncate(packed.bytes.len() - 2);
        let known = Known::new();
        let fails = |packed| Unpacker::new(&known).unpack(packed, 4000).is_err();
        assert!(fails(packed));
        let unknown = Packed {
            dictionary: 99,
            bytes: vec![],
        };
        assert!(fails(unknown));
        let no_frame = Packed {
            dictionary: 1,
            bytes: vec![1, 2, 3],
        };
        assert!(fails(no_frame));
    }

    #[test]
    fn nothing_is_unpacked_that_has_another_size_than_its_row_says() {
        let known = Known::new();
        for body in [&[b'a'; 4000][..], b"x"] {
            let packed = survives(Family::Generic, body);
            let size = body.len() as i64;
            for said in [size - 1, size + 1, -1] {
                let told = Unpacker::new(&known).unpack(packed.clone(), said);
                let words = format!("it has {size} bytes instead of {said}");
                assert_eq!(told, Err(words));
            }
        }
    }

    #[test]
    fn built_in_dictionaries_never_change() {
        let digests = Family::ALL.map(|family| {
            let mut hasher = siphasher::sip::SipHasher13::new();
            hasher.write(family.dictionary());
            format!("{family:?} {:016x}", hasher.finish())
        });
        insta::assert_debug_snapshot!(digests);
    }
}
