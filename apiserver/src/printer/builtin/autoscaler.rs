//! HorizontalPodAutoscalers, as `autoscaling/v2` has them.

use serde::Deserialize;
use serde_json::Error;

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::{Text, nullable};
use super::super::projection::Path;
use super::super::row::{NONE, Row, UNSET};
use super::super::slot::Slot;

/// So many metrics are shown.
const SHOWN: usize = 2;
/// Shown for a value that has not been measured.
const UNKNOWN: &str = "<unknown>";

pub(super) fn horizontal_pod_autoscalers() -> Vec<Column> {
    let target = ["spec.scaleTargetRef.kind", "spec.scaleTargetRef.name"];
    vec![
        Column::name(),
        Column::text(
            "Reference",
            "What it scales.",
            Cell::made(&target, |found, _| {
                let (kind, name) = (found[0].word()?, found[1].word()?);
                Ok(format!("{}/{}", kind.as_str(), name.as_str()))
            }),
        ),
        Column::text(
            "Targets",
            "What is measured of what is wanted.",
            Cell::made(&["spec.metrics", "status.currentMetrics"], metrics),
        ),
        Column::text(
            "MinPods",
            "The least number of pods.",
            Cell::NumberOrText(Path::of("spec.minReplicas"), UNSET),
        ),
        Column::text(
            "MaxPods",
            "The greatest number of pods.",
            Cell::number("spec.maxReplicas"),
        ),
        Column::text(
            "Replicas",
            "Pods there.",
            Cell::number("status.currentReplicas"),
        ),
        Column::age(),
    ]
}

/// A metric that is wanted or measured; only the source that its type names is there.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metric<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    external: Option<Source<'a>>,
    #[serde(borrow)]
    pods: Option<Source<'a>>,
    #[serde(borrow)]
    object: Option<Source<'a>>,
    #[serde(borrow)]
    resource: Option<Source<'a>>,
    #[serde(borrow)]
    container_resource: Option<Source<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Source<'a> {
    /// Of a resource.
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    target: Amount<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    current: Amount<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Amount<'a> {
    #[serde(borrow)]
    value: Option<Text<'a>>,
    #[serde(borrow)]
    average_value: Option<Text<'a>>,
    average_utilization: Option<i64>,
}

fn metrics(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let wanted: Vec<Metric<'_>> = found[0].read()?;
    let measured: Vec<Metric<'_>> = found[1].read()?;
    if wanted.is_empty() {
        return Ok(NONE.to_owned());
    }
    let shown = wanted.iter().enumerate().take(SHOWN);
    let texts = shown.map(|(index, metric)| metric.text(measured.get(index)));
    let text = texts.collect::<Vec<_>>().join(", ");
    Ok(match wanted.len().saturating_sub(SHOWN) {
        0 => text,
        more => format!("{text} + {more} more..."),
    })
}

impl<'a> Metric<'a> {
    fn source(&self, kind: &str) -> Option<&Source<'a>> {
        match kind {
            "External" => self.external.as_ref(),
            "Pods" => self.pods.as_ref(),
            "Object" => self.object.as_ref(),
            "Resource" => self.resource.as_ref(),
            "ContainerResource" => self.container_resource.as_ref(),
            _ => None,
        }
    }

    fn text(&self, measured: Option<&Metric<'a>>) -> String {
        let kind = self.kind.as_str();
        let Some(wanted) = self.source(kind) else {
            return "<unknown type>".to_owned();
        };
        let current = measured.and_then(|metric| metric.source(kind));
        let current = current.map(|source| &source.current);
        match kind {
            "Pods" => format!(
                "{}/{}",
                average(current),
                quantity(wanted.target.average_value.as_ref())
            ),
            "External" | "Object" => wanted.value(current),
            _ => format!("{}: {}", wanted.name.as_str(), wanted.usage(current)),
        }
    }
}

impl Source<'_> {
    /// What is measured of something outside of the pods.
    fn value(&self, current: Option<&Amount<'_>>) -> String {
        match &self.target.average_value {
            Some(wanted) => format!("{}/{} (avg)", average_or_unknown(current), wanted.as_str()),
            None => {
                let current = current.map_or(UNKNOWN, |current| quantity(current.value.as_ref()));
                format!("{current}/{}", quantity(self.target.value.as_ref()))
            }
        }
    }

    /// What the pods use of a resource.
    fn usage(&self, current: Option<&Amount<'_>>) -> String {
        if let Some(wanted) = &self.target.average_value {
            return format!("{}/{}", average(current), wanted.as_str());
        }
        let percent = |value: i64| format!("{value}%");
        let current = current.and_then(|current| current.average_utilization);
        let wanted = self.target.average_utilization;
        format!(
            "{}/{}",
            current.map_or_else(|| UNKNOWN.to_owned(), percent),
            wanted.map_or_else(|| "<auto>".to_owned(), percent)
        )
    }
}

fn average<'t>(current: Option<&'t Amount<'_>>) -> &'t str {
    current.map_or(UNKNOWN, |current| quantity(current.average_value.as_ref()))
}

fn average_or_unknown<'t>(current: Option<&'t Amount<'_>>) -> &'t str {
    let value = current.and_then(|current| current.average_value.as_ref());
    value.map_or(UNKNOWN, Text::as_str)
}

/// An amount that is not there is none.
fn quantity<'t>(text: Option<&'t Text<'_>>) -> &'t str {
    text.map_or("0", Text::as_str)
}
