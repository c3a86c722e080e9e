//! Clusterpedia's feature gates by name, in its syntax: `--feature-gates A=true,B=false`.
//!
//! Each gate has one row of [`GATES`], of which the documentation has a copy. A gate switches what it switches there; where something is done always, or not yet, the value that says so is
//! accepted and the other one refused with the reason, and an unknown one is refused by name. What is nothing to choose, as how a member is asked, is
//! accepted with either value, for a manifest may write Clusterpedia's defaults out, and the log says that it changes nothing.

use clap::Args;
use tracing::info;

/// Clusterpedia's flag, which every process takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct FeatureGateFlags {
    /// Clusterpedia's feature gates: `A=true,B=false`. One that asks for what this version does not do is refused with the reason.
    #[arg(long, value_name = "GATES", default_value = "", value_parser = parse)]
    pub(crate) feature_gates: FeatureGates,
}

/// What the gates that switch something say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeatureGates {
    /// `PruneManagedFields`: `managedFields` are not stored.
    pub(crate) prune_managed_fields: bool,
    /// `PruneLastAppliedConfiguration`: nor is what `kubectl apply` keeps for itself.
    pub(crate) prune_last_applied_configuration: bool,
    /// `AllowSyncAllResources`: the group `*` stands for every resource of every group.
    pub(crate) allow_sync_all_resources: bool,
    /// `AllowSyncAllCustomResources`: `syncAllCustomResources` of a PediaCluster counts.
    pub(crate) allow_sync_all_custom_resources: bool,
    /// `IgnoreSyncLease`: Leases are not synced, whoever asks for them.
    pub(crate) ignore_sync_lease: bool,
    /// `ForcePaginatedListForResourceSync`: lists come in pages, whatever `--streaming-lists` says.
    pub(crate) force_paginated_lists: bool,
    /// `ClusterAuthenticationFromSecret`: Secrets are read for what a PediaCluster refers to in `authenticationFrom`.
    pub(crate) cluster_authentication_from_secret: bool,
    /// What was asked for and changes nothing, in words.
    pub(crate) without_effect: Vec<String>,
}

impl Default for FeatureGates {
    fn default() -> Self {
        Self {
            prune_managed_fields: true,
            prune_last_applied_configuration: true,
            allow_sync_all_resources: false,
            allow_sync_all_custom_resources: false,
            ignore_sync_lease: false,
            force_paginated_lists: false,
            cluster_authentication_from_secret: true,
            without_effect: Vec::new(),
        }
    }
}

impl FeatureGates {
    /// Says what was asked for and changes nothing.
    pub(crate) fn tell(&self) {
        for words in &self.without_effect {
            info!("{words}");
        }
    }
}

/// A gate of Clusterpedia.
struct Gate {
    name: &'static str,
    does: Does,
    /// What it switches; or what is done, whatever it says.
    words: &'static str,
}

/// What comes of a gate.
enum Does {
    /// It is set.
    Switches(fn(&mut FeatureGates) -> &mut bool),
    /// This one value says what is done, and the other is refused.
    Only(bool),
    /// Either value is accepted.
    Nothing,
}

/// Of the gates that every program with Kubernetes' `component-base` has.
const LOGGING: &str = "lines of the log always say what they are about, and --log-format how";
const EACH: &str = "name each gate that is to be on";
const NO_SQL: &str = "SQL in a request is not served";

