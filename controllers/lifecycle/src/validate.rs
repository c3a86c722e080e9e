//! Validate: the templates of a lifecycle, compiled. The policy was validated before, but a
//! lifecycle may be older than its rules. Pure.

use std::sync::Arc;

use armadex_crds::{PediaClusterLifecycleSpec, conditions::LifecycleReason as Reason};
use armadex_policy::template::{
    Reads, Scope, Template, TemplateEngine, TemplateError, of_references,
};

use crate::Problem;

/// Compiled templates.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Those of the references, in their order.
    pub references: Vec<CompiledReference>,
    /// The PediaCluster.
    pub cluster: Template,
    /// Whether it may be created.
    pub condition: Template,
    /// What of the source object is read once there is a PediaCluster.
    pub reads: Arc<Reads>,
}

/// Compiled templates of one reference.
#[derive(Clone, Debug)]
pub struct CompiledReference {
    /// Namespace; none for kinds without.
    pub namespace: Option<Template>,
    /// Name.
    pub name: Template,
}

/// Compiles every template of a lifecycle.
pub fn validate(spec: &PediaClusterLifecycleSpec) -> Result<Compiled, Problem> {
    let engine = TemplateEngine::choose(spec.template_engine, templates(spec));
    let checked = engine.check_all(templates(spec));
    checked.map_err(|error| Problem {
        reason: Reason::FailedResolveAndDecodePediaCluster,
        message: error.to_string(),
        may_pass: false,
    })?;
    let keys: Vec<&str> = spec
        .references
        .iter()
        .map(|reference| reference.key.as_str())
        .collect();
    let mut references = Vec::with_capacity(keys.len());
    for (index, reference) in spec.references.iter().enumerate() {
        let earlier = Scope::References(&keys[..index]);
        let key = &reference.key;
        let compile = |field: &str, text: &str| {
            let field = format!("references[{key}].{field}");
            engine
                .compile(text, earlier)
                .map_err(at(Reason::FailedReferenceResourceParse, field))
        };
        let namespace = match reference.namespace_template.as_str() {
            "" => None,
            text => Some(compile("namespaceTemplate", text)?),
        };
        let name = compile("nameTemplate", &reference.name_template)?;
        references.push(CompiledReference { namespace, name });
    }
    let all = Scope::References(&keys);
    let cluster = engine.compile(&spec.template, all).map_err(at(
        Reason::FailedResolveAndDecodePediaCluster,
        "template".into(),
    ))?;
    let condition = engine.compile(&spec.creation_condition, all).map_err(at(
        Reason::FailedCreationCondition,
        "creationCondition".into(),
    ))?;
    let reads = Arc::new(reads(&references, &cluster));
    Ok(Compiled {
        references,
        cluster,
        condition,
        reads,
    })
}

fn reads(references: &[CompiledReference], cluster: &Template) -> Reads {
    let mut reads = cluster.reads().clone();
    for CompiledReference { namespace, name } in references {
        for template in namespace.iter().chain([name]) {
            reads.add(template.reads());
        }
    }
    reads
}

/// Every template with the name of its field.
fn templates(spec: &PediaClusterLifecycleSpec) -> impl Iterator<Item = (&str, &str)> {
    let references = spec.references.iter().map(|reference| {
        (
            reference.namespace_template.as_str(),
            reference.name_template.as_str(),
        )
    });
    [
        ("template", spec.template.as_str()),
        ("creationCondition", spec.creation_condition.as_str()),
    ]
    .into_iter()
    .chain(of_references(references))
}

fn at(reason: Reason, field: String) -> impl FnOnce(TemplateError) -> Problem {
    move |error| Problem {
        reason,
        may_pass: error.may_pass(),
        message: format!("{field}: {error}"),
    }
}
