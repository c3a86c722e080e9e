//! The admin port: `/livez`, `/readyz?verbose&exclude=NAME`, `/healthz` for old tools, and `/metrics`, over plain HTTP.
//!
//! Readiness never depends on members: a fleet with a dead cluster is still searched.

mod checks;
mod port;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Args;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::service::Parts;
pub(crate) use checks::Checks;

/// Where the admin port listens.
#[derive(Clone, Debug, Args)]
pub(crate) struct AdminFlags {
    /// Address of the admin port: /livez, /readyz, /metrics. Plain HTTP, so keep it inside.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8081")]
    pub(crate) admin_listen: SocketAddr,
}

struct Admin {
    checks: Checks,
    metrics: Metrics,
    stopping: CancellationToken,
}

/// Adds the port. It is open for as long as any part that others send requests to; a process that is stopping is not ready.
pub(crate) fn start(parts: &mut Parts, flags: AdminFlags, checks: Checks, metrics: Metrics) {
    let admin = Admin {
        checks,
        metrics,
        stopping: parts.cancel(),
    };
    let serving = serve(flags, admin, parts.last());
    parts.start("admin port", serving);
}

async fn serve(flags: AdminFlags, admin: Admin, cancel: CancellationToken) -> anyhow::Result<()> {
    let listener = TcpListener::bind(flags.admin_listen)
        .await
        .with_context(|| format!("cannot listen on --admin-listen {}", flags.admin_listen))?;
    tracing::info!(address = %listener.local_addr()?, "admin port is open");
    port::serve(listener, router(Arc::new(admin)), cancel).await;
    Ok(())
}

fn router(admin: Arc<Admin>) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .route("/healthz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(admin)
}

async fn ready(State(admin): State<Arc<Admin>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let asked = |name: &str| {
        query
            .split('&')
            .any(|part| part.split('=').next() == Some(name))
    };
    let excluded = |name: &str| {
        query
            .split('&')
            .any(|part| part == format!("exclude={name}"))
    };
    let mut report = String::new();
    let mut failed = admin.stopping.is_cancelled();
    report.push_str(if failed {
        "[-]shutdown failed: stopping\n"
    } else {
        "[+]shutdown ok\n"
    });
    for check in admin.checks.iter() {
        let name = check.name;
        if excluded(name) {
            report.push_str(&format!("[+]{name} excluded: ok\n"));
            continue;
        }
        match check.outcome().await {
            Ok(()) => report.push_str(&format!("[+]{name} ok\n")),
            Err(reason) => {
                failed = true;
                report.push_str(&format!("[-]{name} failed: {reason}\n"));
            }
        }
    }
    respond(failed, asked("verbose"), report)
}

fn respond(failed: bool, verbose: bool, report: String) -> Response {
    match (failed, verbose) {
        (true, _) => (
            StatusCode::SERVICE_UNAVAILABLE,
            report + "readyz check failed\n",
        )
            .into_response(),
        (false, true) => (report + "readyz check passed\n").into_response(),
        (false, false) => "ok".into_response(),
    }
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    (
        [(header::CONTENT_TYPE, OPEN_METRICS)],
        admin.metrics.encode(),
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get_ready(query: &str, stopping: bool) -> (StatusCode, String) {
        let mut checks = Checks::default();
        checks.add("store", || async { Err("no answer".to_owned()) });
        checks.add("listener", || async { Ok(()) });
        let admin = Admin {
            checks,
            metrics: Metrics::new(),
            stopping: CancellationToken::new(),
        };
        if stopping {
            admin.stopping.cancel();
        }
        let response = ready(State(Arc::new(admin)), RawQuery(Some(query.to_owned()))).await;
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), 10_000)
            .await
            .expect("a body");
        (status, String::from_utf8(body.to_vec()).expect("text"))
    }

    #[tokio::test]
    async fn a_failed_check_is_named() {
        let (status, body) = get_ready("verbose", false).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(body.contains("[-]store failed: no answer"), "{body}");
        assert!(body.contains("[+]listener ok"), "{body}");
    }

    #[tokio::test]
    async fn an_excluded_check_does_not_count() {
        assert_eq!(
            get_ready("exclude=store", false).await,
            (StatusCode::OK, "ok".to_owned())
        );
    }

    #[tokio::test]
    async fn a_stopping_process_is_not_ready() {
        assert_eq!(
            get_ready("exclude=store", true).await.0,
            StatusCode::SERVICE_UNAVAILABLE
        );
    }
}
