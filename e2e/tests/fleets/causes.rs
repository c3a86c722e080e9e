//! What stands in the way of a policy, provoked on a real control plane one after the other: the condition that kubectl shows says so, an Event repeats it, and
//! nothing is deleted because of an error.
//!
//! The sources are plants, a kind that nobody has heard of, and the controllers are alone: what a PediaCluster leads to is not theirs to know.

mod aggregated;
mod references;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::scenario::{SOON, TALKATIVE, wait_until_absent};
use armadex_e2e::{Harness, Kubectl, Options, wait_until};
use serde_json::{Value, json};

const POLICY: &str = "clusterimportpolicy/garden";

#[tokio::test(flavor = "multi_thread")]
async fn each_thing_that_stands_in_the_way_of_a_policy_is_told_and_deletes_nothing() -> Result<()> {
    let fleet = Harness::start(Options::default()).await?;
    let garden = Garden {
        host: fleet.kubectl("host"),
        told: Mutex::default(),
    };
    armadex::install_apart(&fleet).await?;
    let controllers = Armadex::start(&fleet, Role::Controllers, &[TALKATIVE]).await?;
    garden.an_api_that_is_not_there_yet_is_waited_for().await?;
    // The right to it is missing.
    let failing = "armadex_policy_objects{kind=\"ClusterImportPolicy\",state=\"failing\"}";
    wait_until("a policy that fails is counted", SOON, || async {
        let failing = controllers.counter(failing).await?;
        ensure!(failing.to_bits() == 1_f64.to_bits(), "{failing} fail");
        Ok(true)
    })
    .await?;
    garden.a_right_that_is_missing_is_named().await?;
    garden.a_reference_may_come_late_be_rotated_and_go().await?;
    references::other_objects_than_secrets_are_read_by_the_rights_that_are_printed(&fleet, &garden)
        .await?;
    garden.an_edit_reaches_what_was_made().await?;
    garden.a_broken_edit_changes_nothing().await?;
    garden
        .an_api_that_is_not_served_for_a_while_takes_nothing_away()
        .await?;
    aggregated::an_api_that_answers_503_for_a_while_takes_nothing_away(&fleet, &garden).await?;
    garden.a_name_of_somebody_else_is_left_to_them().await?;
    garden
        .a_name_of_another_policy_is_left_to_it(&fleet)
        .await?;
    garden.a_source_that_matches_no_more_leaves().await?;
    garden.a_policy_that_goes_takes_along_what_it_made().await?;
    controllers.stop()?;
    fleet.finish().await;
    Ok(())
}

/// A control plane with plants.
struct Garden {
    host: Kubectl,
    /// How often Events have said something of an object when that was looked for last.
    told: Mutex<BTreeMap<String, u64>>,
}

/// The policy, with these resources to sync.
fn policy(name: &str, resources: &[&str]) -> Value {
    let template = format!(
        "spec:\n  apiserver: {{{{toJson source.spec.url}}}}\n  tokenData: {{{{toJson references.seed.data.token}}}}\n  \
         syncResources: [{{group: '', resources: {}}}]\n",
        json!(resources)
    );
    json!({
        "apiVersion": "policy.clusterpedia.io/v1alpha1",
        "kind": "ClusterImportPolicy",
        "metadata": {"name": name},
        "spec": {
            "source": {"group": "garden.example", "resource": "plants",
                "selectorTemplate": "{{ne source.spec.wilted true}}"},
            "references": [{"key": "seed", "group": "", "resource": "secrets",
                "namespaceTemplate": armadex::NAMESPACE, "nameTemplate": "{{source.metadata.name}}"}],
            "nameTemplate": "{{source.metadata.name}}",
            "creationCondition": "true",
            "template": template,
        },
    })
}

fn crd(served: bool) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "plants.garden.example"},
        "spec": {
            "group": "garden.example",
            "scope": "Cluster",
            "names": {"plural": "plants", "singular": "plant", "kind": "Plant"},
            "versions": [{"name": "v1", "served": served, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

/// Base64 of these letters is what a PediaCluster then has.
fn seed(name: &str, token: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "namespace": armadex::NAMESPACE}, "stringData": {"token": token}})
}

