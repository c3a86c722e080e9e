//! glibc's allocator, told to keep its memory together.
//!
//! It gives nearly every thread a heap of its own (eight for each core), and what is freed in one is of no use to another: 17 MiB of
//! 90 at rest. How many there are can only be said before the process begins, so it begins once more, as the same process.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// glibc reads it before `main`.
const ARENAS: &str = "MALLOC_ARENA_MAX";
/// Threads that work for clients and threads that work for the database seldom wait for each other with two.
const FEW: &str = "2";

/// Begins anew with few arenas, unless somebody has said how many there are to be. Returns where that cannot be done: it saves memory
/// and changes nothing else.
pub(crate) fn keep_few() {
    if !cfg!(target_env = "gnu") || std::env::var_os(ARENAS).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        // Only returns with an error.
        let _ = anew(&program, std::env::args_os()).exec();
    }
}

/// The same program with the same arguments, its own name included.
fn anew(program: &Path, mut arguments: impl Iterator<Item = OsString>) -> Command {
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).env(ARENAS, FEW);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_begins_anew_is_the_same_with_few_arenas() {
        let mut command = anew(
            Path::new("/bin/sh"),
            [
                "armadex",
                "-c",
                "echo $0 $MALLOC_ARENA_MAX \"$@\"",
                "shown",
                "a b",
            ]
            .into_iter()
            .map(OsString::from),
        );
        let output = command.output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "shown 2 a b\n");
    }
}
