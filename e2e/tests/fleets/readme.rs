//! What the README says under "Use it on your control plane", done word for word on a control plane with one member.

use anyhow::{Context, Result, ensure};
use armadex_e2e::process::last_words;
use armadex_e2e::scenario::{SOON, wait_for_condition};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options, deploy, document, log, wait_until};

use crate::desk::Desk;

const MEMBER: &str = "member1";
/// The section, by its title and by the next one's.
const SECTION: [&str; 2] = ["## Use it on your control plane\n", "\n## "];

#[tokio::test(flavor = "multi_thread")]
async fn the_readme_can_be_followed_to_its_end() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 1,
        ..Options::default()
    })
    .await?;
    let plan = Plan {
        count: 100,
        seed: 1,
    };
    seed::put(&fleet.member(MEMBER)?, plan).await?;
    fleet.join(MEMBER).await?;
    let desk = Desk::prepare(&fleet)?;
    let blocks = blocks()?;
    let [build, account, start, register, kubeconfig, grant] = &blocks[..] else {
        anyhow::bail!("the section has other blocks: {blocks:#?}");
    };
    // The binary that is tested is built already.
    ensure!(build.starts_with("cargo install"), "{build}");
    desk.run(account)?;
    let armadex = desk.start(&fleet, "armadex-readme", start)?;
    desk.run(register)
        .with_context(|| last_words(fleet.folder(), &armadex.name))?;
    wait_for_condition(&fleet, "pediacluster/member1", "Ready", "True").await?;
    desk.run(kubeconfig)?;
    let (grants, get) = grant.rsplit_once('\n').context("several commands")?;
    desk.run(grants)?;
    let pods = ["get", "pods", "--all-namespaces", "--no-headers"];
    let theirs = fleet.kubectl(MEMBER).run(&pods).await?.lines().count();
    let get = format!("export KUBECONFIG=karmada.kubeconfig\n{get}");
    // What is under way when the commands are typed is there a moment later.
    wait_until("bob sees the member's pods", SOON, || async {
        let rows = desk.run(&get)?;
        let ours = rows.lines().filter(|row| row.contains(MEMBER)).count();
        ensure!(ours == theirs, "{ours} rows instead of {theirs}: {rows}");
        Ok(ours > 0)
    })
    .await?;
    armadex.stop(SOON);
    log::check(fleet.folder(), &armadex.name)?;
    fleet.finish().await;
    Ok(())
}

/// The commands of the section, block by block.
fn blocks() -> Result<Vec<String>> {
    let path = deploy::folder().join("../README.md");
    let text = std::fs::read_to_string(path)?;
    let section = text.split_once(SECTION[0]).context("no such section")?.1;
    document::blocks(section.split(SECTION[1]).next().unwrap_or_default())
}
