//! Trains the built-in dictionaries: `cargo run --release -p armadex-storage-sql --example train_dictionaries -- DIRECTORY`.
//!
//! The files under `dictionaries/` were made by it and are immutable for ever, because stored bodies need them: a better one gets a
//! new number. That is why it refuses to replace a file.

#[path = "objects/objects.rs"]
mod objects;

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use objects::{FAMILIES, Family, Fleet};

/// Beyond 32 KB a dictionary costs more memory than it saves bytes.
const DICTIONARY_BYTES: usize = 32 * 1024;
/// More samples made no difference.
const SAMPLES: usize = 3000;
/// Samples come from many fleets, so that the dictionary learns shapes and not one fleet's names.
const FLEETS: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("name a directory")?;
    for family in &FAMILIES {
        let samples = samples(family);
        samples.iter().try_for_each(|body| check(body).map(drop))?;
        let bytes = zstd::dict::from_samples(&samples, DICTIONARY_BYTES)?;
        let path = Path::new(&directory).join(format!("{}.zdict", family.name));
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(&bytes)?;
    }
    Ok(())
}

fn samples(family: &Family) -> Vec<Vec<u8>> {
    let mut fleets: Vec<Fleet> = (0..FLEETS).map(Fleet::new).collect();
    let per_fleet = SAMPLES / fleets.len();
    fleets
        .iter_mut()
        .flat_map(|fleet| {
            (0..per_fleet)
                .map(|_| (family.make)(fleet).into_bytes())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// A body is the rest of an object after `{"metadata":{`.
fn check(body: &[u8]) -> serde_json::Result<serde::de::IgnoredAny> {
    serde_json::from_slice(&[br#"{"metadata":{"#, body].concat())
}
