//! What certificates say of themselves. Pure.

use std::collections::BTreeSet;

use time::{Duration, OffsetDateTime};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::Pem;
use x509_parser::prelude::X509Certificate;

use crate::error::Error;

/// As much of a certificate as decides whether it is renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// From when on.
    pub(crate) not_before: OffsetDateTime,
    /// Until when.
    pub(crate) not_after: OffsetDateTime,
    /// What it is for.
    pub(crate) names: BTreeSet<String>,
    /// Its key, as it has it.
    pub(crate) public_key: Vec<u8>,
    /// The key of whoever signed it, by its identifier.
    pub(crate) signed_by: Vec<u8>,
    /// Its own key, by its identifier.
    pub(crate) key: Vec<u8>,
}

/// Until when the first certificate of a text is good, in seconds since 1970; `None`: it has none that can be read.
#[must_use]
pub fn expires_at(pem: &str) -> Option<i64> {
    let first = Facts::of_first(pem).ok()?;
    Some(first.not_after.unix_timestamp())
}

impl Facts {
    /// Of the first certificate of a text.
    pub(crate) fn of_first(pem: &str) -> Result<Self, Error> {
        let first = Self::of_all(pem)?.into_iter().next();
        first.ok_or(Error::Unreadable("it has no certificate"))
    }

    /// Of all certificates of a text.
    pub(crate) fn of_all(pem: &str) -> Result<Vec<Self>, Error> {
        let each = Pem::iter_from_buffer(pem.as_bytes()).map(|pem| {
            let pem = pem.map_err(|_| Error::Unreadable("it is not PEM"))?;
            let certificate = pem.parse_x509();
            let certificate = certificate.map_err(|_| Error::Unreadable("it is no certificate"))?;
            Self::of(&certificate)
        });
        each.collect()
    }

    fn of(certificate: &X509Certificate<'_>) -> Result<Self, Error> {
        let unreadable = |_| Error::Unreadable("it has a time that is none");
        let validity = certificate.validity();
        let time = |seconds: i64| OffsetDateTime::from_unix_timestamp(seconds);
        let (mut signed_by, mut key) = (Vec::new(), Vec::new());
        for extension in certificate.extensions() {
            use x509_parser::extensions::ParsedExtension as Parsed;
            match extension.parsed_extension() {
                Parsed::AuthorityKeyIdentifier(id) => {
                    signed_by = id
                        .key_identifier
                        .as_ref()
                        .map_or(Vec::new(), |id| id.0.to_vec());
                }
                Parsed::SubjectKeyIdentifier(id) => key = id.0.to_vec(),
                _ => {}
            }
        }
        Ok(Self {
            not_before: time(validity.not_before.timestamp()).map_err(unreadable)?,
            not_after: time(validity.not_after.timestamp()).map_err(unreadable)?,
            names: names(certificate),
            public_key: certificate.public_key().raw.to_vec(),
            signed_by,
            key,
        })
    }

    /// Whether it is to be made anew: of so long a life no more than a third is left, or far more than one is and two thirds of one are over. One that is good for
    /// longer than usual, since clocks are apart, lives no shorter for that, and one that a clock made which was ahead by decades for once no longer.
    pub(crate) fn is_due(&self, now: OffsetDateTime, life: Duration) -> bool {
        let left = self.not_after - now;
        let is_far = left > life * 2 && now - self.not_before >= life * 2 / 3;
        left <= life.min(self.not_after - self.not_before) / 3 || (is_far && self.has_its_day(now))
    }

    /// One day of a month, by its key. Of three whose clocks are apart by lives the one between might find each that the others agree on too old and too long: a new
    /// one has another day.
    fn has_its_day(&self, now: OffsetDateTime) -> bool {
        const MONTH: i64 = 30;
        let key = self.public_key.last_chunk().copied().unwrap_or_default();
        let own = i64::from(u32::from_be_bytes(key));
        let day = now.unix_timestamp().div_euclid(24 * 60 * 60);
        (own + day).rem_euclid(MONTH) == 0
    }

    /// Whether its time has begun.
    pub(crate) fn has_begun(&self, now: OffsetDateTime) -> bool {
        now >= self.not_before
    }

    /// Whether all of its time is over.
    pub(crate) fn is_over(&self, now: OffsetDateTime) -> bool {
        now >= self.not_after
    }
}

fn names(certificate: &X509Certificate<'_>) -> BTreeSet<String> {
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let names = alternatives.map_or(&[][..], |found| &found.value.general_names);
    let text = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes),
        _ => None,
    };
    names.iter().filter_map(text).collect()
}

fn address(bytes: &[u8]) -> Option<String> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(std::net::Ipv4Addr::from(four).to_string());
    }
    let sixteen = <[u8; 16]>::try_from(bytes).ok()?;
    Some(std::net::Ipv6Addr::from(sixteen).to_string())
}
