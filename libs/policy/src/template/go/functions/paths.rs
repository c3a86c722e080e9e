//! Paths with slashes.

use super::call::{Answer, Arguments, Function, Takes};

const PATH: &[Takes] = &[Takes::Text];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("base", PATH, |a| Ok(base(&a.text()).to_owned().into())),
    Function::new("osBase", PATH, |a| Ok(base(&a.text()).to_owned().into())),
    Function::new("dir", PATH, |a| cleaned(a, folder)),
    Function::new("osDir", PATH, |a| cleaned(a, folder)),
    Function::new("clean", PATH, |a| cleaned(a, |path| path)),
    Function::new("osClean", PATH, |a| cleaned(a, |path| path)),
    Function::new("ext", PATH, |a| Ok(extension(&a.text()).to_owned().into())),
    Function::new("osExt", PATH, |a| {
        Ok(extension(&a.text()).to_owned().into())
    }),
    Function::new("isAbs", PATH, |a| Ok(a.text().starts_with('/').into())),
    Function::new("osIsAbs", PATH, |a| Ok(a.text().starts_with('/').into())),
];

fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let bare = path.trim_end_matches('/');
    match bare.rsplit('/').next() {
        Some(last) if !last.is_empty() => last,
        _ => "/",
    }
}

fn folder(path: &str) -> &str {
    let end = path.rfind('/').map_or(0, |slash| slash + 1);
    &path[..end]
}

fn cleaned<'a>(arguments: &mut Arguments<'_, 'a>, part: fn(&str) -> &str) -> Answer<'a> {
    let path = arguments.text();
    arguments.pay_items(path.matches('/').count())?;
    Ok(clean(part(&path)).into())
}

fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.').map_or("", |dot| &name[dot..])
}

fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.as_str()) {
        (true, _) => format!("/{joined}"),
        (false, "") => ".".to_owned(),
        (false, _) => joined,
    }
}
