//! The documents of files, and of standard input. A file may hold Secrets: what is wrong with one is said by its place and never by its words.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};
use serde_saphyr::{Options, budget, options};

/// What kubectl takes from a folder.
const ENDINGS: [&str; 3] = ["json", "yaml", "yml"];

/// The text of a file.
pub(super) struct File {
    /// As people call it.
    pub(super) name: String,
    pub(super) text: String,
}

/// One object of a file.
pub(super) struct Document {
    pub(super) file: Arc<File>,
    /// Which object of the file it is, from 1.
    number: usize,
    pub(super) value: Value,
}

impl Document {
    /// Where it stands.
    pub(super) fn place(&self) -> String {
        format!("object {} of {}", self.number, self.file.name)
    }

    /// What `apiVersion` and `kind` say.
    pub(super) fn kind(&self) -> anyhow::Result<(&str, &str)> {
        let field = |name: &str| {
            let text = self.value.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty())
                .with_context(|| format!("{} has no {name}", self.place()))
        };
        Ok((field("apiVersion")?, field("kind")?))
    }
}

/// Every document of these files, of the files of these folders, and of standard input, which is called `-`.
pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<Document>> {
    let mut all = Vec::new();
    for path in paths {
        for path in files_of(path)? {
            let file = Arc::new(File {
                text: text_of(&path)?,
                name: name_of(&path),
            });
            let values = values(&file.text).with_context(|| file.name.clone())?;
            all.extend(values.into_iter().zip(1..).map(|(value, number)| Document {
                file: file.clone(),
                number,
                value,
            }));
        }
    }
    Ok(all)
}

/// The objects of a text, those of a list each for itself.
pub(super) fn values(text: &str) -> anyhow::Result<Vec<Value>> {
    let documents = serde_saphyr::from_multiple_with_options::<Value>(text, limits());
    let documents = documents.map_err(|error| match error.location() {
        Some(place) => {
            let (line, column) = (place.line(), place.column());
            anyhow::anyhow!("is not YAML at line {line}, column {column}")
        }
        None => anyhow::anyhow!("is not YAML, or stands for too much"),
    })?;
    let documents = documents.into_iter().filter(|value| !value.is_null());
    Ok(documents.flat_map(items).collect())
}

/// For the files of whoever calls: enough for thousands of clusters, and an end to what aliases stand for.
fn limits() -> Options {
    options! {
        budget: budget! {
            max_nodes: 4_000_000,
            max_events: 16_000_000,
            max_documents: 100_000,
        },
        with_snippet: false,
    }
}

fn files_of(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths: Vec<PathBuf> = paths.collect::<Result<_, _>>()?;
    let is_one = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        path.is_file() && ending.is_some_and(|ending| ENDINGS.contains(&ending))
    };
    let mut files: Vec<PathBuf> = paths.into_iter().filter(is_one).collect();
    files.sort();
    if files.is_empty() {
        bail!("{} has no file in {}", path.display(), ENDINGS.join(", "));
    }
    Ok(files)
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn name_of(path: &Path) -> String {
    match is_standard_input(path) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    let reading = || format!("cannot read {}", name_of(path));
    if !is_standard_input(path) {
        return fs::read_to_string(path).with_context(reading);
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map(|_| text).with_context(reading)
}

/// As `kubectl get -o yaml` writes several objects: a list, whose items may lack what the list says of them.
fn items(value: Value) -> Vec<Value> {
    let kind = value.get("kind").and_then(Value::as_str);
    let of = kind.and_then(|kind| kind.strip_suffix("List"));
    let of = of.map(|kind| [value.get("apiVersion").cloned(), Some(kind.into())]);
    match (value, of) {
        (Value::Object(mut list), Some(of)) if list.get("items").is_some_and(Value::is_array) => {
            let Some(Value::Array(items)) = list.remove("items") else {
                return Vec::new();
            };
            let told = |item| with_kind(item, &of);
            items.into_iter().map(told).collect()
        }
        (value, _) => vec![value],
    }
}

fn with_kind(item: Value, of: &[Option<Value>; 2]) -> Value {
    let fields: Map<String, Value> = match item {
        Value::Object(fields) => fields,
        other => return other,
    };
    let mut told = Map::new();
    for (name, value) in ["apiVersion", "kind"].into_iter().zip(of) {
        if let Some(value) = value.clone().filter(|value| *value != "") {
            told.insert(name.to_owned(), value);
        }
    }
    told.extend(fields);
    Value::Object(told)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_kubectl_writes_of_several_objects_is_each_of_them() {
        let one = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
        let text =
            format!("---\n---\n# nothing\n---\n{{apiVersion: v1, kind: List, items: [{one}]}}\n");
        assert_eq!(values(&text).expect("YAML"), std::slice::from_ref(&one));
        let text = "{apiVersion: v1, kind: SecretList, items: [{metadata: {name: a}}]}";
        assert_eq!(values(text).expect("YAML"), [one]);
        let alone = json!({"apiVersion": "x/v1", "kind": "AllowList", "spec": {}});
        assert_eq!(values(&alone.to_string()).expect("YAML"), [alone]);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_without_its_words() {
        for text in [
            "a: 1\nb: [hunter2\n",
            "hunter2: 1\nhunter2: 2\n",
            "a: *hunter2\n",
        ] {
            let words = format!("{:#}", values(text).expect_err(text));
            assert!(words.starts_with("is not YAML at line "), "{words}");
            assert!(!words.contains("hunter2"), "{words}");
        }
    }
}
