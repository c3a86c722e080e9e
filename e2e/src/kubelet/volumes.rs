//! The volumes of a pod as folders of this machine: Secrets, ConfigMaps and tokens as files, the rest empty or as a claim left it.
//!
//! Files of Secrets and ConfigMaps follow these, all of a volume at once: they lie behind a link, and another folder is put in the place of the one that it leads to.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, KeyToPath, Pod, ProjectedVolumeSource, Secret, ServiceAccount,
    ServiceAccountTokenProjection, Volume, VolumeProjection,
};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, ResourceExt};

use super::environment::of_field;
use super::node::{Node, Placed};

/// Of files that say no mode.
const MODE: u32 = 0o644;
/// Everybody of the pod may write where it is empty at first.
const EMPTY: u32 = 0o777;
/// Files that are made there are of the pod's group.
const OF_ITS_GROUP: u32 = 0o2000;

/// The link behind which the files of a volume lie, and the next one before it takes its place.
const LINK: &str = "..data";
const NEXT_LINK: &str = "..data_tmp";

/// What a file has in it, by its path in the volume.
type Files = BTreeMap<String, Vec<u8>>;

/// The folder of each volume; an error while something that it is made of is not there.
pub(super) async fn prepare(
    node: &Node,
    pod: &Pod,
    placed: &Placed,
) -> Result<BTreeMap<String, PathBuf>> {
    let spec = pod.spec.as_ref().context("a pod without a spec")?;
    let (maker, root) = (Maker::of(node, pod, placed)?, root(node, pod)?);
    let mut folders = BTreeMap::new();
    for volume in spec.volumes.iter().flatten() {
        let folder = maker.folder(volume, &root).await;
        let folder = folder.with_context(|| format!("volume {}", volume.name))?;
        folders.insert(volume.name.clone(), folder);
    }
    Ok(folders)
}

/// Brings the files of Secrets and ConfigMaps up to date. Those of one that went away stay as they are.
pub(super) async fn follow(node: &Node, pod: &Pod, placed: &Placed) -> Result<()> {
    let spec = pod.spec.as_ref().context("a pod without a spec")?;
    let (maker, root) = (Maker::of(node, pod, placed)?, root(node, pod)?);
    for volume in spec.volumes.iter().flatten() {
        if volume.secret.is_some() || volume.config_map.is_some() {
            // Who waits for what went away is told when the container begins.
            let _ = maker.folder(volume, &root).await;
        }
    }
    Ok(())
}

/// Below which a pod has its volumes.
fn root(node: &Node, pod: &Pod) -> Result<PathBuf> {
    let place = node.folder.pods().join(pod.uid().context("no uid")?);
    Ok(place.join("volumes"))
}

struct Maker<'a> {
    node: &'a Node,
    pod: &'a Pod,
    placed: &'a Placed,
    group: Option<u32>,
}

impl<'a> Maker<'a> {
    fn of(node: &'a Node, pod: &'a Pod, placed: &'a Placed) -> Result<Self> {
        let context = pod
            .spec
            .as_ref()
            .and_then(|spec| spec.security_context.as_ref());
        let group = context.and_then(|context| context.fs_group);
        let group = group.map(u32::try_from).transpose()?;
        Ok(Self {
            node,
            pod,
            placed,
            group,
        })
    }

    async fn folder(&self, volume: &Volume, root: &Path) -> Result<PathBuf> {
        let folder = root.join(&volume.name);
        if volume.empty_dir.is_some() {
            self.make(&folder, EMPTY)?;
        } else if let Some(claim) = &volume.persistent_volume_claim {
            let claims = self.node.folder.pods().join("claims");
            let folder = claims.join(&self.placed.namespace).join(&claim.claim_name);
            self.make(&folder, EMPTY)?;
            return Ok(folder);
        } else if let Some(secret) = &volume.secret {
            let name = secret.secret_name.as_deref().unwrap_or_default();
            let files = self
                .secret(name, secret.items.as_deref(), secret.optional)
                .await?;
            self.write(&folder, &files, secret.default_mode)?;
        } else if let Some(map) = &volume.config_map {
            let files = self
                .config_map(&map.name, map.items.as_deref(), map.optional)
                .await?;
            self.write(&folder, &files, map.default_mode)?;
        } else if let Some(projected) = &volume.projected {
            let files = self.projected(projected).await?;
            self.write(&folder, &files, projected.default_mode)?;
        } else {
            bail!("a volume of this kind is not known here");
        }
        Ok(folder)
    }

    async fn projected(&self, projected: &ProjectedVolumeSource) -> Result<Files> {
        let mut files = Files::new();
        for source in projected.sources.iter().flatten() {
            files.extend(self.source(source).await?);
        }
        Ok(files)
    }

    async fn source(&self, source: &VolumeProjection) -> Result<Files> {
        if let Some(token) = &source.service_account_token {
            return self.token(token).await;
        }
        if let Some(map) = &source.config_map {
            return self
                .config_map(&map.name, map.items.as_deref(), map.optional)
                .await;
        }
        if let Some(secret) = &source.secret {
            return self
                .secret(&secret.name, secret.items.as_deref(), secret.optional)
                .await;
        }
        let fields = source.downward_api.as_ref();
        let fields = fields.context("a projection of this kind is not known here")?;
        let mut files = Files::new();
        for file in fields.items.iter().flatten() {
            let field = file
                .field_ref
                .as_ref()
                .context("resources are not known here")?;
            let text = of_field(self.pod, self.placed, &field.field_path)?;
            files.insert(file.path.clone(), text.into_bytes());
        }
        Ok(files)
    }

