//! What a newcomer does: "Install it with helm" of the README, and what helm prints then, word for word by a shell, until the pods of the fleet are there.
//!
//! Afterwards the token that Armadex was given by itself is good no more, and the CronJob that renews it gives it another one, which it takes while it runs.
//!
//! Changed is what is everybody's own: where the image lies, and how the kubeconfig of the control plane is called.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use armadex_e2e::issued::Issued;
use armadex_e2e::limit::output_of;
use armadex_e2e::scenario::SOON;
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{
    Harness, Kubectl, Options, armadex, chart, deploy, document, kubelet, tools, wait_for,
    wait_until,
};
use tokio::process::Command;

use crate::desk::{Desk, IMAGE, NAMESPACE, check_logs};
use crate::searcher::{FLEET, is_of};

const MEMBER: &str = "member1";
/// The section, by its title and by the next one's.
const SECTION: [&str; 2] = ["## Install it with helm\n", "\n## "];
/// What kubectl says of a grant for what it does not know yet.
const NOT_YET: &str = "doesn't have a resource type";
/// How far helm's notes set commands in.
const COMMAND: &str = "     ";

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_gets_from_the_readme_to_the_pods_of_the_fleet() -> Result<()> {
    if !kubelet::is_possible().await? {
        return Ok(());
    }
    let fleet = Harness::start(Options {
        members: 1,
        finds_services: true,
        ..Options::default()
    })
    .await?;
    let plan = Plan {
        count: 100,
        seed: 1,
    };
    seed::put(&fleet.member(MEMBER)?, plan).await?;
    fleet.join(MEMBER).await?;
    let desk = Desk::beside(&fleet, &[MEMBER], &[]).await?;
    let table = Table::laid(&fleet)?;
    let blocks = blocks()?;
    let [install] = &blocks[..] else {
        anyhow::bail!("the section has other blocks: {blocks:#?}");
    };
    let printed = table.run(install).await?;
    let mut steps = commands(&printed)?;
    ensure!(steps.len() > 6, "{steps:#?}");
    // The last one in the notes is for the day on which all of it goes.
    let removal = steps.pop().context("commands")?;
    ensure!(
        removal.contains("delete clusterimportpolicies"),
        "{removal}"
    );
    let get = steps.pop().context("commands")?;
    for step in steps {
        table.type_in(&step).await?;
    }
    the_pods_are_there(&fleet, &table, &get).await?;
    let pods = desk.pods("all").await?;
    ensure!(pods.len() == 1, "one pod");
    a_token_that_is_good_no_more_is_renewed(&fleet, &desk).await?;
    ensure!(desk.pods("all").await? == pods, "it goes on");
    check_logs(&fleet)?;
    drop(desk);
    fleet.finish().await;
    Ok(())
}

/// What is under way when the command is typed is there a moment later; bob, whom the notes let search, sees the same.
async fn the_pods_are_there(fleet: &Harness, table: &Table, get: &str) -> Result<()> {
    ensure!(get.ends_with("get pods -A"), "{get}");
    let pods = ["get", "pods", "--all-namespaces", "--no-headers"];
    let theirs = fleet.kubectl(MEMBER).run(&pods).await?.lines().count();
    for get in [get.to_owned(), format!("{get} --as=bob")] {
        wait_until(&format!("the pods are there: {get}"), SOON, || async {
            let rows = table.run(&get).await?;
            let ours = rows.lines().filter(|row| row.contains(MEMBER)).count();
            ensure!(ours == theirs, "{ours} rows instead of {theirs}: {rows}");
            Ok(ours > 0)
        })
        .await?;
    }
    Ok(())
}

/// The account is made anew, as by somebody who fears for the token: the old one is nobody's from then on.
async fn a_token_that_is_good_no_more_is_renewed(fleet: &Harness, desk: &Desk) -> Result<()> {
    const SECRET: &str = "armadex-system/armadex-control-plane";
    let host = fleet.kubectl("host");
    let former = Issued::of(&desk.kubectl, SECRET).await?;
    former.make_its_account_anew(fleet).await?;
    let kubectl = |words: &'static str| {
        let words = [words, " --namespace ", NAMESPACE].concat();
        let kubectl = desk.kubectl.clone();
        async move { kubectl.run(&words.split(' ').collect::<Vec<_>>()).await }
    };
    kubectl("create job renew-now --from=cronjob/armadex-renew").await?;
    kubectl("wait job/renew-now --for=condition=Complete --timeout=90s").await?;
    let renewed = Issued::of(&desk.kubectl, SECRET).await?;
    ensure!(renewed.token != former.token, "it is another one");
    somebody_new_may_search(fleet, &host).await
}

