//! The rights that manifests grant, one by one.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::account::Roles;
use crate::deploy;
use crate::folder::Folder;
use crate::requests::{self, Asked};

/// The right to do one thing to one resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The Role or ClusterRole that grants it.
    pub role: String,
    /// The namespace it is good for; empty for all.
    pub namespace: String,
    /// The verb.
    pub verb: String,
    /// The group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource behind a slash.
    pub resource: String,
    /// The object it is good for; empty for all.
    pub name: String,
}

impl Right {
    /// Whether it is what a request was allowed by.
    #[must_use]
    pub fn covers(&self, asked: &Asked, roles: &Roles) -> bool {
        let fits = |granted: &str, asked: &str| granted.is_empty() || granted == asked;
        roles.has(&asked.account, &self.role)
            && self.group == asked.group
            && self.resource == asked.resource
            && asked.verbs().contains(self.verb.as_str())
            && fits(&self.namespace, &asked.namespace)
            && fits(&self.name, &asked.name)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} {}", self.role, self.verb, self.resource)?;
        for (word, part) in [
            (".", &self.group),
            ("/", &self.name),
            (" in ", &self.namespace),
        ] {
            if !part.is_empty() {
                write!(out, "{word}{part}")?;
            }
        }
        Ok(())
    }
}

