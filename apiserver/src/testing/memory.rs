//! A store in memory: a filter over rows that are kept in page order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use armadex_model::label::Operator;
use armadex_model::query::{Position, Start};
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, Query, ResourceType};
use armadex_storage::{
    Catalog, ClusterEntry, Found, Head, Health, Page, PageBudget, Search, StoreError,
};
use async_trait::async_trait;
use serde_json::{Value, json};

/// Rows of all types, by type, then cluster, namespace and name.
#[derive(Default)]
pub(crate) struct Memory {
    catalog: Catalog,
    /// The same for every reader, as a store's is until something changes.
    shared: OnceLock<Arc<Catalog>>,
    rows: BTreeMap<(GroupVersionResource, String, String, String), Row>,
    /// The read that fails, counted from one; none if zero.
    pub(crate) failing_page: AtomicUsize,
    /// The read before which something is written, counted from one; none if zero.
    pub(crate) moving_page: AtomicUsize,
    /// How many pages were read.
    pub(crate) pages: AtomicUsize,
    /// Reads that find nothing before the first that does.
    pub(crate) empty_pages: AtomicUsize,
    /// How often the head was read.
    pub(crate) heads: AtomicUsize,
    /// The largest number of rows that was asked for at a time.
    pub(crate) largest_budget: AtomicUsize,
    pub(crate) head: Mutex<(i64, &'static str)>,
}

struct Row {
    found: Found,
    labels: BTreeMap<String, String>,
    object: Value,
}

pub(crate) fn resource(
    group: &str,
    version: &str,
    name: &str,
    kind: &str,
    namespaced: bool,
) -> ResourceType {
    ResourceType {
        gvr: GroupVersionResource::new(group, version, name),
        kind: kind.to_owned(),
        namespaced,
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
    }
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            head: Mutex::new((100, "first")),
            ..Self::default()
        }
    }

    /// Adds a cluster. A reason makes it unhealthy.
    pub(crate) fn cluster(mut self, name: &str, version: &str, reason: &str) -> Self {
        let entry = ClusterEntry {
            health: Some(Health {
                healthy: reason.is_empty(),
                reason: reason.to_owned(),
            }),
            version: Some(version.to_owned()),
            resources: Arc::default(),
        };
        self.catalog
            .clusters
            .insert(ClusterName::new(name).expect("a name"), Arc::new(entry));
        self
    }

    /// Adds a type to a cluster.
    pub(crate) fn synced(mut self, cluster: &str, resource: &ResourceType) -> Self {
        let types = Arc::make_mut(&mut self.catalog.types);
        types.insert(resource.gvr.clone(), Arc::new(resource.clone()));
        let name = ClusterName::new(cluster).expect("a name");
        let entry = self.catalog.clusters.get_mut(&name).expect("a cluster");
        let entry = Arc::make_mut(entry);
        Arc::make_mut(&mut entry.resources).insert(resource.gvr.clone());
        self
    }

    /// Adds an object of a type: its metadata gets name and namespace.
    pub(crate) fn object(
        self,
        cluster: &str,
        resource: &ResourceType,
        namespace: &str,
        name: &str,
        mut object: Value,
    ) -> Self {
        let mut this = self.synced(cluster, resource);
        let revision = i64::try_from(this.rows.len()).expect("a small number") + 1;
        let mut metadata =
            json!({"name": name, "annotations": {"shadow.clusterpedia.io/cluster-name": cluster}});
        if !namespace.is_empty() {
            metadata["namespace"] = json!(namespace);
        }
        if let Some(labels) = object.get("labels") {
            metadata["labels"] = labels.clone();
        }
        if let Some(fields) = object.as_object_mut() {
            fields.remove("labels");
        }
        let labels = metadata.get("labels").cloned().unwrap_or_default();
        let rest = object.to_string();
        let rest = rest.trim_start_matches('{');
        let separator = if rest == "}" { "" } else { "," };
        let body = format!("{}{separator}{rest}", &metadata.to_string()[1..]);
        let found = Found {
            resource: Arc::new(resource.clone()),
            cluster: ClusterName::new(cluster).expect("a name"),
            key: ObjectKey::new(namespace, name),
            resource_version: (1000 + revision).to_string(),
            revision,
            created: 1_772_362_740,
            body: body.into(),
        };
        let key = (
            resource.gvr.clone(),
            cluster.to_owned(),
            namespace.to_owned(),
            name.to_owned(),
        );
        let row = Row {
            found,
            labels: serde_json::from_value(labels).unwrap_or_default(),
            object,
        };
        this.rows.insert(key, row);
        this
    }

    fn matching(&self, query: &Query) -> Vec<&Found> {
        let of_type = self
            .rows
            .iter()
            .filter(|((gvr, ..), _)| *gvr == query.types[0].resource);
        of_type
            .map(|(_, row)| row)
            .filter(|row| row.matches(query))
            .map(|row| &row.found)
            .collect()
    }
}

