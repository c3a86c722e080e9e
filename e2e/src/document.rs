//! Documents whose commands are typed: the blocks of a text, and what a shell is given for one.

use anyhow::{Context, Result};

/// The shell that people have, which goes on where a command fails.
pub const SHELL: &str = "bash";

/// The commands of a text, block by block.
pub fn blocks(text: &str) -> Result<Vec<String>> {
    let blocks = text.split("```sh\n").skip(1);
    let block = |rest: &str| Some(rest.split_once("\n```")?.0.to_owned());
    blocks
        .map(|rest| block(rest).context("a block does not end"))
        .collect()
}

/// The arguments by which [`SHELL`] does what it does where a block is pasted: a command that fails is not the last one. That one did is told when all are done.
#[must_use]
pub fn typed(block: &str) -> [String; 2] {
    let script = format!("failed=0; trap 'failed=1' ERR\n{block}\n[ \"$failed\" = 0 ]");
    ["-uc".to_owned(), script]
}

#[cfg(test)]
mod tests {
    use tokio::process::Command;

    use super::*;
    use crate::limit::output_of;

    #[tokio::test]
    async fn a_block_goes_on_after_a_failure_that_is_told_in_the_end() {
        let table = [
            ("false\necho on", false),
            ("echo on\nfalse", false),
            ("echo on", true),
            ("if false; then echo no; else echo on; fi", true),
        ];
        for (block, goes_well) in table {
            let output = output_of(Command::new(SHELL).args(typed(block))).await;
            let output = output.expect("a shell");
            assert_eq!(output.stdout, b"on\n", "{block}");
            assert_eq!(output.status.success(), goes_well, "{block}");
        }
    }
}
