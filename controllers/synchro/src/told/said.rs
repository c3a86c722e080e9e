//! What is said of a request to the control plane that failed: fit for logs and conditions. Pure.
//!
//! An answer that is not understood is told by that alone. The errors that kube makes of one quote what they did not expect, which may be
//! the value of a Secret, and of an error that is no `Status` they have the whole page.

use kube::runtime::watcher;

/// The reason that kube gives to an error that came without a `Status`.
const NO_STATUS: &str = "Failed to parse error data";

/// Of a request.
pub(crate) fn of(error: &kube::Error) -> String {
    match error {
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
            "the answer of the control plane is not understood".to_owned()
        }
        kube::Error::Api(status) if status.reason == NO_STATUS => {
            format!("the control plane answered {}", status.code)
        }
        _ => error.to_string(),
    }
}

/// Of a watch, and the list that it begins with.
pub(crate) fn of_watch(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(cause)
        | watcher::Error::WatchStartFailed(cause)
        | watcher::Error::WatchFailed(cause) => of(cause),
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use kube::core::Status;

    use super::*;

    const VALUE: &str = "hunter2";

    fn misread(answer: &str) -> kube::Error {
        let error = serde_json::from_str::<Secret>(answer).expect_err("it is no Secret");
        kube::Error::SerdeError(error)
    }

    #[test]
    fn no_answer_that_is_not_understood_is_quoted() {
        let page = Status::failure(VALUE, NO_STATUS).with_code(502);
        let errors = [
            misread(&format!(r#"{{"data": "{VALUE}"}}"#)),
            misread(&format!(r#"{{"kind": "{VALUE}"}}"#)),
            kube::Error::Api(page.boxed()),
        ];
        for error in errors {
            assert!(error.to_string().contains(VALUE), "{error} is no example");
            assert!(!of(&error).contains(VALUE), "{}", of(&error));
            let error = watcher::Error::InitialListFailed(error);
            assert!(!of_watch(&error).contains(VALUE), "{}", of_watch(&error));
        }
    }

    #[test]
    fn what_a_status_says_is_told() {
        let refused = Status::failure("secrets is forbidden", "Forbidden").with_code(403);
        let said = of(&kube::Error::Api(refused.boxed()));
        assert!(said.contains("secrets is forbidden"), "{said}");
    }
}
