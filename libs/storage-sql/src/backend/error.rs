//! Which class an error of a database belongs to. A driver's text is kept for operators: in the source of an error that may pass, in the
//! log of one that will not. Which class a code belongs to is each database's own matter.

use std::error::Error;
use std::fmt;

use armadex_storage::{Outage, StoreError};
use tracing::error;

/// What an error means for the work that met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Outside trouble: the same work may succeed later.
    Passing,
    /// Two transactions met, and one of them gave way: the same work succeeds when it is done anew, at once.
    Collision,
    /// The same, but that one of them had waited for the other as long as it may.
    Waited,
    /// A row that was to be made is there: another transaction was faster, and the same work done anew finds it; or it should not be there.
    Duplicate,
    /// The server has no place for one more connection; those that there are go on.
    Full,
    /// The user may not do it.
    Denied,
    /// It will not pass.
    Fault,
}

/// Makes a driver's error one of the store's; `doing` names the statement or the action.
pub(crate) fn classified(doing: &str, err: sqlx::Error, class: Class) -> StoreError {
    match class {
        Class::Passing => StoreError::Unavailable {
            reason: format!("{doing} did not succeed"),
            source: Box::new(err),
        },
        Class::Full => StoreError::Unavailable {
            reason: format!("{doing} did not succeed"),
            source: Box::new(Full(err)),
        },
        Class::Collision | Class::Waited | Class::Duplicate => StoreError::Unavailable {
            reason: format!("{doing} gave way to another transaction"),
            source: Box::new(Collision {
                class,
                source: Some(err),
            }),
        },
        Class::Denied => {
            error!(statement = doing, error = %err, "the database's user lacks a right");
            denied(doing, err)
        }
        Class::Fault => {
            error!(statement = doing, error = %err, "the database refused a statement");
            let code = err.as_database_error();
            let code = code.and_then(sqlx::error::DatabaseError::code);
            broken(match code {
                Some(code) => format!("{doing} failed with database code {code}"),
                None => format!("{doing} failed"),
            })
        }
    }
}

fn denied(doing: &str, err: sqlx::Error) -> StoreError {
    StoreError::Denied {
        what: format!(
            "{doing} was refused: GRANT it to the user, as \"Setting one up\" of docs/stores.md says; where the schema has to be changed, \
             run `armadex migrate` as the owner of the tables"
        ),
        source: Box::new(err),
    }
}

/// The same, with the user and the database that it is about.
pub(crate) fn with_place(err: StoreError, place: &impl fmt::Display) -> StoreError {
    match err {
        StoreError::Denied { what, source } => StoreError::Denied {
            what: format!("{place}: {what}"),
            source,
        },
        other => other,
    }
}

/// Why work is done anew; a driver's error, or what the rows that were found said.
#[derive(Debug, thiserror::Error)]
#[error("another transaction was in the way")]
struct Collision {
    class: Class,
    source: Option<sqlx::Error>,
}

