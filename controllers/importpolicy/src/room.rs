//! How much is kept of what looks came to, of all policies together. Pure.

use std::sync::{Arc, Mutex};

use armadex_control_plane::lock;

/// With 200 bytes for each what came of 100,000 objects, which is ten times what a large fleet has; or a million times that an object is none of a policy's, and
/// what came of the others.
pub(crate) const ROOM: usize = 20_000_000;

/// What is free of it, in bytes.
#[derive(Debug)]
pub(crate) struct Room(Mutex<usize>);

#[cfg(test)]
impl Room {
    /// Of so many bytes.
    pub(crate) fn of(bytes: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(bytes)))
    }
}

impl Default for Room {
    fn default() -> Self {
        Self(Mutex::new(ROOM))
    }
}

/// What one has of a room. It is given back in the end.
#[derive(Debug, Default)]
pub(crate) struct Share {
    room: Arc<Room>,
    bytes: usize,
}

impl Share {
    /// Of nothing yet.
    pub(crate) fn new(room: Arc<Room>) -> Self {
        Self { room, bytes: 0 }
    }

    /// Has so many bytes from now on, or as many as are free; how many. Who has some keeps them from others.
    pub(crate) fn resize(&mut self, wanted: usize) -> usize {
        let mut free = lock(&self.room.0);
        let all = *free + self.bytes;
        self.bytes = wanted.min(all);
        *free = all - self.bytes;
        self.bytes
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_no_more_together_than_there_is_and_give_it_back() {
        let room = Room::of(100);
        let mut one = Share::new(room.clone());
        let mut other = Share::new(room.clone());
        assert_eq!((one.resize(60), other.resize(60)), (60, 40));
        assert_eq!((one.resize(10), other.resize(60)), (10, 60));
        drop(other);
        assert_eq!(one.resize(200), 100);
    }
}
