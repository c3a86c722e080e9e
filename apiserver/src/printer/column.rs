//! One column of a Table: what its definition says, and the cell that fills it.

use std::borrow::Cow;

use super::cell::Cell;
use super::projection::Path;

/// One column of a Table. What a type brings with it is borrowed from the program, what a custom resource brings is owned.
pub(crate) struct Column {
    pub(crate) name: Cow<'static, str>,
    /// The OpenAPI type of its cells.
    pub(crate) kind: Cow<'static, str>,
    /// `name` for the one column that names the object.
    pub(crate) format: Cow<'static, str>,
    pub(crate) description: Cow<'static, str>,
    /// 0 is always shown, more in wide output only.
    pub(crate) priority: i32,
    pub(super) cell: Cell,
}

impl Column {
    fn new(name: &'static str, kind: &'static str, description: &'static str, cell: Cell) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind: Cow::Borrowed(kind),
            format: Cow::Borrowed(""),
            description: Cow::Borrowed(description),
            priority: 0,
            cell,
        }
    }

    pub(super) fn text(name: &'static str, description: &'static str, cell: Cell) -> Self {
        Self::new(name, "string", description, cell)
    }

    pub(super) fn number(name: &'static str, description: &'static str, cell: Cell) -> Self {
        Self::new(name, "integer", description, cell)
    }

    pub(super) fn boolean(name: &'static str, description: &'static str, cell: Cell) -> Self {
        Self::new(name, "boolean", description, cell)
    }

    pub(super) fn date(name: &'static str, description: &'static str, cell: Cell) -> Self {
        Self::new(name, "date", description, cell)
    }

    /// The same column, always shown.
    pub(super) fn always(mut self) -> Self {
        self.priority = 0;
        self
    }

    /// The same column, shown in wide output only.
    pub(super) fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }

    /// The same column, as the one that names the object.
    pub(super) fn naming(mut self) -> Self {
        self.format = Cow::Borrowed("name");
        self
    }

    pub(super) fn name() -> Self {
        Self::text(
            "Name",
            "The name of the object, unique within its namespace.",
            Cell::Name,
        )
        .naming()
    }

    pub(super) fn age() -> Self {
        Self::text("Age", "The time since the object was created.", Cell::Age)
    }

    /// The names and the images of the containers at `path`.
    pub(super) fn containers(path: &str) -> [Self; 2] {
        let each = |field: &str| Cell::Joined(Path::of(&format!("{path}[*].{field}")), "");
        [
            Self::text(
                "Containers",
                "The containers of the pod template.",
                each("name"),
            )
            .wide(),
            Self::text("Images", "The images of the pod template.", each("image")).wide(),
        ]
    }

    /// A column for a label selector.
    pub(super) fn selector(cell: Cell) -> Self {
        Self::text(
            "Selector",
            "The labels of the pods that belong to it.",
            cell,
        )
        .wide()
    }
}
