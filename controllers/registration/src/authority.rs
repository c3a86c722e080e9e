//! A CA of our own and the serving certificate that it signs, made and renewed. Pure but for the chance in new keys.
//!
//! Both are renewed when two thirds of their time are over, the CA beside its predecessor and long before the new one signs anything: whoever trusts
//! what [`Kept::ca`] said a day ago trusts every certificate that is shown now.
//!
//! Replicas may have clocks that are far apart, and none of them knows whose is right. So what takes the place of something whose time is over, or has not begun,
//! by this clock is good for as long as that was, too: whoever made it takes the new one, and the two do not replace each other's for ever. Where nobody needs it to be
//! good for so long any more, it is made anew at the age of any other, and comes to be as long as any other.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData as _,
};
use time::{Duration, OffsetDateTime};

use crate::certificates::Facts;
use crate::error::Error;
use crate::kept::Kept;

/// A CA is trusted by APIServices and kubeconfigs, which people copy.
const CA_LIFE: Duration = Duration::days(3650);
/// As certificates of a kubeadm control plane.
const LEAF_LIFE: Duration = Duration::days(365);
/// Clocks of two machines may differ.
const SKEW: Duration = Duration::minutes(5);
/// A new CA signs nothing until those who trust it have had this time to read that they do.
const SETTLING: Duration = Duration::days(1);
/// Former CAs that are trusted still.
const FORMER: usize = 2;

/// What is to be kept instead, if anything of it has to be made anew.
pub(crate) fn renewed(
    kept: Option<&Kept>,
    names: &[String],
    now: OffsetDateTime,
) -> Result<Option<Kept>, Error> {
    let Some(kept) = kept else {
        let (ca, ca_key) = new_ca(Span::new(now, CA_LIFE))?;
        let leaf = Span::new(now, LEAF_LIFE);
        let (certificate, key) = new_leaf(written(names), &ca_key, leaf)?;
        return Ok(Some(Kept {
            ca,
            certificate,
            key: key.into(),
            ca_key: ca_key.serialize_pem().into(),
        }));
    };
    let (cas, leaf) = (
        Facts::of_all(&kept.ca)?,
        Facts::of_first(&kept.certificate)?,
    );
    let present = cas.first().ok_or(Error::Unreadable("it has no CA"))?;
    if present.public_key != public_key(kept.ca_key.expose())? {
        return Err(Error::Unreadable(
            "ca.key is not the key of the first certificate of ca.crt",
        ));
    }
    let mut next = kept.clone();
    if present.is_due(now, CA_LIFE) || !present.has_begun(now) {
        let (ca, ca_key) = new_ca(Span::new(now, CA_LIFE).covering(present, now))?;
        next.ca = ca + &still_trusted(&kept.ca, &cas, now);
        next.ca_key = ca_key.serialize_pem().into();
    }
    let is_known = cas
        .iter()
        .any(|ca| ca.has_begun(now) && !ca.is_over(now) && ca.key == leaf.signed_by);
    let has_its_key = public_key(kept.key.expose()).is_ok_and(|key| key == leaf.public_key);
    let is_valid = is_known && has_its_key && leaf.has_begun(now) && !leaf.is_over(now);
    let may_sign = next.ca == kept.ca && now >= present.not_before + SKEW + SETTLING;
    let mut names = written(names);
    let lacks = !names.is_subset(&leaf.names);
    if lacks && is_valid {
        // Others may be told other names, during an upgrade for example: each would take the other's away.
        names.extend(leaf.names.iter().cloned());
    }
    if lacks || !is_valid || (leaf.is_due(now, LEAF_LIFE) && may_sign) {
        let ca_key = KeyPair::from_pem(next.ca_key.expose())?;
        let span = Span::new(now, LEAF_LIFE).covering(&leaf, now);
        let (certificate, key) = new_leaf(names, &ca_key, span)?;
        (next.certificate, next.key) = (certificate, key.into());
    }
    Ok((next != *kept).then_some(next))
}

/// What a certificate has of this key.
fn public_key(pem: &str) -> Result<Vec<u8>, Error> {
    let key = KeyPair::from_pem(pem).map_err(|_| Error::Unreadable("a key is not PEM"))?;
    Ok(key.subject_public_key_info())
}

