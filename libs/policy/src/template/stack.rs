//! A stack for the parser, and for whatever walks over what it made before that is known to be shallow: all of them call themselves.

use std::thread::{Builder, scope};

use super::rules::TemplateError;

/// Without optimisation a call in another one takes 5 KiB of it and a block 2 KiB, so as many as the look over a template lets through take
/// 24 MiB, with a reserve of as much and more. What is not used takes no memory.
const STACK: usize = 64 * 1024 * 1024;

/// Does it on a thread that ends with it. What panics there is an error here.
pub(super) fn on_one_of_its_own<T: Send>(
    work: impl FnOnce() -> Result<T, TemplateError> + Send,
) -> Result<T, TemplateError> {
    let done = scope(|scope| {
        let builder = Builder::new().name("template".into()).stack_size(STACK);
        let thread = builder.spawn_scoped(scope, work).ok()?;
        thread.join().ok()
    });
    done.unwrap_or(Err(TemplateError::Unparsed))
}
