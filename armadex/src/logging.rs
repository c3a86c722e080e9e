//! Sets up log lines on standard error, as text or as JSON.

use std::io::IsTerminal;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

use crate::cli::{LogFlags, LogFormat};

/// kube logs every answer of 500 and more, as an aggregated API gives that is not up yet, and every failed try of a watch itself, as we do where
/// it is handled; sqlx logs whole statements that took long, and what a PostgreSQL that stops says to each of its connections. The flag can ask for all of it.
const QUIET: &str = "kube_client::client::builder=off,kube_runtime::watcher=error,sqlx::query=error,sqlx::postgres::notice=error";
/// Here kube logs whole answers of the control plane that it did not understand, Secrets and reviewed tokens among them. No level asks for
/// that: what failed is told where it is handled, and without what was answered.
const BODIES: &str = "kube_client::client";

/// Installs the global subscriber; the level was read with the command line.
pub(crate) fn init(flags: &LogFlags) {
    let ansi = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = lines(flags, std::io::stderr, ansi);
    tracing::subscriber::set_global_default(lines).expect("nobody has set one before");
}

fn lines<W>(flags: &LogFlags, writer: W, ansi: bool) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let filter = EnvFilter::new(format!("{QUIET},{}", flags.log_level));
    let no_bodies = filter_fn(|line| line.target() != BODIES);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        // Whoever read the log may have gone; a line that cannot be written must not end the task that wrote it.
        .log_internal_errors(false)
        .with_ansi(ansi);
    match flags.log_format {
        LogFormat::Text => Box::new(builder.finish().with(no_bodies)),
        LogFormat::Json => Box::new(builder.json().flatten_event(true).finish().with(no_bodies)),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use hyper::{Request, Response};
    use k8s_openapi::api::core::v1::Secret;
    use kube::client::Body;
    use kube::{Api, Client};
    use tracing::instrument::{Instrument, WithSubscriber};

    use super::*;

    /// What was logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").write(line)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A control plane that always answers the same.
    fn client(code: u16, text: &'static str) -> Client {
        let service = tower::service_fn(move |_: Request<Body>| async move {
            let answer = Response::builder().status(code);
            let answer = answer.body(Body::from(text.as_bytes().to_vec()));
            Ok::<_, Infallible>(answer.expect("an answer"))
        });
        Client::new(service, "default")
    }

    #[test]
    fn an_answer_that_failed_is_told_where_it_is_handled_unless_more_is_asked_for() {
        for (log_level, is_told) in [
            ("info", false),
            ("info,kube_client=debug", false),
            ("info,kube_client::client::builder=debug", true),
        ] {
            let told = told(log_level, || {
                tracing::error!(target: "kube_client::client::builder", "failed with status 503");
            });
            assert_eq!(told.contains("503"), is_told, "{log_level}: {told}");
        }
    }

    #[test]
    fn a_server_that_stops_is_not_told_of_by_each_connection_unless_that_is_asked_for() {
        for (log_level, is_told) in [("info", false), ("info,sqlx::postgres::notice=warn", true)] {
            let told = told(log_level, || {
                tracing::warn!(target: "sqlx::postgres::notice", "terminating connection");
            });
            assert_eq!(told.contains("terminating"), is_told, "{log_level}: {told}");
        }
    }

    /// What `log` logs at this level.
    fn told(log_level: &str, log: impl FnOnce()) -> String {
        let flags = LogFlags {
            log_format: LogFormat::Text,
            log_level: log_level.to_owned(),
        };
        let told = Log::default();
        let writer = told.clone();
        tracing::subscriber::with_default(lines(&flags, move || writer.clone(), false), log);
        let told = told.0.lock().expect("no panic").clone();
        String::from_utf8(told).expect("text")
    }

    #[tokio::test]
    async fn no_body_of_an_answer_is_logged_whatever_is_asked_for() {
        let answers = [
            (
                200,
                r#"{"kind": "SecretList", "items": [{"data": {"token": "hunter2"}}]}"#,
            ),
            (200, "hunter2"),
            (502, "hunter2"),
        ];
        for log_level in [
            "info",
            "trace",
            "error,kube_client::client=trace",
            "[handled]=trace",
        ] {
            for log_format in [LogFormat::Text, LogFormat::Json] {
                let flags = LogFlags {
                    log_format,
                    log_level: log_level.to_owned(),
                };
                let log = Log::default();
                let writer = log.clone();
                let lines = lines(&flags, move || writer.clone(), false);
                let read = async {
                    for (code, text) in answers {
                        let api: Api<Secret> = Api::namespaced(client(code, text), "default");
                        assert!(api.get("one").await.is_err(), "{text}");
                    }
                    tracing::error!("all of them failed");
                };
                let read = async { read.instrument(tracing::info_span!("handled")).await };
                read.with_subscriber(lines).await;
                let told = String::from_utf8(log.0.lock().expect("no panic").clone());
                let told = told.expect("text");
                assert!(!told.contains("hunter2"), "{log_level}: {told}");
                assert!(told.contains("all of them failed"), "{log_level}: {told}");
            }
        }
    }
}
