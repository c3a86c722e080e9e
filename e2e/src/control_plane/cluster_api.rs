//! The Cluster API as a server behind the aggregator: it goes away and returns, and leads to members by `clusters/NAME/proxy`.

use anyhow::Result;
use kube::Client;

use super::karmada;
use crate::stand_in;

/// Who serves it.
#[derive(Debug)]
pub enum ClusterApi {
    /// Karmada's own server.
    Karmada(Box<karmada::Aggregated>),
    /// The stand-in's.
    StandIn(stand_in::Aggregated),
}

impl ClusterApi {
    /// Nobody is answered any more, and the aggregator says so.
    pub async fn goes_away(&mut self) {
        match self {
            Self::Karmada(api) => api.goes_away(),
            Self::StandIn(api) => api.goes_away().await,
        }
    }

    /// It is served again.
    pub async fn returns(&mut self, front: &Client) -> Result<()> {
        match self {
            Self::Karmada(api) => api.returns().await,
            Self::StandIn(api) => api.returns(front).await,
        }
    }
}