/// Names as a certificate has them: an address may be written in several ways.
fn written(names: &[String]) -> BTreeSet<String> {
    let written = |name: &String| {
        let address = name.parse::<IpAddr>();
        address.map_or_else(|_| name.clone(), |address| address.to_string())
    };
    names.iter().map(written).collect()
}

/// Those that were trusted before and have time left, the latest first.
fn still_trusted(pem: &str, cas: &[Facts], now: OffsetDateTime) -> String {
    const END: &str = "-----END CERTIFICATE-----\n";
    let texts = pem.replace("\r\n", "\n");
    let texts = texts.split_inclusive(END).zip(cas);
    let left = texts.filter(|(_, ca)| !ca.is_over(now));
    left.take(FORMER).map(|(text, _)| text).collect()
}

/// From when on and until when.
#[derive(Clone, Copy)]
struct Span {
    not_before: OffsetDateTime,
    not_after: OffsetDateTime,
}

impl Span {
    fn new(now: OffsetDateTime, life: Duration) -> Self {
        Self {
            not_before: now - SKEW,
            not_after: now + life,
        }
    }

    /// As well that of what is not valid now.
    fn covering(self, before: &Facts, now: OffsetDateTime) -> Self {
        if before.has_begun(now) && !before.is_over(now) {
            return self;
        }
        Self {
            not_before: self.not_before.min(before.not_before),
            not_after: self.not_after.max(before.not_after),
        }
    }
}

fn new_ca(span: Span) -> Result<(String, KeyPair), Error> {
    let key = KeyPair::generate()?;
    let certificate = ca_params(span).self_signed(&key)?;
    Ok((certificate.pem(), key))
}