const GATES: &[Gate] = &[
    Gate {
        name: "PruneManagedFields",
        does: Does::Switches(|gates| &mut gates.prune_managed_fields),
        words: "`managedFields` are not stored; of Secrets never",
    },
    Gate {
        name: "PruneLastAppliedConfiguration",
        does: Does::Switches(|gates| &mut gates.prune_last_applied_configuration),
        words: "the annotation `kubectl.kubernetes.io/last-applied-configuration` is not stored; of Secrets never",
    },
    Gate {
        name: "AllowSyncAllCustomResources",
        does: Does::Switches(|gates| &mut gates.allow_sync_all_custom_resources),
        words: "`syncAllCustomResources` of a PediaCluster counts",
    },
    Gate {
        name: "AllowSyncAllResources",
        does: Does::Switches(|gates| &mut gates.allow_sync_all_resources),
        words: "the group `*` stands for every resource of every group",
    },
    Gate {
        name: "HealthCheckerWithStandaloneTCP",
        does: Does::Nothing,
        words: "a member whose streams fall silent is asked over another connection",
    },
    Gate {
        name: "ForcePaginatedListForResourceSync",
        does: Does::Switches(|gates| &mut gates.force_paginated_lists),
        words: "lists come in pages, whatever `--streaming-lists` says; without either they do as well",
    },
    Gate {
        name: "StreamHandlePaginatedListForResourceSync",
        does: Does::Nothing,
        words: "objects of a page are always handled as they come",
    },
    Gate {
        name: "IgnoreSyncLease",
        does: Does::Switches(|gates| &mut gates.ignore_sync_lease),
        words: "`leases.coordination.k8s.io` are not synced, whoever asks for them",
    },
    Gate {
        name: "ClusterAuthenticationFromSecret",
        does: Does::Switches(|gates| &mut gates.cluster_authentication_from_secret),
        words: "Secrets are read for `authenticationFrom`, where a policy or the Secret itself lets them be used; without it what refers to them is ignored, and `Validated` says so",
    },
    Gate {
        name: "RemainingItemCount",
        does: Does::Only(false),
        words: "ask with the parameter `withRemainingCount` instead",
    },
    Gate {
        name: "AllowRawSQLQuery",
        does: Does::Only(false),
        words: NO_SQL,
    },
    Gate {
        name: "AllowParameterizedSQLQuery",
        does: Does::Only(false),
        words: NO_SQL,
    },
    Gate {
        name: "AllowProxyRequestToClusters",
        does: Does::Only(false),
        words: "proxying to members is not served yet",
    },
    Gate {
        name: "NotConvertToMemoryVersion",
        does: Does::Nothing,
        words: "objects are served as the member sent them",
    },
    Gate {
        name: "AllAlpha",
        does: Does::Only(false),
        words: EACH,
    },
    Gate {
        name: "AllBeta",
        does: Does::Only(false),
        words: EACH,
    },
    Gate {
        name: "ContextualLogging",
        does: Does::Nothing,
        words: LOGGING,
    },
    Gate {
        name: "LoggingAlphaOptions",
        does: Does::Nothing,
        words: LOGGING,
    },
    Gate {
        name: "LoggingBetaOptions",
        does: Does::Nothing,
        words: LOGGING,
    },
];

/// Reads the flag's text; the error names the gate and says what is possible.
pub(crate) fn parse(text: &str) -> Result<FeatureGates, String> {
    let mut gates = FeatureGates::default();
    for pair in text
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
    {
        let (name, value) = parse_pair(pair)?;
        let Gate { does, words, .. } = named(name)?;
        match does {
            Does::Switches(switch) => *switch(&mut gates) = value,
            Does::Nothing => {
                let words = format!("feature gate {name}={value} changes nothing: {words}");
                gates.without_effect.push(words);
            }
            Does::Only(only) if *only == value => {}
            Does::Only(only) => {
                return Err(format!("feature gate {name} can only be {only}: {words}"));
            }
        }
    }
    Ok(gates)
}

fn parse_pair(pair: &str) -> Result<(&str, bool), String> {
    let (name, value) = pair
        .split_once('=')
        .ok_or_else(|| format!("feature gate {pair:?} has no value: write {pair}=true"))?;
    let parsed = value.trim().parse();
    let value =
        parsed.map_err(|_| format!("feature gate {name}: {value:?} is neither true nor false"))?;
    Ok((name.trim(), value))
}

