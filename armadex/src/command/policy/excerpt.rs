//! The place that a message speaks of, in the file of the policy: the line with a mark under it. Messages of the controllers say places as
//! `FIELD: line LINE, column COLUMN: ...`, in the text of the field; in the file that text stands somewhere, with an indentation.

use armadex_crds::ClusterImportPolicySpec;

use super::files::File;
use crate::visible::is_hidden;

/// Characters of a line that are shown: what is before the mark at most, and all.
const BEFORE: usize = 80;
const SHOWN: usize = 120;
/// Bytes of a file in which a template is looked for, again for each message; an API server takes no policy that is larger.
const SEARCHED: usize = 1 << 20;

/// A place in a text, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    line: usize,
    column: usize,
}

/// What is shown of the place in a message, if there is one.
pub(super) fn excerpt(
    spec: &ClusterImportPolicySpec,
    file: &File,
    message: &str,
) -> Option<String> {
    let fields = fields(spec);
    let mut places = fields
        .iter()
        .filter_map(|(field, text)| Some((field, *text, place(message, field)?)));
    let (field, text, place) = places.next()?;
    let name = &file.name;
    Some(match in_file(&file.text, text, place) {
        Some((line, place)) => {
            let title = format!("{name}:{}:{}", place.line, place.column);
            shown(&title, line, place)
        }
        None => {
            let title = format!(
                "{name}: {field}, line {}, column {}",
                place.line, place.column
            );
            shown(&title, text.lines().nth(place.line - 1)?, place)
        }
    })
}

/// Every template with the name that messages have for its field.
fn fields(spec: &ClusterImportPolicySpec) -> Vec<(String, &str)> {
    let own = [
        ("nameTemplate", &spec.name_template),
        ("source.selectorTemplate", &spec.source.selector_template),
        ("template", &spec.template),
        ("creationCondition", &spec.creation_condition),
    ];
    let own = own.map(|(field, text)| (field.to_owned(), text.as_str()));
    let of_references = spec.references.iter().flat_map(|reference| {
        let key = &reference.key;
        [
            ("namespaceTemplate", &reference.namespace_template),
            ("nameTemplate", &reference.name_template),
        ]
        .map(|(field, text)| (format!("references[{key}].{field}"), text.as_str()))
    });
    own.into_iter().chain(of_references).collect()
}

/// The place in this field that a message begins with.
fn place(message: &str, field: &str) -> Option<Place> {
    let rest = message.strip_prefix(field)?;
    // Of a language that is not served it is said without the colon.
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let rest = rest.strip_prefix(" line ")?;
    let (line, rest) = rest.split_once(", column ")?;
    let (column, _) = rest.split_once(':')?;
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    (line > 0 && column > 0).then_some(Place { line, column })
}

