//! The Kubernetes API below a view: discovery, and the objects of the fleet or of one cluster.

use armadex_model::params::PathParams;

use super::asked::Asked;
use super::context::Context;
use super::posted::Posted;
use super::view::Seen;
use crate::answer::reply::Reply;
use crate::answer::status::ApiError;
use crate::request::target::{Health, Native, View};

impl Context {
    pub(super) async fn native(
        &self,
        view: View,
        native: Native,
        posted: Option<&Posted>,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let seen = self.see(view, asked).await?;
        match native {
            Native::Health => Ok(self.health(Health::Ready).await),
            Native::Version => self.version(&seen, asked).await,
            Native::CoreVersions => self.core_versions(&seen, asked).await,
            Native::Groups => self.groups(&seen, asked).await,
            Native::Group(name) => self.group(&seen, &name, asked).await,
            Native::Resources { group, version } => {
                self.resources(&seen, (&group, &version), asked).await
            }
            Native::Review(review) => self.review(&seen, review, posted, asked).await,
            Native::List {
                resource,
                namespace,
            } => {
                let place = place(&seen, namespace, None);
                self.objects(&seen, &resource, &place, asked).await
            }
            Native::Get {
                resource,
                namespace,
                name,
            } => {
                let place = place(&seen, namespace, Some(name));
                self.objects(&seen, &resource, &place, asked).await
            }
            Native::Subresource {
                resource,
                subresource,
            } => Err(ApiError::method_not_allowed(
                "",
                format!(
                    "subresource {subresource} of {resource} is not served: ask the member itself"
                ),
            )),
        }
    }
}

fn place(seen: &Seen, namespace: Option<String>, name: Option<String>) -> PathParams {
    PathParams {
        cluster: seen.cluster.clone(),
        namespace,
        name,
    }
}
