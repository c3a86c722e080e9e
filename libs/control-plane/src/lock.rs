//! Locks that outlive a panic: whoever holds one changes a value or leaves it as it is, so what it guards is whole, and others go on.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for the lock; nobody holds one for longer than it takes to copy or change what it guards.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