fn plant(name: &str, url: &str, wilted: bool) -> Value {
    json!({"apiVersion": "garden.example/v1", "kind": "Plant", "metadata": {"name": name},
        "spec": {"url": url, "wilted": wilted}})
}

/// How often an Event has said this of a condition of an object: its type, its reason, and words of its message.
fn times(event: &Value, object: &str, [condition, reason, words]: [&str; 3]) -> u64 {
    let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
    let about = &event["regarding"];
    let about = format!("{}/{}", text(&about["kind"]), text(&about["name"]));
    let says_it = about.eq_ignore_ascii_case(object)
        && event["action"] == condition
        && event["reason"] == reason
        && text(&event["note"]).contains(words);
    let times = event["series"]["count"].as_u64().unwrap_or(1);
    if says_it { times } else { 0 }
}

impl Garden {
    async fn apply(&self, object: Value) -> Result<()> {
        self.host.apply(&object.to_string()).await
    }

    /// A field of an object; empty where there is none.
    async fn field(&self, object: &str, path: &str) -> Result<String> {
        let path = format!("jsonpath={{{path}}}");
        let get = ["get", object, "--ignore-not-found", "--output", &path];
        self.host.run(&get).await
    }

    /// Waits until a condition says this, and an Event about the object has said it as well, once more than when that was looked for last.
    async fn says(&self, object: &str, condition: &str, expected: &str, words: &str) -> Result<()> {
        let of = |field: &str| format!(".status.conditions[?(@.type==\"{condition}\")].{field}");
        let (status, reason, message) = (of("status"), of("reason"), of("message"));
        wait_until(&format!("{object}: {expected} {words}"), SOON, || async {
            let told =
                self.field(object, &status).await? + " " + &self.field(object, &reason).await?;
            let told = (told, self.field(object, &message).await?);
            ensure!(told.0 == expected && told.1.contains(words), "{told:?}");
            Ok(true)
        })
        .await?;
        let reason = expected.rsplit(' ').next().unwrap_or_default();
        self.event_says(object, [condition, reason, words]).await
    }

    async fn event_says(&self, object: &str, said: [&str; 3]) -> Result<()> {
        let wanted = format!("{object}: {}", said.join(" "));
        let told = || self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let before = told().get(&wanted).copied().unwrap_or(0);
        wait_until(&format!("an Event says {wanted}"), SOON, || async {
            let get = ["get", "events.events.k8s.io", "--namespace=default"];
            let get = [&get[..], &["--output=json"]].concat();
            let events: Value = serde_json::from_str(&self.host.run(&get).await?)?;
            let events = events["items"].as_array().context("a list")?;
            let times = events.iter().map(|event| times(event, object, said)).sum();
            ensure!(times > before, "said {times} times: {events:#?}");
            told().insert(wanted.clone(), times);
            Ok(true)
        })
        .await
    }

    async fn comes_to_have(&self, object: &str, path: &str, value: &str) -> Result<()> {
        wait_until(&format!("{object}{path} is {value}"), SOON, || async {
            let found = self.field(object, path).await?;
            ensure!(found == value, "{found:?}");
            Ok(true)
        })
        .await
    }

    /// The uid of the PediaCluster of a plant: one that is made anew has another.
    async fn uid(&self, name: &str) -> Result<String> {
        let uid = self
            .field(&format!("pediacluster/{name}"), ".metadata.uid")
            .await?;
        ensure!(!uid.is_empty(), "PediaCluster {name} is gone");
        Ok(uid)
    }

    async fn an_api_that_is_not_there_yet_is_waited_for(&self) -> Result<()> {
        self.apply(policy("garden", &["pods"])).await?;
        let expected = "False FailedNegotiateSourceResource";
        self.says(POLICY, "Validated", expected, "plants.garden.example")
            .await?;
        self.apply(crd(true)).await?;
        self.says(POLICY, "Validated", "True Success", "").await
    }

