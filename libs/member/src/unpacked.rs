//! Unpacking a body that comes compressed with gzip, piece by piece. Pure.
//!
//! However much is packed into little, no more than one piece of it is made at a time, so whoever counts what comes in counts what was unpacked.

use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};

/// As much as a frame of HTTP/2 has.
const PIECE: usize = 16 << 10;
/// How many times as long as what came may be what was unpacked: lists of Kubernetes have ten to thirty times of it, and gzip can have a thousand.
const MOST_GROWTH: u64 = 200;
/// So much may come of which nothing was made, or be made of next to nothing: a header, and a small list.
const UNJUDGED: u64 = 64 << 10;

/// A compressed body that is being received.
pub(crate) struct Unpacked {
    inflate: Decompress,
    packed: Bytes,
    is_whole: bool,
}

impl Unpacked {
    pub(crate) fn new() -> Box<Self> {
        /// The largest window: whoever packs says which one he took.
        const WINDOW_BITS: u8 = 15;
        Box::new(Self {
            inflate: Decompress::new_gzip(WINDOW_BITS),
            packed: Bytes::new(),
            is_whole: false,
        })
    }

    /// Adds bytes; call [`Unpacked::next`] until it has none left before the next ones.
    pub(crate) fn push(&mut self, packed: Bytes) {
        debug_assert!(self.packed.is_empty(), "the last bytes are used up");
        self.packed = packed;
    }

    /// The next piece of what was unpacked; `None` if more has to come. An error says what is wrong.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, &'static str> {
        // What waits in the window comes out without more of it coming in.
        while !self.is_whole {
            let mut piece = Vec::with_capacity(PIECE);
            let before = self.inflate.total_in();
            let status = self
                .inflate
                .decompress_vec(&self.packed, &mut piece, FlushDecompress::None)
                .map_err(|_| "what is compressed is broken")?;
            let used = self.inflate.total_in() - before;
            let _used = self.packed.split_to(used as usize);
            self.is_whole = status == Status::StreamEnd;
            let (came, made) = (self.inflate.total_in(), self.inflate.total_out());
            if made > UNJUDGED + MOST_GROWTH * came || came > UNJUDGED + made {
                return Err("what is compressed is no list");
            }
            if !piece.is_empty() {
                return Ok(Some(piece.into()));
            }
            if used == 0 {
                break;
            }
        }
        match self.packed.is_empty() {
            true => Ok(None),
            false => Err("more comes than what is compressed"),
        }
    }

    /// Whether all of it came.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    }

    /// What comes of it in chunks of this size, and whether that was all.
    fn unpacked(packed: &[u8], size: usize) -> Result<(Vec<u8>, bool), &'static str> {
        let (mut unpacked, mut made) = (Unpacked::new(), Vec::new());
        for chunk in packed.chunks(size) {
            unpacked.push(Bytes::copy_from_slice(chunk));
            while let Some(piece) = unpacked.next()? {
                assert!(piece.len() <= PIECE);
                made.extend_from_slice(&piece);
            }
        }
        Ok((made, unpacked.is_whole()))
    }

    /// Text that grows by some ten times.
    fn list() -> Vec<u8> {
        let items = (0..9_000_u32).map(|number| {
            let mixed = number.wrapping_mul(2_654_435_761);
            format!(r#"{{"metadata":{{"name":"web-{mixed:08x}","namespace":"n"}}}},"#)
        });
        items.collect::<String>().into_bytes()
    }

    #[test]
    fn however_it_is_cut_all_of_it_comes() {
        let list = list();
        let packed = packed(&list);
        for size in [1, 7, 1000, packed.len()] {
            let (made, is_whole) = unpacked(&packed, size).expect("gzip");
            assert!(made == list && is_whole, "in chunks of {size}");
        }
        let (made, is_whole) = unpacked(&packed[..packed.len() / 2], 1000).expect("gzip");
        assert!(!made.is_empty() && !is_whole, "it breaks off");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let bomb = packed(&vec![b' '; 64 << 20]);
        assert!(bomb.len() < 128 << 10, "{}", bomb.len());
        let refused = unpacked(&bomb, 1000).expect_err("a bomb");
        assert_eq!(refused, "what is compressed is no list");
        // Blocks without anything in them, one after the other.
        let mut empty = packed(b"")[..10].to_vec();
        empty.extend([0, 0, 0, 0xff, 0xff].repeat(20_000));
        let refused = unpacked(&empty, 1000).expect_err("nothing");
        assert_eq!(refused, "what is compressed is no list");
        assert!(unpacked(b"{\"items\":[]}", 5).is_err());
        let twice = packed(b"a").repeat(2);
        let refused = unpacked(&twice, twice.len()).expect_err("two of them");
        assert_eq!(refused, "more comes than what is compressed");
        let mut changed = packed(&list());
        let middle = changed.len() / 2;
        changed[middle] ^= 0x10;
        assert!(unpacked(&changed, 1000).is_err());
    }
}