/// A server refused a connection because it has too many.
#[derive(Debug, thiserror::Error)]
#[error("the server has no place for one more connection")]
struct Full(#[source] sqlx::Error);

/// Whether a server refused a connection because it has too many: those that there are are sound.
pub(crate) fn is_full(err: &StoreError) -> bool {
    err.source().is_some_and(<dyn Error + 'static>::is::<Full>)
}

/// Whether there was no connection for one more: the server has too many, or all of ours were with others for long. Whether those are sound, others find out.
pub(crate) fn is_crowd(err: &StoreError) -> bool {
    let source = err.source().and_then(<dyn Error>::downcast_ref);
    is_full(err) || matches!(source, Some(sqlx::Error::PoolTimedOut))
}

/// Two writers met, and the same work succeeds when it is done anew.
pub(crate) fn collided(reason: &str) -> StoreError {
    StoreError::Unavailable {
        reason: reason.to_owned(),
        source: Box::new(Collision {
            class: Class::Collision,
            source: None,
        }),
    }
}

/// Whether the same work is to be done anew at once.
pub(crate) fn is_collision(err: &StoreError) -> bool {
    collision(err).is_some()
}

/// Whether the same work is to be done anew at once, and it was no lock that was waited for as long as one may: that would be waited for once more.
pub(crate) fn is_short_collision(err: &StoreError) -> bool {
    collision(err).is_some_and(|collision| collision.class != Class::Waited)
}

/// Whether a row that was to be made is there already.
pub(crate) fn is_duplicate(err: &StoreError) -> bool {
    collision(err).is_some_and(|collision| collision.class == Class::Duplicate)
}

/// What was to be made is there again and again, and nobody else is at it.
pub(crate) fn stays_duplicate(err: &StoreError) -> StoreError {
    let cause = err.source().and_then(Error::source);
    let cause = cause.map_or_else(|| err.to_string(), ToString::to_string);
    error!(error = %cause, "what is to be written is there already, and nobody else writes it");
    broken(format!(
        "a row that is to be made is there already, however often that is tried: `armadex store check` says what is not as it should be, and mends \
         with --mend what can be ({cause})"
    ))
}

fn collision(err: &StoreError) -> Option<&Collision> {
    err.source()?.downcast_ref()
}

/// What was to be done in one transaction is more than one may take.
#[derive(Debug, thiserror::Error)]
#[error("it is more than one transaction may take")]
struct TooMuch;

/// A transaction was given up because it would have taken too much: what was to be done in it succeeds in several.
pub(crate) fn too_much(edits: usize) -> StoreError {
    StoreError::Unavailable {
        reason: format!("a transaction would have written in {edits} places or more"),
        source: Box::new(TooMuch),
    }
}

/// Whether the same work is to be done in smaller transactions.
pub(crate) fn is_too_much(err: &StoreError) -> bool {
    err.source()
        .is_some_and(<dyn Error + 'static>::is::<TooMuch>)
}

/// The store is closed, or its writer is gone: nothing can be done with it any more.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable {
        reason: "it is closed".into(),
        source: Box::new(std::io::Error::from(std::io::ErrorKind::BrokenPipe)),
    }
}

/// The store's content is not what it must be.
pub(crate) fn broken(reason: impl Into<String>) -> StoreError {
    StoreError::Broken {
        reason: reason.into(),
    }
}

/// The same trouble, told to one more of those who wait. What may pass is no collision any more, nor too much: that was the matter of who met it.
pub(crate) fn told(err: &StoreError) -> StoreError {
    match err {
        StoreError::Gone { reason } => StoreError::Gone {
            reason: reason.clone(),
        },
        StoreError::Broken { reason } => broken(reason),
        StoreError::Unsupported { what } => StoreError::Unsupported { what: what.clone() },
        StoreError::Denied { what, source } => StoreError::Denied {
            what: what.clone(),
            source: chain(&**source).into(),
        },
        StoreError::Unavailable { reason, source } => {
            let cause = chain(&**source);
            StoreError::Unavailable {
                reason: reason.clone(),
                source: match err.is_told() {
                    true => Box::new(Outage::new(cause)),
                    false => cause.into(),
                },
            }
        }
        refused => StoreError::Unavailable {
            reason: "what was done for several did not succeed".into(),
            source: refused.to_string().into(),
        },
    }
}

/// An error and what caused it.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let mut said: Vec<String> = causes.map(ToString::to_string).collect();
    // Some drivers end what they say with their cause.
    said.dedup_by(|cause, error| error.ends_with(&*cause));
    said.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collision_is_told_from_other_trouble_that_passes() {
        let of = |class| classified("a write", sqlx::Error::PoolTimedOut, class);
        assert!(is_collision(&of(Class::Collision)) && of(Class::Collision).is_transient());
        assert!(is_crowd(&of(Class::Full)) && is_crowd(&of(Class::Passing)));
        let closed = classified("a read", sqlx::Error::PoolClosed, Class::Passing);
        assert!(!is_crowd(&closed) && !is_crowd(&of(Class::Fault)));
        assert!(!is_collision(&of(Class::Passing)) && of(Class::Passing).is_transient());
        assert!(!is_collision(&of(Class::Fault)) && !of(Class::Fault).is_transient());
        assert!(is_collision(&collided("a row was taken")));
        let duplicate = of(Class::Duplicate);
        assert!(is_duplicate(&duplicate) && is_short_collision(&duplicate));
        assert!(!is_duplicate(&of(Class::Collision)));
        let damage = stays_duplicate(&duplicate);
        assert!(!damage.is_transient() && damage.to_string().contains("store check"));
        let waited = of(Class::Waited);
        assert!(is_collision(&waited) && !is_short_collision(&waited));
        assert!(is_short_collision(&of(Class::Collision)));
        assert!(is_too_much(&too_much(9)) && !is_collision(&too_much(9)));
        assert!(!is_too_much(&of(Class::Passing)));
    }

    #[test]
    fn what_others_are_told_has_its_words_and_is_of_its_kind() {
        let collided = told(&classified(
            "a read",
            sqlx::Error::PoolTimedOut,
            Class::Collision,
        ));
        assert!(collided.is_transient() && !is_collision(&collided));
        assert!(collided.to_string().contains("a read gave way"));
        let cause = collided.source().expect("a cause").to_string();
        assert!(
            cause.starts_with("another transaction was in the way: "),
            "{cause}"
        );
        let what = "say prepared=off".to_owned();
        let unsupported = told(&StoreError::Unsupported { what });
        assert!(!unsupported.is_transient() && unsupported.to_string().contains("prepared=off"));
        let known = told(&StoreError::Unavailable {
            reason: "it is away".to_owned(),
            source: Box::new(Outage::new("no route")),
        });
        assert!(known.is_told() && told(&broken("no")).to_string().ends_with("no"));
    }
}
