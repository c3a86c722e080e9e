//! Kubernetes objects in the stored body form, made from dice: the shape of real ones, in the field order of a kube-apiserver, with
//! invented names and no secret values.
//!
//! A *fleet* draws a vocabulary of its own, so that what is trained on one can be measured on another.

mod draw;
mod family;

pub(crate) use draw::Fleet;
pub(crate) use family::{FAMILIES, Family};
