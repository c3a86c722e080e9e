//! Locks that outlive a panic: other clusters go on.

pub(crate) use armadex_control_plane::lock;
