//! Two members of a fleet, with objects, which write down what they are asked for.

use anyhow::Result;
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options};

use crate::lists::Lists;

pub(crate) const MEMBERS: [&str; 2] = ["member1", "member2"];

/// A fleet with both, of which nothing has joined it yet.
pub(crate) async fn filled(options: Options, lists: &Lists, objects: usize) -> Result<Harness> {
    let fleet = Harness::start(Options {
        members: MEMBERS.len(),
        member_arguments: lists.arguments(),
        ..options
    })
    .await?;
    let plan = Plan {
        count: objects,
        seed: 1,
    };
    for member in MEMBERS {
        seed::put(&fleet.member(member)?, plan).await?;
    }
    Ok(fleet)
}
