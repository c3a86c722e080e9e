//! Workloads of `apps/v1beta1`, `apps/v1beta2` and `extensions/v1beta1`.

use serde_json::Value;

use crate::step::{Object, Step, Unconvertible, annotate, put, take};

/// `extensions/v1beta1` and `apps/v1beta1`: to which revision a Deployment is to go back is an annotation.
pub(crate) const DEPLOYMENT: &[Step] = &[Step::By(rollback)];

/// `extensions/v1beta1`: the generation of its template is an annotation.
pub(crate) const DAEMON_SET: &[Step] = &[Step::By(template_generation)];

/// What its claims are is said in each.
pub(crate) const STATEFUL_SET: &[Step] = &[Step::Each(
    "spec.volumeClaimTemplates",
    &[
        Step::Default("apiVersion", "v1"),
        Step::Default("kind", "PersistentVolumeClaim"),
    ],
)];

const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn rollback(deployment: &mut Object) -> Result<(), Unconvertible> {
    match take(deployment, "spec.rollbackTo")? {
        None => Ok(()),
        Some(Value::Object(mut to)) => {
            let revision = to.remove("revision");
            let revision = number(revision.as_ref(), "spec.rollbackTo.revision")?;
            if !to.is_empty() {
                put(deployment, "spec.rollbackTo", to.into())?;
            }
            annotate(deployment, ROLLBACK_TO, revision)
        }
        Some(_) => Err(Unconvertible::new("spec.rollbackTo is no object")),
    }
}

fn template_generation(daemon_set: &mut Object) -> Result<(), Unconvertible> {
    let generation = take(daemon_set, "spec.templateGeneration")?;
    let generation = number(generation.as_ref(), "spec.templateGeneration")?;
    annotate(daemon_set, TEMPLATE_GENERATION, generation)
}

fn number(value: Option<&Value>, path: &str) -> Result<String, Unconvertible> {
    match value {
        None | Some(Value::Null) => Ok("0".to_owned()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(_) => Err(Unconvertible::new(format!("{path} is no number"))),
    }
}
