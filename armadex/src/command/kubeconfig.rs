//! `armadex kubeconfig`: writes kubeconfig entries for the fleet and for each member.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use armadex_crds::PediaCluster;
use clap::Args;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::{Map, Value, json};

use crate::api_group::ApiGroupFlag;
use crate::control_plane::ControlPlaneFlags;
use crate::kubeconfig::{self, Entries, Places, Skipped, Source};

/// More PediaClusters than this do not fit one page of an apiserver's answer.
const PAGE: u32 = 500;

/// Write kubeconfig entries for the fleet and for each member.
///
/// The fleet is the cluster and the context `clusterpedia`; each PediaCluster has a cluster and a context of its own name. So both
/// `kubectl --context member1 get pods` and `kubectl --cluster member1 get pods` work. Requests go through the control plane, as the user
/// of the chosen context. Only entries that an earlier run wrote are replaced or removed, so it is safe to repeat. Where somebody else has
/// an entry of a name that is needed, nothing is written under that name, and a warning says so.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    /// Write into this file, with a copy of the user's credentials; made if missing. Default: standard output.
    #[arg(long, short, value_name = "FILE", conflicts_with = "merge")]
    output: Option<PathBuf>,
    /// Write into the kubeconfig that the context comes from.
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    group: ApiGroupFlag,
}

/// Writes the entries where the flags say.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let (paths, mut source, places) = source(&flags.control_plane)?;
    let members = members(&flags.control_plane.client().await?).await?;
    let target = if flags.merge {
        Some(paths[places.context].clone())
    } else {
        flags.output
    };
    if !flags.merge || places.cluster != places.context {
        let folder = folder_of(&paths[places.cluster]);
        absolute_paths(&mut source.cluster, &["certificate-authority"], &folder);
    }
    if flags.merge {
        source.user = None;
    } else if let Some(Value::Object(user)) = &mut source.user {
        let folder = folder_of(&paths[places.user]);
        absolute_paths(
            user,
            &["client-certificate", "client-key", "tokenFile"],
            &folder,
        );
        absolute_command(user, &folder);
    }
    let entries = kubeconfig::entries(&source, &members, &flags.group.api_group);
    match target {
        Some(path) => write_into(&path, &paths, entries),
        None => print(entries, &mut io::stdout()),
    }
}

/// The context in use, which of the files its parts are in, and these.
pub(super) fn source(
    control_plane: &ControlPlaneFlags,
) -> anyhow::Result<(Vec<PathBuf>, Source, Places)> {
    let paths = control_plane.kubeconfigs()?;
    let documents = paths.iter().map(|path| read(path));
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let (source, places) = kubeconfig::resolve(&documents, control_plane.context.as_deref())
        .with_context(|| format!("cannot use the kubeconfig {}", paths[0].display()))?;
    Ok((paths, source, places))
}

async fn members(client: &Client) -> anyhow::Result<BTreeSet<String>> {
    let api = Api::<PediaCluster>::all(client.clone());
    let mut names = BTreeSet::new();
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = api.list_metadata(&params).await.context(
            "cannot list PediaClusters on the control plane (are the CRDs installed: armadex install?)",
        )?;
        names.extend(page.iter().map(kube::ResourceExt::name_any));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(names),
        }
    }
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
    let document: Option<Value> = serde_saphyr::from_str(&text)
        .with_context(|| format!("the kubeconfig {} is not YAML", path.display()))?;
    Ok(document
        .filter(|document| !document.is_null())
        .unwrap_or_else(|| json!({})))
}

/// Where the file names in a kubeconfig begin.
pub(super) fn folder_of(kubeconfig: &Path) -> PathBuf {
    let absolute = fs::canonicalize(kubeconfig).unwrap_or_else(|_| kubeconfig.to_owned());
    absolute.parent().unwrap_or(Path::new("/")).to_owned()
}

/// File names in a kubeconfig are relative to it; in a copy they must be absolute.
fn absolute_paths(part: &mut Map<String, Value>, keys: &[&str], folder: &Path) {
    for key in keys {
        if let Some(Value::String(path)) = part.get_mut(*key)
            && !path.is_empty()
        {
            *path = folder.join(&*path).to_string_lossy().into_owned();
        }
    }
}

/// A program that logs in is looked for beside the kubeconfig if it is named with a folder, else in `$PATH`.
fn absolute_command(user: &mut Map<String, Value>, folder: &Path) {
    if let Some(Value::Object(exec)) = user.get_mut("exec")
        && let Some(command) = exec.get("command").and_then(Value::as_str)
        && command.contains('/')
    {
        absolute_paths(exec, &["command"], folder);
    }
}

