//! Discovery: what the server says about itself, and what it says below a view.

use serde_json::Value;

use super::asked::Asked;
use super::context::{Context, OWN_VERSION};
use super::view::Seen;
use crate::answer::document::{Written, hash};
use crate::answer::reply::Reply;
use crate::answer::status::ApiError;
use crate::discovery;
use crate::request::negotiate::Discovery;

impl Context {
    /// `/version`.
    pub(super) async fn own_version(&self, asked: &Asked<'_>) -> Result<Reply, ApiError> {
        self.own("/version", asked, asked.plain()?, || {
            discovery::info(OWN_VERSION)
        })
        .await
    }

    /// `/apis`.
    pub(super) async fn own_groups(&self, asked: &Asked<'_>) -> Result<Reply, ApiError> {
        match asked.discovery()? {
            Discovery::Legacy => {
                let make = || discovery::own_groups(&self.group);
                self.own("/apis", asked, asked.plain()?, make).await
            }
            Discovery::Aggregated => {
                let make = || discovery::own_group_aggregated(&self.group);
                self.own("/apis", asked, asked.aggregated(), make).await
            }
        }
    }

    /// `/apis/clusterpedia.io`.
    pub(super) async fn own_group(&self, asked: &Asked<'_>) -> Result<Reply, ApiError> {
        let make = || discovery::own_group(&self.group);
        self.own("/apis/group", asked, asked.plain()?, make).await
    }

    /// `/apis/clusterpedia.io/v1beta1`.
    pub(super) async fn own_resources(&self, asked: &Asked<'_>) -> Result<Reply, ApiError> {
        let make = || discovery::own_resources(&self.group);
        self.own("/apis/group/version", asked, asked.plain()?, make)
            .await
    }

    /// `/openapi/v2`.
    pub(super) async fn open_api_v2(&self, asked: &Asked<'_>) -> Result<Reply, ApiError> {
        self.own("/openapi/v2", asked, asked.plain()?, discovery::open_api_v2)
            .await
    }

    /// `/openapi/v3`.
    pub(super) async fn open_api_v3(&self, asked: &Asked<'_>) -> Result<Reply, ApiError> {
        self.own("/openapi/v3", asked, asked.plain()?, || {
            let group = discovery::open_api_v3_group().to_string();
            discovery::open_api_v3(&self.group, &hash(group.as_bytes()))
        })
        .await
    }

    /// `/openapi/v3/apis/clusterpedia.io/v1beta1`.
    pub(super) async fn open_api_v3_group(&self, asked: &Asked<'_>) -> Result<Reply, ApiError> {
        let make = discovery::open_api_v3_group;
        self.own("/openapi/v3/group", asked, asked.plain()?, make)
            .await
    }

    async fn own(
        &self,
        path: &str,
        asked: &Asked<'_>,
        written: Written,
        make: impl FnOnce() -> Value,
    ) -> Result<Reply, ApiError> {
        let document = self.documents.own(path, written, make).await;
        let document = document.ok_or_else(ApiError::no_such_path)?;
        Ok(Reply::document(&document, &asked.known))
    }

    /// `/version` below a view.
    pub(super) async fn version(&self, seen: &Seen, asked: &Asked<'_>) -> Result<Reply, ApiError> {
        let version = self.version_of(seen);
        let make = || Some(discovery::info(&version));
        // A member's version is not among its types.
        let path = format!("/version of {version}");
        self.below(seen, path, asked, (asked.plain()?, 0), make)
            .await
    }

    /// `/api` below a view.
    pub(super) async fn core_versions(
        &self,
        seen: &Seen,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let path = "/api".to_owned();
        match asked.discovery()? {
            Discovery::Legacy => {
                let make = || Some(discovery::core_versions());
                self.below(seen, path, asked, (asked.plain()?, 0), make)
                    .await
            }
            Discovery::Aggregated => {
                let make = || Some(discovery::aggregated_core(&seen.types_in("", None)));
                let form = (asked.aggregated(), seen.stored_in("", None));
                self.below(seen, path, asked, form, make).await
            }
        }
    }

    /// `/apis` below a view.
    pub(super) async fn groups(&self, seen: &Seen, asked: &Asked<'_>) -> Result<Reply, ApiError> {
        let path = "/apis".to_owned();
        match asked.discovery()? {
            Discovery::Legacy => {
                let make = || Some(discovery::group_list(&seen.types()));
                let form = (asked.plain()?, seen.catalog.types.len());
                self.below(seen, path, asked, form, make).await
            }
            Discovery::Aggregated => {
                let make = || Some(discovery::aggregated_groups(&seen.types()));
                let form = (asked.aggregated(), seen.catalog.types.len());
                self.below(seen, path, asked, form, make).await
            }
        }
    }

    /// `/apis/<group>` below a view.
    pub(super) async fn group(
        &self,
        seen: &Seen,
        name: &str,
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let make = || discovery::group(&seen.types_in(name, None), name);
        let path = format!("/apis/{name}");
        let form = (asked.plain()?, seen.stored_in(name, None));
        self.below(seen, path, asked, form, make).await
    }

    /// `/api/v1` and `/apis/<group>/<version>` below a view.
    pub(super) async fn resources(
        &self,
        seen: &Seen,
        (group, version): (&str, &str),
        asked: &Asked<'_>,
    ) -> Result<Reply, ApiError> {
        let make = || discovery::resources(&seen.types_in(group, Some(version)), group, version);
        let path = format!("/apis/{group}/{version}");
        let form = (asked.plain()?, seen.stored_in(group, Some(version)));
        self.below(seen, path, asked, form, make).await
    }

    /// A document that says something of so many types at most.
    async fn below(
        &self,
        seen: &Seen,
        path: String,
        asked: &Asked<'_>,
        (written, listed): (Written, usize),
        make: impl FnOnce() -> Option<Value>,
    ) -> Result<Reply, ApiError> {
        let view = (&*seen.catalog, seen.entry());
        let document = self
            .documents
            .of_view(view, path, written, (listed, make))
            .await;
        let document = document.ok_or_else(ApiError::no_such_path)?;
        Ok(Reply::document(&document, &asked.known))
    }
}
