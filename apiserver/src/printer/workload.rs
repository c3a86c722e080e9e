//! What everything that runs pods has in common: a pod template and a label selector.

use serde::Deserialize;

use super::cells::Cells;
use super::object::{Text, Texts, nullable};

/// `spec.template`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Template<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) spec: TemplateSpec<'a>,
}

/// `spec.template.spec`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TemplateSpec<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    containers: Vec<Container<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Container<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    image: Text<'a>,
}

impl Template<'_> {
    /// Writes the columns Containers and Images.
    pub(super) fn print(&self, cells: &mut Cells<'_>) {
        let containers = &self.spec.containers;
        let names: Vec<&str> = containers.iter().map(|one| one.name.as_str()).collect();
        let images: Vec<&str> = containers.iter().map(|one| one.image.as_str()).collect();
        cells.text(&names.join(","));
        cells.text(&images.join(","));
    }
}

/// `spec.selector` of workloads.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct LabelSelector<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    match_labels: Texts<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    match_expressions: Vec<Expression<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Expression<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow)]
    operator: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    values: Vec<Text<'a>>,
}

impl LabelSelector<'_> {
    /// The selector as kubectl prints it, requirements sorted by key; empty if it has none.
    pub(super) fn text(&self) -> String {
        let mut parts: Vec<(&str, String)> = self
            .match_labels
            .iter()
            .map(|(key, value)| (key.as_str(), format!("{}={}", key.as_str(), value.as_str())))
            .collect();
        parts.extend(
            self.match_expressions
                .iter()
                .map(|expression| (expression.key.as_str(), expression.text())),
        );
        parts.sort_by_key(|(key, _)| *key);
        let texts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
        texts.join(",")
    }
}

impl LabelSelector<'_> {
    /// The selector as Go prints a value of this type.
    pub(super) fn spelt_out(&self) -> String {
        let labels = self.match_labels.iter();
        let labels = labels.map(|(key, value)| format!("{}: {},", key.as_str(), value.as_str()));
        let expressions = self.match_expressions.iter().map(Expression::spelt_out);
        format!(
            "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
            labels.collect::<String>(),
            expressions.collect::<String>()
        )
    }
}

impl Expression<'_> {
    fn spelt_out(&self) -> String {
        let values: Vec<&str> = self.values.iter().map(Text::as_str).collect();
        format!(
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            self.key.as_str(),
            self.operator.as_str(),
            values.join(" ")
        )
    }

    fn text(&self) -> String {
        let key = self.key.as_str();
        let mut values: Vec<&str> = self.values.iter().map(Text::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        match self.operator.as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        }
    }
}
