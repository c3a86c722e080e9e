//! Validate: is this policy understood? Its templates are compiled, each with the names that it
//! may use. Pure.

use std::collections::BTreeSet;

use armadex_crds::{ClusterImportPolicySpec, conditions::PolicyValidatedReason as Reason};
use armadex_policy::template::{
    Reads, Scope, Template, TemplateEngine, TemplateError, of_references,
};

/// The templates that source objects are looked at with. The others of the policy are rendered
/// by the lifecycles, and were compiled to see that they can be.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Which source objects count; none for all.
    pub selector: Option<Template>,
    /// Name of the lifecycle and the PediaCluster.
    pub name: Template,
    /// What both read of the source object.
    pub reads: Reads,
}

/// Why a policy can't be followed as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// In one word.
    pub reason: Reason,
    /// In words.
    pub message: String,
    /// It is not known to be so the next time: what is missing is not the policy's.
    pub may_pass: bool,
}

/// Compiles every template of a policy.
pub fn validate(spec: &ClusterImportPolicySpec) -> Result<Compiled, Invalid> {
    let engine = engine(spec);
    engine
        .check_all(templates(spec))
        .map_err(|error| invalid(Reason::InvalidPolicy, error.to_string()))?;
    let compile = |reason, field: &str, text: &str, scope: Scope<'_>| {
        engine
            .compile(text, scope)
            .map_err(|error| at(reason, field, &error))
    };
    let name = compile(
        Reason::FailedParseLifecycleName,
        "nameTemplate",
        &spec.name_template,
        Scope::Source,
    )?;
    let selector = match spec.source.selector_template.as_str() {
        "" => None,
        text => {
            let field = "source.selectorTemplate";
            Some(compile(
                Reason::FailedParseSourceSelector,
                field,
                text,
                Scope::Source,
            )?)
        }
    };
    let keys = reference_keys(spec)?;
    for (index, reference) in spec.references.iter().enumerate() {
        // A reference sees those before it.
        let earlier = Scope::References(&keys[..index]);
        let key = &reference.key;
        let namespace = format!("references[{key}].namespaceTemplate");
        compile(
            Reason::InvalidPolicy,
            &namespace,
            &reference.namespace_template,
            earlier,
        )?;
        let name = format!("references[{key}].nameTemplate");
        compile(
            Reason::InvalidPolicy,
            &name,
            &reference.name_template,
            earlier,
        )?;
    }
    let all = Scope::References(&keys);
    compile(Reason::InvalidPolicy, "template", &spec.template, all)?;
    compile(
        Reason::InvalidPolicy,
        "creationCondition",
        &spec.creation_condition,
        all,
    )?;
    Ok(Compiled::of(selector, name))
}

/// The language of a policy.
pub(crate) fn engine(spec: &ClusterImportPolicySpec) -> TemplateEngine {
    TemplateEngine::choose(spec.template_engine, templates(spec))
}

impl Compiled {
    fn of(selector: Option<Template>, name: Template) -> Self {
        let mut reads = name.reads().clone();
        if let Some(selector) = &selector {
            reads.add(selector.reads());
        }
        Self {
            selector,
            name,
            reads,
        }
    }
}

/// Checks that references to kinds in namespaces say which one. Takes what discovery says of each
/// reference, in their order.
pub fn validate_namespaces(
    spec: &ClusterImportPolicySpec,
    namespaced: impl IntoIterator<Item = bool>,
) -> Result<(), Invalid> {
    for (reference, namespaced) in spec.references.iter().zip(namespaced) {
        if namespaced && reference.namespace_template.is_empty() {
            let (key, resource) = (&reference.key, &reference.resource);
            let message = format!(
                "references[{key}]: {resource} lie in namespaces: namespaceTemplate is missing"
            );
            return Err(invalid(Reason::InvalidPolicy, message));
        }
    }
    Ok(())
}

/// What it means for a policy that none of its source objects may be read, for this reason.
pub fn refused_source(refusal: &str) -> Invalid {
    invalid(Reason::InvalidPolicy, format!("source: {refusal}"))
}

