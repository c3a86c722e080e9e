//! What the members of a stock are asked, answered over their socket.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Result;
use http::header::ACCEPT;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::stock::{self, Page, Stock};
use crate::served::body::Body;
use crate::served::{self, Served, refusal, whole};

/// Members that are being played until this is dropped.
pub(super) struct Playing {
    pub(super) stock: Arc<Stock>,
    served: Served,
}

/// What is asked of which member.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Health,
    Version,
    Identity,
    /// `/api` or `/apis`.
    Types(usize),
    Page {
        start: usize,
        limit: usize,
    },
    Watch {
        version: u64,
    },
}

impl Playing {
    /// Begins; nothing changes by itself.
    pub(super) async fn start(stock: Stock) -> Result<Self> {
        let stock = Arc::new(stock);
        let types = stock::types();
        let served = Served::start({
            let stock = Arc::clone(&stock);
            move |request| answer(&stock, &types, request)
        });
        Ok(Self {
            stock,
            served: served.await?,
        })
    }

    /// The spec of the PediaCluster of a member.
    pub(super) fn spec(&self, member: usize) -> Value {
        let Served {
            port, authority, ..
        } = &self.served;
        json!({
            "apiserver": format!("https://127.0.0.1:{port}/members/{member}"),
            "caData": ByteString(authority.clone().into_bytes()),
            "tokenData": ByteString(b"bench".to_vec()),
            "syncResources": [{"group": "", "resources": ["pods"]}],
        })
    }
}

fn answer(stock: &Stock, types: &[String; 2], request: &Request<Incoming>) -> Response<Body> {
    stock.asked.requests.fetch_add(1, Ordering::Relaxed);
    let query = request.uri().query().unwrap_or_default();
    let Some((member, asked)) = read(request.uri().path(), query) else {
        // Other types, and whether they change: discovery is asked for by and by instead.
        return refusal(StatusCode::FORBIDDEN, "Forbidden", "not of this member");
    };
    if member >= stock.members() {
        return refusal(StatusCode::NOT_FOUND, "NotFound", "no such member");
    }
    match asked {
        Asked::Health => whole("ok"),
        Asked::Version => whole(r#"{"gitVersion":"v1.36.0"}"#),
        Asked::Identity => stock.identity(member),
        Asked::Types(which) => whole(types[which].clone()),
        Asked::Page { start, limit } => {
            let accept = request.headers().get(ACCEPT);
            let accept = accept.and_then(|value| value.to_str().ok());
            let names = accept.is_some_and(|accept| accept.contains("as=PartialObjectMetadata"));
            let page = Page {
                start,
                limit,
                whole: !names,
            };
            stock.page(member, page)
        }
        Asked::Watch { version } => stock.watch(member, version),
    }
}

fn read(path: &str, query: &str) -> Option<(usize, Asked)> {
    let (member, path) = path.strip_prefix("/members/")?.split_once('/')?;
    let value = |name| served::value(query, name);
    let asked = match path {
        "readyz" => Asked::Health,
        "version" => Asked::Version,
        "api/v1/namespaces/kube-system" => Asked::Identity,
        "api" => Asked::Types(0),
        "apis" => Asked::Types(1),
        "api/v1/pods" if value("watch").is_some() => Asked::Watch {
            version: value("resourceVersion")?.parse().ok()?,
        },
        "api/v1/pods" => Asked::Page {
            start: value("continue").map_or(Some(0), |text| text.parse().ok())?,
            limit: value("limit")?.parse().ok()?,
        },
        _ => return None,
    };
    Some((member.parse().ok()?, asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_synchro_asks_is_understood() {
        let pods = |query| read("/members/7/api/v1/pods", query);
        let page = |start| Some((7, Asked::Page { start, limit: 500 }));
        assert_eq!(pods("limit=500"), page(0));
        assert_eq!(pods("limit=500&continue=1500"), page(1500));
        let watch = Some((7, Asked::Watch { version: 42 }));
        let query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion=42";
        assert_eq!(pods(query), watch);
        assert_eq!(read("/members/0/apis", ""), Some((0, Asked::Types(1))));
        assert_eq!(pods("limit=500&continue=odd"), None);
        assert_eq!(read("/members/7/api/v1/nodes", "limit=1"), None);
    }
}
