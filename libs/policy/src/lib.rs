//! What the two policy controllers share: templates, and watches on whatever kinds the policies
//! speak of.

pub mod template;
