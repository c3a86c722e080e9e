//! Stopping the real binary.

use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// More than the parts of a process take to stop.
const LIMIT: Duration = Duration::from_secs(30);

/// A control plane that is not there: the process only retries.
const KUBECONFIG: &str = r#"{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],
"users":[{"name":"u","user":{}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}"#;

#[test]
fn a_process_whose_log_nobody_reads_stops_when_told() {
    let (mut process, log, _folder) = started();
    drop(log);
    tell(&process, "TERM");
    let status = ended(&mut process);
    assert!(status.success(), "{status}");
}

#[test]
fn ctrl_c_stops_a_process_in_order() {
    let (mut process, _log, _folder) = started();
    tell(&process, "INT");
    let status = ended(&mut process);
    assert!(status.success(), "{status}");
}

#[test]
fn a_log_level_that_is_none_is_told() {
    let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
        .args(["migrate", "--log-level=inof"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && said.contains("inof"), "{said}");
}

#[test]
fn an_error_that_ends_a_command_is_told_once_and_plainly() {
    let said = |arguments: &[&str]| {
        let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
            .args(["controllers", "--kubeconfig", "/no/such/file"])
            .args(arguments)
            .output()
            .expect("it runs");
        assert!(!run.status.success());
        String::from_utf8_lossy(&run.stderr).into_owned()
    };
    let words = "cannot read the kubeconfig /no/such/file: No such file or directory (os error 2)";
    assert_eq!(said(&[]), format!("armadex: {words}\n"));
    let json = said(&["--log-format=json"]);
    let line: serde_json::Value = serde_json::from_str(&json).expect("one line");
    assert_eq!(
        (&line["level"], &line["message"]),
        (&"ERROR".into(), &words.into())
    );
}

/// The pod's own cluster is another one.
#[test]
fn a_kubeconfig_that_cannot_be_read_is_not_replaced_by_the_service_account_of_the_pod() {
    let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
        .arg("controllers")
        .env("KUBECONFIG", "/no/such/file")
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        .env("KUBERNETES_SERVICE_PORT", "1")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(
        said,
        "armadex: cannot read the kubeconfig /no/such/file: No such file or directory (os error 2)\n"
    );
}

#[test]
fn a_store_is_checked_and_one_of_another_kind_is_refused_without_its_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let run = |command: &str, store: &str| {
        let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
            .args(command.split(' '))
            .args(["--store", store])
            .output();
        let run = run.expect("it runs");
        let text = [run.stdout, run.stderr].concat();
        (run.status, String::from_utf8_lossy(&text).into_owned())
    };
    let (status, said) = run("check", &store);
    assert!(!status.success() && said.contains("no store at"), "{said}");
    let (status, said) = run("migrate --dry-run", &store);
    assert!(
        status.success() && said.contains("would run 1 store"),
        "{said}"
    );
    let (status, said) = run("check", &store);
    assert!(!status.success() && said.contains("no store at"), "{said}");
    let (status, said) = run("migrate", &store);
    assert!(status.success(), "{said}");
    let (status, said) = run("check", &store);
    assert!(status.success(), "{said}");
    assert!(
        said.contains("0 objects in 0 namespaces, 0 index entries, 0 faults"),
        "{said}"
    );
    for command in [
        "store check --mend",
        "store compact",
        "store renew",
        "store stats",
    ] {
        let (status, said) = run(command, &store);
        assert!(status.success(), "{said}");
        // What is there may have nothing in it, as a database before it is restored.
        let empty = folder.path().join("empty.db");
        std::fs::write(&empty, "").expect("a file");
        let (status, said) = run(command, &format!("sqlite:{}", empty.display()));
        assert!(!status.success() && said.contains("no store at"), "{said}");
        assert_eq!(std::fs::metadata(&empty).expect("a file").len(), 0);
    }
    let (_, said) = run("store renew", &store);
    assert!(said.contains("from revision 0 on"), "{said}");
    let (status, said) = run("store stats -o json", &store);
    assert!(
        status.success() && said.contains("\"revision\": 0"),
        "{said}"
    );
}

#[test]
fn a_store_is_copied_from_one_place_to_another_and_each_refusal_names_its_argument() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let run = |arguments: &[&str]| {
        let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
            .args(arguments)
            .output();
        let run = run.expect("it runs");
        let text = [run.stdout, run.stderr].concat();
        let said = String::from_utf8_lossy(&text).into_owned();
        assert!(!said.contains("hunter2"), "{said}");
        (run.status.success(), said)
    };
    let (from, to) = (store("from.db"), store("to.db"));
    let (succeeded, said) = run(&["store", "copy", &from, &to]);
    assert!(
        !succeeded && said.contains("FROM: there is nothing in sqlite:"),
        "{said}"
    );
    let (succeeded, said) = run(&["migrate", "--store", &to]);
    assert!(succeeded, "{said}");
    let (succeeded, said) = run(&["store", "copy", "sqlite", &to]);
    assert!(!succeeded && said.contains("FROM"), "{said}");
    let secret = "postgres://armadex:hunter2@127.0.0.1:1/fleet";
    let (succeeded, said) = run(&["store", "copy", &from, secret]);
    assert!(
        !succeeded && said.contains("TO has a password in it"),
        "{said}"
    );
    assert!(said.contains("--to-password-file"), "{said}");
    let (succeeded, said) = run(&["store", "copy", "--help"]);
    assert!(succeeded && said.contains("without a list"), "{said}");
}

