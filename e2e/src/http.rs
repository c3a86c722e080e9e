//! Plain HTTP on loopback: etcd's gateway and admin ports.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::timeout;

type Body = Full<bytes::Bytes>;

/// Servers on loopback answer in milliseconds, and etcd within seconds on a busy disk.
const LIMIT: Duration = Duration::from_secs(30);

/// A client that keeps its connections.
#[derive(Debug, Clone)]
pub struct Http {
    client: Client<HttpConnector, Body>,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }
}

impl Http {
    /// The body of a GET that answers with success.
    pub async fn get(&self, url: &str) -> Result<String> {
        self.send(Method::GET, url, Vec::new()).await
    }

    /// The body of the answer to a JSON body.
    pub async fn post(&self, url: &str, json: Vec<u8>) -> Result<String> {
        self.send(Method::POST, url, json).await
    }

    async fn send(&self, method: Method, url: &str, body: Vec<u8>) -> Result<String> {
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))?;
        let asked = async {
            let answer = self.client.request(request).await?;
            let status = answer.status();
            let bytes = answer.into_body().collect().await?.to_bytes();
            anyhow::Ok((status, bytes))
        };
        let answer = timeout(LIMIT, asked).await;
        let answer = answer.with_context(|| format!("{url} does not answer"))?;
        let (status, bytes) = answer.with_context(|| format!("no answer from {url}"))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        ensure!(status.is_success(), "{url} answered {status}: {text}");
        Ok(text)
    }
}
