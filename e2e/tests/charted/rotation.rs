//! The certificate by which the control plane knows Armadex, in the hands of time: another authority beside the one that signed it, a certificate of that, and none at all.

use anyhow::{Context, Result, ensure};
use armadex_e2e::scenario::SOON;
use armadex_e2e::{Kubectl, wait_until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose};
use serde_json::json;

/// Where it lies on a control plane elsewhere.
const SECRET: [&str; 4] = [
    "secret",
    "armadex-serving",
    "--namespace",
    "armadex-serving",
];

/// The next authority is put before the present one, as Armadex does when two thirds of its ten years are over: both are to be trusted, and the certificate stays. Gives the next one.
pub(crate) async fn another_authority_comes(host: &Kubectl) -> Result<String> {
    let present = of_secret(host, "ca.crt").await?;
    let (next, key) = authority()?;
    put(
        host,
        [("ca.crt", format!("{next}{present}")), ("ca.key", key)],
    )
    .await?;
    Ok(next)
}

/// Waits until the control plane trusts what the first authority of the Secret signs.
pub(crate) async fn is_trusted(host: &Kubectl) -> Result<()> {
    let get = [
        "get",
        "apiservice",
        "v1beta1.clusterpedia.io",
        "--output=jsonpath={.spec.caBundle}",
    ];
    wait_until("the authority is trusted", SOON, || async {
        let first = first(&of_secret(host, "ca.crt").await?)?;
        Ok(decoded(&host.run(&get).await?)?.contains(&first))
    })
    .await
}

/// The certificate is one that nobody trusts, as where its time is over. Nobody shows it: whoever looks first makes another. Gives that one.
pub(crate) async fn the_certificate_ends(host: &Kubectl) -> Result<String> {
    let (certificate, key) = authority()?;
    put(host, [("tls.crt", certificate.clone()), ("tls.key", key)]).await?;
    Ok(certificate)
}

/// Another certificate than `ended` is there, of this authority.
pub(crate) async fn it_was_made_anew(host: &Kubectl, ended: &str, authority: &str) -> Result<()> {
    let certificate = of_secret(host, "tls.crt").await?;
    ensure!(certificate != ended, "nobody has made another certificate");
    let present = of_secret(host, "ca.crt").await?;
    ensure!(present.starts_with(authority), "it is of another authority");
    Ok(())
}

/// All of it goes.
pub(crate) async fn it_is_deleted(host: &Kubectl) -> Result<()> {
    host.run(&[&["delete"], &SECRET[..]].concat())
        .await
        .map(drop)
}

/// With the name that Armadex gives its own, for some years.
fn authority() -> Result<(String, String)> {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "armadex-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let year = i32::from(jiff::Zoned::now().year());
    params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + 9, 1, 1);
    let key = KeyPair::generate()?;
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

async fn put(host: &Kubectl, texts: [(&str, String); 2]) -> Result<()> {
    let texts = serde_json::Map::from_iter(texts.map(|(key, text)| (key.to_owned(), json!(text))));
    let patch = json!({"stringData": texts}).to_string();
    let how = ["--type=merge", "--patch", &patch];
    host.run(&[&["patch"], &SECRET[..], &how].concat())
        .await
        .map(drop)
}

async fn of_secret(host: &Kubectl, key: &str) -> Result<String> {
    let path = format!("--output=jsonpath={{.data.{}}}", key.replace('.', "\\."));
    let encoded = host
        .run(&[&["get"], &SECRET[..], &[&path]].concat())
        .await?;
    decoded(&encoded)
}

fn decoded(text: &str) -> Result<String> {
    Ok(String::from_utf8(STANDARD.decode(text)?)?)
}

/// The first certificate of a text.
fn first(text: &str) -> Result<String> {
    const END: &str = "-----END CERTIFICATE-----";
    let (first, _) = text.split_once(END).context("no certificate")?;
    Ok(format!("{first}{END}"))
}
