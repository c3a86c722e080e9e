//! The real binary, which asks its control plane by a proxy.

use std::io::{BufRead as _, BufReader, Write as _, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

/// More than anything here takes.
const LIMIT: Duration = Duration::from_secs(30);
/// No resolver knows it.
const SERVER: &str = "control-plane.invalid:6443";
/// me:p@ss
const LOGIN: &str = "proxy-authorization: basic bwu6cebzcw==";
const REFUSAL: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"REFUSED THERE"}"#;

/// Somebody at a port of 127.0.0.1, who ends with the test.
fn listening(serve: impl Fn(TcpStream) -> std::io::Result<()> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            // Whoever asked may have gone.
            let _ = serve(socket);
        }
    });
    port
}

/// The lines of a request up to its body, in lower case.
fn head(socket: &TcpStream) -> std::io::Result<Vec<String>> {
    socket.set_read_timeout(Some(LIMIT))?;
    let lines = BufReader::new(socket)
        .lines()
        .map(|line| Ok(line?.to_lowercase()));
    let is_body = |line: &std::io::Result<String>| line.as_ref().is_ok_and(String::is_empty);
    lines.take_while(|line| !is_body(line)).collect()
}

/// A control plane that lets nobody do anything.
fn control_plane() -> u16 {
    listening(|mut socket| {
        head(&socket)?;
        let length = REFUSAL.len();
        write!(
            socket,
            "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{REFUSAL}"
        )
    })
}

/// A proxy that connects whoever logs in with this port, and what it was asked.
fn proxy(to: u16) -> (u16, mpsc::Receiver<String>) {
    let (asked, seen) = mpsc::channel();
    let port = listening(move |mut socket| {
        let head = head(&socket)?;
        let _ = asked.send(head.first().cloned().unwrap_or_default());
        if !head.iter().any(|line| line == LOGIN) {
            return write!(socket, "HTTP/1.1 407 Who are you\r\n\r\n");
        }
        write!(socket, "HTTP/1.1 200 OK\r\n\r\n")?;
        let mut server = TcpStream::connect(("127.0.0.1", to))?;
        let (mut asking, mut asked) = (socket.try_clone()?, server.try_clone()?);
        std::thread::spawn(move || copy(&mut asking, &mut asked));
        copy(&mut server, &mut socket)?;
        socket.shutdown(Shutdown::Both)
    });
    (port, seen)
}

/// What a run says that asks this server, by whatever proxy its kubeconfig and its variables name.
fn said(server: &str, proxy_url: Option<&str>, variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubeconfig");
    let proxy = proxy_url.map_or(String::new(), |url| format!(", proxy-url: \"{url}\""));
    let text = format!(
        "clusters: [{{name: a, cluster: {{server: \"http://{server}\"{proxy}}}}}]\nusers: [{{name: a, user: {{}}}}]\n\
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\ncurrent-context: a\n"
    );
    std::fs::write(&path, text).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_armadex"));
    for name in ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"] {
        command.env_remove(name);
    }
    let asks = ["install", "--only=crds", "--timeout=1", "--log-level=debug"];
    command.args(asks).arg("--kubeconfig").arg(&path);
    let output = command.envs(variables.iter().copied()).output();
    let output = output.expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8(said).expect("text")
}

fn tells_no_password(said: &str) {
    for secret in ["p%40ss", "p@ss", "bwu6cebzcw"] {
        assert!(!said.to_lowercase().contains(secret), "{said}");
    }
}

#[test]
fn a_control_plane_is_asked_by_the_proxy_of_its_kubeconfig_or_of_the_environment() {
    let (port, seen) = proxy(control_plane());
    let url = format!("http://me:p%40ss@127.0.0.1:{port}");
    for (proxy_url, variables) in [
        (Some(url.as_str()), &[][..]),
        (None, &[("HTTPS_PROXY", url.as_str())]),
        (
            None,
            &[("https_proxy", url.as_str()), ("NO_PROXY", "127.0.0.1")],
        ),
    ] {
        let said = said(SERVER, proxy_url, variables);
        assert!(said.contains("REFUSED THERE"), "{said}");
        tells_no_password(&said);
        let asked = seen.try_iter().next().expect("the proxy was asked");
        assert_eq!(asked, format!("connect {SERVER} http/1.1"));
    }
}

#[test]
fn what_no_proxy_names_is_asked_straight() {
    let server = control_plane();
    let (port, seen) = proxy(server);
    let url = format!("http://me:p%40ss@127.0.0.1:{port}");
    // This machine by an address that is not a loopback's. kubectl takes all of these lists.
    let by_name = format!("0.0.0.0:{server}");
    for (no_proxy, is_asked_straight) in [
        ("0.0.0.0/8", true),
        ("localhost, 0.0.0.0,", true),
        ("localhost,", false),
        ("*.example.com,/path", false),
    ] {
        let variables = [("HTTPS_PROXY", url.as_str()), ("NO_PROXY", no_proxy)];
        let said = said(&by_name, None, &variables);
        assert!(said.contains("REFUSED THERE"), "{no_proxy}: {said}");
        let asked = seen.try_iter().next();
        assert_eq!(asked.is_none(), is_asked_straight, "{no_proxy}");
    }
}

#[test]
fn this_machine_is_asked_straight() {
    let server = control_plane();
    let (port, seen) = proxy(server);
    let url = format!("http://me:p%40ss@127.0.0.1:{port}");
    let variables = [("HTTPS_PROXY", url.as_str())];
    for host in ["127.0.0.1", "localhost"] {
        let said = said(&format!("{host}:{server}"), None, &variables);
        assert!(said.contains("REFUSED THERE"), "{said}");
        assert_eq!(seen.try_iter().next(), None, "{host}");
    }
}

#[test]
fn a_proxy_that_does_not_help_is_told_without_its_password() {
    let (port, _seen) = proxy(control_plane());
    let stranger = format!("http://me:p%40ss%21@127.0.0.1:{port}");
    let refused = format!("{SERVER} by the proxy http://127.0.0.1:{port}: ");
    for (url, words) in [
        (stranger.as_str(), refused.as_str()),
        (
            "http://me:p%40ss@127.0.0.1:1",
            "by the proxy http://127.0.0.1:1: ",
        ),
        (
            "ftp://me:p%40ss@127.0.0.1:1",
            "HTTPS_PROXY: it has to begin with http://, https:// or socks5://",
        ),
        ("me:p%40ss@127.0.0.1:1", "HTTPS_PROXY: it has to begin with"),
    ] {
        let said = said(SERVER, None, &[("HTTPS_PROXY", url)]);
        assert!(said.contains(words), "{url}: {said}");
        tells_no_password(&said);
    }
}
