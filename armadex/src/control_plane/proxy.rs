//! By which proxy a control plane is asked: the one that its kubeconfig names, or else that of the environment, as kubectl has it. Takes what both say, and gives its URL. Pure, but for the environment.

use std::net::IpAddr;

use anyhow::{anyhow, ensure};
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

const SCHEMES: [&str; 3] = ["http", "https", "socks5"];

/// What the process was started with.
#[derive(Default)]
pub(super) struct Environment {
    https_proxy: Option<String>,
    no_proxy: Option<String>,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        let first = |names: [&str; 2]| {
            let said = names.iter().filter_map(|name| std::env::var(name).ok());
            said.filter_map(|text| non_blank(Some(text))).next()
        };
        Self {
            https_proxy: first(["HTTPS_PROXY", "https_proxy"]),
            no_proxy: first(["NO_PROXY", "no_proxy"]),
        }
    }

    /// This machine, which a proxy takes for itself, is asked straight in any case. kube compares `NO_PROXY` with the proxy, and not with the server.
    fn is_asked_straight(&self, server: &Uri) -> bool {
        let host = server.host().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse();
        if host == "localhost" || address.is_ok_and(|address: IpAddr| address.is_loopback()) {
            return true;
        }
        let no_proxy = self.no_proxy.clone().unwrap_or_default();
        let any = Matcher::builder().all("http://proxy").no(no_proxy);
        any.build().intercept(server).is_none()
    }
}

/// The one to a server whose kubeconfig names this one. No message has the URL in it: there may be a password in that.
pub(super) fn to(
    server: &Uri,
    proxy_url: Option<&str>,
    environment: &Environment,
) -> anyhow::Result<Option<Uri>> {
    if let Some(url) = non_blank(proxy_url.map(str::to_owned)) {
        return parse("proxy-url of the kubeconfig", &url).map(Some);
    }
    match &environment.https_proxy {
        Some(url) if !environment.is_asked_straight(server) => parse("HTTPS_PROXY", url).map(Some),
        _ => Ok(None),
    }
}

fn parse(field: &str, url: &str) -> anyhow::Result<Uri> {
    let url: Uri = url.parse().map_err(|_| anyhow!("{field}: it is no URL"))?;
    let scheme = url.scheme_str().unwrap_or_default();
    ensure!(
        SCHEMES.contains(&scheme),
        "{field}: it has to begin with http://, https:// or socks5://"
    );
    Ok(url)
}

fn non_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_KUBECONFIG: &str = "socks5://me:secret@proxy.example.com:1080/";
    const OF_ENVIRONMENT: &str = "http://me:secret@10.0.0.1:3128/";

    /// What is found for a server whose kubeconfig names a proxy, or none.
    fn found(server: &str, proxy_url: &str, https_proxy: &str, no_proxy: &str) -> String {
        let said = |text: &str| non_blank(Some(text.to_owned()));
        let environment = Environment {
            https_proxy: said(https_proxy),
            no_proxy: said(no_proxy),
        };
        match to(
            &server.parse().expect("an address"),
            Some(proxy_url),
            &environment,
        ) {
            Ok(url) => url.map_or("none".to_owned(), |url| url.to_string()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn that_of_the_kubeconfig_counts_before_that_of_the_environment() {
        let found =
            |proxy_url, https_proxy| found("https://karmada:5443", proxy_url, https_proxy, "");
        assert_eq!(found("", ""), "none");
        assert_eq!(found("", OF_ENVIRONMENT), OF_ENVIRONMENT);
        assert_eq!(found(OF_KUBECONFIG, OF_ENVIRONMENT), OF_KUBECONFIG);
    }

    #[test]
    fn a_server_that_needs_no_proxy_is_asked_straight_wherever_the_proxy_is() {
        let found = |server, no_proxy| found(server, "", OF_ENVIRONMENT, no_proxy);
        for (server, no_proxy) in [
            ("https://karmada.svc:5443", "10.0.0.0/8, .svc"),
            ("https://10.1.2.3:6443", "10.0.0.0/8"),
            ("http://karmada", "*"),
            (
                "https://karmada.svc",
                "localhost,, .svc/path, *.example.com, 10.0.0.0/8 .svc,.svc,",
            ),
            ("https://localhost:6443", ""),
            ("https://127.0.0.1:6443", ""),
            ("https://[::1]:6443", ""),
        ] {
            assert_eq!(found(server, no_proxy), "none", "{server}");
        }
        // The proxy is in it, and the server is not.
        assert_eq!(
            found("https://karmada.example.com", "10.0.0.0/8"),
            OF_ENVIRONMENT
        );
        let named = super::tests::found("https://karmada.svc", OF_KUBECONFIG, "", ".svc");
        assert_eq!(named, OF_KUBECONFIG, "as kubectl has it");
    }

    #[test]
    fn what_is_no_proxy_is_told_by_its_field_and_without_what_it_says() {
        let found = |proxy_url, https_proxy| found("https://karmada", proxy_url, https_proxy, "");
        let way_out = "it has to begin with http://, https:// or socks5://";
        assert_eq!(
            found("ftp://me:secret@a", ""),
            format!("proxy-url of the kubeconfig: {way_out}")
        );
        assert_eq!(
            found("", "me:secret@proxy:1"),
            format!("HTTPS_PROXY: {way_out}")
        );
        assert_eq!(
            found("", "http://me:sec ret@a"),
            "HTTPS_PROXY: it is no URL"
        );
    }
}
