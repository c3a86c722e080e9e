//! One maker for each family of objects.

mod config;
mod event;
mod generic;
mod node;
mod pod;
mod workload;

use super::draw::Fleet;

/// A family and how its objects are made.
pub(crate) struct Family {
    /// The dictionary's file name.
    pub(crate) name: &'static str,
    /// Makes one body.
    pub(crate) make: fn(&mut Fleet) -> String,
}

/// The families in the order of their dictionaries' numbers.
pub(crate) const FAMILIES: [Family; 6] = [
    Family {
        name: "pod",
        make: pod::pod,
    },
    Family {
        name: "workload",
        make: workload::workload,
    },
    Family {
        name: "event",
        make: event::event,
    },
    Family {
        name: "config",
        make: config::config,
    },
    Family {
        name: "node",
        make: node::node,
    },
    Family {
        name: "generic",
        make: generic::generic,
    },
];

/// The members of `metadata` that all objects have; `annotations` and `owner` are written as they are.
struct Metadata<'a> {
    name: &'a str,
    namespace: Option<&'a str>,
    labels: &'a str,
    annotations: &'a str,
    owner: &'a str,
}

impl Metadata<'_> {
    /// The stored part of `metadata`, its closing brace included.
    fn body(&self, fleet: &mut Fleet) -> String {
        let namespace = self
            .namespace
            .map(|ns| format!(r#""namespace":"{ns}","#))
            .unwrap_or_default();
        let cluster = format!("member{}", fleet.below(40));
        format!(
            r#""name":"{}",{namespace}"uid":"{}","generation":{},"creationTimestamp":"{}","labels":{{{}}},"annotations":{{{}"shadow.clusterpedia.io/cluster-name":"{cluster}"}}{}}}"#,
            self.name,
            fleet.uid(),
            1 + fleet.below(9),
            fleet.time(),
            self.labels,
            self.annotations,
            self.owner,
        )
    }
}

/// `"ownerReferences":[...]`, with its leading comma.
fn owner(fleet: &mut Fleet, api_version: &str, kind: &str, name: &str) -> String {
    format!(
        r#","ownerReferences":[{{"apiVersion":"{api_version}","kind":"{kind}","name":"{name}","uid":"{}","controller":true,"blockOwnerDeletion":true}}]"#,
        fleet.uid()
    )
}

/// Labels as people and charts set them.
fn labels(fleet: &mut Fleet, app: &str) -> String {
    let mut labels = match fleet.below(3) {
        0 => format!(r#""app":"{app}""#),
        1 => format!(
            r#""app":"{app}","tier":"{}","version":"v{}""#,
            fleet.tier(),
            fleet.below(9)
        ),
        _ => format!(
            r#""app.kubernetes.io/component":"{}","app.kubernetes.io/instance":"{app}","app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/name":"{app}","app.kubernetes.io/part-of":"{}","app.kubernetes.io/version":"1.{}.{}","helm.sh/chart":"{app}-1.{}.0""#,
            fleet.tier(),
            fleet.team(),
            fleet.below(20),
            fleet.below(9),
            fleet.below(20)
        ),
    };
    if fleet.chance(60) {
        labels += &format!(
            r#","environment":"{}","team":"{}""#,
            fleet.one_of(&["prod", "staging", "dev"]),
            fleet.team()
        );
    }
    labels
}

/// Joins the results of making something some times.
fn some(fleet: &mut Fleet, most: u32, mut make: impl FnMut(&mut Fleet) -> String) -> String {
    let count = 1 + fleet.below(most);
    let made: Vec<String> = (0..count).map(|_| make(fleet)).collect();
    made.join(",")
}
