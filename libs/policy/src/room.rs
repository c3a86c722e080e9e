//! How much is kept of something, by all together who keep of it. Pure.

use std::sync::{Arc, Mutex};

use armadex_control_plane::lock;

/// What is free of it, in bytes. Without a limit where none was said.
#[derive(Debug)]
pub struct Room(Mutex<usize>);

impl Room {
    /// Of so many bytes.
    pub fn of(bytes: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(bytes)))
    }
}

impl Room {
    /// Bytes that nobody has.
    pub(crate) fn free(&self) -> usize {
        *lock(&self.0)
    }
}

impl Default for Room {
    fn default() -> Self {
        Self(Mutex::new(usize::MAX))
    }
}

/// What one has of a room. It is given back in the end.
#[derive(Debug, Default)]
pub struct Share {
    room: Arc<Room>,
    bytes: usize,
}

impl Share {
    /// Of nothing yet.
    pub const fn new(room: Arc<Room>) -> Self {
        Self { room, bytes: 0 }
    }

    /// Has so many bytes from now on, or as many as are free; how many. Who has some keeps them from others.
    pub fn resize(&mut self, wanted: usize) -> usize {
        let mut free = lock(&self.room.0);
        let all = *free + self.bytes;
        self.bytes = wanted.min(all);
        *free = all - self.bytes;
        self.bytes
    }

    /// Has so many bytes from now on, or those that it had; whether it has them.
    #[must_use]
    pub fn take(&mut self, wanted: usize) -> bool {
        let before = self.bytes;
        let has = self.resize(wanted) == wanted;
        if !has {
            self.resize(before);
        }
        has
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
        assert_eq!((one.take(41), one.take(40)), (false, true));
        drop(other);
        assert_eq!(one.resize(200), 100);
    }
}
