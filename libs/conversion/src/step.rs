//! What conversions are made of: fields that move, that are set where nothing else says what they are, and the little that no table can say.

use serde_json::{Map, Value};

/// An object of JSON.
pub(crate) type Object = Map<String, Value>;
/// Members of objects, by dots.
pub(crate) type Path = &'static str;

/// What has no shape that its version has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unconvertible(String);

impl Unconvertible {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    fn no_object(path: &str) -> Self {
        Self(format!("{path} is no object"))
    }

    fn within(self, path: &str) -> Self {
        Self(format!("{path}: {}", self.0))
    }
}

/// What is done to an object. What is not there is nothing to be done to.
#[derive(Debug)]
pub(crate) enum Step {
    /// What is at the first path goes to the second.
    Move(Path, Path),
    /// This text stands there if nothing does.
    Default(Path, &'static str),
    /// A text that says of what kind something is: the second if there is something at this path, else the third.
    Tell {
        at: Path,
        by: Path,
        there: &'static str,
        absent: &'static str,
    },
    /// To the object at this path.
    Within(Path, &'static [Step]),
    /// To each object of the list at this path.
    Each(Path, &'static [Step]),
    /// What no table says.
    By(fn(&mut Object) -> Result<(), Unconvertible>),
}

/// One after the other.
pub(crate) fn all(steps: &[Step], object: &mut Object) -> Result<(), Unconvertible> {
    steps.iter().try_for_each(|step| step.apply(object))
}

impl Step {
    fn apply(&self, object: &mut Object) -> Result<(), Unconvertible> {
        match self {
            Self::Move(from, to) => match take(object, from)? {
                Some(value) => put(object, to, value),
                None => Ok(()),
            },
            Self::Default(at, text) => match find(object, at)? {
                Some(_) => Ok(()),
                None => put(object, at, (*text).into()),
            },
            Self::Tell {
                at,
                by,
                there,
                absent,
            } => {
                let is_there = find(object, by)?.is_some();
                put(object, at, if is_there { *there } else { *absent }.into())
            }
            Self::Within(at, steps) => match object_at(object, at)? {
                Some(inner) => all(steps, inner).map_err(|error| error.within(at)),
                None => Ok(()),
            },
            Self::Each(at, steps) => {
                for inner in list_at(object, at)? {
                    let Value::Object(inner) = inner else {
                        return Err(Unconvertible::no_object(&format!("one of {at}")));
                    };
                    all(steps, inner).map_err(|error| error.within(at))?;
                }
                Ok(())
            }
            Self::By(function) => function(object),
        }
    }
}

/// What is there, unless it is null.
pub(crate) fn find<'o>(
    object: &'o mut Object,
    path: &str,
) -> Result<Option<&'o mut Value>, Unconvertible> {
    let (parent, name) = match path.rsplit_once('.') {
        Some((parent, name)) => (object_at(object, parent)?, name),
        None => (Some(object), path),
    };
    let value = parent.and_then(|parent| parent.get_mut(name));
    Ok(value.filter(|value| !value.is_null()))
}

/// Takes away what is there, unless it is null.
pub(crate) fn take(object: &mut Object, path: &str) -> Result<Option<Value>, Unconvertible> {
    let (parent, name) = match path.rsplit_once('.') {
        Some((parent, name)) => (object_at(object, parent)?, name),
        None => (Some(object), path),
    };
    let value = parent.and_then(|parent| parent.remove(name));
    Ok(value.filter(|value| !value.is_null()))
}

/// Puts it there, into objects that are made for it where there are none.
pub(crate) fn put(object: &mut Object, path: &str, value: Value) -> Result<(), Unconvertible> {
    let (parent, name) = match path.rsplit_once('.') {
        Some((parent, name)) => (object_made_at(object, parent)?, name),
        None => (object, path),
    };
    parent.insert(name.to_owned(), value);
    Ok(())
}

/// The object that is there.
pub(crate) fn object_at<'o>(
    object: &'o mut Object,
    path: &str,
) -> Result<Option<&'o mut Object>, Unconvertible> {
    let mut object = object;
    for name in path.split('.') {
        object = match object.get_mut(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(inner)) => inner,
            Some(_) => return Err(Unconvertible::no_object(path)),
        };
    }
    Ok(Some(object))
}

/// The object that is there, or is made there.
pub(crate) fn object_made_at<'o>(
    object: &'o mut Object,
    path: &str,
) -> Result<&'o mut Object, Unconvertible> {
    let mut object = object;
    for name in path.split('.') {
        let inner = object.entry(name).or_insert(Value::Null);
        if inner.is_null() {
            *inner = Value::Object(Object::new());
        }
        object = match inner {
            Value::Object(inner) => inner,
            _ => return Err(Unconvertible::no_object(path)),
        };
    }
    Ok(object)
}

/// The list that is there; none is an empty one.
pub(crate) fn list_at<'o>(
    object: &'o mut Object,
    path: &str,
) -> Result<&'o mut [Value], Unconvertible> {
    match find(object, path)? {
        None => Ok(&mut []),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(Unconvertible::new(format!("{path} is no list"))),
    }
}

/// An annotation of the object.
pub(crate) fn annotation<'o>(
    object: &'o mut Object,
    name: &str,
) -> Result<Option<&'o str>, Unconvertible> {
    let annotations = object_at(object, ANNOTATIONS)?;
    match annotations.and_then(|annotations| annotations.get(name)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Unconvertible::new("an annotation is no text")),
    }
}

/// Sets an annotation of the object.
pub(crate) fn annotate(object: &mut Object, name: &str, text: String) -> Result<(), Unconvertible> {
    object_made_at(object, ANNOTATIONS)?.insert(name.to_owned(), text.into());
    Ok(())
}

/// Takes an annotation away, and the annotations with the last one.
pub(crate) fn strip(object: &mut Object, name: &str) -> Result<(), Unconvertible> {
    let Some(annotations) = object_at(object, ANNOTATIONS)? else {
        return Ok(());
    };
    annotations.remove(name);
    if annotations.is_empty() {
        take(object, ANNOTATIONS)?;
    }
    Ok(())
}

const ANNOTATIONS: &str = "metadata.annotations";
