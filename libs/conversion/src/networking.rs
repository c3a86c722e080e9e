//! Ingresses of `networking.k8s.io/v1beta1` and `extensions/v1beta1`, which are the same.

use serde_json::Value;

use crate::step::{Object, Step, Unconvertible, put, take};

/// A backend names its Service in an object of its own, the one for all that no rule says has another name, and each path says how it is matched: an API
/// server before 1.18 does not, and takes that for `ImplementationSpecific`.
pub(crate) const INGRESS: &[Step] = &[
    Step::Move("spec.backend", "spec.defaultBackend"),
    Step::Within("spec.defaultBackend", &[Step::By(backend)]),
    Step::Each(
        "spec.rules",
        &[Step::Each(
            "http.paths",
            &[
                Step::Within("backend", &[Step::By(backend)]),
                Step::Default("pathType", "ImplementationSpecific"),
            ],
        )],
    ),
];

/// A port is a number or a name, and 0 where the backend is no Service.
fn backend(backend: &mut Object) -> Result<(), Unconvertible> {
    let name = take(backend, "serviceName")?.unwrap_or_else(|| "".into());
    let (at, port) = match take(backend, "servicePort")? {
        Some(port @ Value::String(_)) => ("service.port.name", Some(port)),
        Some(Value::Number(port)) if port.as_i64() == Some(0) => ("service.port.number", None),
        Some(port @ Value::Number(_)) => ("service.port.number", Some(port)),
        None => ("service.port.number", None),
        Some(_) => {
            return Err(Unconvertible::new(
                "servicePort is neither a number nor a text",
            ));
        }
    };
    if !name.is_string() {
        return Err(Unconvertible::new("serviceName is no text"));
    }
    if port.is_none() && name == "" {
        return Ok(());
    }
    put(backend, "service.name", name)?;
    match port {
        Some(port) => put(backend, at, port),
        None => put(backend, "service.port", Value::Object(Object::new())),
    }
}
