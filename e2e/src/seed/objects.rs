//! Which objects a plan means, and where in etcd each belongs.

use serde_json::{Value, json};

use super::metadata::{Random, managed, seconds};
use super::plan::Plan;
use super::workload::{APPLICATIONS, Workload};

/// Pods of one ReplicaSet, and with its Deployment, ReplicaSet, Service, ConfigMap and Secret a unit of ten objects.
const REPLICAS: u32 = 5;
const UNIT: usize = 5 + REPLICAS as usize;
/// Applications in one namespace.
const UNITS_PER_NAMESPACE: usize = 20;
/// Pods on one node, about.
const PODS_PER_NODE: usize = 100;

/// Begins every password that is seeded, so that one word finds them all. In base64 they begin alike too, for it has three times five bytes.
pub const SECRET: &str = "a-seeded-secret";
/// The same in base64.
pub const SECRET_ENCODED: &str = "YS1zZWVkZWQtc2VjcmV0";

/// An object as JSON and its key below the apiserver's prefix. Encoded at once: a tree of values is several times larger.
#[derive(Debug, Clone)]
pub(super) struct Seeded {
    pub(super) key: String,
    pub(super) json: Vec<u8>,
}

impl Seeded {
    fn new(directory: &str, object: &Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        let place = [text("namespace"), text("name")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("/");
        Self {
            key: format!("{directory}/{place}"),
            json: object.to_string().into_bytes(),
        }
    }

    pub(super) fn is_pod(&self) -> bool {
        self.key.starts_with("pods/")
    }
}

/// Objects by what has to be there before them: the garbage collector takes what it sees before its owner.
#[derive(Default)]
pub(super) struct Waves {
    /// What nobody owns and others depend on.
    pub(super) owners: Vec<Seeded>,
    /// What those own and own others themselves.
    pub(super) owned_owners: Vec<Seeded>,
    /// The rest.
    pub(super) rest: Vec<Seeded>,
}

impl Waves {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.owners.len() + self.owned_owners.len() + self.rest.len()
    }

    /// The first has to be there before the second begins, and so on.
    pub(super) fn in_order(&self) -> [&[Seeded]; 3] {
        [&self.owners, &self.owned_owners, &self.rest]
    }
}

/// The objects of `plan`.
pub(super) fn generate(member: &str, plan: Plan, random: &mut Random) -> Waves {
    let units = plan.count.div_ceil(UNIT);
    let nodes = node_names(member, plan.seed, units);
    let mut waves = Waves::default();
    waves.owners.extend(
        nodes
            .iter()
            .map(|name| Seeded::new("minions", &node(name, random))),
    );
    for unit in 0..units {
        let namespace = format!(
            "{}-{}-{}",
            theme(unit / UNITS_PER_NAMESPACE),
            plan.seed,
            unit / UNITS_PER_NAMESPACE
        );
        if unit % UNITS_PER_NAMESPACE == 0 {
            waves.owners.push(Seeded::new(
                "namespaces",
                &self::namespace(&namespace, random),
            ));
        }
        add_unit(&namespace, unit, &nodes, random, &mut waves);
    }
    let before = waves.owners.len() + waves.owned_owners.len();
    waves.rest.truncate(plan.count.saturating_sub(before));
    waves
}

fn theme(number: usize) -> &'static str {
    ["shop", "pay", "web", "data", "ops", "bi"][number % 6]
}

fn node_names(member: &str, seed: u64, units: usize) -> Vec<String> {
    let count = (units * REPLICAS as usize).div_ceil(PODS_PER_NODE).max(1);
    (1..=count)
        .map(|number| format!("{member}-node-{seed}-{number}"))
        .collect()
}

fn add_unit(
    namespace: &str,
    number: usize,
    nodes: &[String],
    random: &mut Random,
    waves: &mut Waves,
) {
    let workload = Workload::new(namespace, number, REPLICAS, random);
    let (deployment, deployment_owner) = workload.deployment(random);
    let (replica_set, replica_set_owner) = workload.replica_set(&deployment_owner, random);
    waves.owners.push(Seeded::new("deployments", &deployment));
    let replica_set = Seeded::new("replicasets", &replica_set);
    waves.owned_owners.push(replica_set);
    waves.rest.extend(
        (0..REPLICAS)
            .map(|_| Seeded::new("pods", &workload.pod(&replica_set_owner, nodes, random))),
    );
    waves.rest.push(Seeded::new(
        "services/specs",
        &service(&workload, number, random),
    ));
    waves
        .rest
        .push(Seeded::new("configmaps", &config_map(&workload, random)));
    waves
        .rest
        .push(Seeded::new("secrets", &secret(&workload, random)));
}

fn metadata(name: &str, namespace: Option<&str>, random: &mut Random) -> Value {
    let created = random.time();
    let mut metadata = json!({
        "name": name,
        "uid": random.uid(),
        "creationTimestamp": seconds(created),
        "managedFields": [managed("kubectl-client-side-apply", "v1", created, "", &json!({"f:data": {}}))],
    });
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    metadata
}

fn namespace(name: &str, random: &mut Random) -> Value {
    let mut metadata = metadata(name, None, random);
    metadata["labels"] = json!({"kubernetes.io/metadata.name": name, "team": random.pick(&["red", "green", "blue"])});
    json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": metadata,
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
    })
}

