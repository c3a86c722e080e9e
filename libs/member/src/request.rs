//! What is asked of a member, as paths. Pure.

use std::fmt::Write;

use armadex_model::GroupVersionResource;

/// One page of a list.
#[derive(Clone, Debug)]
pub struct ListRequest<'a> {
    /// What to list, in all namespaces.
    pub resource: &'a GroupVersionResource,
    /// Objects on a page.
    pub limit: u32,
    /// Where the last page ended.
    pub continue_token: Option<&'a str>,
    /// Of which objects alone, as a field selector.
    pub field_selector: Option<&'a str>,
}

/// A watch.
#[derive(Clone, Debug)]
pub struct WatchRequest<'a> {
    /// What to watch, in all namespaces.
    pub resource: &'a GroupVersionResource,
    /// The version to go on from.
    pub resource_version: &'a str,
    /// When the member is to end the watch, in seconds.
    pub timeout_seconds: u32,
    /// Of which objects alone, as a field selector.
    pub field_selector: Option<&'a str>,
}

/// A list that comes as the beginning of a watch: all that there is, and from then on what happens.
/// [Streaming lists](https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists)
#[derive(Clone, Debug)]
pub struct StreamedListRequest<'a> {
    /// What to list and watch, in all namespaces.
    pub resource: &'a GroupVersionResource,
    /// When the member is to end the watch, in seconds.
    pub timeout_seconds: u32,
    /// Of which objects alone, as a field selector.
    pub field_selector: Option<&'a str>,
}

impl ListRequest<'_> {
    /// Without a resourceVersion, so that the limit is honoured and the list is as of now.
    pub(crate) fn path(&self) -> String {
        let mut path = format!("{}?limit={}", self.resource.list_path(), self.limit);
        if let Some(token) = self.continue_token {
            path.push_str("&continue=");
            push_escaped(&mut path, token);
        }
        push_selector(&mut path, self.field_selector);
        path
    }
}

impl WatchRequest<'_> {
    pub(crate) fn path(&self) -> String {
        let mut path = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion=",
            self.resource.list_path(),
            self.timeout_seconds
        );
        push_escaped(&mut path, self.resource_version);
        push_selector(&mut path, self.field_selector);
        path
    }
}

impl StreamedListRequest<'_> {
    /// Without a resourceVersion, so that the list is as of now.
    pub(crate) fn path(&self) -> String {
        let mut path = format!(
            "{}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds={}",
            self.resource.list_path(),
            self.timeout_seconds
        );
        push_selector(&mut path, self.field_selector);
        path
    }
}

fn push_selector(path: &mut String, selector: Option<&str>) {
    if let Some(selector) = selector {
        path.push_str("&fieldSelector=");
        push_escaped(path, selector);
    }
}

fn push_escaped(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("writing to a String does not fail");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_carry_escaped_tokens() {
        let pods = GroupVersionResource::new("", "v1", "pods");
        let list = ListRequest {
            resource: &pods,
            limit: 500,
            continue_token: Some("a+b/c=="),
            field_selector: None,
        };
        assert_eq!(
            list.path(),
            "/api/v1/pods?limit=500&continue=a%2Bb%2Fc%3D%3D"
        );
        let watch = WatchRequest {
            resource: &pods,
            resource_version: "42",
            timeout_seconds: 290,
            field_selector: None,
        };
        assert_eq!(
            watch.path(),
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion=42"
        );
        let streamed = StreamedListRequest {
            resource: &pods,
            timeout_seconds: 290,
            field_selector: None,
        };
        assert_eq!(
            streamed.path(),
            "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=290"
        );
    }

    #[test]
    fn a_selector_is_asked_for_with_each_of_them() {
        let events = GroupVersionResource::new("", "v1", "events");
        let field_selector = Some("involvedObject.kind=Pod");
        let list = ListRequest {
            resource: &events,
            limit: 1,
            continue_token: None,
            field_selector,
        };
        let watch = WatchRequest {
            resource: &events,
            resource_version: "7",
            timeout_seconds: 1,
            field_selector,
        };
        let streamed = StreamedListRequest {
            resource: &events,
            timeout_seconds: 1,
            field_selector,
        };
        for path in [list.path(), watch.path(), streamed.path()] {
            assert!(
                path.ends_with("&fieldSelector=involvedObject.kind%3DPod"),
                "{path}"
            );
        }
    }
}
