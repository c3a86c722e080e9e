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
        for version in list_at(definition, "spec.versions")? {
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
