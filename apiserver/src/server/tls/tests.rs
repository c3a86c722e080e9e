use std::path::Path;

use super::*;

fn files(directory: &Path) -> Certificate {
    Certificate::Files {
        certificate: directory.join("tls.crt"),
        key: directory.join("tls.key"),
    }
}

/// Writes a fresh pair and returns the certificate.
fn renew(directory: &Path) -> String {
    let made = SelfMade::for_names(&["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = made.pem();
    std::fs::write(directory.join("tls.key"), key).expect("written");
    std::fs::write(directory.join("tls.crt"), certificate).expect("written");
    String::from_utf8(certificate.to_vec()).expect("PEM")
}

fn shown(serving: &Serving) -> Vec<u8> {
    serving.present().cert[0].as_ref().to_vec()
}

#[tokio::test(start_paused = true)]
async fn a_renewed_certificate_is_shown_and_a_broken_one_is_not() {
    let directory = tempfile::tempdir().expect("a directory");
    renew(directory.path());
    let serving = Arc::new(
        Serving::load(&files(directory.path()))
            .await
            .expect("usable"),
    );
    let first = shown(&serving);
    let cancel = tokio_util::sync::CancellationToken::new();
    let (certificate, key) = (
        directory.path().join("tls.crt"),
        directory.path().join("tls.key"),
    );
    let task = tokio::spawn(keep_fresh(
        Arc::clone(&serving),
        certificate,
        key,
        cancel.clone(),
    ));
    // The clock is stopped and jumps from tick to tick; several ticks pass with the broken file.
    std::fs::write(directory.path().join("tls.crt"), "broken").expect("written");
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(shown(&serving), first);
    renew(directory.path());
    while shown(&serving) == first {
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    }
    cancel.cancel();
    task.await.expect("a clean end");
}

#[tokio::test(start_paused = true)]
async fn a_pair_that_is_replaced_before_it_is_first_looked_at_again_is_shown() {
    let directory = tempfile::tempdir().expect("a directory");
    renew(directory.path());
    let serving = Serving::load(&files(directory.path())).await;
    let serving = Arc::new(serving.expect("usable"));
    let first = shown(&serving);
    renew(directory.path());
    let kept_fresh = keep_fresh(
        Arc::clone(&serving),
        directory.path().join("tls.crt"),
        directory.path().join("tls.key"),
        tokio_util::sync::CancellationToken::new(),
    );
    let a_minute = std::time::Duration::from_secs(60);
    let forever = tokio::time::timeout(a_minute, kept_fresh).await;
    assert!(forever.is_err() && shown(&serving) != first);
}

#[tokio::test]
async fn files_that_cannot_be_used_are_told_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let missing = Serving::load(&files(directory.path())).await;
    assert!(matches!(missing, Err(CertificateError::File { .. })));
    renew(directory.path());
    std::fs::write(directory.path().join("tls.key"), "no key").expect("written");
    let no_key = Serving::load(&files(directory.path())).await;
    assert!(matches!(no_key, Err(CertificateError::Pem(_))));
    let certificate = renew(directory.path());
    renew(directory.path());
    std::fs::write(directory.path().join("tls.crt"), certificate).expect("written");
    let foreign_key = Serving::load(&files(directory.path())).await;
    assert!(matches!(foreign_key, Err(CertificateError::Unusable(_))));
}

#[test]
fn a_self_made_certificate_keeps_its_key_to_itself() {
    let made = SelfMade::for_names(&["localhost".to_owned()]).expect("a certificate");
    assert!(!format!("{made:?}").contains("PRIVATE"));
    assert!(made.ca_pem().starts_with("-----BEGIN CERTIFICATE-----"));
    assert!(SelfMade::for_names(&["not a name\u{e9}".to_owned()]).is_err());
}

/// A pair that somebody keeps.
fn kept() -> KeptPem {
    let made = SelfMade::for_names(&["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = made.pem();
    let text = |pem: &[u8]| String::from_utf8(pem.to_vec()).expect("PEM");
    KeptPem {
        certificate: text(certificate),
        key: text(key),
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_somebody_keeps_is_waited_for_and_followed() {
    let (shows, shown_here) = tokio::sync::watch::channel(None);
    let certificate = Certificate::Kept(shown_here.clone());
    let loading = tokio::spawn(async move { Serving::load(&certificate).await });
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    assert!(!loading.is_finished(), "there is none yet");
    shows.send_replace(Some(kept()));
    let serving = loading.await.expect("no panic").expect("usable");
    let (serving, first) = (Arc::new(serving), shows.borrow().clone());
    let cancel = tokio_util::sync::CancellationToken::new();
    let task = tokio::spawn(follow(Arc::clone(&serving), shown_here, cancel.clone()));
    let before = shown(&serving);
    let second = kept();
    let broken = KeptPem {
        key: first.expect("it was shown").key,
        ..second.clone()
    };
    shows.send_replace(Some(broken));
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(shown(&serving), before, "its key is another one's");
    shows.send_replace(Some(second));
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_ne!(shown(&serving), before);
    cancel.cancel();
    task.await.expect("a clean end");
}