fn new_leaf(
    names: BTreeSet<String>,
    ca_key: &KeyPair,
    span: Span,
) -> Result<(String, String), Error> {
    let mut params = CertificateParams::new(Vec::from_iter(names))?;
    describe(&mut params, "armadex", span);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    // By its name and its key: the rest of the CA is not part of what it signs.
    let ca = ca_params(span);
    let issuer = Issuer::from_params(&ca, ca_key);
    let certificate = params.signed_by(&key, &issuer)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn ca_params(span: Span) -> CertificateParams {
    let mut params = CertificateParams::default();
    describe(&mut params, "armadex-ca", span);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    params
}

fn describe(params: &mut CertificateParams, name: &str, span: Span) {
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = span.not_before;
    params.not_after = span.not_after;
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

    use super::*;

    fn names() -> Vec<String> {
        ["localhost", "127.0.0.1", "::1", "a.ns.svc"]
            .map(str::to_owned)
            .to_vec()
    }

    fn start() -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(1_800_000_000).expect("a time")
    }

    fn made(now: OffsetDateTime) -> Kept {
        let made = renewed(None, &names(), now).expect("it can be made");
        made.expect("there is none")
    }

    /// What a client says that trusts this bundle.
    fn verifies(bundle: &str, leaf: &str, name: &str, at: OffsetDateTime) -> Result<(), String> {
        let cas: Vec<_> = CertificateDer::pem_slice_iter(bundle.as_bytes())
            .map(|ca| ca.expect("PEM"))
            .collect();
        let anchors: Vec<_> = cas
            .iter()
            .map(|ca| webpki::anchor_from_trusted_cert(ca).expect("a CA"))
            .collect();
        let der = CertificateDer::from_pem_slice(leaf.as_bytes()).expect("PEM");
        let leaf = webpki::EndEntityCert::try_from(&der).expect("a certificate");
        let since = std::time::Duration::from_secs(at.unix_timestamp().try_into().expect("a time"));
        let provider = rustls::crypto::ring::default_provider();
        leaf.verify_for_usage(
            provider.signature_verification_algorithms.all,
            &anchors,
            &[],
            UnixTime::since_unix_epoch(since),
            webpki::KeyUsage::server_auth(),
            None,
            None,
        )
        .map_err(|error| error.to_string())?;
        let name = ServerName::try_from(name).expect("a name");
        leaf.verify_is_valid_for_subject_name(&name)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_made_is_verified_for_each_of_its_names_and_for_no_other() {
        let kept = made(start());
        for name in names() {
            assert_eq!(
                verifies(&kept.ca, &kept.certificate, &name, start()),
                Ok(())
            );
        }
        verifies(&kept.ca, &kept.certificate, "other", start()).expect_err("another name");
        let stranger = made(start());
        verifies(&stranger.ca, &kept.certificate, "localhost", start()).expect_err("another CA");
        verifies(
            &kept.ca,
            &kept.certificate,
            "localhost",
            start() - Duration::hours(1),
        )
        .expect_err("too early");
    }

    #[test]
    fn what_is_as_it_should_be_is_left_alone() {
        let kept = made(start());
        let later = start() + Duration::days(200);
        assert_eq!(renewed(Some(&kept), &names(), later).expect("sound"), None);
        let mut shuffled = names();
        shuffled.reverse();
        shuffled.push("0:0::1".to_owned());
        assert_eq!(renewed(Some(&kept), &shuffled, later).expect("sound"), None);
    }

    #[test]
    fn a_name_more_is_another_certificate_of_the_same_ca() {
        let kept = made(start());
        let names = [names(), vec!["more".to_owned()]].concat();
        let next = renewed(Some(&kept), &names, start()).expect("sound");
        let next = next.expect("it lacks a name");
        assert_eq!((&next.ca, &next.ca_key), (&kept.ca, &kept.ca_key));
        assert_eq!(
            verifies(&kept.ca, &next.certificate, "more", start()),
            Ok(())
        );
        let fewer = renewed(Some(&next), &names[..2], start()).expect("sound");
        assert_eq!(fewer, None, "others may be told that name");
        let later = start() + Duration::days(250);
        let fewer = renewed(Some(&next), &names[..2], later).expect("sound");
        let fewer = fewer.expect("it is due");
        verifies(&kept.ca, &fewer.certificate, "more", later).expect_err("nobody asked for it");
    }

    #[test]
    fn two_that_are_told_different_names_come_to_rest() {
        let other = || vec!["other".to_owned()];
        let mut kept = made(start());
        let mut writes = 0;
        for turn in 0..10 {
            let names = if turn % 2 == 0 { other() } else { names() };
            if let Some(next) = renewed(Some(&kept), &names, start()).expect("sound") {
                (kept, writes) = (next, writes + 1);
            }
        }
        assert_eq!(writes, 1);
        for name in ["other", "localhost"] {
            assert_eq!(verifies(&kept.ca, &kept.certificate, name, start()), Ok(()));
        }
    }

    /// Forty years, looked at once a day: whoever reads the bundle no more than once a day can always verify what is shown.
    #[test]
    fn whoever_reads_once_a_day_whom_to_trust_is_never_shown_a_stranger() {
        let (mut kept, mut cas, mut leaves) = (made(start()), 1, 1);
        for day in 1..(40 * 365) {
            let now = start() + Duration::days(day);
            let read_yesterday = kept.clone();
            if let Some(next) = renewed(Some(&kept), &names(), now).expect("sound") {
                cas += u32::from(next.ca != kept.ca);
                leaves += u32::from(next.certificate != kept.certificate);
                kept = next;
            }
            // Nothing else could have become wrong but by time.
            let is_looked_at = kept != read_yesterday || day % 30 == 0;
            for bundle in [&read_yesterday.ca, &kept.ca]
                .iter()
                .filter(|_| is_looked_at)
            {
                assert_eq!(
                    verifies(bundle, &kept.certificate, "localhost", now),
                    Ok(()),
                    "{day}"
                );
            }
            assert!(Facts::of_all(&kept.ca).expect("sound").len() <= 1 + FORMER);
        }
        // Each at two thirds of its time.
        assert!(
            (5..=7).contains(&cas) && (58..=62).contains(&leaves),
            "{cas} {leaves}"
        );
    }

    #[test]
    fn what_ran_out_while_nobody_looked_is_made_anew_at_once() {
        let kept = made(start());
        let late = start() + Duration::days(400);
        let next = renewed(Some(&kept), &names(), late)
            .expect("sound")
            .expect("it is over");
        assert_eq!(next.ca, kept.ca);
        assert_eq!(
            verifies(&next.ca, &next.certificate, "localhost", late),
            Ok(())
        );
        let too_late = start() + Duration::days(4000);
        let next = renewed(Some(&kept), &names(), too_late).expect("sound");
        let next = next.expect("all of it is over");
        assert_eq!(Facts::of_all(&next.ca).expect("sound").len(), 1);
        assert_eq!(
            verifies(&next.ca, &next.certificate, "localhost", too_late),
            Ok(())
        );
    }

    #[test]
    fn a_key_of_another_certificate_is_seen() {
        let (kept, other) = (made(start()), made(start()));
        let with_key = Kept {
            key: other.key.clone(),
            ..kept.clone()
        };
        let next = renewed(Some(&with_key), &names(), start()).expect("sound");
        let next = next.expect("nobody could show it");
        assert_eq!(next.ca, kept.ca);
        assert_eq!(
            renewed(Some(&next), &names(), start()).expect("sound"),
            None
        );
        let with_ca_key = Kept {
            ca_key: other.ca_key,
            ..kept
        };
        let error = renewed(Some(&with_ca_key), &names(), start()).expect_err("of another CA");
        assert!(error.to_string().contains("ca.key"), "{error}");
    }

    #[test]
    fn what_begins_later_by_a_clock_that_was_ahead_is_made_anew() {
        let ahead = start() + Duration::days(300);
        let kept = renewed(Some(&made(start())), &names(), ahead).expect("sound");
        let kept = kept.expect("it is due by then");
        let next = renewed(Some(&kept), &names(), start()).expect("sound");
        let next = next.expect("nobody takes it yet");
        assert_eq!(
            verifies(&next.ca, &next.certificate, "localhost", start()),
            Ok(())
        );
    }

    #[test]
    fn a_ca_that_begins_later_by_a_clock_that_was_ahead_is_made_anew_beside_it() {
        let kept = made(start() + Duration::days(300));
        let next = renewed(Some(&kept), &names(), start()).expect("sound");
        let next = next.expect("nobody takes it yet");
        assert!(
            next.ca.ends_with(&kept.ca),
            "whoever trusts the new one trusts the former"
        );
        let cas = Facts::of_all(&next.ca).expect("sound");
        assert!(cas.len() == 2 && cas[0].has_begun(start()));
        let leaf = Facts::of_first(&next.certificate).expect("sound");
        assert_eq!(leaf.signed_by, cas[0].key);
        assert_eq!(
            verifies(&next.ca, &next.certificate, "localhost", start()),
            Ok(())
        );
        assert_eq!(
            renewed(Some(&next), &names(), start()).expect("sound"),
            None
        );
    }

    /// By turns, as once a minute; whichever of both clocks is right.
    #[test]
    fn two_whose_clocks_are_far_apart_come_to_rest() {
        for days in [1, 200, 250, 300, 400, 800, 2000, 3000, 4000, 9000] {
            let clocks = [start(), start() + Duration::days(days)];
            for first in 0..2 {
                let (mut kept, mut writes) = (made(clocks[first]), 0);
                let turns = clocks.iter().cycle().skip(first + 1).zip(1..20_u32);
                for (clock, turn) in turns {
                    let now = *clock + Duration::minutes(1) * turn;
                    if let Some(next) = renewed(Some(&kept), &names(), now).expect("sound") {
                        (kept, writes) = (next, writes + 1);
                    }
                }
                assert!(writes <= 3, "{days} days apart: {writes}");
                for now in clocks {
                    let shown = verifies(&kept.ca, &kept.certificate, "localhost", now);
                    assert_eq!(shown, Ok(()), "{days} days apart");
                }
            }
        }
    }

    /// Looks once a day, one clock after the other, and calls whoever made something anew.
    fn days(
        kept: &mut Kept,
        days: std::ops::Range<i64>,
        clocks: &[i64],
        mut made: impl FnMut(i64, &Kept),
    ) {
        for day in days {
            for ahead in clocks {
                let now = start() + Duration::days(day + ahead);
                if let Some(next) = renewed(Some(kept), &names(), now).expect("sound") {
                    *kept = next;
                    made(day, kept);
                }
            }
        }
    }

    fn ends(pem: &str) -> OffsetDateTime {
        Facts::of_first(pem).expect("sound").not_after
    }

    /// A node that came up in 2090, and was put right.
    #[test]
    fn what_a_clock_made_that_was_wrong_for_once_becomes_as_long_as_any_other() {
        let wrong = Duration::days(64 * 365);
        for first_of_all in [false, true] {
            let mut kept = made(if first_of_all {
                start() + wrong
            } else {
                start()
            });
            let ahead = renewed(Some(&kept), &names(), start() + wrong).expect("sound");
            kept = ahead.unwrap_or(kept);
            days(&mut kept, 0..2, &[0], |_, _| {});
            assert_eq!(
                verifies(&kept.ca, &kept.certificate, "localhost", start()),
                Ok(())
            );
            let (mut leaves, mut before) = (Vec::new(), kept.certificate.clone());
            days(&mut kept, 2..(9 * 365), &[0], |day, kept| {
                if kept.certificate != before {
                    leaves.push(day);
                    before = kept.certificate.clone();
                }
            });
            assert!(leaves.first().is_some_and(|day| *day < 300), "{leaves:?}");
            assert!((12..=15).contains(&leaves.len()), "{leaves:?}");
            let now = start() + Duration::days(9 * 365);
            assert!(ends(&kept.certificate) <= now + LEAF_LIFE);
            assert!(ends(&kept.ca) <= now + CA_LIFE, "{}", ends(&kept.ca));
            assert_eq!(
                verifies(&kept.ca, &kept.certificate, "localhost", now),
                Ok(())
            );
        }
    }

    /// Two or three that look by turns: each takes what is there, and none makes much anew.
    #[test]
    fn those_whose_clocks_stay_apart_agree_for_forty_years() {
        let years = 40;
        for clocks in [
            &[0, 300][..],
            &[0, 400],
            &[0, 800],
            &[0, 9000],
            &[0, 300, 1000],
        ] {
            let (mut kept, mut writes) = (made(start()), 0);
            // Each week: of the days of a month each comes.
            for day in (1..(years * 365)).step_by(7) {
                let before = kept.clone();
                let mut rounds = 0;
                loop {
                    let written = writes;
                    days(&mut kept, day..(day + 1), clocks, |_, _| writes += 1);
                    if writes == written {
                        break;
                    }
                    rounds += 1;
                    assert!(rounds <= 4, "{clocks:?} on day {day}");
                }
                for ahead in clocks.iter().filter(|_| kept != before) {
                    let now = start() + Duration::days(day + ahead);
                    let shown = verifies(&kept.ca, &kept.certificate, "localhost", now);
                    assert_eq!(shown, Ok(()), "{clocks:?} on day {day}");
                }
            }
            // Sixty leaves and six CAs for one clock. Of two each has something to say of each, and of three the one between makes one anew on its day of the month.
            let most = if clocks.len() > 2 { 600 } else { 180 };
            assert!(writes <= most, "{clocks:?}: {writes}");
        }
    }

    /// Once a minute, on the day that the one between finds it too long.
    #[test]
    fn three_whose_clocks_are_lives_apart_come_to_rest() {
        let clocks = [0, 300, 1000];
        let mut kept = made(start());
        days(&mut kept, 0..3, &clocks, |_, _| {});
        let mut writes = 0;
        for day in 3..63 {
            for _ in 0..60 {
                days(&mut kept, day..(day + 1), &clocks, |_, _| writes += 1);
            }
        }
        assert!(writes <= 40, "{writes}");
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_is_not_replaced() {
        let kept = made(start());
        for (ca, certificate) in [("", kept.certificate.as_str()), (&kept.ca, "nonsense")] {
            let broken = Kept {
                ca: ca.to_owned(),
                certificate: certificate.to_owned(),
                ..kept.clone()
            };
            renewed(Some(&broken), &names(), start()).expect_err("unreadable");
        }
    }
}
