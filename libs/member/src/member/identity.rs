//! Who a member is, by whichever source of that it lets be read: the uid of its namespace `kube-system`, which lives as long as the cluster does; that of the
//! Service `default/kubernetes`, which does too unless somebody deletes it; and who vouches for the address at which it is asked.

use armadex_crds::IdentitySource;
use serde::Deserialize;

use super::{
    ANSWER_TIMEOUT, BODY_SILENCE, ERROR_BYTES, JSON, METADATA_LIST, Member, NUMBER_BYTES, within,
};
use crate::error::MemberError;
use crate::identity::Identity;
use crate::transport::HttpClient;

const KUBE_SYSTEM: &str = "/api/v1/namespaces/kube-system";
/// Whoever may list namespaces may read it so.
const KUBE_SYSTEM_LIST: &str =
    "/api/v1/namespaces?fieldSelector=metadata.name%3Dkube-system&limit=1";
const SERVICE_LIST: &str =
    "/api/v1/namespaces/default/services?fieldSelector=metadata.name%3Dkubernetes&limit=1";

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    uid: String,
}

impl Member {
    /// Who the member is, by the surest source that it lets be read. The error is what it says of the first.
    pub async fn identity(&self) -> Result<Identity, MemberError> {
        let ask = |source| self.identity_over(self.connections().for_question(), source);
        let hidden = match ask(IdentitySource::KubeSystemNamespace).await {
            Err(error) if error.hides_identity() => error,
            told => return told,
        };
        for source in [
            IdentitySource::KubernetesService,
            IdentitySource::CertificateAuthority,
        ] {
            match ask(source).await {
                Err(error) if error.hides_identity() => {}
                told => return told,
            }
        }
        Err(hidden)
    }

    /// The same by one source alone, of whoever watches are asked of: each connection to an address may lead to another cluster.
    pub async fn identity_of_watches(
        &self,
        source: IdentitySource,
    ) -> Result<Identity, MemberError> {
        if source == IdentitySource::CertificateAuthority {
            return self.identity_by_authority();
        }
        let (client, seat) = self.connections().watches.take();
        let _ahead = seat.connection().await;
        self.identity_over(client, source).await
    }

    async fn identity_over(
        &self,
        client: HttpClient,
        source: IdentitySource,
    ) -> Result<Identity, MemberError> {
        let uid = match source {
            IdentitySource::KubeSystemNamespace => self.uid_of_kube_system(client).await?,
            IdentitySource::KubernetesService => {
                self.uid_in_list(client, SERVICE_LIST, "kubernetes").await?
            }
            IdentitySource::CertificateAuthority => return self.identity_by_authority(),
        };
        Ok(Identity::new(source, &uid))
    }

    /// Whoever proves by the CA bundle to be at the address: no question is asked, for no connection comes about to anybody else.
    fn identity_by_authority(&self) -> Result<Identity, MemberError> {
        let digest = self.authority.as_deref();
        let digest = digest.ok_or(MemberError::Nameless {
            what: "a CA bundle for the API server",
        })?;
        Ok(Identity::new(IdentitySource::CertificateAuthority, digest))
    }

    async fn uid_of_kube_system(&self, client: HttpClient) -> Result<String, MemberError> {
        let told = self.outline_over(client.clone(), KUBE_SYSTEM, JSON).await;
        let refused = match told {
            Err(refused) if refused.is_forbidden() => refused,
            told => {
                let Object { metadata } = told?;
                return uid(KUBE_SYSTEM, metadata.uid);
            }
        };
        match self
            .uid_in_list(client, KUBE_SYSTEM_LIST, "kube-system")
            .await
        {
            Err(error) if error.hides_identity() => Err(refused),
            told => told,
        }
    }

    /// The uid of the one object that such a list is to have. A server that does not know field selectors may answer with others.
    async fn uid_in_list(
        &self,
        client: HttpClient,
        path: &str,
        name: &'static str,
    ) -> Result<String, MemberError> {
        #[derive(Deserialize)]
        struct List {
            items: Option<Vec<Object>>,
        }
        let answer = async {
            let body = self.send(client, path, METADATA_LIST, BODY_SILENCE).await?;
            body.collect(ERROR_BYTES).await
        };
        let (bytes, is_whole) = within("whole answer", ANSWER_TIMEOUT, answer).await?;
        let list = is_whole.then(|| serde_json::from_slice::<List>(&bytes).ok());
        let items = list.flatten().and_then(|list| list.items);
        let mut items = items.unwrap_or_default().into_iter();
        match items.find(|item| item.metadata.name == name) {
            Some(found) => uid(path, found.metadata.uid),
            None => Err(MemberError::Nameless { what: name }),
        }
    }
}

/// A colon is what tells other sources from the first one.
fn uid(path: &str, text: String) -> Result<String, MemberError> {
    if text.len() > NUMBER_BYTES
        || text.contains(|letter: char| letter.is_control() || letter == ':')
    {
        return Err(MemberError::malformed(path, "it is no uid"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
