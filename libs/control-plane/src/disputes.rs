//! Who has set what an object that is applied would have otherwise.

use kube::core::Status;

/// How a server-side apply says that a field is somebody else's.
const CONFLICT: &str = "FieldManagerConflict";

/// What came of applying an object.
#[derive(Clone, Debug)]
pub enum Applied<K> {
    /// The object as it is now.
    Done(K),
    /// Nothing was changed: others have set these fields of it, and otherwise.
    Disputed(Vec<Dispute>),
}

/// A field that is somebody else's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dispute {
    /// The one who has set it, as it called itself.
    pub manager: String,
    /// The field, as `.spec.template`.
    pub field: String,
}

/// All that a refusal names; none if it is one for another reason.
pub(crate) fn disputes(error: &kube::Error) -> Vec<Dispute> {
    match error {
        kube::Error::Api(status) if status.code == 409 => of_status(status),
        _ => Vec::new(),
    }
}

fn of_status(status: &Status) -> Vec<Dispute> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let causes = causes.filter(|cause| cause.reason == CONFLICT);
    let mut disputes: Vec<Dispute> = causes
        .map(|cause| Dispute {
            manager: manager(&cause.message).to_owned(),
            field: cause.field.clone(),
        })
        .collect();
    disputes.sort();
    disputes.dedup();
    disputes
}

/// Of words like `conflict with "kubectl-edit" using v1`.
fn manager(words: &str) -> &str {
    words.split('"').nth(1).unwrap_or(words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn disputes_of(code: u16, causes: &serde_json::Value) -> Vec<(String, String)> {
        let status = json!({"code": code, "reason": "Conflict", "message": "Apply failed with 2 conflicts",
            "details": {"causes": causes}});
        let status: Status = serde_json::from_value(status).unwrap();
        let disputes = disputes(&kube::Error::Api(status.boxed()));
        let pair = |dispute: Dispute| (dispute.manager, dispute.field);
        disputes.into_iter().map(pair).collect()
    }

    #[test]
    fn each_field_is_told_with_who_has_set_it() {
        let cause = |manager: &str, field: &str| {
            let message = format!("conflict with \"{manager}\" using v1 at 2026-01-02T03:04:05Z");
            json!({"reason": CONFLICT, "message": message, "field": field})
        };
        let other = json!({"reason": "FieldValueInvalid", "message": "no", "field": ".spec.c"});
        let causes = json!([
            cause("kubectl-edit", ".spec.b"),
            other,
            cause("argocd", ".spec.a")
        ]);
        let pair = |manager: &str, field: &str| (manager.to_owned(), field.to_owned());
        assert_eq!(
            disputes_of(409, &causes),
            [pair("argocd", ".spec.a"), pair("kubectl-edit", ".spec.b")]
        );
        assert_eq!(disputes_of(422, &causes), []);
        assert_eq!(disputes_of(409, &json!([])), []);
    }
}
