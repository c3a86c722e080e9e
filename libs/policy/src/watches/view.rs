//! What is known of a watch, and whoever is told when it becomes something else.

use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use tokio::sync::broadcast;

use super::{
    object::{Change, ObjectName, WatchKey},
    state::{State, Touched},
};

#[derive(Debug)]
pub(super) struct View {
    pub(super) key: WatchKey,
    pub(super) state: Arc<RwLock<State>>,
    pub(super) changes: broadcast::Sender<Change>,
}

impl View {
    /// Changes what is known, and tells what became different.
    pub(super) fn change(&self, change: impl FnOnce(&mut State) -> Touched) -> Touched {
        let touched = change(&mut self.lock());
        self.tell(&touched);
        touched
    }

    pub(super) fn lock(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, touched: &Touched) {
        let objects: Vec<Option<ObjectName>> = match touched {
            Touched::Nothing => Vec::new(),
            Touched::These(names) => names.iter().cloned().map(Some).collect(),
            Touched::Everything => vec![None],
        };
        for object in objects {
            // Nobody listens while the controllers start and end; they look at everything then.
            let _ = self.changes.send(Change {
                watch: self.key.clone(),
                object,
            });
        }
    }
}
