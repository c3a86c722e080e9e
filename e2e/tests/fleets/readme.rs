//! What the README says under "Use it on your control plane", done word for word by a shell on a control plane with one member.
//!
//! Changed are the names that are everybody's own: the host name, and the ports, of which a machine that tests has not always the same free.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use armadex_e2e::ports::free_port;
use armadex_e2e::process::{Program, last_words};
use armadex_e2e::scenario::{SOON, wait_for_condition};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Options, Record, armadex, deploy, log, wait_until};

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
    let armadex = desk.start(&fleet, start)?;
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
    let section = section.split(SECTION[1]).next().unwrap_or_default();
    let blocks = section.split("```sh\n").skip(1);
    let block = |rest: &str| Some(rest.split_once("\n```")?.0.to_owned());
    blocks
        .map(|rest| block(rest).context("a block does not end"))
        .collect()
}

/// Where somebody sits who follows the README: a folder like a clone of the repository, with the programs in the path.
struct Desk {
    folder: PathBuf,
    port: u16,
    admin: u16,
}

impl Desk {
    fn prepare(fleet: &Harness) -> Result<Self> {
        let folder = fleet.folder().root().join("desk");
        let programs = folder.join("bin");
        std::fs::create_dir_all(&programs)?;
        symlink(armadex::binary()?, programs.join("armadex"))?;
        symlink(&fleet.tools().kubectl, programs.join("kubectl"))?;
        std::fs::copy(fleet.host().kubeconfig(), folder.join("karmada.kubeconfig"))?;
        let desk = Self {
            folder,
            port: free_port()?,
            admin: free_port()?,
        };
        desk.copy(&deploy::folder(), &desk.folder.join("deploy"))?;
        Ok(desk)
    }

    /// The manifests, with the port that is free.
    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let (entry, target) = (entry?.path(), to);
            let target = target.join(entry.file_name().context("a name")?);
            if entry.is_dir() {
                self.copy(&entry, &target)?;
            } else {
                let text = std::fs::read_to_string(&entry)?;
                std::fs::write(
                    &target,
                    text.replace("port: 8443", &format!("port: {}", self.port)),
                )?;
            }
        }
        Ok(())
    }

    fn on_this_machine(&self, block: &str) -> String {
        let listen = format!("127.0.0.1:{}", self.port);
        let admin = format!("exec armadex all --admin-listen 127.0.0.1:{}", self.admin);
        block
            .replace("armadex.example.com", "localhost")
            .replace("0.0.0.0:8443", &listen)
            .replace("armadex all", &admin)
    }

    fn environment(&self) -> [(&'static str, std::ffi::OsString); 2] {
        let programs = self.folder.join("bin").into_os_string();
        let mut path = programs;
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        [
            ("PATH", path),
            ("HOME", self.folder.clone().into_os_string()),
        ]
    }

    /// Gives what the commands print; the first one that fails is the last one.
    fn run(&self, block: &str) -> Result<String> {
        let output = Command::new("timeout")
            .args(["120", "sh", "-euc", &self.on_this_machine(block)])
            .current_dir(&self.folder)
            .env_remove("KUBECONFIG")
            .envs(self.environment())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{block}\n{said}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Types the command that goes on.
    fn start(&self, fleet: &Harness, block: &str) -> Result<Record> {
        let script = format!(
            "cd {}\n{}",
            self.folder.display(),
            self.on_this_machine(block)
        );
        let arguments = vec!["-euc".to_owned(), script];
        let mut shell = Program::new("armadex-readme", "/bin/sh", arguments);
        let environment = self.environment().map(|(name, value)| (name.into(), value));
        shell.environment = environment.to_vec();
        shell.start(fleet.folder())
    }
}
