//! What the control plane refuses, each told once, and in which words.

pub(crate) use armadex_control_plane::Outages;
use armadex_control_plane::Trouble;

/// What the control plane refuses now, and of which cluster. What is asked for goes by a right of its own, so it is told of by itself.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// That a status is written.
    pub(crate) statuses: Outages,
    /// That a finalizer is set.
    pub(crate) finalizers: Outages,
    /// That one is taken away.
    pub(crate) departures: Outages,
}

impl Refusals {
    /// This cluster is no more.
    pub(crate) fn forget(&self, who: &str) {
        for outages in [&self.statuses, &self.finalizers, &self.departures] {
            outages.ends(who);
        }
    }
}

/// What a line of the log names of many.
const NAMED: usize = 3;

/// What a line of the log is about, where it may be about hundreds.
pub(crate) fn named<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    let mut all = all.into_iter();
    let mut named: Vec<String> = all
        .by_ref()
        .take(NAMED)
        .map(|one| one.to_string())
        .collect();
    let others = all.count();
    if others > 0 {
        named.push(format!("and {others} more"));
    }
    named.join(", ")
}

/// In which way a request to the control plane failed: in the same words for each object, which errors name.
pub(crate) const fn class_of(trouble: &Trouble) -> &'static str {
    trouble.kind.as_str()
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::TroubleKind;

    use super::*;

    #[test]
    fn of_many_a_few_are_named() {
        assert_eq!(named(["a", "b", "c"]), "a, b, c");
        assert_eq!(named(["a", "b", "c", "d", "e"]), "a, b, c, and 2 more");
    }

    #[test]
    fn a_refusal_is_the_same_whichever_object_it_names() {
        let refusal = |name: &str, kind| {
            let message = format!("{name} is refused");
            class_of(&Trouble { kind, message })
        };
        let (forbidden, busy) = (TroubleKind::Forbidden, TroubleKind::Unavailable);
        assert_eq!(refusal("a", forbidden), refusal("b", forbidden));
        assert_ne!(refusal("a", forbidden), refusal("a", busy));
    }

    #[test]
    fn an_api_server_that_cannot_decrypt_is_another_trouble_than_one_that_is_busy() {
        let class = |code| {
            let status = kube::core::Status::failure("unable to transform key", "");
            class_of(&Trouble::from(&status.with_code(code)))
        };
        assert_eq!(class(429), class(503));
        assert_ne!(class(500), class(503));
    }
}
