//! What of its source object a template reads. As long as that is the same, so is what the template says of it. Pure.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use handlebars::template::{HelperTemplate, Parameter, Subexpression, Template, TemplateElement};
use handlebars::{Path, PathSeg};
use serde_json::Value;

/// Paths into a source object; one without names is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads(BTreeSet<Vec<String>>);

impl Reads {
    /// Adds what another template reads.
    pub fn add(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// The paths, each in names.
    pub fn paths(&self) -> impl Iterator<Item = &[String]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// A hash of what is read, as it is in this object.
    #[must_use]
    pub fn digest(&self, source: &Value) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash_in(source, &mut hasher);
        hasher.finish()
    }

    /// However many paths there are, no part of the object is hashed twice: paths are in order, so all that lead into a place follow each other.
    fn hash_in(&self, source: &Value, hasher: &mut impl Hasher) {
        let mut last: Option<&[String]> = None;
        for path in &self.0 {
            if last.is_some_and(|place| path.starts_with(place)) {
                continue;
            }
            let Some((place, value)) = at(source, path) else {
                hasher.write_u8(0);
                continue;
            };
            hasher.write_u8(1);
            place.len().hash(hasher);
            value.to_string().hash(hasher);
            last = Some(place);
        }
    }
}

/// What is at a path, and where that is. What a name does not lead into, as a list that is indexed, counts as a whole.
fn at<'a, 'p>(source: &'a Value, path: &'p [String]) -> Option<(&'p [String], &'a Value)> {
    let mut value = source;
    for (depth, name) in path.iter().enumerate() {
        let Value::Object(fields) = value else {
            return Some((&path[..depth], value));
        };
        value = fields.get(name)?;
    }
    Some((path, value))
}

/// Of a template whose names were checked. Where it can't be told, it is everything.
pub(super) fn of(template: &Template) -> Reads {
    let mut reads = Reads::default();
    reads.template(template, false);
    reads
}

impl Reads {
    /// `rebound`: in an `each` or `with`, whose names are those of what it is about.
    fn template(&mut self, template: &Template, rebound: bool) {
        for element in &template.elements {
            match element {
                TemplateElement::HelperBlock(block) => self.block(block, rebound),
                element => self.element(element, rebound),
            }
        }
    }

    fn block(&mut self, block: &HelperTemplate, rebound: bool) {
        self.arguments(block, rebound);
        let name = block.name.as_name().unwrap_or_default();
        if let Some(body) = &block.template {
            self.template(body, rebound || name == "each" || name == "with");
        }
        if let Some(otherwise) = &block.inverse {
            self.template(otherwise, rebound);
        }
    }

    fn element(&mut self, element: &TemplateElement, rebound: bool) {
        match element {
            TemplateElement::RawString(_) | TemplateElement::Comment(_) => {}
            TemplateElement::Expression(call) | TemplateElement::HtmlExpression(call) => {
                if call.params.is_empty() && call.hash.is_empty() {
                    self.value(&call.name, rebound);
                } else {
                    self.arguments(call, rebound);
                }
            }
            _ => self.all(),
        }
    }

    fn arguments(&mut self, call: &HelperTemplate, rebound: bool) {
        for argument in call.params.iter().chain(call.hash.values()) {
            self.value(argument, rebound);
        }
    }

    fn value(&mut self, value: &Parameter, rebound: bool) {
        match value {
            Parameter::Literal(_) => {}
            Parameter::Path(path) => self.path_of(path, rebound),
            Parameter::Subexpression(Subexpression { element, .. }) => {
                self.element(element, rebound);
            }
            _ => self.all(),
        }
    }

    fn path_of(&mut self, path: &Path, rebound: bool) {
        // What begins with an at sign is of a block, like an index.
        let Path::Relative((segments, text)) = path else {
            return;
        };
        let from_root = text.starts_with("@root");
        if text.contains("..") {
            return self.all();
        }
        if rebound && !from_root {
            return;
        }
        let mut names = Vec::new();
        for (place, segment) in segments.iter().enumerate() {
            match segment {
                PathSeg::Named(name) => names.push(name.clone()),
                PathSeg::Ruled(_) if from_root && place == 0 => {}
                _ => return self.all(),
            }
        }
        match names.first().map(String::as_str) {
            Some("source") => {
                self.0.insert(names.split_off(1));
            }
            Some(_) => {}
            None => self.all(),
        }
    }