    async fn a_right_that_is_missing_is_named(&self) -> Result<()> {
        let words = "the right to list plants of garden.example/v1 is missing";
        self.says(
            POLICY,
            "Reconciling",
            "False FailedCheckResourceSync",
            words,
        )
        .await?;
        let account = format!(
            "--serviceaccount={}:armadex-controllers",
            armadex::NAMESPACE
        );
        for grant in [
            &[
                "clusterrole",
                "gardener",
                "--verb=list,watch",
                "--resource=plants.garden.example",
            ][..],
            &[
                "clusterrolebinding",
                "gardener",
                "--clusterrole=gardener",
                &account,
            ],
        ] {
            self.host.run(&[&["create"], grant].concat()).await?;
        }
        let expected = "True ReconcileSourceResourceAndLifecycle";
        self.says(
            POLICY,
            "Reconciling",
            expected,
            "0 lifecycles from 0 source objects",
        )
        .await
    }

    async fn a_reference_may_come_late_be_rotated_and_go(&self) -> Result<()> {
        let (lifecycle, cluster) = ("pediaclusterlifecycle/rose", "pediacluster/rose");
        self.apply(plant("rose", "https://rose.example", false))
            .await?;
        let words = "references[seed]: secrets clusterpedia-system/rose does not exist";
        let missing = "False ReferenceResourceNotFound";
        self.says(lifecycle, "Created", missing, words).await?;
        self.apply(seed("rose", "one")).await?;
        self.comes_to_have(cluster, ".spec.tokenData", "b25l")
            .await?;
        let uid = self.uid("rose").await?;
        self.apply(seed("rose", "two")).await?;
        self.comes_to_have(cluster, ".spec.tokenData", "dHdv")
            .await?;
        let within = format!("--namespace={}", armadex::NAMESPACE);
        self.host
            .run(&["delete", "secret", "rose", &within])
            .await?;
        self.says(lifecycle, "Updating", missing, words).await?;
        ensure!(self.uid("rose").await? == uid, "it was made anew");
        self.comes_to_have(cluster, ".spec.tokenData", "dHdv")
            .await?;
        self.apply(seed("rose", "three")).await?;
        self.comes_to_have(cluster, ".spec.tokenData", "dGhyZWU=")
            .await?;
        self.says(lifecycle, "Updating", "True PediaClusterUpdated", "")
            .await
    }

    async fn an_edit_reaches_what_was_made(&self) -> Result<()> {
        let uid = self.uid("rose").await?;
        self.apply(policy("garden", &["pods", "nodes"])).await?;
        let path = ".spec.syncResources[0].resources[1]";
        self.comes_to_have("pediacluster/rose", path, "nodes")
            .await?;
        ensure!(self.uid("rose").await? == uid, "it was made anew");
        Ok(())
    }

    async fn a_broken_edit_changes_nothing(&self) -> Result<()> {
        let uid = self.uid("rose").await?;
        let mut broken = policy("garden", &["pods", "nodes"]);
        // A tag without an end is refused by the API server; this one only its reader finds.
        broken["spec"]["nameTemplate"] = json!("{{source.metadata.name)}}");
        self.apply(broken).await?;
        let expected = "False FailedParseLifecycleName";
        self.says(POLICY, "Validated", expected, "line 1, column")
            .await?;
        self.apply(policy("garden", &["pods", "nodes"])).await?;
        self.says(POLICY, "Validated", "True Success", "").await?;
        ensure!(self.uid("rose").await? == uid, "it was made anew");
        Ok(())
    }

