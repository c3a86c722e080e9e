//! When the real binary says that it is ready.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// More than a process takes to start on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// Who may not have the Lease would stand by for ever, and a rolling update that believed in it would end the process that works.
#[test]
fn a_synchro_that_may_not_have_its_lease_is_not_ready_and_says_why() {
    let synchro = Synchro::start(&[]);
    let said = synchro.comes_to_say("503 ");
    assert!(
        said.contains("lease") && said.contains("FORBIDDEN HERE"),
        "{said}"
    );
    let alone = Synchro::start(&["--leader-elect=false"]);
    let said = alone.comes_to_say("200 ");
    assert!(!said.contains("lease"), "{said}");
}

/// A synchro below a control plane that tells which one it is, and allows nothing.
struct Synchro {
    process: Child,
    admin: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Synchro {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Synchro {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let kubeconfig = format!(
            r#"{{"apiVersion":"v1","kind":"Config","current-context":"c",
                "clusters":[{{"name":"c","cluster":{{"server":"http://127.0.0.1:{}"}}}}],
                "users":[{{"name":"u","user":{{}}}}],
                "contexts":[{{"name":"c","context":{{"cluster":"c","user":"u"}}}}]}}"#,
            control_plane()
        );
        std::fs::write(path("kubeconfig"), kubeconfig).expect("written");
        let mut process = Command::new(env!("CARGO_BIN_EXE_armadex"))
            .args(["synchro", "--kubeconfig", &path("kubeconfig")])
            .arg(format!("--store=sqlite:{}", path("store.db")))
            .arg("--admin-listen=127.0.0.1:0")
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let log = process.stderr.take().expect("piped");
        Self {
            process,
            admin: admin_port(log),
            _folder: folder,
        }
    }

    /// The answer of `/readyz`, once its first line has this code.
    fn comes_to_say(&self, code: &str) -> String {
        let (end, mut said) = (Instant::now() + LIMIT, String::new());
        while Instant::now() < end {
            said = self.readiness().unwrap_or_default();
            if said.starts_with(&format!("HTTP/1.1 {code}")) {
                return said;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("it does not answer {code}but {said:?}");
    }

    fn readiness(&self) -> std::io::Result<String> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.admin))?;
        socket.set_read_timeout(Some(LIMIT))?;
        let request = "GET /readyz?verbose HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
        socket.write_all(request.as_bytes())?;
        let mut said = String::new();
        socket.read_to_string(&mut said)?;
        Ok(said)
    }
}

/// The port that a process says in its log to have opened; what else it says is read by nobody.
fn admin_port(log: ChildStderr) -> u16 {
    let mut lines = BufReader::new(log).lines();
    let open = lines.find_map(|line| {
        let line = line.expect("text");
        let (_, address) = line.split_once("admin port is open address=")?;
        address.trim().parse::<SocketAddr>().ok()
    });
    // A pipe that is full would hold it up.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    open.expect("it ended before it had started").port()
}

/// Its port; it ends with the test.
fn control_plane() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            // Whoever asked may have gone.
            let _ = answer(socket);
        }
    });
    port
}

fn answer(mut socket: TcpStream) -> std::io::Result<()> {
    socket.set_read_timeout(Some(LIMIT))?;
    let mut head = Vec::new();
    for line in BufReader::new(&socket).lines() {
        match line? {
            line if line.is_empty() => break,
            line => head.push(line),
        }
    }
    let namespace = r#"{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"1","resourceVersion":"1"}}"#;
    let refusal = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"FORBIDDEN HERE"}"#;
    let asks_who_it_is = head
        .first()
        .is_some_and(|line| line.contains("/namespaces/kube-system "));
    let (status, body) = match asks_who_it_is {
        true => ("200 OK", namespace),
        false => ("403 Forbidden", refusal),
    };
    let length = body.len();
    write!(
        socket,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}
