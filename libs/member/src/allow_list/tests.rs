use super::*;

fn list(entries: &str) -> AllowList {
    let entries = entries.split(',').filter(|entry| !entry.is_empty());
    entries.map(|entry| entry.parse().expect(entry)).collect()
}

fn refusal(list: &AllowList, server: &str, by: Option<&str>) -> Option<String> {
    let host = |url: &str| {
        let url: http::Uri = url.parse().expect(url);
        url.host().expect("a host").to_owned()
    };
    let by = by.map(host);
    let checked = list.check(&host(server), by.as_deref());
    checked.err().map(|error| error.to_string())
}

fn addresses(list: &AllowList, name: &str, found: &[&str]) -> Vec<String> {
    let found = found
        .iter()
        .map(|ip| SocketAddr::new(ip.parse().expect(ip), 0));
    let admitted = list.admitted(name, found.collect()).unwrap_or_default();
    admitted
        .iter()
        .map(|address| address.ip().to_string())
        .collect()
}

#[test]
fn entries_are_networks_addresses_and_names() {
    let good = [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("192.0.2.7", "192.0.2.7/32"),
        ("fd00::/8", "fd00::/8"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ("API.example.com.", "api.example.com"),
        ("*.example.com", "*.example.com"),
        ("localhost", "localhost"),
    ];
    for (text, want) in good {
        let entry: AllowedAddress = text.parse().expect(text);
        assert_eq!(entry.to_string(), want);
    }
    let bad = [
        "",
        "*",
        "*.",
        "10.0.0.0/33",
        "https://a",
        "a:6443",
        "a..b",
        "*.*.a",
        "127.1",
        "a b",
        "10.0.0.*",
        "::ffff:10.0.0.0/104",
    ];
    for text in bad {
        let error = text.parse::<AllowedAddress>().expect_err(text);
        assert!(error.to_string().contains("10.0.0.0/8"), "{error}");
    }
}

#[test]
fn without_a_list_only_the_addresses_of_the_link_are_left_out() {
    let none = AllowList::default();
    for server in [
        "https://10.0.0.1",
        "https://api.example.com",
        "https://[fd00::1]:6443",
        "https://127.0.0.1:6443",
    ] {
        assert_eq!(refusal(&none, server, None), None, "{server}");
    }
    for server in [
        "http://169.254.169.254",
        "https://[fe80::1]",
        "https://[fd00:ec2::254]",
        "https://100.100.100.200",
        "https://[::ffff:169.254.169.254]",
    ] {
        assert_eq!(
            refusal(&none, server, None).as_deref(),
            Some(
                "the API server's URL leads to no address that members may have (--member-addresses)"
            ),
            "{server}"
        );
    }
    assert_eq!(
        addresses(
            &none,
            "a.example.com",
            &["169.254.169.254", "192.0.2.1", "fe80::1"]
        ),
        ["192.0.2.1"]
    );
    assert_eq!(
        addresses(
            &list("169.254.0.0/16"),
            "a",
            &["169.254.169.254", "192.0.2.1"]
        ),
        ["169.254.169.254"]
    );
}

#[test]
fn of_a_name_that_is_not_listed_its_addresses_count() {
    let networks = list("10.0.0.0/8,fd00::/8");
    assert_eq!(refusal(&networks, "https://10.1.1.1", None), None);
    assert_eq!(refusal(&networks, "https://[fd00::1]", None), None);
    assert!(refusal(&networks, "https://11.1.1.1", None).is_some());
    assert!(refusal(&networks, "https://[::ffff:11.1.1.1]", None).is_some());
    // Nobody knows yet.
    assert_eq!(refusal(&networks, "https://evil.example", None), None);
    assert_eq!(
        addresses(&networks, "evil.example", &["127.0.0.1", "::ffff:10.0.0.1"]),
        ["::ffff:10.0.0.1"]
    );
    let error = networks.admitted("evil.example", vec![SocketAddr::from(([127, 0, 0, 1], 0))]);
    let error = error.expect_err("no address");
    assert_eq!(
        error.to_string(),
        "evil.example leads to no address that members may have (--member-addresses)"
    );
}

#[test]
fn a_name_that_is_listed_may_lead_anywhere_but_to_the_link() {
    let names = list("*.example.com,api.other.com");
    for server in [
        "https://a.example.com",
        "https://A.B.example.com.",
        "https://api.other.com:1",
    ] {
        assert_eq!(refusal(&names, server, None), None, "{server}");
    }
    for server in [
        "https://example.com",
        "https://notexample.com",
        "https://b.other.com",
        "https://10.0.0.1",
    ] {
        assert!(refusal(&names, server, None).is_some(), "{server}");
    }
    assert_eq!(
        addresses(&names, "a.example.com", &["10.0.0.1", "169.254.169.254"]),
        ["10.0.0.1"]
    );
}

#[test]
fn a_proxy_is_held_to_it_and_what_is_behind_it_by_name() {
    let both = list("10.0.0.0/8,*.example.com");
    let by = Some("http://10.0.0.2:3128");
    assert_eq!(refusal(&both, "https://a.example.com", by), None);
    assert_eq!(refusal(&both, "https://10.0.0.1", by), None);
    assert_eq!(
        refusal(&both, "https://evil.example", by).as_deref(),
        Some(
            "the API server's URL is a name that the proxy looks up, so --member-addresses has to list the name itself"
        )
    );
    assert_eq!(
        refusal(
            &both,
            "https://a.example.com",
            Some("socks5://192.0.2.1:1080")
        )
        .as_deref(),
        Some("the proxy's URL leads to no address that members may have (--member-addresses)")
    );
    assert_eq!(
        refusal(&AllowList::default(), "https://evil.example", by),
        None
    );
}
