//! `e2e/kind/up.sh` with programs that only pretend: what it does again after a failure, for more members, and at the end.
//!
//! Real containers are not needed to see which clusters it makes; that they work is what `attached` is for.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use anyhow::{Result, ensure};
use armadex_e2e::limit::output_of;
use tokio::process::Command;

/// Names of the programs, and what they do: clusters are files in `$PRETEND`.
const PROGRAMS: [(&str, &str); 4] = [
    (
        "docker",
        r#"case $1 in
    info) ;;
    inspect) echo 172.18.0.2 ;;
    network) printf 'fc00:f853::1\n172.18.0.1\n' ;;
    esac"#,
    ),
    (
        "kind",
        r#"echo "kind $*" >> "$PRETEND/calls"
    case "$1 $2" in
    "get clusters") ls "$PRETEND/clusters" ;;
    "get kubeconfig") echo "kubeconfig of $4" ;;
    "create cluster") [ ! -e "$PRETEND/clusters/$4" ] && touch "$PRETEND/clusters/$4" ;;
    "delete cluster") rm "$PRETEND/clusters/$4" ;;
    esac"#,
    ),
    (
        "kubectl",
        r#"case "$*" in
    *"config current-context") echo karmada ;;
    *"get clusters.cluster.karmada.io "*) for name; do :; done; [ -e "$PRETEND/joined/$name" ] ;;
    *) ;;
    esac"#,
    ),
    (
        "karmadactl",
        r#"echo "karmadactl $*" >> "$PRETEND/calls"
    case "$*" in
    init*)
        [ -e "$PRETEND/clusters/armadex-base" ] || exit 1
        if [ -e "$PRETEND/init-fails" ]; then rm "$PRETEND/init-fails"; exit 1; fi
        mkdir "$5" && echo "kubeconfig of Karmada" > "$5/karmada-apiserver.config" ;;
    *" join "*) [ ! -e "$PRETEND/joined/$4" ] && touch "$PRETEND/joined/$4" ;;
    esac"#,
    ),
];

/// Runs it in `place` with these programs.
async fn up(place: &Path, argument: &str) -> Result<Output> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/kind/up.sh");
    let path = std::env::var("PATH")?;
    let mut command = Command::new("sh");
    command
        .args([script, argument])
        .env("PATH", format!("{}:{path}", place.join("bin").display()))
        .env("PRETEND", place)
        .env("ARMADEX_KIND_DIR", place.join("folder"));
    output_of(&mut command).await
}

fn prepare(place: &Path) -> Result<()> {
    for folder in ["bin", "clusters", "joined"] {
        std::fs::create_dir(place.join(folder))?;
    }
    for (name, body) in PROGRAMS {
        let path = place.join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n"))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// How often a program was called with these words so far.
fn calls(place: &Path, words: &str) -> Result<usize> {
    let text = std::fs::read_to_string(place.join("calls"))?;
    Ok(text.lines().filter(|line| line.starts_with(words)).count())
}

#[tokio::test]
async fn a_run_that_failed_is_gone_on_with_and_a_run_that_went_well_changes_nothing() -> Result<()>
{
    let place = tempfile::tempdir()?;
    let place = place.path();
    prepare(place)?;
    let folder = place.join("folder");
    std::fs::write(place.join("init-fails"), "")?;
    ensure!(
        !up(place, "2").await?.status.success(),
        "it says nothing of the failure"
    );
    ensure!(
        !folder.join("host.kubeconfig").exists(),
        "a control plane is promised"
    );
    for (argument, clusters) in [("2", 3), ("2", 3), ("3", 4)] {
        let output = up(place, argument).await?;
        ensure!(output.status.success(), "{argument}: {output:?}");
        ensure!(
            names(&place.join("clusters"))?.len() == clusters,
            "{argument}: {output:?}"
        );
    }
    ensure!(
        calls(place, "karmadactl init")? == 2,
        "Karmada was installed more than once"
    );
    ensure!(
        calls(place, "kind delete")? == 1,
        "not only the unfinished one was made anew"
    );
    ensure!(calls(place, "kind create")? == 5, "clusters were made anew");
    let files = [
        "address",
        "host.kubeconfig",
        "karmada",
        "member1.kubeconfig",
    ];
    ensure!(names(&folder)?[..4] == files, "{:?}", names(&folder)?);
    ensure!(std::fs::read_to_string(folder.join("address"))? == "172.18.0.1\n");
    ensure!(up(place, "down").await?.status.success() && names(&folder)?.is_empty());
    ensure!(
        names(&place.join("clusters"))?.is_empty(),
        "clusters are left"
    );
    Ok(())
}

#[tokio::test]
async fn a_word_that_is_no_number_makes_nothing() -> Result<()> {
    let place = tempfile::tempdir()?;
    prepare(place.path())?;
    for argument in ["0", "two", "-1", "dwon"] {
        let output = up(place.path(), argument).await?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(
            said.contains("is no number of members"),
            "{argument}: {said}"
        );
    }
    ensure!(names(&place.path().join("clusters"))?.is_empty());
    Ok(())
}