/// The rules that docs/permissions.md says whoever installs needs, and whoever uninstalls.
pub fn of_whoever_installs() -> Result<[Value; 2]> {
    let page = deploy::folder().join("../docs/permissions.md");
    let page = std::fs::read_to_string(page).context("the page about permissions")?;
    let section = page.split("\n## Installing\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let tables = section
        .split("| group | resource | verbs | what for |")
        .skip(1);
    let rules = tables.map(|table| {
        let rows = table.lines().skip(2);
        let rows = rows.take_while(|line| line.starts_with('|'));
        rows.map(rule).collect::<Result<Vec<_>>>().map(Value::from)
    });
    let rules: Vec<Value> = rules.collect::<Result<_>>()?;
    rules.try_into().ok().context("the page has two tables")
}

/// The rule that a row tells: group, resources in backticks, verbs.
fn rule(row: &str) -> Result<Value> {
    let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
    let [group, resources, verbs, _] = cells[..] else {
        anyhow::bail!("not four cells: {row}");
    };
    let group = words(group).pop().unwrap_or_default();
    let verbs: Vec<&str> = verbs.split(',').map(str::trim).collect();
    Ok(json!({"apiGroups": [group], "resources": words(resources), "verbs": verbs}))
}

/// The words in backticks of a cell.
fn words(cell: &str) -> Vec<String> {
    let words = cell.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

#[derive(Deserialize)]
struct Object {
    kind: String,
    metadata: Metadata,
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

/// Fails unless Armadex was refused nothing on a control plane that wrote its requests down, and used every right of the manifests, but for those that it is said to use
/// elsewhere.
pub fn expect_exact(
    folder: &Folder,
    manifests: &str,
    is_used_elsewhere: impl Fn(&str) -> bool,
) -> Result<()> {
    let asked = requests::read(folder)?;
    let refused: Vec<_> = asked.iter().filter(|asked| asked.is_refused()).collect();
    ensure!(refused.is_empty(), "the manifests forget {refused:#?}");
    let (rights, roles) = (parse(manifests)?, Roles::of(manifests)?);
    ensure!(!rights.is_empty(), "no right is told");
    let unused = rights
        .iter()
        .filter(|right| !asked.iter().any(|asked| right.covers(asked, &roles)));
    let unused = unused.map(ToString::to_string);
    let unused: Vec<_> = unused.filter(|right| !is_used_elsewhere(right)).collect();
    ensure!(
        unused.is_empty(),
        "the manifests grant what nobody uses: {unused:#?}"
    );
    Ok(())
}

/// All rights that the Roles and ClusterRoles among some manifests grant.
pub fn parse(manifests: &str) -> Result<BTreeSet<Right>> {
    let mut rights = BTreeSet::new();
    for object in deploy::objects(manifests)? {
        let object: Object = serde_json::from_value(object).context("no object")?;
        if object.kind == "Role" || object.kind == "ClusterRole" {
            let rules = object.rules.iter();
            rights.extend(rules.flat_map(|rule| rule.rights(&object.metadata)));
        }
    }
    Ok(rights)
}

impl Rule {
    fn rights(&self, role: &Metadata) -> Vec<Right> {
        let everything = [String::new()];
        let names = match self.resource_names.as_slice() {
            [] => &everything,
            names => names,
        };
        let mut rights = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    rights.extend(names.iter().map(|name| Right {
                        role: role.name.clone(),
                        namespace: role.namespace.clone(),
                        verb: verb.clone(),
                        group: group.clone(),
                        resource: resource.clone(),
                        name: name.clone(),
                    }));
                }
            }
        }
        rights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{account, armadex};

    fn asked(verb: &str, resource: &str, namespace: &str, name: &str) -> Asked {
        Asked {
            account: account::ACCOUNT.to_owned(),
            verb: verb.to_owned(),
            group: String::new(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            code: 200,
        }
    }

    fn shipped() -> (BTreeSet<Right>, Roles) {
        let manifests = deploy::rights().unwrap();
        (parse(&manifests).unwrap(), Roles::of(&manifests).unwrap())
    }

    #[test]
    fn rights_are_bounded_by_namespace_and_name() {
        let (rights, roles) = shipped();
        let covered = |asked: &Asked| rights.iter().any(|right| right.covers(asked, &roles));
        assert!(covered(&asked(
            "get",
            "secrets",
            "karmada-cluster",
            "member1"
        )));
        assert!(!covered(&asked("get", "secrets", "default", "member1")));
        assert!(covered(&asked("get", "namespaces", "", "kube-system")));
        assert!(!covered(&asked("get", "namespaces", "", "default")));
        assert!(!covered(&asked("watch", "namespaces", "", "kube-system")));
        assert!(!covered(&asked("list", "namespaces", "", "")));
    }

    /// Two roles may grant the same, and what one of them allowed is no use of the other.
    #[test]
    fn a_right_is_used_by_whoever_has_its_role() {
        let patch = Asked {
            account: account::CONTROLLERS.account.to_owned(),
            group: "cluster.clusterpedia.io".to_owned(),
            ..asked("patch", "pediaclusters", "", "member1")
        };
        let (rights, roles) = shipped();
        let used = rights.iter().filter(|right| right.covers(&patch, &roles));
        let used: Vec<&str> = used.map(|right| right.role.as_str()).collect();
        assert_eq!(used, ["armadex-controllers"]);
    }

    /// What Armadex needs with Karmada, and with other platforms.
    fn manifests() -> [String; 2] {
        [deploy::rights(), deploy::rights_of_others()].map(Result::unwrap)
    }

    #[test]
    fn nothing_is_granted_by_a_wildcard() {
        for right in manifests().iter().flat_map(|some| parse(some).unwrap()) {
            assert!(!right.to_string().contains('*'), "{right}");
        }
    }

    /// The rights that a row of the table of docs/permissions.md tells.
    fn told(row: &str) -> Vec<Right> {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [role, group, resource, verbs, reason] = cells[..] else {
            panic!("not five cells: {row}");
        };
        assert!(!reason.trim().is_empty(), "no reason: {row}");
        let second = |cell| words(cell).get(1).cloned().unwrap_or_default();
        let first = |cell| words(cell).first().cloned().unwrap_or_default();
        let right = |verb: &str| Right {
            role: first(role),
            namespace: second(role),
            verb: verb.trim().to_owned(),
            group: first(group),
            resource: first(resource),
            name: second(resource),
        };
        verbs.split(',').map(right).collect()
    }

    #[test]
    fn the_page_about_permissions_tells_every_right_and_no_other() {
        let page = deploy::folder().join("../docs/permissions.md");
        let page = std::fs::read_to_string(page).unwrap();
        let tables = page.split("| role | group |").skip(1);
        let told = tables.map(|table| {
            let rows = table.lines().skip(2);
            let rows = rows.take_while(|line| line.starts_with('|'));
            rows.flat_map(told).collect::<BTreeSet<Right>>()
        });
        let granted = manifests().map(|some| parse(&some).unwrap());
        assert_eq!(told.collect::<Vec<_>>(), granted);
    }

    /// A role that nobody has, or one that somebody else has, shows only where it is missed.
    #[test]
    fn every_role_is_bound_to_the_account_and_to_nobody_else() {
        let unbound = manifests().map(|some| unbound(&some));
        // Whoever has members' credentials elsewhere binds that one there.
        assert_eq!(unbound, [vec![], vec!["armadex-credentials".to_owned()]]);
    }

    /// The roles that nobody has. All others are the account's alone.
    fn unbound(manifests: &str) -> Vec<String> {
        let objects = deploy::objects(manifests).unwrap();
        let of = |kind: &str| {
            let objects = objects.iter().filter(|object| object["kind"] == kind);
            objects.collect::<Vec<_>>()
        };
        let mut unbound = Vec::new();
        for (kind, binding) in [
            ("Role", "RoleBinding"),
            ("ClusterRole", "ClusterRoleBinding"),
        ] {
            let (roles, bindings) = (of(kind), of(binding));
            let before = unbound.len();
            for role in &roles {
                let metadata = &role["metadata"];
                let is_its = |bound: &&&Value| {
                    let bound = &bound["metadata"];
                    bound["name"] == metadata["name"] && bound["namespace"] == metadata["namespace"]
                };
                let bound = bindings.iter().find(is_its);
                let Some(bound) = bound else {
                    unbound.push(metadata["name"].as_str().unwrap().to_owned());
                    continue;
                };
                assert_eq!(bound["roleRef"]["kind"], kind);
                assert_eq!(bound["roleRef"]["name"], metadata["name"]);
                let account = json!([{
                    "kind": "ServiceAccount", "name": account::ACCOUNT, "namespace": armadex::NAMESPACE,
                }]);
                assert_eq!(bound["subjects"], account);
            }
            assert_eq!(roles.len(), bindings.len() + unbound.len() - before);
        }
        unbound
    }
}