fn print(entries: Entries, out: &mut impl io::Write) -> anyhow::Result<()> {
    let merged = kubeconfig::merge(json!({}), &[], entries)?;
    say_what_was_skipped(&merged.skipped);
    let yaml = serde_saphyr::to_string(&merged.document)?;
    out.write_all(yaml.as_bytes())
        .context("cannot write to standard output")
}

/// Writes into a file. `read_together` are the files that kubectl reads as one.
fn write_into(path: &Path, read_together: &[PathBuf], entries: Entries) -> anyhow::Result<()> {
    let _lock = Lock::take(path)?;
    let document = if path.exists() {
        read(path)?
    } else {
        json!({})
    };
    let beside = beside(path, read_together)?;
    let beside: Vec<&Value> = beside.iter().collect();
    let merged = kubeconfig::merge(document, &beside, entries)
        .with_context(|| format!("cannot merge into {}", path.display()))?;
    say_what_was_skipped(&merged.skipped);
    replace_file(path, &serde_saphyr::to_string(&merged.document)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Lines about one name each; a user that is somebody else's leaves out every member of a large fleet.
const SKIPPED_SAID: usize = 10;

fn say_what_was_skipped(skipped: &[Skipped]) {
    for Skipped { name, reason } in skipped.iter().take(SKIPPED_SAID) {
        tracing::warn!(entry = name, "nothing was written for {name}: {reason}");
    }
    let more = skipped.len().saturating_sub(SKIPPED_SAID);
    if more > 0 {
        tracing::warn!(
            more,
            "nothing was written for {more} more, for the same reason"
        );
    }
}

/// The other files that kubectl reads together with `path`; none if `path` is not one of them.
fn beside(path: &Path, read_together: &[PathBuf]) -> anyhow::Result<Vec<Value>> {
    let same = |one: &Path| fs::canonicalize(one).ok() == fs::canonicalize(path).ok();
    if !read_together.iter().any(|one| same(one)) {
        return Ok(Vec::new());
    }
    let others = read_together.iter().filter(|one| !same(one));
    others.map(|one| read(one)).collect()
}

/// Writes beside the file and renames, so that a reader never sees half a kubeconfig; only the owner can read a new one. Where the new file
/// cannot take the place of the old one, for the owner cannot be kept or it is mounted by itself, it is written into, as kubectl does.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    replace_by(take_place, path, text)
}

fn replace_by(
    take_place: fn(&File, &Path, &Path) -> io::Result<()>,
    path: &Path,
    text: &str,
) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = path.with_extension(format!("armadex-{}", std::process::id()));
    let file = write_beside(&beside, text)?;
    if take_place(&file, &beside, &path).is_ok() {
        return Ok(());
    }
    let opened = OpenOptions::new().write(true).open(&path);
    let written = opened.map(|file| overwrite(file, text));
    if let Ok(Err(err)) = written {
        // What was there is gone, so this is the only whole copy.
        let left = beside.display();
        return Err(io::Error::new(
            err.kind(),
            format!("{err}; what it should be is in {left}"),
        ));
    }
    // A copy that cannot be removed is only one too many; the first error says what went wrong.
    let _ = fs::remove_file(&beside);
    written.map(drop)
}

/// Nothing is left of a copy that is not whole.
fn write_beside(beside: &Path, text: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(beside)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    written.map(|()| file).inspect_err(|_| {
        let _ = fs::remove_file(beside);
    })
}

/// Renames a file over another one, whose owner and mode it gets first.
fn take_place(file: &File, beside: &Path, path: &Path) -> io::Result<()> {
    if let Ok(old) = fs::metadata(path) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
        file.set_permissions(fs::Permissions::from_mode(old.mode()))?;
    }
    fs::rename(beside, path)
}