impl Row {
    fn matches(&self, query: &Query) -> bool {
        query.clusters.admits(self.found.cluster.as_str())
            && query.namespaces.admits(&self.found.key.namespace)
            && query.names.admits(&self.found.key.name)
            && query
                .labels
                .iter()
                .all(|one| holds(&one.operator, self.labels.get(&one.key).map(String::as_str)))
            && query.fields.iter().all(|one| {
                let pointer = format!("/{}", one.key.replace('.', "/"));
                let value = self.object.pointer(&pointer).and_then(Value::as_str);
                holds(&one.operator, Some(value.unwrap_or_default()))
            })
    }
}

fn holds(operator: &Operator, value: Option<&str>) -> bool {
    match operator {
        Operator::In(values) => value.is_some_and(|value| values.contains(value)),
        Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::GreaterThan(bound) => number(value).is_some_and(|number| number > *bound),
        Operator::LessThan(bound) => number(value).is_some_and(|number| number < *bound),
    }
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

fn position(found: &Found) -> Position {
    Position {
        keys: Vec::new(),
        resource: found.resource.gvr.clone(),
        cluster: found.cluster.to_string(),
        namespace: found.key.namespace.clone(),
        name: found.key.name.clone(),
    }
}

/// A place that every row comes after.
fn before_all(query: &Query) -> Position {
    Position {
        keys: Vec::new(),
        resource: query.types[0].resource.clone(),
        cluster: String::new(),
        namespace: String::new(),
        name: String::new(),
    }
}

/// Whether a row comes after a position.
fn is_after(found: &Found, position: &Position) -> bool {
    let Position {
        cluster,
        namespace,
        name,
        ..
    } = position;
    let place = (cluster.as_str(), namespace, name);
    (
        found.cluster.as_str(),
        &found.key.namespace,
        &found.key.name,
    ) > place
}

#[async_trait]
impl Search for Memory {
    async fn catalog(&self) -> Result<Arc<Catalog>, StoreError> {
        let shared = self.shared.get_or_init(|| Arc::new(self.catalog.clone()));
        Ok(Arc::clone(shared))
    }

    async fn head(&self) -> Result<Head, StoreError> {
        self.heads.fetch_add(1, Ordering::Relaxed);
        let (revision, incarnation) = *self.head.lock().expect("no panic");
        Ok(Head {
            revision,
            incarnation: incarnation.to_owned(),
        })
    }

    async fn page(
        &self,
        query: &Query,
        start: &Start,
        budget: PageBudget,
    ) -> Result<Page, StoreError> {
        let read = self.pages.fetch_add(1, Ordering::Relaxed) + 1;
        if self.failing_page.load(Ordering::Relaxed) == read {
            return Err(StoreError::Broken {
                reason: "the test says so".to_owned(),
            });
        }
        if self.moving_page.load(Ordering::Relaxed) == read {
            self.head.lock().expect("no panic").0 += 1;
        }
        let fewer = |left: usize| left.checked_sub(1);
        let empty = &self.empty_pages;
        if (empty.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer)).is_ok() {
            return Ok(Page {
                rows: Vec::new(),
                next: Some(before_all(query)),
                head: self.head().await?,
                looked_at: 0,
            });
        }
        if !query.order.is_empty() {
            return Err(StoreError::Unsupported {
                what: "an order in memory".to_owned(),
            });
        }
        let rows = budget.rows as usize;
        self.largest_budget.fetch_max(rows, Ordering::Relaxed);
        let all = self.matching(query);
        let begin = match start {
            Start::Beginning => 0,
            Start::After(position) => all
                .iter()
                .position(|found| is_after(found, position))
                .unwrap_or(all.len()),
            Start::Offset(rows) => usize::try_from(*rows).unwrap_or(usize::MAX),
        };
        let begin = begin.min(all.len());
        let end = all.len().min(begin + rows);
        let next = (end < all.len()).then(|| position(all[end - 1]));
        Ok(Page {
            rows: all[begin..end].iter().map(|&found| found.clone()).collect(),
            next,
            head: self.head().await?,
            looked_at: 0,
        })
    }

    async fn count(&self, query: &Query) -> Result<Option<u64>, StoreError> {
        Ok(Some(self.matching(query).len() as u64))
    }

    async fn has_namespace(
        &self,
        cluster: &ClusterName,
        namespace: &str,
    ) -> Result<bool, StoreError> {
        let here =
            |row: &Row| row.found.cluster == *cluster && row.found.key.namespace == namespace;
        Ok(self.rows.values().any(here))
    }

    async fn get(
        &self,
        cluster: &ClusterName,
        resource: &GroupVersionResource,
        key: &ObjectKey,
    ) -> Result<Option<Found>, StoreError> {
        let key = (
            resource.clone(),
            cluster.as_str().to_owned(),
            key.namespace.clone(),
            key.name.clone(),
        );
        Ok(self.rows.get(&key).map(|row| row.found.clone()))
    }
}