fn node(name: &str, random: &mut Random) -> Value {
    let mut metadata = metadata(name, None, random);
    metadata["labels"] = json!({
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": random.pick(&["amd64", "arm64"]),
        "topology.kubernetes.io/zone": random.pick(&["zone-a", "zone-b", "zone-c"]),
    });
    let since = seconds(random.time());
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": metadata,
        "spec": {"podCIDR": format!("10.{}.0.0/24", random.below(250))},
        "status": {
            "capacity": {"cpu": "16", "memory": "65536Mi", "pods": "110"},
            "allocatable": {"cpu": "15", "memory": "63488Mi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready",
                            "lastHeartbeatTime": since, "lastTransitionTime": since}],
            "addresses": [{"type": "InternalIP", "address": format!("172.18.0.{}", 2 + random.below(250))},
                          {"type": "Hostname", "address": name}],
            "nodeInfo": {"machineID": random.hex(16), "systemUUID": random.uid(), "bootID": random.uid(),
                         "kernelVersion": "6.1.0-40", "osImage": "Debian GNU/Linux 12 (bookworm)",
                         "containerRuntimeVersion": "containerd://2.1.4", "kubeletVersion": "v1.36.3",
                         "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"},
        },
    })
}

/// Cluster addresses are unique within a seed: 10.96.0.0/12 has room for a million.
fn service(workload: &Workload, number: usize, random: &mut Random) -> Value {
    let (_, _, port) = APPLICATIONS[number % APPLICATIONS.len()];
    let number = number + 256;
    let address = format!(
        "10.{}.{}.{}",
        100 + (number >> 16) % 8,
        (number >> 8) & 255,
        number & 255
    );
    let mut metadata = metadata(&workload.name, Some(&workload.namespace), random);
    metadata["labels"] = json!({"app.kubernetes.io/instance": workload.name});
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {
            "type": "ClusterIP", "clusterIP": address, "clusterIPs": [address],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None", "selector": {"app.kubernetes.io/instance": workload.name},
            "ports": [{"name": "main", "port": port, "protocol": "TCP", "targetPort": "main"}],
        },
        "status": {"loadBalancer": {}},
    })
}

fn config_map(workload: &Workload, random: &mut Random) -> Value {
    let name = format!("{}-config", workload.name);
    let settings: Vec<_> = (0..20 + random.below(40))
        .map(|line| format!("setting_{line} = \"{}\"", random.suffix(24)))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": metadata(&name, Some(&workload.namespace), random),
        "data": {"app.toml": settings.join("\n"), "LOG_LEVEL": random.pick(&["debug", "info", "warn"])},
    })
}

fn secret(workload: &Workload, random: &mut Random) -> Value {
    use base64::Engine;
    let encode = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    let name = format!("{}-credentials", workload.name);
    let metadata = metadata(&name, Some(&workload.namespace), random);
    let password = format!("{SECRET}{}", &random.suffix(32)[SECRET.len()..]);
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata,
        "data": {"username": encode(workload.name.clone()), "password": encode(password)},
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn waves(member: &str, count: usize, seed: u64) -> Waves {
        generate(member, Plan { count, seed }, &mut Random::new(member, seed))
    }

    fn seeded(member: &str, count: usize, seed: u64) -> Vec<Seeded> {
        let Waves {
            owners,
            owned_owners,
            rest,
        } = waves(member, count, seed);
        [owners, owned_owners, rest].into_iter().flatten().collect()
    }

    fn metadata_of(seeded: &Seeded) -> Value {
        serde_json::from_slice::<Value>(&seeded.json).unwrap()["metadata"].take()
    }

    #[test]
    fn a_plan_gives_as_many_objects_as_it_says_each_with_its_own_key_and_uid() {
        let objects = seeded("member1", 2_000, 1);
        assert_eq!(objects.len(), 2_000);
        let keys: HashSet<_> = objects.iter().map(|object| &object.key).collect();
        let uids: HashSet<_> = objects
            .iter()
            .map(|object| metadata_of(object)["uid"].to_string())
            .collect();
        assert_eq!((keys.len(), uids.len()), (2_000, 2_000));
    }

    #[test]
    fn owners_are_of_an_earlier_wave_than_what_they_own() {
        let mut seen = HashSet::new();
        for wave in waves("member1", 500, 1).in_order() {
            let owners = |seeded: &Seeded| metadata_of(seeded)["ownerReferences"].clone();
            for seeded in wave {
                for owner in owners(seeded).as_array().into_iter().flatten() {
                    let uid = owner["uid"].to_string();
                    assert!(seen.contains(&uid), "{} has no owner yet", seeded.key);
                }
            }
            let uids = wave.iter().map(|one| metadata_of(one)["uid"].to_string());
            seen.extend(uids);
        }
    }

    #[test]
    fn a_pod_has_the_size_of_a_real_one() {
        let pods: Vec<_> = seeded("member1", 500, 1)
            .into_iter()
            .filter(|seeded| seeded.key.starts_with("pods/"))
            .collect();
        let mean = pods.iter().map(|pod| pod.json.len()).sum::<usize>() / pods.len();
        assert!((4_000..7_000).contains(&mean), "{mean} bytes");
    }

    #[test]
    fn keys_are_those_of_the_apiserver() {
        let objects = seeded("member1", 100, 1);
        for start in [
            "minions/member1-node-1-1",
            "namespaces/shop-1-0",
            "deployments/shop-1-0/",
            "services/specs/shop-1-0/",
        ] {
            assert!(
                objects.iter().any(|object| object.key.starts_with(start)),
                "{start}"
            );
        }
    }
}
