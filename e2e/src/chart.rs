//! What the chart takes from elsewhere in the tree, so that it can't drift: the CRDs and the rights, word for word, its own values for
//! its templates, and the tables of its README from the comments of these. `make gen` writes it, a test holds the committed files to it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::deploy;

/// Between these the README has the tables.
const TABLES: [&str; 2] = ["<!-- values -->\n", "<!-- /values -->\n"];
const HEAD: &str = "| value | default | what it is |\n| --- | --- | --- |\n";
/// Folders of the tree, and where their YAML lies in the chart.
const COPIED: [(&str, &str); 2] = [("crds", "files/crds"), ("deploy/rbac", "files/rbac")];
/// Where templates find what a value is if nothing is said: helm shows them no `values.yaml`.
const DEFAULTS: &str = "files/values.yaml";

/// The folder of the chart.
#[must_use]
pub fn folder() -> PathBuf {
    root().join("charts/armadex")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every generated file of the chart, with the text that it has to have.
pub fn generated() -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for (source, place) in COPIED {
        for path in yaml_of(&root().join(source))? {
            let name = path.file_name().context("a file has a name")?;
            if name == deploy::BY_HAND {
                continue;
            }
            files.push((folder().join(place).join(name), read(&path)?));
        }
    }
    files.push((
        folder().join(DEFAULTS),
        read(&folder().join("values.yaml"))?,
    ));
    let readme = folder().join("README.md");
    let text = with_tables(&read(&readme)?, &tables(&values()?))?;
    files.push((readme, text));
    Ok(files)
}

/// Copies in the chart of what there is no more.
pub fn stale() -> Result<Vec<PathBuf>> {
    let mut stale = Vec::new();
    for (source, place) in COPIED {
        let is_gone = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            !root().join(source).join(name).is_file()
        };
        let copies = yaml_of(&folder().join(place))?;
        stale.extend(copies.into_iter().filter(is_gone));
    }
    Ok(stale)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn yaml_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<std::io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    paths.sort();
    Ok(paths)
}

fn with_tables(readme: &str, tables: &str) -> Result<String> {
    let [begin, end] = TABLES;
    let found = readme.split_once(begin);
    let found = found.and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = found.context("the README has no place for the tables")?;
    Ok(format!("{before}{begin}\n{tables}{end}{after}"))
}

/// A value of the chart as the comments of `values.yaml` tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The title of its section.
    pub section: String,
    /// Its name, with dots.
    pub name: String,
    /// What it is if nothing is said.
    pub default: String,
    /// What it is for.
    pub words: String,
}

/// Every value of the chart.
pub fn values() -> Result<Vec<Told>> {
    told(&read(&folder().join("values.yaml"))?)
}

/// `## Title`, and below it keys, each that has a value behind a line `# -- what it is`.
fn told(values: &str) -> Result<Vec<Told>> {
    let mut all = Vec::new();
    let mut path: Vec<(usize, &str)> = Vec::new();
    let (mut section, mut words) = ("", None);
    for line in values.lines() {
        let text = line.trim_start();
        if let Some(title) = text.strip_prefix("## ") {
            section = title;
        } else if let Some(said) = text.strip_prefix("# -- ") {
            words = Some(said);
        } else if let Some((key, value)) = text.split_once(':')
            && !text.starts_with('#')
        {
            let indent = line.len() - text.len();
            path.retain(|(outer, _)| *outer < indent);
            path.push((indent, key));
            let names: Vec<&str> = path.iter().map(|(_, name)| *name).collect();
            let (name, value) = (names.join("."), value.trim());
            match words.take() {
                Some(words) if !value.is_empty() => all.push(Told {
                    section: section.to_owned(),
                    name,
                    default: value.to_owned(),
                    words: words.to_owned(),
                }),
                Some(_) => bail!("{name} has a line that says what it is, and no value"),
                None => ensure!(value.is_empty(), "no line says what {name} is"),
            }
        }
    }
    Ok(all)
}

/// A table for each section.
fn tables(values: &[Told]) -> String {
    let mut tables = String::new();
    for section in values.chunk_by(|one, next| one.section == next.section) {
        let title = section.first().map_or("", |first| first.section.as_str());
        tables += &format!("### {title}\n\n{HEAD}");
        for Told {
            name,
            default,
            words,
            ..
        } in section
        {
            tables += &format!("| `{name}` | `{default}` | {words} |\n");
        }
        tables += "\n";
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_a_row_of_its_section() {
        let values = "# free\n## One\n\na:\n  # -- first\n  b: \"\"\n  c:\n    # -- deep: so\n    d: {e: 1}\n## Two\n# -- last\nf: 2\n";
        assert_eq!(
            tables(&told(values).unwrap()),
            format!(
                "### One\n\n{HEAD}| `a.b` | `\"\"` | first |\n| `a.c.d` | `{{e: 1}}` | deep: so |\n\n### Two\n\n{HEAD}| `f` | `2` | last |\n\n"
            )
        );
    }

    #[test]
    fn a_value_of_which_nothing_is_said_is_an_error() {
        for (values, named) in [("a:\n  b: 1\n", "a.b"), ("# -- words\na:\n", "a has")] {
            let error = told(values).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
