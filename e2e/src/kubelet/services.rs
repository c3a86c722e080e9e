//! Services: each has an address on this machine's loopback, and leads to the pods that are ready, as its EndpointSlices say.
//!
//! They are for who is no pod of this kubelet, but would be one of the cluster in truth: a control plane that finds them by their names, or by their addresses where
//! it is the cluster's own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use rand::Rng;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::node::Node;

const OF_SERVICE: &str = "kubernetes.io/service-name";

/// A port of a Service: namespace, name, and the name of the port.
type Key = (String, String, String);
/// Where each leads.
type Ends = BTreeMap<Key, Vec<SocketAddrV4>>;

/// The argument by which an apiserver that is to reach Services itself gives them addresses that they have on this machine as well. Others have those from 64 on.
pub(crate) fn on_loopback() -> String {
    let network = rand::rng().random_range(2..64_u8);
    format!("--service-cluster-ip-range=127.{network}.0.0/16")
}

/// Those of a cluster.
#[derive(Debug)]
pub(super) struct Services {
    names: PathBuf,
    /// Of the addresses that they have here: other clusters on this machine have another.
    network: u8,
    named: BTreeSet<String>,
    served: BTreeMap<(Key, SocketAddrV4), AbortOnDropHandle<()>>,
    ends: Arc<Mutex<Ends>>,
}

impl Services {
    /// Their names are added to this file.
    pub(super) fn named_in(names: PathBuf) -> Self {
        Self {
            names,
            network: rand::rng().random_range(64..=254),
            named: BTreeSet::new(),
            served: BTreeMap::new(),
            ends: Arc::default(),
        }
    }

    pub(super) async fn look(&mut self, node: &Arc<Node>) -> Result<()> {
        let slices: Api<EndpointSlice> = Api::all(node.client.clone());
        let services: Api<Service> = Api::all(node.client.clone());
        let ends = ends(slices.list(&ListParams::default()).await?.items);
        *self.ends.lock().unwrap_or_else(PoisonError::into_inner) = ends;
        let mut wanted = BTreeMap::new();
        for service in services.list(&ListParams::default()).await? {
            let (namespace, name) = (service.namespace().unwrap_or_default(), service.name_any());
            let spec = service.spec.unwrap_or_default();
            let Some(address) = address(&spec, self.network) else {
                continue;
            };
            self.name(address, &format!("{name}.{namespace}.svc"))?;
            for port in spec.ports.into_iter().flatten() {
                let place = SocketAddrV4::new(address, u16::try_from(port.port)?);
                let key = (
                    namespace.clone(),
                    name.clone(),
                    port.name.unwrap_or_default(),
                );
                wanted.insert((key, place), ());
            }
        }
        self.served.retain(|served, _| wanted.contains_key(served));
        for (key, place) in wanted.into_keys() {
            let served = (key, place);
            if !self.served.contains_key(&served) {
                let task = self.serve(node, &served).await?;
                self.served.insert(served, task);
            }
        }
        Ok(())
    }

    async fn serve(
        &self,
        node: &Arc<Node>,
        (key, place): &(Key, SocketAddrV4),
    ) -> Result<AbortOnDropHandle<()>> {
        let listener = TcpListener::bind(place).await;
        let listener = listener.with_context(|| format!("{key:?} has no place at {place}"))?;
        let port = Port {
            node: Arc::clone(node),
            ends: Arc::clone(&self.ends),
            key: key.clone(),
            turn: AtomicUsize::new(0),
        };
        Ok(AbortOnDropHandle::new(tokio::spawn(
            Arc::new(port).serve(listener),
        )))
    }

    /// A name that was told once stays: who reads the file must never find a half.
    fn name(&mut self, address: Ipv4Addr, name: &str) -> Result<()> {
        let line = format!("{address} {name}\n");
        if self.named.contains(&line) {
            return Ok(());
        }
        let mut file = std::fs::OpenOptions::new();
        let mut file = file.create(true).append(true).open(&self.names)?;
        file.write_all(line.as_bytes())?;
        self.named.insert(line);
        Ok(())
    }
}