fn overwrite(mut file: File, text: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The lock file that kubectl takes too while it changes a kubeconfig.
struct Lock(PathBuf);

impl Lock {
    fn take(path: &Path) -> anyhow::Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = PathBuf::from(name);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&lock)
            .with_context(|| {
                format!(
                    "cannot lock {}: remove {} if nothing uses it",
                    path.display(),
                    lock.display()
                )
            })?;
        Ok(Self(lock))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A lock that stays behind is named in the next run's error.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use armadex_apiserver::API_GROUP;
    use armadex_control_plane::testing::Log;

    use super::*;

    fn entries(members: impl IntoIterator<Item = String>) -> Entries {
        let host = json!({
            "current-context": "host",
            "clusters": [{"name": "cp", "cluster": {"server": "https://cp:6443"}}],
            "contexts": [{"name": "host", "context": {"cluster": "cp", "user": "admin"}}],
            "users": [{"name": "admin", "user": {"token": "t"}}],
        });
        let (source, _) = kubeconfig::resolve(&[host], None).expect("resolves");
        kubeconfig::entries(&source, &members.into_iter().collect(), API_GROUP)
    }

    /// What the user is told while something is done.
    #[track_caller]
    fn told(doing: impl FnOnce() -> anyhow::Result<()>) -> Vec<String> {
        let log = Log::warnings_of("armadex::command::kubeconfig");
        doing().expect("done");
        log.told()
    }

    #[test]
    fn what_is_not_written_is_told_with_the_reason_wherever_the_rest_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config");
        let entries = || entries(["clusterpedia", "member1"].map(str::to_owned));
        let printed = told(|| print(entries(), &mut Vec::new()));
        let written = told(|| write_into(&path, &[], entries()));
        for told in [printed, written] {
            assert_eq!(
                told,
                [
                    "nothing was written for clusterpedia: that is the name of the fleet's entries; search it there with ?clusters=, or give the PediaCluster another name"
                ]
            );
        }
    }

    #[test]
    fn of_a_large_fleet_that_is_left_out_some_members_are_named_and_all_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config");
        let theirs = r#"{"users": [{"name": "clusterpedia", "user": {"token": "theirs"}}]}"#;
        fs::write(&path, theirs).expect("written");
        let members = (0..SKIPPED_SAID + 2).map(|number| format!("member{number:02}"));
        let told = told(|| write_into(&path, &[], entries(members)));
        // The fleet comes first.
        assert_eq!(told.len(), SKIPPED_SAID + 1);
        assert_eq!(
            told[1],
            "nothing was written for member00: user clusterpedia was written by somebody else and is left alone; use --output with another file to get ours"
        );
        assert_eq!(
            told[SKIPPED_SAID],
            "nothing was written for 3 more, for the same reason"
        );
    }

    #[test]
    fn a_file_that_is_replaced_stays_its_owners() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config");
        fs::write(&path, "before").expect("written");
        // Only root can give a file away: for everybody else it stays their own.
        let _ = std::os::unix::fs::chown(&path, Some(65_534), Some(65_534));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
        let before = fs::metadata(&path).expect("a file");
        replace_file(&path, "after").expect("replaced");
        let after = fs::metadata(&path).expect("a file");
        let of = |file: &fs::Metadata| (file.uid(), file.gid(), file.mode());
        assert_eq!(of(&after), of(&before));
        assert_eq!(fs::read_to_string(&path).expect("text"), "after");
    }

    fn is_mounted_by_itself(_: &File, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::ResourceBusy))
    }

    #[test]
    fn a_file_that_cannot_be_replaced_is_written_into() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config");
        fs::write(&path, "a longer one before").expect("written");
        replace_by(is_mounted_by_itself, &path, "after").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("text"), "after");
        let left = fs::read_dir(folder.path()).expect("a folder");
        assert_eq!(left.count(), 1);
    }

    #[test]
    fn what_was_lost_while_it_was_written_into_is_kept_beside() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config");
        // A file of a kind that can be opened and not be cut.
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("coreutils").success());
        let _reader = OpenOptions::new().read(true).write(true).open(&path);
        let err = replace_by(is_mounted_by_itself, &path, "credentials").expect_err("not written");
        let left = fs::read_dir(folder.path()).expect("a folder");
        let mut left = left.map(|entry| entry.expect("an entry").path());
        let copy = left.find(|one| *one != path).expect("a copy");
        assert_eq!(fs::read_to_string(&copy).expect("text"), "credentials");
        assert!(
            err.to_string().contains(&copy.display().to_string()),
            "{err}"
        );
    }

    #[test]
    fn what_could_not_be_written_leaves_no_copy_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config");
        fs::create_dir(&path).expect("a folder instead of a file");
        replace_file(&path, "credentials").expect_err("not replaced");
        let left = fs::read_dir(folder.path()).expect("a folder");
        assert_eq!(left.count(), 1);
    }

    #[test]
    fn file_names_are_those_of_the_file_that_they_stand_in() {
        let mut user = json!({
            "client-certificate": "me.crt",
            "client-key": "/keys/me.key",
            "tokenFile": "",
            "exec": {"command": "./bin/login"},
        });
        let Value::Object(part) = &mut user else {
            unreachable!("an object")
        };
        let keys = ["client-certificate", "client-key", "tokenFile"];
        absolute_paths(part, &keys, Path::new("/b"));
        absolute_command(part, Path::new("/b"));
        assert_eq!(
            user,
            json!({
                "client-certificate": "/b/me.crt",
                "client-key": "/keys/me.key",
                "tokenFile": "",
                "exec": {"command": "/b/./bin/login"},
            })
        );
        let mut in_path = json!({"exec": {"command": "aws"}});
        if let Value::Object(part) = &mut in_path {
            absolute_command(part, Path::new("/b"));
        }
        assert_eq!(in_path["exec"]["command"], "aws");
    }
}
