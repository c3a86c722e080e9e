//! Stopping the real binary.

use std::process::{Command, Stdio};
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
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, KUBECONFIG).expect("written");
    let mut process = Command::new(env!("CARGO_BIN_EXE_armadex"))
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
    drop(log);
    let killed = Command::new("kill")
        .arg(process.id().to_string())
        .status()
        .expect("kill runs");
    assert!(killed.success());
    let end = Instant::now() + LIMIT;
    let status = loop {
        match process.try_wait().expect("waited") {
            Some(status) => break status,
            None if Instant::now() > end => {
                process.kill().expect("killed");
                panic!("it did not stop within {LIMIT:?}");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert!(status.success(), "{status}");
}