/// The line of the file that has this place of a template, and the place in the file: where the template stands, and nowhere else, whatever the space in
/// it, for YAML indents and folds it.
fn in_file<'a>(file: &'a str, template: &str, place: Place) -> Option<(&'a str, Place)> {
    if file.len() > SEARCHED {
        return None;
    }
    let text = without_space(file);
    let wanted = without_space(template);
    let before = until(template, place)?;
    let at = text.find(&wanted)?;
    if text.rfind(&wanted) != Some(at) {
        return None;
    }
    let marks = text[..at].chars().count() + without_space(before).chars().count();
    let (at, _) = not_space(file).nth(marks)?;
    let start = file[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = file[..at].matches('\n').count() + 1;
    let column = file[start..at].chars().count() + 1;
    let whole = file[start..].lines().next()?;
    Some((whole, Place { line, column }))
}

/// The text before a place.
fn until(text: &str, place: Place) -> Option<&str> {
    let lines = text.split_inclusive('\n');
    let start: usize = lines.take(place.line - 1).map(str::len).sum();
    let mut columns = text[start..].char_indices();
    let (column, _) = columns.nth(place.column - 1)?;
    Some(&text[..start + column])
}

fn without_space(text: &str) -> String {
    not_space(text).map(|(_, char)| char).collect()
}

fn not_space(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices()
        .filter(|(_, char)| !char.is_whitespace())
}

/// As compilers show it.
fn shown(title: &str, line: &str, place: Place) -> String {
    let number = place.line.to_string();
    let margin = " ".repeat(number.len());
    let from = place.column.saturating_sub(1 + BEFORE);
    let text: String = line.chars().skip(from).take(SHOWN).collect();
    // Each takes one column, so the mark stays below its place.
    let text = text.replace('\t', " ").replace(is_hidden, "\u{fffd}");
    let mark = " ".repeat(place.column - 1 - from);
    format!(
        "{margin}--> {title}\n{margin} |\n{number} | {}\n{margin} | {mark}^\n",
        text.trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"
spec:
  nameTemplate: "{{source.metadata.name}}"
  references:
  - key: secret
    nameTemplate: >-
      {{#if source.a}}
      {{trim source.b}}
      {{/if}}
    namespaceTemplate: "a\"b {{c}}"
  template: |
    spec:
      apiserver: ä{{toJson source.x}}
"#;

    fn shown_of(file: &str, message: &str) -> Option<String> {
        let policy: serde_json::Value = serde_saphyr::from_str(POLICY).expect("YAML");
        let mut spec = policy["spec"].clone();
        spec["source"] = serde_json::json!({"group": "", "resource": "clusters"});
        spec["creationCondition"] = "".into();
        for field in ["group", "resource"] {
            spec["references"][0][field] = "x".into();
        }
        let spec = serde_json::from_value(spec).expect("a policy");
        let file = File {
            name: "p.yaml".to_owned(),
            text: file.to_owned(),
        };
        excerpt(&spec, &file, message)
    }

    #[test]
    fn a_place_in_a_template_is_shown_in_the_file() {
        for (message, expected) in [
            (
                "template: line 2, column 15: no such function",
                "  --> p.yaml:13:19\n   |\n13 |       apiserver: ä{{toJson source.x}}\n   |                   ^\n",
            ),
            (
                "references[secret].nameTemplate: line 1, column 18: no such function",
                " --> p.yaml:8:7\n  |\n8 |       {{trim source.b}}\n  |       ^\n",
            ),
            (
                "nameTemplate line 1, column 3: that is Go",
                " --> p.yaml:3:20\n  |\n3 |   nameTemplate: \"{{source.metadata.name}}\"\n  |                    ^\n",
            ),
        ] {
            assert_eq!(shown_of(POLICY, message).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_place_that_is_not_found_in_the_file_is_shown_in_the_template() {
        let message = "references[secret].namespaceTemplate: line 1, column 5: what";
        let expected = " --> p.yaml: references[secret].namespaceTemplate, line 1, column 5\n  |\n1 | a\"b {{c}}\n  |     ^\n";
        assert_eq!(shown_of(POLICY, message).as_deref(), Some(expected));
        let twice = format!("{POLICY}---{POLICY}");
        let words = shown_of(&twice, "nameTemplate: line 1, column 3: x").expect("a place");
        assert!(words.starts_with(" --> p.yaml: nameTemplate, line 1, column 3\n"));
    }

    #[test]
    fn a_message_without_a_place_of_the_policy_shows_none() {
        for message in [
            "template: spec: required",
            "template: line 0, column 1: x",
            "template: line 9, column 1: x",
            "template: line 1, column x: x",
            "other: line 1, column 1: x",
            "creationCondition does not say true",
        ] {
            assert_eq!(shown_of(POLICY, message), None, "{message}");
        }
    }

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let line = format!("{}{{{{x}}}}{}", "a".repeat(300), "b".repeat(300));
        let words = shown(
            "t",
            &line,
            Place {
                line: 1,
                column: 301,
            },
        );
        let (text, mark) = words.trim_end().rsplit_once("\n").expect("lines");
        let text = text.rsplit_once('\n').expect("lines").1;
        assert_eq!(text.find("{{x}}"), mark.find('^'));
        assert!(text.len() < 130, "{text}");
    }
}
