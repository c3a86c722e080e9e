//! Servers that are really started: what tests rely on.

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use armadex_databases::{Database, Engine, Server, Setup, administer};

/// The child process that is killed starts the server that this names; without it the child's part does nothing.
const KILLED: &str = "ARMADEX_TEST_KILLED_OWNER";

#[test]
fn every_test_has_a_database_of_its_own_on_postgresql() {
    databases(Engine::Postgres);
}

#[test]
fn every_test_has_a_database_of_its_own_on_mariadb() {
    databases(Engine::Mysql);
}

fn databases(engine: Engine) {
    let taken = || Database::for_test(engine).expect("no trouble");
    let (Some(one), Some(other)) = (taken(), taken()) else {
        return;
    };
    assert_ne!(one.url(), other.url());
    assert_eq!(one.server(), other.server());
    assert!(one.url().ends_with(one.name()), "of its own name");
    let names = |taken: &Database| {
        let statement = match engine {
            Engine::Postgres => "SELECT datname FROM pg_database",
            Engine::Mysql => "SHOW DATABASES",
        };
        administer(taken.server(), statement).expect("a list")
    };
    let name = one.name().to_owned();
    assert!(names(&other).contains(&name));
    drop(one);
    assert!(!names(&other).contains(&name));
}

#[test]
fn a_postgresql_is_stopped_crashed_and_paused() {
    lives(Engine::Postgres, "postmaster.pid");
}

#[test]
fn a_mariadb_is_stopped_crashed_and_paused() {
    lives(Engine::Mysql, "pid");
}

fn lives(engine: Engine, pid_file: &str) {
    let Some(_there_is_one) = Database::for_test(engine).expect("no trouble") else {
        return;
    };
    let setup = Setup {
        settings: vec![("max_connections".into(), "77".into())],
        ..Setup::default()
    };
    let mut server = Server::start(engine, &setup).expect("a server");
    let databases = match engine {
        Engine::Postgres => {
            let set = administer(server.address(), "SHOW max_connections").expect("asked");
            assert_eq!(set.trim(), "77");
            "SELECT count(*) FROM pg_database WHERE datname = 'kept'"
        }
        Engine::Mysql => {
            let set = administer(server.address(), "SELECT @@max_connections").expect("asked");
            assert_eq!(set.trim(), "77");
            // In a folder that several share they take each other's tables away.
            let temporary = administer(server.address(), "SELECT @@tmpdir").expect("asked");
            assert!(
                Path::new(temporary.trim()).starts_with(server.folder()),
                "{temporary}"
            );
            "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'kept'"
        }
    };
    server.create("kept").expect("a database");
    server.stop().expect("stopped");
    assert!(TcpStream::connect(("127.0.0.1", server.address().port())).is_err());
    server.start_again().expect("started");
    server.crash().expect("crashed");
    server.start_again().expect("started");
    assert_eq!(
        administer(server.address(), databases)
            .expect("asked")
            .trim(),
        "1"
    );
    let places = ["data", "tmp"].map(|place| server.folder().join(place).join(pid_file));
    let pid = places
        .iter()
        .find_map(|file| std::fs::read_to_string(file).ok());
    let pid = pid
        .expect("a file with its id")
        .lines()
        .next()
        .map(str::to_owned);
    let state = PathBuf::from(format!("/proc/{}/stat", pid.expect("an id").trim()));
    server.pause().expect("paused");
    wait_until("it stands still", || said(&state).contains(") T "));
    server.resume().expect("resumed");
    assert_eq!(
        administer(server.address(), databases)
            .expect("asked")
            .trim(),
        "1"
    );
    let folder = server.folder().to_owned();
    drop(server);
    assert!(!folder.exists() && !state.exists(), "nothing is left");
}

#[test]
fn a_postgresql_can_change_nothing_that_is_run_for_it() {
    keeps_its_scripts(Engine::Postgres);
}

#[test]
fn a_mariadb_can_change_nothing_that_is_run_for_it() {
    keeps_its_scripts(Engine::Mysql);
}

