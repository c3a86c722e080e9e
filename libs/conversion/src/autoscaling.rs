//! HorizontalPodAutoscalers of `autoscaling` `v1`, `v2beta1` and `v2beta2`, to `v2`.
//!
//! What the first two have no field for Kubernetes keeps in annotations, from where it comes back. One of them that cannot be read stays as it is.

use serde_json::{Value, json};

use crate::step::{self, Object, Step, Unconvertible, annotation, put, strip, take};

/// A metric of the processor stood in a field, others in an annotation.
pub(crate) const V1: &[Step] = &[
    Step::By(metrics),
    Step::By(current_metrics),
    Step::By(conditions),
    Step::By(behavior),
];

/// Metrics had other fields.
pub(crate) const V2BETA1: &[Step] = &[
    Step::Each("spec.metrics", METRIC),
    Step::Each("status.currentMetrics", CURRENT_METRIC),
    Step::By(behavior),
];

/// Nothing had another name.
pub(crate) const V2BETA2: &[Step] = &[];

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// Of the processor, where nothing says what is to be reached.
const DEFAULT_UTILIZATION: i64 = 80;

const METRIC: &[Step] = &[
    Step::Within(
        "object",
        &[
            Step::Move("target", "describedObject"),
            Step::Move("metricName", "metric.name"),
            Step::Move("selector", "metric.selector"),
            Step::Move("targetValue", "target.value"),
            Step::Move("averageValue", "target.averageValue"),
            Step::Tell {
                at: "target.type",
                by: "target.averageValue",
                there: "AverageValue",
                absent: "Value",
            },
        ],
    ),
    Step::Within(
        "pods",
        &[
            Step::Move("metricName", "metric.name"),
            Step::Move("selector", "metric.selector"),
            Step::Move("targetAverageValue", "target.averageValue"),
            Step::Default("target.type", "AverageValue"),
        ],
    ),
    Step::Within("resource", RESOURCE),
    Step::Within("containerResource", RESOURCE),
    Step::Within(
        "external",
        &[
            Step::Move("metricName", "metric.name"),
            Step::Move("metricSelector", "metric.selector"),
            Step::Move("targetValue", "target.value"),
            Step::Move("targetAverageValue", "target.averageValue"),
            Step::Tell {
                at: "target.type",
                by: "target.value",
                there: "Value",
                absent: "AverageValue",
            },
        ],
    ),
];

const RESOURCE: &[Step] = &[
    Step::Move("targetAverageUtilization", "target.averageUtilization"),
    Step::Move("targetAverageValue", "target.averageValue"),
    Step::Tell {
        at: "target.type",
        by: "target.averageUtilization",
        there: "Utilization",
        absent: "AverageValue",
    },
];

const CURRENT_METRIC: &[Step] = &[
    Step::Within(
        "object",
        &[
            Step::Move("target", "describedObject"),
            Step::Move("metricName", "metric.name"),
            Step::Move("selector", "metric.selector"),
            Step::Move("currentValue", "current.value"),
            Step::Move("averageValue", "current.averageValue"),
        ],
    ),
    Step::Within(
        "pods",
        &[
            Step::Move("metricName", "metric.name"),
            Step::Move("selector", "metric.selector"),
            Step::Move("currentAverageValue", "current.averageValue"),
        ],
    ),
    Step::Within("resource", CURRENT_RESOURCE),
    Step::Within("containerResource", CURRENT_RESOURCE),
    Step::Within(
        "external",
        &[
            Step::Move("metricName", "metric.name"),
            Step::Move("metricSelector", "metric.selector"),
            Step::Move("currentValue", "current.value"),
            Step::Move("currentAverageValue", "current.averageValue"),
        ],
    ),
];

const CURRENT_RESOURCE: &[Step] = &[
    Step::Move("currentAverageUtilization", "current.averageUtilization"),
    Step::Move("currentAverageValue", "current.averageValue"),
];

/// Those of the annotation, then that of the field; that of the processor if there is none.
fn metrics(scaler: &mut Object) -> Result<(), Unconvertible> {
    let mut metrics = kept(scaler, METRICS, METRIC)?.unwrap_or_default();
    let utilization = take(scaler, "spec.targetCPUUtilizationPercentage")?;
    if utilization.is_some() || metrics.is_empty() {
        let utilization = utilization.unwrap_or_else(|| DEFAULT_UTILIZATION.into());
        let target = json!({"type": "Utilization", "averageUtilization": utilization});
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
    }
    put(scaler, "spec.metrics", metrics.into())
}

/// Those of the annotation, which say more than the field.
fn current_metrics(scaler: &mut Object) -> Result<(), Unconvertible> {
    let utilization = take(scaler, "status.currentCPUUtilizationPercentage")?;
    let kept = kept(scaler, CURRENT_METRICS, CURRENT_METRIC)?;
    let from_field = utilization.map(|utilization| {
        let current = json!({"averageUtilization": utilization});
        vec![json!({"type": "Resource", "resource": {"name": "cpu", "current": current}})]
    });
    match kept.or(from_field) {
        Some(metrics) => put(scaler, "status.currentMetrics", metrics.into()),
        None => Ok(()),
    }
}

fn conditions(scaler: &mut Object) -> Result<(), Unconvertible> {
    match kept(scaler, CONDITIONS, &[])? {
        Some(conditions) => put(scaler, "status.conditions", conditions.into()),
        None => Ok(()),
    }
}

/// What stands in an annotation, which it leaves; none if that is no list of what it should be.
fn kept(
    scaler: &mut Object,
    name: &str,
    steps: &[Step],
) -> Result<Option<Vec<Value>>, Unconvertible> {
    let text = annotation(scaler, name)?;
    let Some(Ok(Value::Array(mut list))) = text.map(serde_json::from_str) else {
        return Ok(None);
    };
    for one in &mut list {
        let Value::Object(one) = one else {
            return Ok(None);
        };
        if step::all(steps, one).is_err() {
            return Ok(None);
        }
    }
    strip(scaler, name)?;
    Ok(Some(list))
}

/// There the names of fields are those of the Go type: `ScaleUp`.
fn behavior(scaler: &mut Object) -> Result<(), Unconvertible> {
    let text = annotation(scaler, BEHAVIOR)?;
    let Some(Ok(behavior @ Value::Object(_))) = text.map(serde_json::from_str) else {
        return Ok(());
    };
    strip(scaler, BEHAVIOR)?;
    put(scaler, "spec.behavior", named_as_in_json(behavior))
}

/// The same with each name of a field in lower case at its beginning, and without what is null.
fn named_as_in_json(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let there = members.into_iter().filter(|(_, value)| !value.is_null());
            let members =
                there.map(|(name, value)| (in_lower_case(&name), named_as_in_json(value)));
            Value::Object(members.collect())
        }
        Value::Array(list) => list.into_iter().map(named_as_in_json).collect(),
        other => other,
    }
}

fn in_lower_case(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}
