//! Stopping the real binary.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc;
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

/// A server that is in trouble, or another process that changes the schema, may keep a store from being opened for ten minutes; and the first process of a
/// container is not ended by a signal that it does not listen to.
#[test]
fn a_process_whose_store_does_not_open_stops_when_told() {
    let named = |port: u16| format!("postgres://armadex@127.0.0.1:{port}/fleet");
    for command in ["all", "synchro", "apiserver"] {
        let (port, opening) = silent_server();
        stops_while_it_is_starting(&[command, "--store", &named(port)], &opening);
    }
    let (port, opening) = silent_server();
    stops_while_it_is_starting(&["apiserver", "--read-store", &named(port)], &opening);
}

/// Whoever waits for it, as a Job does, must not take it for done.
#[test]
fn a_migration_that_waits_for_a_store_fails_when_told_to_stop() {
    let (port, opening) = silent_server();
    let store = format!("postgres://armadex@127.0.0.1:{port}/fleet");
    let (status, said) = told_while_opening(&["migrate", "--store", &store], &opening);
    assert!(status.code() == Some(1), "{status}: {said}");
    assert!(said.contains("stopped before it was done"), "{said}");
}

/// So does one that waits for a control plane: what comes after it would be missed.
#[test]
fn what_waits_for_a_control_plane_fails_when_told_to_stop() {
    for command in ["install", "uninstall"] {
        let (port, asking) = silent_server();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kubeconfig");
        let there = KUBECONFIG.replace("127.0.0.1:1", &format!("127.0.0.1:{port}"));
        std::fs::write(&path, there).expect("written");
        let kubeconfig = path.display().to_string();
        let (status, said) = told_while_opening(&[command, "--kubeconfig", &kubeconfig], &asking);
        assert!(status.code() == Some(1), "{command}: {status}: {said}");
        assert!(
            said.contains("stopped before it was done"),
            "{command}: {said}"
        );
    }
}

/// A control plane that nobody serves is told by its address and the reason, and one that takes too long as soon as was said.
#[test]
fn whoever_installs_is_told_what_is_wrong_on_the_way() {
    let (port, _asking) = silent_server();
    let unused = TcpListener::bind("127.0.0.1:0").expect("a port");
    let refusing = unused.local_addr().expect("an address").port();
    drop(unused);
    for (port, words) in [
        (refusing, "the connection is refused, trying again for 2 s"),
        (port, "does not answer in time"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kubeconfig");
        let server = format!("127.0.0.1:{port}");
        std::fs::write(&path, KUBECONFIG.replace("127.0.0.1:1", &server)).expect("written");
        let begun = Instant::now();
        let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
            .args(["install", "--timeout", "2", "--kubeconfig"])
            .arg(&path)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(!run.status.success() && begun.elapsed() < LIMIT, "{said}");
        assert!(said.contains(&server) && said.contains(words), "{said}");
    }
}

#[track_caller]
fn stops_while_it_is_starting(arguments: &[&str], opening: &mpsc::Receiver<()>) {
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = kubeconfig(&folder).display().to_string();
    let with = [arguments, &["--kubeconfig", &kubeconfig]].concat();
    let (status, said) = told_while_opening(&with, opening);
    assert!(status.success(), "{arguments:?}: {status}: {said}");
    assert!(
        said.contains("stopped while it was starting"),
        "{arguments:?}: {said}"
    );
}

/// Tells a process to stop once it opens its store; how it ended, and what it said.
#[track_caller]
fn told_while_opening(arguments: &[&str], opening: &mpsc::Receiver<()>) -> (ExitStatus, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_armadex"))
        .args(arguments)
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let is_opening = opening.recv_timeout(LIMIT).is_ok();
    tell(&process, "TERM");
    let status = ended(&mut process);
    let mut said = String::new();
    let mut log = process.stderr.take().expect("piped");
    log.read_to_string(&mut said).expect("text");
    assert!(is_opening, "{arguments:?}: {status}: {said}");
    (status, said)
}

/// The port of a server that takes connections and answers nothing, and what tells when it has taken one. It ends with the test.
fn silent_server() -> (u16, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut taken = Vec::new();
        for socket in listener.incoming().flatten() {
            taken.push(socket);
            // The test may be over.
            let _ = tell.send(());
        }
    });
    (port, told)
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

/// As Clusterpedia was told where its store is.
#[test]
fn a_storage_configuration_names_the_store_and_a_field_without_sense_is_refused_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, store) = (
        folder.path().join("storage.yaml"),
        folder.path().join("store.db"),
    );
    let run = |text: &str| {
        std::fs::write(&file, text).expect("written");
        let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
            .args(["migrate", "--dry-run", "--storage-config"])
            .arg(&file)
            .output();
        let run = run.expect("it runs");
        let text = [run.stdout, run.stderr].concat();
        let said = String::from_utf8_lossy(&text).into_owned();
        (run.status.success(), said)
    };
    let named = format!("type: sqlite\ndsn: {}\n", store.display());
    let (succeeded, said) = run(&named);
    let told = format!("sqlite:{}: it has no schema yet", store.display());
    assert!(succeeded && said.contains(&told), "{said}");
    assert!(!store.exists(), "it was to be looked at alone");
    let (succeeded, said) = run(&format!("{named}connPool:\n  maxIdleConns: 5\n"));
    let told = format!("--storage-config {}", file.display());
    assert!(!succeeded && said.contains(&told), "{said}");
    assert!(said.contains("connPool.maxIdleConns"), "{said}");
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

/// A synchro that may open few files if it does not ask for more, and has started; the rest of its log, and its folder.
fn started() -> (Child, BufReader<ChildStderr>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut process = Command::new("sh")
        .args(["-c", "ulimit -Sn 300; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_armadex"))
        .args(["synchro", "--admin-listen", "127.0.0.1:0", "--kubeconfig"])
        .arg(kubeconfig(&folder))
        .arg("--store")
        .arg(format!(
            "sqlite:{}",
            folder.path().join("store.db").display()
        ))
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut log = BufReader::new(process.stderr.take().expect("piped"));
    // One of the last things that a start does, long after it listens to signals.
    let mut line = String::new();
    while !line.contains("admin port is open") {
        line.clear();
        let read = log.read_line(&mut line).expect("text");
        assert_ne!(read, 0, "it ended before it had started");
    }
    (process, log, folder)
}

/// The path of a kubeconfig for [`KUBECONFIG`].
fn kubeconfig(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, KUBECONFIG).expect("written");
    path
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