/// Of whom Armadex has to ask the control plane first.
async fn somebody_new_may_search(fleet: &Harness, host: &Kubectl) -> Result<()> {
    const CAROL: &str = "carol";
    for role in ["searcher", "pods"] {
        let (name, role) = (format!("{role}-{CAROL}"), format!("--clusterrole={role}"));
        let grant = ["create", "clusterrolebinding", &name, &role, "--user=carol"];
        host.run(&grant).await?;
    }
    let carol = fleet.host().kubeconfig_for(CAROL, None)?;
    let carol = Kubectl::new(&fleet.tools().kubectl, &carol, "host");
    let path = format!("{FLEET}/api/v1/pods");
    wait_until("carol may search", SOON, || async {
        Ok(is_of(&carol.run(&["get", "--raw", &path]).await?, MEMBER))
    })
    .await
}

/// The commands of the section, block by block.
fn blocks() -> Result<Vec<String>> {
    let text = std::fs::read_to_string(deploy::folder().join("../README.md"))?;
    let section = text.split_once(SECTION[0]).context("no such section")?.1;
    let section = section.split(SECTION[1]).next().unwrap_or_default();
    document::blocks(section)
}

/// Those of helm's notes, line by line, and the one that stands in a sentence at their end.
fn commands(printed: &str) -> Result<Vec<String>> {
    let notes = printed.split_once("NOTES:").context("helm prints notes")?.1;
    let in_lines = notes.lines().filter_map(|line| line.strip_prefix(COMMAND));
    let mut commands: Vec<String> = in_lines.map(str::to_owned).collect();
    let last = notes
        .trim_end()
        .rsplit_once(": kubectl ")
        .context("how to remove it")?;
    commands.push(format!("kubectl {}", last.1));
    Ok(commands)
}

/// Where a newcomer types: a folder like a clone of the repository, with the programs in the path.
struct Table {
    folder: PathBuf,
}

impl Table {
    fn laid(fleet: &Harness) -> Result<Self> {
        let folder = fleet.folder().root().join("state/table");
        let programs = folder.join("bin");
        std::fs::create_dir_all(&programs)?;
        std::fs::create_dir_all(folder.join("charts"))?;
        symlink(
            chart::folder().canonicalize()?,
            folder.join("charts/armadex"),
        )?;
        for (name, program) in [
            ("armadex", armadex::binary()?),
            ("kubectl", fleet.tools().kubectl.clone()),
            ("helm", tools::helm()?),
        ] {
            symlink(program, programs.join(name))?;
        }
        std::fs::create_dir_all(folder.join(".kube"))?;
        std::fs::copy(
            fleet.folder().kubeconfig("pods"),
            folder.join(".kube/config"),
        )?;
        std::fs::copy(fleet.host().kubeconfig(), folder.join("karmada.kubeconfig"))?;
        Ok(Self { folder })
    }

    /// A control plane that has found Armadex tells of what it serves a moment later: what comes too early is typed again.
    async fn type_in(&self, step: &str) -> Result<()> {
        let done = wait_for(step, SOON, || async {
            let done = self.run(step).await;
            let is_early = |error: &anyhow::Error| error.to_string().contains(NOT_YET);
            Ok((!done.as_ref().is_err_and(is_early)).then_some(done))
        });
        done.await?.map(drop)
    }

    /// Gives what the commands print, of which none may fail.
    async fn run(&self, block: &str) -> Result<String> {
        let own = block
            .replace("IMAGE", IMAGE)
            .replace("CONTROL_PLANE", "karmada.kubeconfig");
        let mut path = self.folder.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(document::SHELL);
        command
            .args(document::typed(&own))
            .current_dir(&self.folder)
            .env_remove("KUBECONFIG")
            .envs([("PATH", path), ("HOME", OsString::from(&self.folder))]);
        let output = output_of(&mut command).await?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{block}\n{said}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
