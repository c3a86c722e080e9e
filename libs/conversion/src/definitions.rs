//! CustomResourceDefinitions of `apiextensions.k8s.io/v1beta1`, in which versions could have one schema together, or none be named but one.

use serde_json::{Value, json};

use crate::step::{Object, Step, Unconvertible, find, list_at, put, take};

/// Each version says itself what is said of it.
pub(crate) const DEFINITION: &[Step] = &[
    Step::By(versions),
    Step::By(unknown_fields),
    Step::Each(
        "spec.versions",
        &[Step::Each(
            "additionalPrinterColumns",
            &[Step::Move("JSONPath", "jsonPath")],
        )],
    ),
    Step::Move(
        "spec.conversion.webhookClientConfig",
        "spec.conversion.webhook.clientConfig",
    ),
    Step::Move(
        "spec.conversion.conversionReviewVersions",
        "spec.conversion.webhook.conversionReviewVersions",
    ),
];

/// What could be said of all versions together, and what each says of it now.
const OF_ALL: [(&str, &str); 4] = [
    ("spec.subresources", "subresources"),
    ("spec.validation", "schema"),
    ("spec.additionalPrinterColumns", "additionalPrinterColumns"),
    ("spec.selectableFields", "selectableFields"),
];

/// What is said of all versions is said of each, and a definition may name any number: above these bytes it is none that an API server would have taken.
const MOST_BYTES: usize = 4 << 20;

fn versions(definition: &mut Object) -> Result<(), Unconvertible> {
    let only = take(definition, "spec.version")?;
    if let (None, Some(only)) = (find(definition, "spec.versions")?, only) {
        let versions = json!([{"name": only, "served": true, "storage": true}]);
        put(definition, "spec.versions", versions)?;
    }
    for (path, member) in OF_ALL {
        let Some(of_all) = take(definition, path)? else {
            continue;
        };
        let versions = list_at(definition, "spec.versions")?;
        if of_all.to_string().len().saturating_mul(versions.len()) > MOST_BYTES {
            let words = format!("{path} would be more than 4 MiB, said of each of spec.versions");
            return Err(Unconvertible::new(words));
        }
        for version in versions {
            let Value::Object(version) = version else {
                return Err(Unconvertible::new("one of spec.versions is no object"));
            };
            version.insert(member.to_owned(), of_all.clone());
        }
    }
    Ok(())
}

/// What is absent stood for true, and stands for false.
fn unknown_fields(definition: &mut Object) -> Result<(), Unconvertible> {
    const PATH: &str = "spec.preserveUnknownFields";
    match take(definition, PATH)? {
        Some(Value::Bool(false)) => Ok(()),
        Some(told) => put(definition, PATH, told),
        None => put(definition, PATH, true.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_all_versions_is_not_said_of_any_number_of_them() {
        let convert = |count: usize| {
            let named = vec![json!({}); count];
            let spec = json!({"validation": "x".repeat(1 << 20), "versions": named});
            let mut definition = json!({"spec": spec});
            versions(definition.as_object_mut().expect("an object"))
        };
        assert_eq!(convert(3), Ok(()));
        let error = convert(100_000).unwrap_err().to_string();
        assert!(error.contains("said of each"), "{error}");
    }
}
