//! HorizontalPodAutoscalers, as any version of `autoscaling` has them.
//!
//! `autoscaling/v1` has a percentage of CPU alone, and keeps what else is measured in annotations, in the words of `autoscaling/v2beta1`. A
//! kube-apiserver prints the same cells for all of them.

use serde::Deserialize;
use serde_json::Error;

use super::super::cell::Cell;
use super::super::column::Column;
use super::super::object::{Text, nullable};
use super::super::projection::Path;
use super::super::row::{Row, UNSET};
use super::super::slot::Slot;
use super::super::values;

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
            Cell::Made(metric_paths(), metrics),
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

/// What `autoscaling/v1` measures, and is wanted to be where nothing was said.
const CPU: &str = "cpu";
const DEFAULT_CPU_PERCENT: i64 = 80;

/// Where metrics are: those that are wanted, then those that were measured; of each first the list, then the annotation and the percentage
/// of `autoscaling/v1`.
fn metric_paths() -> Vec<Path> {
    let annotation = |name: &str| {
        let name = format!("autoscaling.alpha.kubernetes.io/{name}");
        Path::through(vec!["metadata".to_owned(), "annotations".to_owned(), name])
    };
    vec![
        Path::of("spec.metrics"),
        annotation("metrics"),
        Path::of("spec.targetCPUUtilizationPercentage"),
        Path::of("status.currentMetrics"),
        annotation("current-metrics"),
        Path::of("status.currentCPUUtilizationPercentage"),
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

/// Amounts are within a target and what is current, or, in the words of `autoscaling/v2beta1`, beside each other.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Source<'a> {
    /// Of a resource.
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    target: Amount<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    current: Amount<'a>,
    #[serde(borrow)]
    target_value: Option<Text<'a>>,
    #[serde(borrow)]
    target_average_value: Option<Text<'a>>,
    target_average_utilization: Option<i64>,
    #[serde(borrow)]
    current_value: Option<Text<'a>>,
    #[serde(borrow)]
    current_average_value: Option<Text<'a>>,
    current_average_utilization: Option<i64>,
    /// Of an object: wanted or measured, whichever this is.
    #[serde(borrow)]
    average_value: Option<Text<'a>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Amount<'a> {
    #[serde(borrow)]
    value: Option<Text<'a>>,
    #[serde(borrow)]
    average_value: Option<Text<'a>>,
    average_utilization: Option<i64>,
}

fn metrics(found: &[Slot<'_>], _: &Row<'_>) -> Result<String, Error> {
    let (noted_wanted, noted_measured) = (found[1].word()?, found[4].word()?);
    let wanted = match found[0].read::<Vec<Metric<'_>>>()? {
        listed if listed.is_empty() => with_noted(&noted_wanted, found[2].whole()?),
        listed => listed,
    };
    let measured = match found[3].read::<Vec<Metric<'_>>>()? {
        listed if listed.is_empty() => match noted(&noted_measured) {
            Some(noted) => noted,
            None => Vec::from_iter(found[5].whole()?.map(Metric::cpu)),
        },
        listed => listed,
    };
    let shown = wanted.iter().enumerate().take(SHOWN);
    let texts = shown.map(|(index, metric)| metric.text(measured.get(index)));
    let text = texts.collect::<Vec<_>>().join(", ");
    Ok(match wanted.len().saturating_sub(SHOWN) {
        0 => text,
        more => format!("{text} + {more} more..."),
    })
}

/// Metrics of an annotation; `None` where there are none that can be read, which a kube-apiserver passes over as well.
fn noted<'a>(annotation: &'a Text<'_>) -> Option<Vec<Metric<'a>>> {
    values::read(annotation.as_str().as_bytes()).ok()
}

fn with_noted<'a>(annotation: &'a Text<'_>, percent: Option<i64>) -> Vec<Metric<'a>> {
    let mut wanted = noted(annotation).unwrap_or_default();
    wanted.extend(percent.map(Metric::cpu));
    if wanted.is_empty() {
        wanted.push(Metric::cpu(DEFAULT_CPU_PERCENT));
    }
    wanted
}

impl<'a> Metric<'a> {
    /// So many percent of the CPU, wanted or measured.
    fn cpu(percent: i64) -> Self {
        let source = Source {
            name: Text::from(CPU),
            target_average_utilization: Some(percent),
            current_average_utilization: Some(percent),
            ..Source::default()
        };
        Self {
            kind: Text::from("Resource"),
            resource: Some(source),
            ..Self::default()
        }
    }

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
        let Some(source) = self.source(kind) else {
            return "<unknown type>".to_owned();
        };
        let measured = measured.and_then(|metric| metric.source(kind));
        let (wanted, current) = (source.wanted(), measured.map(Source::measured));
        match kind {
            "Pods" => format!(
                "{}/{}",
                average(current.as_ref()),
                quantity(wanted.average_value.as_ref())
            ),
            "External" | "Object" => wanted.value(current.as_ref()),
            _ => format!(
                "{}: {}",
                source.name.as_str(),
                wanted.usage(current.as_ref())
            ),
        }
    }
}

impl<'a> Source<'a> {
    fn wanted(&self) -> Amount<'a> {
        let average = self.target_average_value.as_ref();
        self.target.clone().or(
            self.target_value.as_ref(),
            average.or(self.average_value.as_ref()),
            self.target_average_utilization,
        )
    }

    fn measured(&self) -> Amount<'a> {
        let average = self.current_average_value.as_ref();
        self.current.clone().or(
            self.current_value.as_ref(),
            average.or(self.average_value.as_ref()),
            self.current_average_utilization,
        )
    }
}

impl<'a> Amount<'a> {
    /// With these where it has none itself.
    fn or(
        self,
        value: Option<&Text<'a>>,
        average_value: Option<&Text<'a>>,
        average_utilization: Option<i64>,
    ) -> Self {
        Self {
            value: self.value.or_else(|| value.cloned()),
            average_value: self.average_value.or_else(|| average_value.cloned()),
            average_utilization: self.average_utilization.or(average_utilization),
        }
    }

    /// What is measured of something outside of the pods.
    fn value(&self, current: Option<&Amount<'_>>) -> String {
        match &self.average_value {
            Some(wanted) => format!("{}/{} (avg)", average_or_unknown(current), wanted.as_str()),
            None => {
                let current = current.map_or(UNKNOWN, |current| quantity(current.value.as_ref()));
                format!("{current}/{}", quantity(self.value.as_ref()))
            }
        }
    }

    /// What the pods use of a resource.
    fn usage(&self, current: Option<&Amount<'_>>) -> String {
        if let Some(wanted) = &self.average_value {
            return format!("{}/{}", average(current), wanted.as_str());
        }
        let percent = |value: i64| format!("{value}%");
        let current = current.and_then(|current| current.average_utilization);
        let wanted = self.average_utilization;
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
