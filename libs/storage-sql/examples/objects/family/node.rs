//! Nodes.

use super::{Metadata, some};
use crate::objects::Fleet;

/// One node.
#[expect(clippy::too_many_lines, reason = "one object as it is")]
pub(crate) fn node(fleet: &mut Fleet) -> String {
    let name = fleet.node();
    let zone = fleet.one_of(&["eu-west-1a", "eu-west-1b", "us-east-1c", "ap-south-1a"]);
    let kind = fleet.one_of(&[
        "m5.large",
        "m6i.2xlarge",
        "n2-standard-8",
        "Standard_D4s_v5",
    ]);
    let labels = format!(
        r#""beta.kubernetes.io/arch":"amd64","beta.kubernetes.io/os":"linux","kubernetes.io/arch":"amd64","kubernetes.io/hostname":"{name}","kubernetes.io/os":"linux","node.kubernetes.io/instance-type":"{kind}","topology.kubernetes.io/region":"{}","topology.kubernetes.io/zone":"{zone}""#,
        &zone[..zone.len() - 1]
    );
    let annotations = r#""node.alpha.kubernetes.io/ttl":"0","volumes.kubernetes.io/controller-managed-attach-detach":"true","#;
    let metadata = Metadata {
        name: &name,
        namespace: None,
        labels: &labels,
        annotations,
        owner: "",
    };
    let (at, since, cidr, ip) = (fleet.time(), fleet.time(), fleet.ip(), fleet.ip());
    let (cpus, memory, disk) = (
        4 * (1 + fleet.below(16)),
        16_000_000 + fleet.below(90_000_000),
        50_000_000 + fleet.below(90_000_000),
    );
    let sizes = format!(
        r#""cpu":"{cpus}","ephemeral-storage":"{disk}Ki","hugepages-1Gi":"0","hugepages-2Mi":"0","memory":"{memory}Ki","pods":"110""#
    );
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        format!(
            r#"{{"type":"{kind}","status":"{status}","lastHeartbeatTime":"{at}","lastTransitionTime":"{since}","reason":"{reason}","message":"{message}"}}"#
        )
    };
    let conditions = [
        condition(
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        condition(
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        condition(
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        condition(
            "Ready",
            "True",
            "KubeletReady",
            "kubelet is posting ready status",
        ),
    ]
    .join(",");
    let images = some(fleet, 30, |f| {
        let image = f.image();
        format!(
            r#"{{"names":["{}@sha256:{}","{image}"],"sizeBytes":{}}}"#,
            image.split(':').next().unwrap_or(&image),
            f.hex(64),
            f.below(900_000_000)
        )
    });
    let unschedulable = if fleet.chance(5) {
        r#","unschedulable":true"#
    } else {
        ""
    };
    format!(
        r#"{},"spec":{{"podCIDR":"{cidr}/24","podCIDRs":["{cidr}/24"],"providerID":"aws:///{zone}/i-{}"{unschedulable}}},"status":{{"capacity":{{{sizes}}},"allocatable":{{{sizes}}},"conditions":[{conditions}],"addresses":[{{"type":"InternalIP","address":"{ip}"}},{{"type":"Hostname","address":"{name}"}}],"daemonEndpoints":{{"kubeletEndpoint":{{"Port":10250}}}},"nodeInfo":{{"machineID":"{}","systemUUID":"{}","bootID":"{}","kernelVersion":"6.1.0-{}-amd64","osImage":"Debian GNU/Linux 12 (bookworm)","containerRuntimeVersion":"containerd://1.7.{}","kubeletVersion":"v1.3{}.{}","kubeProxyVersion":"","operatingSystem":"linux","architecture":"amd64"}},"images":[{images}]}}}}"#,
        metadata.body(fleet),
        fleet.hex(17),
        fleet.hex(32),
        fleet.uid(),
        fleet.uid(),
        fleet.below(40),
        fleet.below(30),
        fleet.below(7),
        fleet.below(9),
    )
}
