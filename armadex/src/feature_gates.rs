//! Clusterpedia's feature gates by name, in its syntax: `--feature-gates A=true,B=false`.
//!
//! What a gate switches there is decided here by what Armadex does always or not yet. A gate that asks for what this version does is
//! accepted, one that asks for something else is refused with the reason, and an unknown one is refused by name. What is nothing to choose, as how a member is asked, is
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

/// The gates that switch something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FeatureGates {
    /// `AllowSyncAllResources`: the group `*` stands for every resource of every group.
    pub(crate) allow_sync_all_resources: bool,
    /// `AllowSyncAllCustomResources`: `syncAllCustomResources` of a PediaCluster counts.
    pub(crate) allow_sync_all_custom_resources: bool,
    /// `IgnoreSyncLease`: Leases are not synced, whoever asks for them.
    pub(crate) ignore_sync_lease: bool,
    /// `ForcePaginatedListForResourceSync`: lists come in pages, whatever `--streaming-lists` says.
    pub(crate) force_paginated_lists: bool,
    /// What was asked for and changes nothing, in words.
    pub(crate) without_effect: Vec<String>,
}

impl FeatureGates {
    /// Says what was asked for and changes nothing.
    pub(crate) fn tell(&self) {
        for words in &self.without_effect {
            info!("{words}");
        }
    }

    /// The gate of this name, if it switches something.
    fn switch(&mut self, name: &str) -> Option<&mut bool> {
        match name {
            "AllowSyncAllResources" => Some(&mut self.allow_sync_all_resources),
            "AllowSyncAllCustomResources" => Some(&mut self.allow_sync_all_custom_resources),
            "IgnoreSyncLease" => Some(&mut self.ignore_sync_lease),
            "ForcePaginatedListForResourceSync" => Some(&mut self.force_paginated_lists),
            _ => None,
        }
    }
}

const SWITCHES: [&str; 4] = [
    "AllowSyncAllResources",
    "AllowSyncAllCustomResources",
    "IgnoreSyncLease",
    "ForcePaginatedListForResourceSync",
];

/// A gate that switches nothing: the one value that this version honours, and why.
struct Fixed {
    name: &'static str,
    value: bool,
    why: &'static str,
}

/// Gates that are honoured with neither value: what is done, whatever they say.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    (
        "HealthCheckerWithStandaloneTCP",
        "a member whose streams fall silent is asked over another connection",
    ),
    (
        "StreamHandlePaginatedListForResourceSync",
        "objects of a page are always handled as they come",
    ),
    (
        "ClusterAuthenticationFromSecret",
        "credentials of Secrets are used where a policy or the Secret itself lets them be",
    ),
    (
        "NotConvertToMemoryVersion",
        "objects are served as the member sent them",
    ),
    ("ContextualLogging", LOGGING),
    ("LoggingAlphaOptions", LOGGING),
    ("LoggingBetaOptions", LOGGING),
];

/// Of the gates that every program with Kubernetes' `component-base` has.
const LOGGING: &str = "lines of the log always say what they are about, and --log-format how";
const EACH: &str = "name each gate that is to be on";

const FIXED: &[Fixed] = &[
    Fixed {
        name: "AllAlpha",
        value: false,
        why: EACH,
    },
    Fixed {
        name: "AllBeta",
        value: false,
        why: EACH,
    },
    Fixed {
        name: "PruneManagedFields",
        value: true,
        why: "managedFields are never stored",
    },
    Fixed {
        name: "PruneLastAppliedConfiguration",
        value: true,
        why: "the last-applied annotation may hold Secret data and is never stored",
    },
    Fixed {
        name: "RemainingItemCount",
        value: false,
        why: "ask with the parameter withRemainingCount instead",
    },
    Fixed {
        name: "AllowRawSQLQuery",
        value: false,
        why: "SQL in a request is not served",
    },
    Fixed {
        name: "AllowParameterizedSQLQuery",
        value: false,
        why: "SQL in a request is not served",
    },
    Fixed {
        name: "AllowProxyRequestToClusters",
        value: false,
        why: "proxying to members is not served yet",
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
        let without_effect = WITHOUT_EFFECT.iter().find(|(known, _)| *known == name);
        if let Some(switch) = gates.switch(name) {
            *switch = value;
        } else if let Some((_, done)) = without_effect {
            let words = format!("feature gate {name}={value} changes nothing: {done}");
            gates.without_effect.push(words);
        } else {
            check_fixed(name, value)?;
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

fn check_fixed(name: &str, value: bool) -> Result<(), String> {
    let gate = FIXED
        .iter()
        .find(|gate| gate.name == name)
        .ok_or_else(|| format!("unknown feature gate {name}; known: {}", known()))?;
    if gate.value == value {
        return Ok(());
    }
    Err(format!(
        "feature gate {name} can only be {}: {}",
        gate.value, gate.why
    ))
}

fn known() -> String {
    let fixed = FIXED.iter().map(|gate| gate.name);
    let without_effect = WITHOUT_EFFECT.iter().map(|(name, _)| *name);
    let all = fixed.chain(without_effect).chain(SWITCHES);
    all.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_of_clusterpedia_are_known_by_name() {
        assert_eq!(parse(""), Ok(FeatureGates::default()));
        assert!(parse("PruneManagedFields=true, ClusterAuthenticationFromSecret=true").is_ok());
        for name in SWITCHES {
            let mut gates = parse(&format!("{name}=true")).expect("served");
            assert_eq!(gates.switch(name), Some(&mut true), "{name}");
            let mut gates = parse(&format!("{name}=false")).expect("served");
            assert_eq!(gates.switch(name), Some(&mut false), "{name}");
        }
    }

    /// All that there are (clusterpedia `pkg/utils/feature`, the synchro's and the API server's, and those of Kubernetes' `component-base` that its synchro takes), each as it is if nothing is said.
    #[test]
    fn clusterpedias_defaults_may_be_written_out() {
        let defaults = "PruneManagedFields=true,PruneLastAppliedConfiguration=true,AllowSyncAllCustomResources=false,AllowSyncAllResources=false,\
            HealthCheckerWithStandaloneTCP=false,ForcePaginatedListForResourceSync=false,StreamHandlePaginatedListForResourceSync=false,\
            IgnoreSyncLease=false,ClusterAuthenticationFromSecret=false,RemainingItemCount=false,AllowRawSQLQuery=false,\
            AllowParameterizedSQLQuery=false,AllowProxyRequestToClusters=false,NotConvertToMemoryVersion=false,AllAlpha=false,AllBeta=false,\
            ContextualLogging=true,LoggingAlphaOptions=false,LoggingBetaOptions=true";
        let gates = parse(defaults).expect("accepted");
        assert!(!gates.allow_sync_all_resources && !gates.ignore_sync_lease);
        assert_eq!(gates.without_effect.len(), 7, "{:?}", gates.without_effect);
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
}