    async fn an_api_that_is_not_served_for_a_while_takes_nothing_away(&self) -> Result<()> {
        let uid = self.uid("rose").await?;
        self.apply(crd(false)).await?;
        let expected = "False FailedNegotiateSourceResource";
        self.says(POLICY, "Validated", expected, "plants.garden.example")
            .await?;
        ensure!(self.uid("rose").await? == uid, "it was made anew");
        self.apply(crd(true)).await?;
        self.says(POLICY, "Validated", "True Success", "").await?;
        self.apply(seed("rose", "four")).await?;
        self.comes_to_have("pediacluster/rose", ".spec.tokenData", "Zm91cg==")
            .await?;
        ensure!(self.uid("rose").await? == uid, "it was made anew");
        Ok(())
    }

    async fn a_name_of_somebody_else_is_left_to_them(&self) -> Result<()> {
        let by_hand = json!({"apiVersion": "cluster.clusterpedia.io/v1alpha2", "kind": "PediaCluster",
            "metadata": {"name": "tulip"}, "spec": {"apiserver": "https://mine.example", "syncResources": []}});
        self.apply(by_hand).await?;
        self.apply(seed("tulip", "one")).await?;
        self.apply(plant("tulip", "https://tulip.example", false))
            .await?;
        let words = "PediaCluster tulip is there already and is owned by";
        let expected = "False PediaClusterNotOwned";
        let lifecycle = "pediaclusterlifecycle/tulip";
        self.says(lifecycle, "Created", expected, words).await?;
        self.comes_to_have(
            "pediacluster/tulip",
            ".spec.apiserver",
            "https://mine.example",
        )
        .await?;
        // None stops another.
        self.apply(seed("lily", "one")).await?;
        self.apply(plant("lily", "https://lily.example", false))
            .await?;
        self.comes_to_have(
            "pediacluster/lily",
            ".spec.apiserver",
            "https://lily.example",
        )
        .await?;
        self.host.run(&["delete", "pediacluster", "tulip"]).await?;
        self.comes_to_have(
            "pediacluster/tulip",
            ".spec.apiserver",
            "https://tulip.example",
        )
        .await
    }

    async fn a_name_of_another_policy_is_left_to_it(&self, fleet: &Harness) -> Result<()> {
        let uid = self.uid("rose").await?;
        self.apply(policy("weeds", &["pods"])).await?;
        let (weeds, expected) = ("clusterimportpolicy/weeds", "False FailedReconcile");
        let words = "is there already and is owned by ClusterImportPolicy garden";
        self.says(weeds, "Reconciling", expected, words).await?;
        fleet.kubectl("host").run(&["delete", weeds]).await?;
        wait_until_absent(fleet, weeds).await?;
        ensure!(self.uid("rose").await? == uid, "it was made anew");
        Ok(())
    }

    async fn a_source_that_matches_no_more_leaves(&self) -> Result<()> {
        let (rose, lily) = (self.uid("rose").await?, self.uid("lily").await?);
        self.apply(plant("lily", "https://lily.example", true))
            .await?;
        self.comes_to_have("pediaclusterlifecycle/lily", ".metadata.name", "")
            .await?;
        self.comes_to_have("pediacluster/lily", ".metadata.name", "")
            .await?;
        let words = "lily: source.selectorTemplate does not choose lily of the plants any more";
        self.event_says(POLICY, ["Reconciling", "LifecyclesDeleted", words])
            .await?;
        self.apply(plant("lily", "https://lily.example", false))
            .await?;
        self.comes_to_have(
            "pediacluster/lily",
            ".spec.apiserver",
            "https://lily.example",
        )
        .await?;
        ensure!(self.uid("lily").await? != lily, "it never left");
        ensure!(self.uid("rose").await? == rose, "another one left, too");
        Ok(())
    }

    async fn a_policy_that_goes_takes_along_what_it_made(&self) -> Result<()> {
        self.host.run(&["delete", POLICY]).await?;
        for name in ["rose", "tulip", "lily"] {
            self.comes_to_have(&format!("pediacluster/{name}"), ".metadata.name", "")
                .await?;
        }
        let left = ["get", "pediaclusterlifecycles", "--output=name"];
        let left = self.host.run(&left).await?;
        ensure!(left.is_empty(), "{left}");
        Ok(())
    }
}