    pub(super) fn all(&mut self) {
        self.0.insert(Vec::new());
    }

    /// Adds what is at a path.
    pub(super) fn path(&mut self, names: impl IntoIterator<Item = String>) {
        self.0.insert(names.into_iter().collect());
    }
}

#[cfg(test)]
mod tests {
    use std::hash::Hasher;

    use serde_json::json;

    use super::super::{Scope, TemplateEngine};
    use super::Reads;

    fn reads(template: &str) -> Reads {
        let scope = Scope::References(&["secret"]);
        let compiled = TemplateEngine::Handlebars.compile(template, scope);
        compiled.expect(template).reads().clone()
    }

    /// Whether a template reads something that is another in these objects.
    fn sees(template: &str, one: &serde_json::Value, other: &serde_json::Value) -> bool {
        let reads = reads(template);
        reads.digest(one) != reads.digest(other)
    }

    /// Bytes that it was given.
    #[derive(Default)]
    struct Counted(usize);

    impl Hasher for Counted {
        fn write(&mut self, bytes: &[u8]) {
            self.0 += bytes.len();
        }

        fn finish(&self) -> u64 {
            0
        }
    }

    #[test]
    fn no_part_of_an_object_is_hashed_twice_however_many_paths_lead_there() {
        let large =
            json!({"data": {"blob": "x".repeat(10_000)}, "list": [0, "y".repeat(10_000)], "a": 1});
        let into_it = |from: &str| -> String {
            let path = |number| format!("{{{{source.{from}a{number}}}}}");
            (0..100).map(path).collect()
        };
        let many = [
            into_it("data.blob."),
            into_it("list.") + "{{source.list}}",
            into_it("data.") + &into_it("data.blob.") + "{{toJson source.data}}{{source.a}}",
            into_it("data.blob.") + &into_it("list.") + "{{toJson source}}",
        ];
        for template in many {
            let mut hasher = Counted::default();
            reads(&template).hash_in(&large, &mut hasher);
            assert!(hasher.0 < 25_000, "{} of {template}", hasher.0);
        }
        let mut other = large.clone();
        other["data"]["blob"] = json!("z");
        assert!(sees(&into_it("data.blob."), &large, &other));
        assert!(!sees(&into_it("list."), &large, &other));
        other["data"] = json!({"blob": {"a1": large["data"]["blob"]}});
        assert!(sees(&into_it("data.blob."), &large, &other));
    }

    #[test]
    fn what_a_template_reads_is_seen_and_nothing_else() {
        let before = json!({"metadata": {"name": "a", "resourceVersion": "1", "labels": {"a": "b"}},
            "spec": {"url": "x", "list": [{"a": 1}, {"a": 2}]}, "status": {"beat": 1}});
        let mut beat = before.clone();
        beat["metadata"]["resourceVersion"] = json!("2");
        beat["status"]["beat"] = json!(2);
        let blind = [
            "text",
            "{{source.spec.url}} {{source.metadata.name}}",
            "{{#if source.spec.url}}{{toJson source.spec.list}}{{else}}{{source.spec.none}}{{/if}}",
            "{{#each source.metadata.labels}}{{@key}}: {{this}}{{@root.source.spec.url}}{{/each}}",
            "{{#with source.spec}}{{url}}{{/with}}{{references.secret.data.x}}",
        ];
        for template in blind {
            assert!(!sees(template, &before, &beat), "{template}");
        }
        let seeing = [
            "{{source.status.beat}}",
            "{{toJson source}}",
            "{{#if (hasCondition source \"Ready\" \"True\")}}x{{/if}}",
            "{{#with source.status}}{{beat}}{{/with}}",
            "{{#each source.spec.list}}{{@root.source.status.beat}}{{/each}}",
            "{{#each source.spec.list}}{{../source.status.beat}}{{/each}}",
            "{{lookup source \"status\"}}",
            "{{source.metadata.[resourceVersion]}}",
        ];
        for template in seeing {
            assert!(sees(template, &before, &beat), "{template}");
        }
        let mut other = before.clone();
        other["spec"]["list"][1]["a"] = json!(3);
        assert!(sees("{{source.spec.list.[1].a}}", &before, &other));
        assert!(!sees("{{source.spec.url}}", &before, &other));
        other["spec"]["url"] = serde_json::Value::Null;
        assert!(sees("{{#if source.spec.url}}x{{/if}}", &before, &other));
    }
}