fn named(name: &str) -> Result<&'static Gate, String> {
    let found = GATES.iter().find(|gate| gate.name == name);
    found.ok_or_else(|| {
        let known: Vec<_> = GATES.iter().map(|gate| gate.name).collect();
        format!("unknown feature gate {name}; known: {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that there are (clusterpedia `pkg/utils/feature`, the synchro's and the API server's, and those of Kubernetes' `component-base` that its synchro takes), each as it is if nothing is said.
    const DEFAULTS: &str = "PruneManagedFields=true,PruneLastAppliedConfiguration=true,AllowSyncAllCustomResources=false,AllowSyncAllResources=false,\
        HealthCheckerWithStandaloneTCP=false,ForcePaginatedListForResourceSync=false,StreamHandlePaginatedListForResourceSync=false,\
        IgnoreSyncLease=false,ClusterAuthenticationFromSecret=false,RemainingItemCount=false,AllowRawSQLQuery=false,\
        AllowParameterizedSQLQuery=false,AllowProxyRequestToClusters=false,NotConvertToMemoryVersion=false,AllAlpha=false,AllBeta=false,\
        ContextualLogging=true,LoggingAlphaOptions=false,LoggingBetaOptions=true";

    #[test]
    fn gates_of_clusterpedia_are_known_by_name() {
        assert_eq!(parse(""), Ok(FeatureGates::default()));
        assert!(parse("PruneManagedFields=true, ClusterAuthenticationFromSecret=true").is_ok());
        for gate in GATES {
            let Does::Switches(switch) = gate.does else {
                continue;
            };
            for value in [true, false] {
                let mut gates = parse(&format!("{}={value}", gate.name)).expect("served");
                assert_eq!(*switch(&mut gates), value, "{}", gate.name);
            }
        }
    }

    #[test]
    fn clusterpedias_defaults_may_be_written_out() {
        let names = DEFAULTS
            .split(',')
            .map(|pair| pair.split_once('=').expect("a pair").0);
        assert!(names.eq(GATES.iter().map(|gate| gate.name)));
        let gates = parse(DEFAULTS).expect("accepted");
        assert_eq!(gates.without_effect.len(), 6, "{:?}", gates.without_effect);
        let others = FeatureGates {
            cluster_authentication_from_secret: true,
            without_effect: Vec::new(),
            ..gates
        };
        assert_eq!(others, FeatureGates::default(), "one default is another");
    }

    #[test]
    fn how_members_are_asked_is_nothing_to_choose_and_no_error() {
        let gates = parse(
            "StreamHandlePaginatedListForResourceSync=false,HealthCheckerWithStandaloneTCP=true",
        );
        let told = gates.expect("accepted").without_effect;
        let words = [
            "feature gate StreamHandlePaginatedListForResourceSync=false changes nothing: objects of a page are always handled as they come",
            "feature gate HealthCheckerWithStandaloneTCP=true changes nothing: a member whose streams fall silent is asked over another connection",
        ];
        assert_eq!(told, words);
    }

    #[test]
    fn what_is_not_served_is_refused_with_a_reason() {
        let refused = parse("AllowRawSQLQuery=true").expect_err("not served");
        assert!(
            refused.contains("AllowRawSQLQuery can only be false"),
            "{refused}"
        );
        assert!(
            parse("AllAlpha=true")
                .expect_err("not served")
                .contains("name each gate")
        );
        assert!(
            parse("Nonsense=true")
                .expect_err("unknown")
                .contains("unknown feature gate")
        );
        assert!(
            parse("PruneManagedFields")
                .expect_err("no value")
                .contains("no value")
        );
        assert!(
            parse("PruneManagedFields=maybe")
                .expect_err("no bool")
                .contains("neither")
        );
    }

    /// What a gate is in Clusterpedia if nothing is said.
    fn there(name: &str) -> &'static str {
        let mut pairs = DEFAULTS.split(',').filter_map(|pair| pair.split_once('='));
        let found = pairs.find(|(known, _)| *known == name);
        found.expect("each has a default").1
    }

    /// The rows of the table in the documentation.
    fn rows() -> Vec<String> {
        let row = |gate: &Gate| {
            let mut defaults = FeatureGates::default();
            let (here, words) = match gate.does {
                Does::Switches(switch) => {
                    (switch(&mut defaults).to_string(), gate.words.to_owned())
                }
                Does::Only(only) => (
                    only.to_string(),
                    format!("refused otherwise: {}", gate.words),
                ),
                Does::Nothing => (
                    "either".to_owned(),
                    format!("changes nothing: {}", gate.words),
                ),
            };
            let (there, name) = (there(gate.name), gate.name);
            format!("| `{name}` | {there} | {here} | {words} |")
        };
        GATES.iter().map(row).collect()
    }

    #[test]
    fn the_documentation_has_a_row_for_each_gate() {
        let text = include_str!("../../docs/feature-gates.md");
        let written = text.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(written.collect::<Vec<_>>(), rows());
    }
}
