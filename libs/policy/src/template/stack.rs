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
    on_one_of(STACK, work)
}

fn on_one_of<T: Send>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, TemplateError> + Send,
) -> Result<T, TemplateError> {
    scope(|scope| {
        let builder = Builder::new().name("template".into()).stack_size(bytes);
        let thread = builder.spawn_scoped(scope, work);
        let thread = thread.map_err(|_| TemplateError::NoThread)?;
        thread.join().unwrap_or(Err(TemplateError::Unparsed))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_there_is_no_thread_is_not_said_of_the_template() {
        let much_too_large = 1 << 50;
        let none = on_one_of(much_too_large, || Ok(()));
        assert_eq!(none, Err(TemplateError::NoThread));
        assert!(TemplateError::NoThread.may_pass());
        let broken = on_one_of(STACK, || -> Result<(), _> { panic!("as a defect would") });
        assert_eq!(broken, Err(TemplateError::Unparsed));
        assert!(!TemplateError::Unparsed.may_pass());
    }
}