/// Whoever gets into a server that root has started, which runs as another user, could else have root run what they like.
fn keeps_its_scripts(engine: Engine) {
    let Some(_there_is_one) = Database::for_test(engine).expect("no trouble") else {
        return;
    };
    let setup = Setup {
        files: vec![("secret".into(), b"for the server".to_vec())],
        ..Setup::default()
    };
    let server = Server::start(engine, &setup).expect("a server");
    let folder = server.folder();
    let own = std::fs::metadata("/proc/self").expect("this process").uid();
    let mut kept = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_file() {
            kept.push(entry.path());
        }
    }
    for name in ["run.sh", "prepare.sh", "secret", "password"] {
        assert!(kept.contains(&folder.join(name)), "{name} of {kept:?}");
    }
    for path in kept.iter().map(PathBuf::as_path).chain([folder]) {
        let found = std::fs::metadata(path).expect("it is there");
        assert_eq!(found.uid(), own, "whose {} is", path.display());
        assert_eq!(found.mode() & 0o022, 0, "who writes {}", path.display());
    }
    for path in [folder, &folder.join("secret")] {
        let found = std::fs::metadata(path).expect("it is there");
        assert_eq!(found.mode() & 0o007, 0, "who reads {}", path.display());
    }
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let Some(_there_is_one) = Database::for_test(Engine::Postgres).expect("no trouble") else {
        return;
    };
    let setup = Setup {
        settings: vec![("no_such_setting".into(), "1".into())],
        ..Setup::default()
    };
    let error = Server::start(Engine::Postgres, &setup).expect_err("no server");
    let error = format!("{error:#}");
    assert!(error.contains("no_such_setting"), "{error}");
}

/// What is killed: takes a database of the shared server, tells where that is, and waits.
#[test]
#[allow(clippy::print_stdout, reason = "it is how the parent is told")]
fn holds_a_server_until_it_is_killed() {
    let Some(engine) = std::env::var_os(KILLED) else {
        return;
    };
    let engine = match engine == "mysql" {
        true => Engine::Mysql,
        false => Engine::Postgres,
    };
    let server = Server::start(engine, &Setup::default()).expect("a server");
    println!("folder {}", server.folder().display());
    std::io::stdout().flush().expect("told");
    // Until the parent, which holds the other end, kills this.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn a_process_that_is_killed_leaves_no_postgresql() {
    killed(Engine::Postgres, "postgres");
}

#[test]
fn a_process_that_is_killed_leaves_no_mariadb() {
    killed(Engine::Mysql, "mysql");
}

fn killed(engine: Engine, name: &str) {
    let Some(_there_is_one) = Database::for_test(engine).expect("no trouble") else {
        return;
    };
    let mut owner = Command::new(std::env::current_exe().expect("this test"))
        .args([
            "--exact",
            "--nocapture",
            "holds_a_server_until_it_is_killed",
        ])
        .env(KILLED, name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("an owner");
    let told = BufReader::new(owner.stdout.take().expect("piped"));
    let mut told = told.lines().map_while(Result::ok);
    let folder = told.find_map(|line| Some(line.split_once("folder ")?.1.to_owned()));
    let folder = PathBuf::from(folder.expect("it tells"));
    let processes = processes_of(&folder);
    assert!(!processes.is_empty() && folder.exists());
    owner.kill().expect("killed");
    owner.wait().expect("gone");
    wait_until("the folder is removed", || !folder.exists());
    wait_until("the server has ended", || {
        processes.iter().all(|process| !process.exists())
    });
}

/// The processes that name a folder in their arguments, but for the shell that keeps them.
fn processes_of(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.display().to_string();
    let all = std::fs::read_dir("/proc").expect("processes");
    let all = all.flatten().map(|entry| entry.path());
    all.filter(|process| said(&process.join("cmdline")).contains(&folder))
        .collect()
}

fn said(file: &Path) -> String {
    let bytes = std::fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[track_caller]
fn wait_until(what: &str, mut seen: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !seen() {
        assert!(Instant::now() < deadline, "{what}: not seen");
        std::thread::sleep(Duration::from_millis(20));
    }
}
