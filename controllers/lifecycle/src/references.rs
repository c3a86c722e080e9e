//! The objects that a lifecycle refers to: their names are rendered one after the other, each
//! from the source and the objects before it. Pure but for the look-up, which is given.

use std::sync::Arc;

use armadex_crds::{LifecycleReference, ResolvedReference, conditions::LifecycleReason as Reason};
use armadex_policy::{Found, Readiness, template::TemplateData};

use crate::{Stop, validate::CompiledReference};

/// What is known of an object.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// It is there.
    Found(Arc<Found>),
    /// It is not there.
    Missing,
    /// Nobody knows yet.
    NotListed(Readiness),
}

/// Adds every referenced object to the data, and every name that could be rendered to the list. A
/// look-up that is refused says why.
pub(crate) fn gather(
    references: &[LifecycleReference],
    compiled: &[CompiledReference],
    data: &mut TemplateData,
    resolved: &mut Vec<ResolvedReference>,
    mut look_up: impl FnMut(&ResolvedReference) -> Result<Lookup, String>,
) -> Result<(), Stop> {
    for (reference, compiled) in references.iter().zip(compiled) {
        let target = render(reference, compiled, data)?;
        let found = look_up(&target);
        let name = display(&target);
        resolved.push(target);
        let key = &reference.key;
        let found = found.map_err(|refusal| {
            let message = format!("references[{key}]: {refusal}");
            Stop::because(Reason::FailedReferenceResourceParse, message)
        })?;
        match found {
            Lookup::Found(found) => {
                if let Some(why) = found.object.lacks_some() {
                    let message = format!("references[{key}]: {name}: {why}");
                    return Err(Stop::because(Reason::FailedReferenceResourceParse, message));
                }
                data.refer(key, found.object.read());
            }
            Lookup::Missing => {
                let message = format!("references[{key}]: {name} does not exist");
                return Err(Stop::because(Reason::ReferenceResourceNotFound, message));
            }
            Lookup::NotListed(readiness) => return Err(not_listed(&name, &readiness)),
        }
    }
    Ok(())
}

/// What an object that can't be read yet means.
pub(crate) fn not_listed(name: &str, readiness: &Readiness) -> Stop {
    match readiness {
        Readiness::Failing(trouble) => {
            let message = format!("{name} can't be read: {trouble}");
            Stop::because(Reason::WaitDependentResourceSynced, message)
        }
        Readiness::Listed | Readiness::Listing => Stop::Listing,
    }
}

fn render(
    reference: &LifecycleReference,
    compiled: &CompiledReference,
    data: &TemplateData,
) -> Result<ResolvedReference, Stop> {
    let failed = |field: &str, message: String| {
        let message = format!("references[{}].{field}: {message}", reference.key);
        Stop::because(Reason::FailedReferenceResourceParse, message)
    };
    let namespace = match &compiled.namespace {
        None => String::new(),
        Some(template) => {
            let text = template
                .render(data)
                .map_err(|error| failed("namespaceTemplate", error.to_string()))?;
            namespace_in(&text).map_err(|message| failed("namespaceTemplate", message))?
        }
    };
    let text = compiled
        .name
        .render(data)
        .map_err(|error| failed("nameTemplate", error.to_string()))?;
    let name = name_in(&text).map_err(|message| failed("nameTemplate", message))?;
    let LifecycleReference {
        group,
        version,
        resource,
        ..
    } = reference.clone();
    Ok(ResolvedReference {
        group,
        version,
        resource,
        namespace,
        name,
    })
}

/// The namespace that a template has rendered to; what is wrong, if it is none.
pub fn namespace_in(text: &str) -> Result<String, String> {
    named(text, is_namespace)
}

/// The same of the name of an object.
pub fn name_in(text: &str) -> Result<String, String> {
    named(text, is_name)
}

/// The text without space around it, if it can be a name.
fn named(text: &str, fits: fn(&str) -> bool) -> Result<String, String> {
    match text.trim() {
        "" => Err("renders to nothing".to_owned()),
        text if fits(text) => Ok(text.to_owned()),
        _ => Err("renders to something that can't be a name".to_owned()),
    }
}

/// It becomes part of a path.
fn is_namespace(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63 && text.bytes().all(allowed)
}

/// It becomes part of a field selector.
fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    text.len() <= 253 && text.bytes().all(allowed)
}

/// `secrets namespace/name`.
pub(crate) fn display(target: &ResolvedReference) -> String {
    let ResolvedReference {
        group,
        resource,
        namespace,
        name,
        ..
    } = target;
    let kind = if group.is_empty() {
        resource.clone()
    } else {
        format!("{resource}.{group}")
    };
    match namespace.as_str() {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}
