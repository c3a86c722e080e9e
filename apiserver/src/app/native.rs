//! The Kubernetes API below a view: discovery, and the objects of the fleet or of one cluster.

use armadex_model::params::Place;

use super::asked::Asked;
use super::context::Context;
use super::view::Seen;
use crate::answer::reply::Reply;
use crate::answer::status::ApiError;
use crate::discovery;
use crate::request::negotiate::Discovery;
use crate::request::target::{Health, Native, View};

impl Context {
    pub(super) async fn native(
        &self,
        view: View,
        native: Native,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let seen = self.see(view).await?;
        match native {
            Native::Health => Ok(self.health(Health::Ready).await),
            Native::Version => asked.document(&discovery::info(seen.version())),
            Native::CoreVersions => match asked.discovery()? {
                Discovery::Legacy => asked.document(&discovery::core_versions()),
                Discovery::Aggregated => {
                    Ok(asked.aggregated(&discovery::aggregated_core(&seen.types())))
                }
            },
            Native::Groups => match asked.discovery()? {
                Discovery::Legacy => asked.document(&discovery::group_list(&seen.types())),
                Discovery::Aggregated => {
                    Ok(asked.aggregated(&discovery::aggregated_groups(&seen.types())))
                }
            },
            Native::Group(name) => asked.found(discovery::group(&seen.types(), &name)),
            Native::Resources { group, version } => {
                asked.found(discovery::resources(&seen.types(), &group, &version))
            }
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
            } => Err(ApiError::method_not_allowed(format!(
                "subresource {subresource} of {resource} is not served: ask the member itself"
            ))),
        }
    }
}

fn place(seen: &Seen, namespace: Option<String>, name: Option<String>) -> Place {
    Place {
        cluster: seen.cluster.clone(),
        namespace,
        name,
    }
}

impl Asked<'_> {
    fn found(&self, document: Option<serde_json::Value>) -> Result<Reply, ApiError> {
        self.document(&document.ok_or_else(ApiError::no_such_path)?)
    }
}