    /// One that is good as long as the pod is there.
    async fn token(&self, asked: &ServiceAccountTokenProjection) -> Result<Files> {
        let (namespace, pod) = (&self.placed.namespace, self.pod);
        let accounts: Api<ServiceAccount> = Api::namespaced(self.node.client.clone(), namespace);
        let spec = pod.spec.as_ref().context("a pod without a spec")?;
        let account = spec.service_account_name.as_deref().unwrap_or("default");
        let request = TokenRequest {
            metadata: ObjectMeta::default(),
            spec: Some(TokenRequestSpec {
                audiences: asked.audience.clone().map(|audience| vec![audience]),
                bound_object_ref: Some(BoundObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Pod".to_owned()),
                    name: Some(pod.name_any()),
                    uid: pod.uid(),
                }),
                expiration_seconds: asked.expiration_seconds,
                ..TokenRequestSpec::default()
            }),
            status: None,
        };
        let how = PostParams::default();
        let made = accounts
            .create_token_request(account, &how, &request)
            .await?;
        let token = made.status.and_then(|status| status.token);
        let token = token.context("no token was made")?;
        Ok(Files::from([(asked.path.clone(), token.into_bytes())]))
    }

    async fn secret(
        &self,
        name: &str,
        items: Option<&[KeyToPath]>,
        optional: Option<bool>,
    ) -> Result<Files> {
        let secrets: Api<Secret> =
            Api::namespaced(self.node.client.clone(), &self.placed.namespace);
        let found = secrets.get_opt(name).await?;
        ensure!(
            found.is_some() || optional == Some(true),
            "there is no Secret {name}"
        );
        let data = found.and_then(|secret| secret.data).unwrap_or_default();
        let data = data.into_iter().map(|(key, bytes)| (key, bytes.0));
        chosen(data.collect(), items)
    }

    async fn config_map(
        &self,
        name: &str,
        items: Option<&[KeyToPath]>,
        optional: Option<bool>,
    ) -> Result<Files> {
        let maps: Api<ConfigMap> =
            Api::namespaced(self.node.client.clone(), &self.placed.namespace);
        let found = maps.get_opt(name).await?;
        ensure!(
            found.is_some() || optional == Some(true),
            "there is no ConfigMap {name}"
        );
        let data = found.and_then(|map| map.data).unwrap_or_default();
        let data = data.into_iter().map(|(key, text)| (key, text.into_bytes()));
        chosen(data.collect(), items)
    }

    fn write(&self, folder: &Path, files: &Files, mode: Option<i32>) -> Result<()> {
        let (link, next) = (folder.join(LINK), folder.join(NEXT_LINK));
        let is_there = |(path, bytes): (&String, &Vec<u8>)| {
            std::fs::read(link.join(path)).is_ok_and(|there| there == *bytes)
        };
        if link.exists() && files.iter().all(is_there) {
            return Ok(());
        }
        self.make(folder, 0o755)?;
        let mode = mode.map(u32::try_from).transpose()?.unwrap_or(MODE);
        // A group that may not read would be of no use.
        let mode = self.group.map_or(mode, |_| mode | 0o440);
        let now = tempfile::Builder::new()
            .prefix("..")
            .tempdir_in(folder)?
            .keep();
        self.make(&now, 0o755)?;
        for (path, bytes) in files {
            let path = now.join(path);
            std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            std::fs::write(&path, bytes)?;
            chown(&path, Some(0), self.group)?;
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode))?;
        }
        let former = std::fs::read_link(&link).ok();
        symlink(now.file_name().context("a folder has a name")?, &next)?;
        std::fs::rename(&next, &link)?;
        for path in files.keys() {
            let name = path.split('/').next().unwrap_or_default();
            if !folder.join(name).is_symlink() {
                symlink(Path::new(LINK).join(name), folder.join(name))?;
            }
        }
        former.map_or(Ok(()), |former| {
            std::fs::remove_dir_all(folder.join(former))
        })?;
        Ok(())
    }

    fn make(&self, folder: &Path, mode: u32) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        chown(folder, None, self.group)?;
        let mode = self.group.map_or(mode, |_| mode | OF_ITS_GROUP);
        std::fs::set_permissions(folder, PermissionsExt::from_mode(mode))?;
        Ok(())
    }
}

/// All of them under their own names, or those that are named.
fn chosen(mut data: Files, items: Option<&[KeyToPath]>) -> Result<Files> {
    let Some(items) = items.filter(|items| !items.is_empty()) else {
        return Ok(data);
    };
    let mut files = Files::new();
    for item in items {
        ensure!(item.mode.is_none(), "a mode of one file is not known here");
        let bytes = data.remove(&item.key);
        let bytes = bytes.with_context(|| format!("there is no key {}", item.key))?;
        files.insert(item.path.clone(), bytes);
    }
    Ok(files)
}