/// That of the cluster on this machine: nobody has to be asked for one of 127.0.0.0/8.
fn address(spec: &ServiceSpec, network: u8) -> Option<Ipv4Addr> {
    let address: Ipv4Addr = spec.cluster_ip.as_deref()?.parse().ok()?;
    if address.is_loopback() {
        return Some(address);
    }
    let [_, _, third, fourth] = address.octets();
    Some(Ipv4Addr::new(127, network, third, fourth))
}

/// Those that are ready; where none is, those that serve while they end.
fn ends(slices: Vec<EndpointSlice>) -> Ends {
    let mut found: BTreeMap<Key, [Vec<SocketAddrV4>; 2]> = BTreeMap::new();
    for slice in slices {
        let service = slice.labels().get(OF_SERVICE).cloned().unwrap_or_default();
        let namespace = slice.namespace().unwrap_or_default();
        for port in slice.ports.iter().flatten() {
            let name = port.name.clone().unwrap_or_default();
            let number = port.port.and_then(|number| u16::try_from(number).ok());
            let ends = found
                .entry((namespace.clone(), service.clone(), name))
                .or_default();
            for end in slice.endpoints.iter().flatten() {
                let address = end.addresses.first().and_then(|text| text.parse().ok());
                let conditions = end.conditions.clone().unwrap_or_default();
                let kind = match (conditions.ready, conditions.serving) {
                    (Some(true) | None, _) => 0,
                    (Some(false), Some(true)) => 1,
                    (Some(false), _) => continue,
                };
                if let (Some(address), Some(number)) = (address, number) {
                    ends[kind].push(SocketAddrV4::new(address, number));
                }
            }
        }
    }
    let chosen = |[ready, serving]: [Vec<_>; 2]| if ready.is_empty() { serving } else { ready };
    found
        .into_iter()
        .map(|(key, ends)| (key, chosen(ends)))
        .collect()
}

struct Port {
    node: Arc<Node>,
    ends: Arc<Mutex<Ends>>,
    key: Key,
    turn: AtomicUsize,
}

impl Port {
    async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => if let Ok((client, _)) = accepted {
                    connections.spawn(Arc::clone(&self).carry(client));
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }

    /// To one of them in turn; one that is there no more, and none, are an end of the connection.
    async fn carry(self: Arc<Self>, mut client: TcpStream) {
        let Some(end) = self.next() else {
            return;
        };
        let Some(pod) = self.node.at(*end.ip()) else {
            return;
        };
        if let Ok(mut server) = pod.network.connect(end.port()).await {
            // What breaks is seen by both ends.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        }
    }

    fn next(&self) -> Option<SocketAddrV4> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = ends.get(&self.key).filter(|ends| !ends.is_empty())?;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        ends.get(turn % ends.len()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(endpoints: &serde_json::Value) -> EndpointSlice {
        let slice = serde_json::json!({
            "addressType": "IPv4",
            "metadata": {"namespace": "a", "name": "s-1", "labels": {OF_SERVICE: "s"}},
            "ports": [{"name": "https", "port": 8443}],
            "endpoints": endpoints,
        });
        serde_json::from_value(slice).expect("a slice")
    }

    fn end(address: &str, ready: bool, serving: bool) -> serde_json::Value {
        serde_json::json!({"addresses": [address], "conditions": {"ready": ready, "serving": serving}})
    }

    #[test]
    fn a_service_leads_to_pods_that_are_ready_and_to_those_that_end_where_none_is() {
        let key = ("a".to_owned(), "s".to_owned(), "https".to_owned());
        let of = |endpoints: &[serde_json::Value]| {
            let found = ends(vec![slice(&endpoints.into())]).remove(&key);
            found
                .unwrap_or_default()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        let (ready, ending, away) = (
            end("10.0.0.1", true, true),
            end("10.0.0.2", false, true),
            end("10.0.0.3", false, false),
        );
        assert_eq!(
            of(&[ready, ending.clone(), away.clone()]),
            ["10.0.0.1:8443"]
        );
        assert_eq!(of(&[ending, away.clone()]), ["10.0.0.2:8443"]);
        assert!(of(&[away]).is_empty());
    }
}
