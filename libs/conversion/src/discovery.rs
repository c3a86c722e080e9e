//! EndpointSlices of `discovery.k8s.io/v1beta1`.

use serde_json::Value;

use crate::step::{Object, Step, Unconvertible, object_at, put, take};

/// The zone has a field of its own; what else the topology said is kept as deprecated.
pub(crate) const ENDPOINT_SLICE: &[Step] = &[Step::Each("endpoints", &[Step::By(topology)])];

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

fn topology(endpoint: &mut Object) -> Result<(), Unconvertible> {
    let node = endpoint.get("nodeName").cloned();
    let Some(topology) = object_at(endpoint, "topology")? else {
        return Ok(());
    };
    let zone = topology.remove(ZONE);
    // It says the same twice.
    if node.is_some_and(|node| topology.get(HOSTNAME) == Some(&node)) {
        topology.remove(HOSTNAME);
    }
    if let Some(zone) = zone {
        put(endpoint, "zone", zone)?;
    }
    match take(endpoint, "topology")? {
        Some(Value::Object(rest)) if !rest.is_empty() => {
            put(endpoint, "deprecatedTopology", rest.into())
        }
        _ => Ok(()),
    }
}
