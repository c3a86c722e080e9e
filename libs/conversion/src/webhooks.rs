//! Webhooks of `admissionregistration.k8s.io/v1beta1`, in which what is absent stood for something else than in `v1` (`pkg/apis/admissionregistration/v1beta1/defaults.go`).

use crate::step::{Object, Step, Unconvertible, find, put};

/// Old API servers do not know all of these, and send none.
pub(crate) const WEBHOOKS: &[Step] = &[Step::Each(
    "webhooks",
    &[
        Step::Default("matchPolicy", "Exact"),
        Step::Default("sideEffects", "Unknown"),
        Step::By(timeout),
    ],
)];

fn timeout(webhook: &mut Object) -> Result<(), Unconvertible> {
    const PATH: &str = "timeoutSeconds";
    match find(webhook, PATH)? {
        Some(_) => Ok(()),
        None => put(webhook, PATH, 30.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::step;

    use super::*;

    #[test]
    fn what_an_old_api_server_does_not_send_becomes_what_it_stood_for() {
        let mut configuration = json!({"webhooks": [{"name": "a"}, {"timeoutSeconds": 5, "matchPolicy": "Equivalent", "sideEffects": "None"}]});
        let object = configuration.as_object_mut().expect("an object");
        step::all(WEBHOOKS, object).expect("converted");
        let expected = json!({"webhooks": [
            {"name": "a", "matchPolicy": "Exact", "sideEffects": "Unknown", "timeoutSeconds": 30},
            {"timeoutSeconds": 5, "matchPolicy": "Equivalent", "sideEffects": "None"},
        ]});
        assert_eq!(configuration, expected);
    }
}
