//! Heads of requests that have begun and not ended: what one may hold, told from the bytes that a connection reads.
//!
//! Neither protocol's implementation lets a head be shorter for some than for others, and anybody may begin one and never end it. So each
//! connection tells what its unfinished head may hold by now, and when all together hold too much, [`super::slots`] ends some.
//!
//! Over HTTP/1.1 a head's buffer outlives it, as long as its connection. So a long one counts on after its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::wear::Wear;

/// Counted at a time, so that a head that comes byte by byte is looked at seldom. What is less is free: hyper makes a buffer of this size
/// for every connection.
const STEP: usize = 8 << 10;
/// What an unfinished head of HTTP/2 may hold: 64 KiB by its own count, in which a field has 33 bytes at least and may have come as one.
/// 1,700 fields with short names were seen to take 255 KiB.
const HTTP2_HEAD: usize = 256 << 10;

/// A head of HTTP/1.1 of more than this is long: its connection ends with its answer. A client's usual heads have a part of it, and their
/// buffers, of twice as much at most, are what a connection may cost.
const LONG: usize = 16 << 10;

/// What a client sends before its first frame.
const PREFACE: usize = 24;
/// Length, type, flags and stream.
const FRAME_HEAD: usize = 9;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const WINDOW_UPDATE: u8 = 8;
/// What a frame of this kind says.
const INCREMENT: usize = 4;
const END_HEADERS: u8 = 4;

/// The bytes of one connection, as far as they tell of its heads.
#[derive(Debug)]
pub(super) enum Heads {
    /// All that was read since the last head ended, which the connection knows from elsewhere.
    Http1,
    /// Frames say by themselves where a head begins and ends.
    Http2(Frames),
}

impl Heads {
    pub(super) fn of_http2() -> Self {
        Self::Http2(Frames {
            skip: PREFACE,
            head: [0; FRAME_HEAD],
            known: 0,
            is_open: false,
            wear: Wear::default(),
        })
    }

    /// What was read until now over HTTP/2.
    pub(super) fn wear(&self) -> Option<Wear> {
        match self {
            Self::Http1 => None,
            Self::Http2(frames) => Some(frames.wear),
        }
    }

    /// What an unfinished head may hold after these bytes, if it held so much before.
    fn read(&mut self, bytes: &[u8], unfinished: usize) -> usize {
        match self {
            Self::Http1 => unfinished + bytes.len(),
            Self::Http2(frames) => match frames.read(bytes) {
                true => HTTP2_HEAD,
                false => 0,
            },
        }
    }
}

/// What the unfinished heads of all connections hold together.
pub(super) type Total = Arc<AtomicUsize>;

/// What the unfinished head of one connection holds, until it is dropped, and what long ones have left behind.
pub(super) struct Unfinished {
    bytes: AtomicUsize,
    left: AtomicUsize,
    total: Total,
}

