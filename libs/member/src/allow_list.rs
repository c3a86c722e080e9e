//! Where members and their proxies may be. Whoever may write a Secret or a source object names addresses that this process connects to from its own place in
//! the network, so an operator may say which ones there are.
//!
//! A name is asked for before it is connected to, and what it leads to counts, not what it is called: unless the name itself is listed, an address that is not
//! is none of its addresses. What a proxy looks up nobody here sees, so behind one a name has to be listed itself.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::error::{Barred, ConfigError};

/// The longest name that DNS has.
const NAME: usize = 253;
/// Where Amazon's machines ask over IPv6, and Alibaba's.
const OF_AMAZON: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
const OF_ALIBABA: Ipv4Addr = Ipv4Addr::new(100, 100, 100, 200);
/// What `ConfigError` says of an address; it names no address, as no error says what is in a field.
const NOT_LISTED: &str = "leads to no address that members may have (--member-addresses)";
const LOOKED_UP_ELSEWHERE: &str =
    "is a name that the proxy looks up, so --member-addresses has to list the name itself";

/// What members may be reached at; clones share it. An empty one lets everything but the addresses where clouds tell machines their credentials: those of the link
/// itself (169.254.0.0/16, fe80::/10), and fd00:ec2::254 and 100.100.100.200.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList(Arc<[AllowedAddress]>);

/// One entry of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedAddress {
    /// `10.0.0.0/8`, or one address.
    Network(IpNet),
    /// `api.example.com`, whatever it leads to.
    Name(String),
    /// `*.example.com`: every name below that one.
    Below(String),
}

/// A text that is none of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is neither a network (10.0.0.0/8), nor an address, nor a name (api.example.com, *.example.com)"
)]
pub struct NoAddress(String);

impl FromStr for AllowedAddress {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let refused = || NoAddress(text.to_owned());
        if let Ok(network) = text.parse::<IpNet>() {
            // No address is in one of IPv4 that is written as one of IPv6.
            let is_mapped = network.addr() != network.addr().to_canonical();
            return match is_mapped {
                true => Err(refused()),
                false => Ok(Self::Network(network.trunc())),
            };
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Network(address.to_canonical().into()));
        }
        let (is_below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let name = normal(name);
        match (is_name(&name), is_below) {
            (false, _) => Err(refused()),
            (true, true) => Ok(Self::Below(name)),
            (true, false) => Ok(Self::Name(name)),
        }
    }
}

impl fmt::Display for AllowedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => write!(f, "{network}"),
            Self::Name(name) => f.write_str(name),
            Self::Below(name) => write!(f, "*.{name}"),
        }
    }
}

/// Names are the same in any case, and with the dot of the root or without.
fn normal(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Whether it may be a name: whatever a resolver takes for an address, as it does `127.1` and `0x7f000001`, is none, for its last label would be one of digits.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(is_part)
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= NAME
        && name.split('.').all(is_label)
        && !last.starts_with(|first: char| first.is_ascii_digit())
}

impl FromIterator<AllowedAddress> for AllowList {
    fn from_iter<T: IntoIterator<Item = AllowedAddress>>(entries: T) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{entry}")?;
        }
        Ok(())
    }
}

impl AllowList {
    /// Everything: for what no PediaCluster says.
    pub(crate) fn of_all() -> Self {
        let all = [
            IpNet::from(Ipv4Net::default()),
            IpNet::from(Ipv6Net::default()),
        ];
        all.map(AllowedAddress::Network).into_iter().collect()
    }

    /// Whether the host of an API server, and that of the proxy on the way to it, are where members may be, as far as they tell; what names lead to is for
    /// [`Self::admitted`].
    pub(crate) fn check(&self, host: &str, proxy: Option<&str>) -> Result<(), ConfigError> {
        match proxy {
            None => self.check_host("the API server's URL", host),
            Some(proxy) => {
                self.check_host("the proxy's URL", proxy)?;
                self.check_host_behind_proxy("the API server's URL", host)
            }
        }
    }

    fn check_host(&self, field: &str, host: &str) -> Result<(), ConfigError> {
        let is_admitted = match address(host) {
            Some(address) => self.has(address),
            // Where no network is listed no address of another name is.
            None => self.0.is_empty() || self.has_networks() || self.is_listed(host),
        };
        match is_admitted {
            true => Ok(()),
            false => Err(ConfigError::invalid(field, NOT_LISTED)),
        }
    }

    fn check_host_behind_proxy(&self, field: &str, host: &str) -> Result<(), ConfigError> {
        let is_admitted = match address(host) {
            Some(_) => return self.check_host(field, host),
            None => self.0.is_empty() || self.is_listed(host),
        };
        match is_admitted {
            true => Ok(()),
            false => Err(ConfigError::invalid(field, LOOKED_UP_ELSEWHERE)),
        }
    }

    /// Of the addresses that a name has those that may be connected to.
    ///
    /// # Errors
    /// If there are none.
    pub(crate) fn admitted(
        &self,
        name: &str,
        addresses: Vec<SocketAddr>,
    ) -> io::Result<Vec<SocketAddr>> {
        let is_listed = self.is_listed(name);
        let may_have = |address: &SocketAddr| {
            let address = address.ip().to_canonical();
            self.has(address) || is_listed && !tells_credentials(address)
        };
        let admitted: Vec<_> = addresses.into_iter().filter(may_have).collect();
        match admitted.is_empty() {
            true => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                Barred(format!("{name} {NOT_LISTED}")),
            )),
            false => Ok(admitted),
        }
    }

    /// Whether an address may be connected to.
    fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_in = |entry: &AllowedAddress| match entry {
            AllowedAddress::Network(network) => network.contains(&address),
            AllowedAddress::Name(_) | AllowedAddress::Below(_) => false,
        };
        self.0.iter().any(is_in) || self.0.is_empty() && !tells_credentials(address)
    }

    fn has_networks(&self) -> bool {
        let is_network = |entry: &AllowedAddress| matches!(entry, AllowedAddress::Network(_));
        self.0.iter().any(is_network)
    }

    /// Whether a name is listed, by itself or as one below another.
    fn is_listed(&self, name: &str) -> bool {
        let name = normal(name);
        self.0.iter().any(|entry| match entry {
            AllowedAddress::Network(_) => false,
            AllowedAddress::Name(listed) => *listed == name,
            AllowedAddress::Below(listed) => name
                .strip_suffix(listed.as_str())
                .is_some_and(|below| below.ends_with('.')),
        })
    }
}

/// The address that a URL's host is, if it is one.
fn address(host: &str) -> Option<IpAddr> {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host).parse().ok()
}

/// Where a cloud tells its machines their credentials: at an address of the link, on most.
fn tells_credentials(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local() || address == OF_ALIBABA,
        IpAddr::V6(address) => address.is_unicast_link_local() || address == OF_AMAZON,
    }
}

#[cfg(test)]
mod tests;
