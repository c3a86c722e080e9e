//! Where somebody sits who follows a document word for word: a folder like a clone of the repository, with the programs in the path and a shell.
//!
//! Changed are the names that are everybody's own: the host name, and the ports, of which a machine that tests has not always the same free.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use armadex_e2e::ports::free_port;
use armadex_e2e::process::Program;
use armadex_e2e::{Harness, Record, armadex, deploy, document};

/// A folder, and the ports of the Armadex that is started there.
pub(crate) struct Desk {
    pub(crate) folder: PathBuf,
    port: u16,
    admin: u16,
}

impl Desk {
    pub(crate) fn prepare(fleet: &Harness) -> Result<Self> {
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

    /// Gives what the commands print, of which none may fail.
    pub(crate) fn run(&self, block: &str) -> Result<String> {
        let output = self.output(block)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "{block}\n{said}\n{printed}");
        Ok(printed)
    }

    /// What becomes of commands that may fail.
    pub(crate) fn output(&self, block: &str) -> Result<Output> {
        let output = Command::new("timeout")
            .args(["120", document::SHELL])
            .args(document::typed(&self.on_this_machine(block)))
            .current_dir(&self.folder)
            .env_remove("KUBECONFIG")
            .envs(self.environment())
            .output()?;
        Ok(output)
    }

    /// Types the command that goes on.
    pub(crate) fn start(&self, fleet: &Harness, name: &str, block: &str) -> Result<Record> {
        let script = format!(
            "cd {} || exit\n{}",
            self.folder.display(),
            self.on_this_machine(block)
        );
        let arguments = vec!["-uc".to_owned(), script];
        let mut shell = Program::new(name, "/bin/sh", arguments);
        let environment = self.environment().map(|(name, value)| (name.into(), value));
        shell.environment = environment.to_vec();
        shell.start(fleet.folder())
    }
}
