//! The documents of files, and of standard input. A file may hold Secrets: what is wrong with one is said by its place and never by its words.
//! A folder may be a stranger's: nothing in it leads out of it.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Map, Value};
use serde_saphyr::{Options, budget, options};

use super::room::Room;

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
pub(super) fn read(paths: &[PathBuf], room: &mut Room) -> anyhow::Result<Vec<Document>> {
    let mut all = Vec::new();
    for path in paths {
        for path in files_of(path)? {
            let file = Arc::new(File {
                text: text_of(&path, room)?,
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

/// The text of a file of a folder; none if there is no such file.
pub(super) fn own_text(path: &Path, room: &mut Room) -> anyhow::Result<Option<String>> {
    match is_own(path)? {
        true => text_of(path, room).map(Some),
        false => Ok(None),
    }
}

/// Whether there is a file of this name in a folder. A link or a device would lead elsewhere, and is refused, be there something behind it or not.
pub(super) fn is_own(path: &Path) -> anyhow::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(found) if found.is_symlink() => bail!("{} is a link: put the file there", name_of(path)),
        Ok(_) => bail!("{} is no regular file", name_of(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", name_of(path))),
    }
}

/// The objects of a text, those of a list each for itself.
pub(super) fn values(text: &str) -> anyhow::Result<Vec<Value>> {
    let documents = serde_saphyr::from_multiple_with_options::<Value>(text, limits());
    let documents = documents.map_err(|error| not_read(&error))?;
    let documents = documents.into_iter().filter(|value| !value.is_null());
    Ok(documents.flat_map(items).collect())
}

/// What is wrong with a text, and where.
fn not_read(error: &serde_saphyr::Error) -> anyhow::Error {
    use serde_saphyr::Error;
    let mut cause = error;
    while let Error::AliasError { error, .. } | Error::WithSnippet { error, .. } = cause {
        cause = error;
    }
    let what = match cause {
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "is too large, or its aliases stand for too much,"
        }
        _ => "is not YAML",
    };
    match error.location() {
        Some(place) => {
            anyhow::anyhow!("{what} at line {}, column {}", place.line(), place.column())
        }
        None => anyhow::anyhow!("{}", what.trim_end_matches(',')),
    }
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
        ending.is_some_and(|ending| ENDINGS.contains(&ending))
            && fs::symlink_metadata(path).map_or(true, |found| !found.is_dir())
    };
    let mut files: Vec<PathBuf> = paths.into_iter().filter(is_one).collect();
    for file in &files {
        is_own(file)?;
    }
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

/// A pipe has no less a text than a file. A device has none, and may take being opened for more than a look.
fn text_of(path: &Path, room: &mut Room) -> anyhow::Result<String> {
    let reading = || format!("cannot read {}", name_of(path));
    if is_standard_input(path) {
        return text_from(std::io::stdin().lock(), room).with_context(reading);
    }
    let kind = fs::metadata(path).with_context(reading)?.file_type();
    let is_device = kind.is_char_device() || kind.is_block_device();
    ensure!(!is_device, "{} is a device", name_of(path));
    let file = fs::File::open(path).with_context(reading)?;
    text_from(file, room).with_context(reading)
}

fn text_from(source: impl Read, room: &mut Room) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let one_more = room.left().saturating_add(1);
    source.take(one_more).read_to_end(&mut bytes)?;
    room.take(bytes.len())?;
    String::from_utf8(bytes)
        .ok()
        .context("it is no text in UTF-8")
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

    #[test]
    fn what_is_too_much_is_not_told_as_something_else() {
        let deeper = (1..100).map(|level| format!("- &a{level} [*a{}]\n", level - 1));
        let aliases = format!("- &a0 x\n{}", deeper.collect::<String>());
        for text in [aliases, "a\n---\n".repeat(100_001)] {
            let words = format!("{:#}", values(&text).expect_err("too much"));
            assert!(
                words.starts_with("is too large, or its aliases "),
                "{words}"
            );
        }
    }

    #[test]
    fn no_more_is_read_than_there_is_room_for() {
        let mut room = Room::new(10, "full".to_owned());
        assert_eq!(
            text_from(&b"123456"[..], &mut room).expect("read"),
            "123456"
        );
        let endless = text_from(std::io::repeat(b'a'), &mut room).expect_err("no room");
        assert_eq!(endless.to_string(), "full");
        assert_eq!(text_from(&b"1234"[..], &mut room).expect("read"), "1234");
    }
}