/// Every template with the name of its field.
fn templates(spec: &ClusterImportPolicySpec) -> impl Iterator<Item = (&str, &str)> {
    let references = spec.references.iter().map(|reference| {
        (
            reference.namespace_template.as_str(),
            reference.name_template.as_str(),
        )
    });
    [
        ("nameTemplate", spec.name_template.as_str()),
        (
            "source.selectorTemplate",
            spec.source.selector_template.as_str(),
        ),
        ("template", spec.template.as_str()),
        ("creationCondition", spec.creation_condition.as_str()),
    ]
    .into_iter()
    .chain(of_references(references))
}

fn reference_keys(spec: &ClusterImportPolicySpec) -> Result<Vec<&str>, Invalid> {
    let keys: Vec<&str> = spec
        .references
        .iter()
        .map(|reference| reference.key.as_str())
        .collect();
    let distinct: BTreeSet<&str> = keys.iter().copied().collect();
    if distinct.len() < keys.len() {
        let message = "two references have the same key".to_owned();
        return Err(invalid(Reason::InvalidPolicy, message));
    }
    Ok(keys)
}

fn at(reason: Reason, field: &str, error: &TemplateError) -> Invalid {
    Invalid {
        may_pass: error.may_pass(),
        ..invalid(reason, format!("{field}: {error}"))
    }
}

fn invalid(reason: Reason, message: String) -> Invalid {
    Invalid {
        reason,
        message,
        may_pass: false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_one_policy_no_more_is_compiled_than_is_compiled_of_two_templates() {
        let with = |references: usize, name: String| {
            let reference = |number: usize| {
                json!({"key": format!("k{number}"), "group": "", "resource": "secrets", "nameTemplate": name,
                    "namespaceTemplate": "ns"})
            };
            let references: Vec<_> = (0..references).map(reference).collect();
            let spec = json!({"source": {"group": "", "resource": "configmaps"}, "references": references,
                "nameTemplate": "{{source.metadata.name}}", "template": "spec: {}", "creationCondition": "true"});
            validate(&serde_json::from_value(spec).unwrap())
        };
        let (long, many) = ("x".repeat(10_000), "{{source.a}}".repeat(200));
        let refused = |references, name: &String| {
            let invalid = with(references, name.clone()).unwrap_err();
            assert_eq!(invalid.reason, Reason::InvalidPolicy);
            invalid.message
        };
        assert!(with(12, long.clone()).is_ok());
        assert_eq!(
            refused(14, &long),
            "the templates of one object have 140064 bytes together and may have 131072: shorten them, the longest is \
             references[].nameTemplate with 10000"
        );
        assert!(with(9, many.clone()).is_ok());
        assert_eq!(
            refused(10, &many),
            "the templates of one object have 2001 tags together and may have 2000"
        );
    }

    /// Templates of some pieces each, the same at each run.
    fn of_pieces(pieces: &[&str]) -> impl Iterator<Item = String> {
        let mut state = 1_u64;
        std::iter::repeat_with(move || {
            let mut text = String::new();
            for _ in 0..6 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = usize::try_from(state >> 33).unwrap() % pieces.len();
                text.push_str(pieces[at]);
            }
            text
        })
    }

    /// The definition refuses a template whose last tag has no end, by `self.contains('\\{{') || self.lastIndexOf('{{') <= self.lastIndexOf('}}')`.
    #[test]
    fn no_template_is_taken_that_the_definition_refuses() {
        let pieces = [
            "{{",
            "}}",
            "{",
            "}",
            r"\",
            "\"",
            "'",
            "`",
            "!",
            "!--",
            "--",
            "/*",
            "*/",
            "[",
            "]",
            "~",
            "-",
            "#if true",
            "/if",
            "end",
            "source.a",
            ".source.a",
            " ",
            "\n",
        ];
        let is_refused = |text: &str| !text.contains(r"\{{") && text.rfind("{{") > text.rfind("}}");
        let (mut taken, mut refused) = (0, 0);
        for text in of_pieces(&pieces).take(6_000) {
            refused += usize::from(is_refused(&text));
            for engine in [TemplateEngine::Handlebars, TemplateEngine::GoTemplate] {
                let is_taken = engine.compile(&text, Scope::Source).is_ok();
                taken += usize::from(is_taken && text.contains("{{"));
                assert!(!is_taken || !is_refused(&text), "{engine:?}: {text:?}");
            }
        }
        assert!(
            taken > 20 && refused > 500,
            "{taken} taken, {refused} refused"
        );
    }
}