impl Unfinished {
    pub(super) fn none(total: Total) -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            total,
        }
    }

    /// What counts of it.
    pub(super) fn counted(&self) -> usize {
        counted(self.bytes.load(Ordering::Relaxed))
    }

    /// These bytes have been read. Gives what all hold together, if this one holds more than before.
    pub(super) fn read(&self, heads: &mut Heads, bytes: &[u8]) -> Option<usize> {
        let unfinished = self.bytes.load(Ordering::Relaxed);
        self.set(heads.read(bytes, unfinished))
    }

    /// It has ended. Tells whether it was long, and counts on if so.
    pub(super) fn end(&self) -> bool {
        let read = self.bytes.load(Ordering::Relaxed);
        let was_long = read > LONG;
        if was_long {
            self.left.store(read, Ordering::Relaxed);
        }
        self.body_ended();
        was_long
    }

    /// What was read of a body is no head.
    pub(super) fn body_ended(&self) {
        self.set(self.left.load(Ordering::Relaxed));
    }

    fn set(&self, bytes: usize) -> Option<usize> {
        let before = counted(self.bytes.swap(bytes, Ordering::Relaxed));
        let now = counted(bytes);
        if now <= before {
            self.total.fetch_sub(before - now, Ordering::Relaxed);
            return None;
        }
        let more = now - before;
        Some(self.total.fetch_add(more, Ordering::Relaxed) + more)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// What counts of so many bytes.
fn counted(bytes: usize) -> usize {
    bytes - bytes % STEP
}

/// Follows the frames of HTTP/2.
#[derive(Debug)]
pub(super) struct Frames {
    /// What is left of a frame.
    skip: usize,
    /// The beginning of the next one, as far as it is known.
    head: [u8; FRAME_HEAD],
    known: usize,
    is_open: bool,
    wear: Wear,
}

impl Frames {
    /// Whether a head has begun and not ended after these bytes. One that comes in one frame never does: a frame is small.
    fn read(&mut self, mut bytes: &[u8]) -> bool {
        self.wear.read += bytes.len();
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let Some((first, rest)) = bytes.split_first() else {
                return self.is_open;
            };
            self.head[self.known] = *first;
            self.known += 1;
            bytes = rest;
            if self.known == FRAME_HEAD {
                self.begin_frame();
            }
        }
    }

    fn begin_frame(&mut self) {
        let [a, b, c, kind, flags, ..] = self.head;
        self.skip = u32::from_be_bytes([0, a, b, c]) as usize;
        self.known = 0;
        if [HEADERS, CONTINUATION].contains(&kind) {
            self.is_open = flags & END_HEADERS == 0;
        }
        if kind == WINDOW_UPDATE {
            self.wear.updates += FRAME_HEAD + INCREMENT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: u8, kind: u8, flags: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, flags, 0, 0, 0, 1];
        // Payloads that look like frames.
        frame.extend(std::iter::repeat_n(HEADERS, length.into()));
        frame
    }

    #[test]
    fn a_head_of_http_2_is_open_until_its_last_frame_says_that_it_ends() {
        let (data, settings, ping) = (0, 4, 6);
        let frames = [
            (frame(200, settings, 0), false),
            (frame(200, HEADERS, END_HEADERS), false),
            (frame(200, data, 0), false),
            (frame(4, WINDOW_UPDATE, 0), false),
            (frame(0, HEADERS, 1), true),
            (frame(255, CONTINUATION, 0), true),
            (frame(1, CONTINUATION, END_HEADERS), false),
            (frame(8, ping, 0), false),
            (frame(3, HEADERS, 0), true),
        ];
        for step in [1, 2, 7, 1000] {
            let mut heads = Heads::of_http2();
            assert_eq!(heads.read(&[b'P'; PREFACE], 0), 0);
            for (frame, is_open) in &frames {
                let held: Vec<usize> = frame.chunks(step).map(|part| heads.read(part, 0)).collect();
                let expected = if *is_open { HTTP2_HEAD } else { 0 };
                assert_eq!(held.last(), Some(&expected), "{frame:?} by {step}");
            }
            let of_frames: usize = frames.iter().map(|(frame, _)| frame.len()).sum();
            let expected = Wear {
                read: PREFACE + of_frames,
                updates: 13,
            };
            assert_eq!(heads.wear(), Some(expected));
        }
    }

    #[test]
    fn a_head_of_http_1_holds_what_was_read_of_it() {
        let unfinished = Heads::Http1.read(&[b'x'; 5000], STEP);
        assert_eq!(unfinished, STEP + 5000);
        assert_eq!((counted(STEP - 1), counted(2 * STEP + 1)), (0, 2 * STEP));
    }

    #[test]
    fn a_head_that_comes_byte_by_byte_is_told_of_step_by_step() {
        let total = Total::default();
        let heads = [(); 2].map(|()| Unfinished::none(Arc::clone(&total)));
        let told = (0..10 * STEP).filter_map(|_| heads[0].read(&mut Heads::Http1, b"x"));
        assert_eq!(told.last(), Some(10 * STEP));
        let more = [b'x'; STEP];
        assert_eq!(heads[1].read(&mut Heads::Http1, &more), Some(11 * STEP));
        let told = (0..STEP).filter_map(|_| heads[1].read(&mut Heads::Http1, b"x"));
        assert_eq!(told.count(), 1);
        let short = Unfinished::none(Arc::clone(&total));
        short.read(&mut Heads::Http1, &more);
        assert!(!short.end(), "it was short");
        assert!(heads[0].end(), "it was long");
        assert_eq!(heads[1].read(&mut Heads::Http1, &more), Some(13 * STEP));
        assert!(heads[1].end(), "it was long");
        heads[1].read(&mut Heads::Http1, &more);
        heads[1].body_ended();
        assert_eq!(total.load(Ordering::Relaxed), 13 * STEP);
        drop(heads);
        assert_eq!(total.load(Ordering::Relaxed), 0);
    }
}