/// Neither where `ps` shows it nor in what is said of it.
#[test]
fn a_password_is_refused_on_the_command_line_and_repeated_nowhere() {
    let run = |arguments: &[&str], variable: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_armadex"));
        if let Some(url) = variable {
            command.env("ARMADEX_STORE", url);
        }
        let run = command.args(arguments).output().expect("it runs");
        let text = [run.stdout, run.stderr].concat();
        let said = String::from_utf8_lossy(&text).into_owned();
        assert!(!said.contains("hunter2"), "{said}");
        (run.status.success(), said)
    };
    // Nobody listens on port 1.
    let url = "postgres://armadex:hunter2@127.0.0.1:1/fleet?connect_timeout=1s";
    let (succeeded, said) = run(&["migrate", "--store", url], None);
    assert!(
        !succeeded && said.contains("--store-password-file"),
        "{said}"
    );
    let (succeeded, said) = run(&["migrate"], Some(url));
    let told = "postgres://armadex@127.0.0.1:1/fleet";
    assert!(!succeeded && said.contains(told), "{said}");
    let (succeeded, said) = run(&["migrate", "--help"], Some(url));
    assert!(succeeded && said.contains("--storage-config"), "{said}");
}

/// Each client and each member is an open file.
#[test]
fn as_many_files_may_be_open_as_are_to_be_had() {
    let (mut process, _log, _folder) = started();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", process.id()));
    let limits = limits.expect("limits");
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let figures: Vec<&str> = files.expect("a limit").split_whitespace().collect();
    assert_ne!(figures[4], "300", "the test cannot ask for more");
    assert_eq!(figures[3], figures[4]);
    tell(&process, "TERM");
    ended(&mut process);
}

/// A synchro that may open few files if it does not ask for more, and has logged its first line, the rest of its log, and its folder.
fn started() -> (Child, ChildStderr, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, KUBECONFIG).expect("written");
    let mut process = Command::new("sh")
        .args(["-c", "ulimit -Sn 300; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_armadex"))
        .args(["synchro", "--admin-listen", "127.0.0.1:0", "--kubeconfig"])
        .arg(&kubeconfig)
        .arg("--store")
        .arg(format!(
            "sqlite:{}",
            folder.path().join("store.db").display()
        ))
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut first = [0_u8; 1];
    let mut log = process.stderr.take().expect("piped");
    std::io::Read::read_exact(&mut log, &mut first).expect("it logs when it has started");
    (process, log, folder)
}

fn tell(process: &Child, signal: &str) {
    let told = Command::new("kill")
        .args(["-s", signal, &process.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(told.success());
}

fn ended(process: &mut Child) -> ExitStatus {
    let end = Instant::now() + LIMIT;
    loop {
        match process.try_wait().expect("waited") {
            Some(status) => return status,
            None if Instant::now() > end => {
                process.kill().expect("killed");
                panic!("it did not stop within {LIMIT:?}");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
