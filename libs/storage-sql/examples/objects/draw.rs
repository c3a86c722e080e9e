//! Dice and words.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const SYLLABLES: [&str; 32] = [
    "ar", "bel", "cor", "dan", "el", "fir", "gal", "hon", "in", "jas", "kel", "lor", "mar", "nor",
    "or", "pel", "qui", "ros", "sal", "tor", "ul", "ven", "wil", "xan", "yor", "zem", "api", "pay",
    "log", "auth", "web", "data",
];
const TIERS: [&str; 6] = [
    "frontend", "backend", "database", "cache", "worker", "gateway",
];

/// One fleet's vocabulary and its dice.
pub(crate) struct Fleet {
    dice: StdRng,
    apps: Vec<String>,
    teams: Vec<String>,
    keys: Vec<String>,
    registry: String,
}

impl Fleet {
    /// The same seed gives the same fleet.
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = StdRng::seed_from_u64(seed);
        let mut words = |count: usize, syllables: usize| -> Vec<String> {
            (0..count).map(|_| word(&mut dice, syllables)).collect()
        };
        let (apps, teams, keys) = (words(60, 3), words(12, 2), words(60, 3));
        let registry = format!("registry.{}.example", word(&mut dice, 3));
        Self {
            dice,
            apps,
            teams,
            keys,
            registry,
        }
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.dice.random_range(0..bound)
    }

    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.dice.random_range(0..texts.len())]
    }

    pub(crate) fn app(&mut self) -> String {
        pick(&mut self.dice, &self.apps)
    }

    pub(crate) fn team(&mut self) -> String {
        pick(&mut self.dice, &self.teams)
    }

    pub(crate) fn key(&mut self) -> String {
        pick(&mut self.dice, &self.keys)
    }

    pub(crate) fn tier(&mut self) -> &'static str {
        self.one_of(&TIERS)
    }

    pub(crate) fn namespace(&mut self) -> String {
        format!(
            "{}-{}",
            self.team(),
            self.one_of(&["prod", "staging", "dev", "test"])
        )
    }

    pub(crate) fn node(&mut self) -> String {
        format!(
            "node-{}-{:03}",
            self.one_of(&["a", "b", "c"]),
            self.below(200)
        )
    }

    pub(crate) fn image(&mut self) -> String {
        let (team, app) = (self.team(), self.app());
        let (minor, patch) = (self.below(30), self.below(20));
        format!("{}/{team}/{app}:v1.{minor}.{patch}", self.registry)
    }

    pub(crate) fn hex(&mut self, digits: usize) -> String {
        (0..digits)
            .map(|_| char::from(b"0123456789abcdef"[self.below(16) as usize]))
            .collect()
    }

    pub(crate) fn uid(&mut self) -> String {
        [8, 4, 4, 4, 12].map(|digits| self.hex(digits)).join("-")
    }

    pub(crate) fn suffix(&mut self) -> String {
        (0..5)
            .map(|_| char::from(b"bcdfghjklmnpqrstvwxz2456789"[self.below(27) as usize]))
            .collect()
    }

    pub(crate) fn ip(&mut self) -> String {
        format!(
            "10.{}.{}.{}",
            self.below(250),
            self.below(250),
            self.below(250)
        )
    }

    pub(crate) fn time(&mut self) -> String {
        format!(
            "2026-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            1 + self.below(12),
            1 + self.below(28),
            self.below(24),
            self.below(60),
            self.below(60)
        )
    }

    pub(crate) fn cpu(&mut self) -> &'static str {
        self.one_of(&["10m", "50m", "100m", "250m", "500m", "1", "2"])
    }

    pub(crate) fn memory(&mut self) -> &'static str {
        self.one_of(&["32Mi", "64Mi", "128Mi", "256Mi", "512Mi", "1Gi", "4Gi"])
    }

    /// A random text without repetition, as of a configuration value.
    pub(crate) fn prose(&mut self, words: u32) -> String {
        let words: Vec<String> = (0..words).map(|_| word(&mut self.dice, 2)).collect();
        words.join(" ")
    }
}

fn word(dice: &mut StdRng, syllables: usize) -> String {
    (0..syllables)
        .map(|_| SYLLABLES[dice.random_range(0..SYLLABLES.len())])
        .collect()
}

fn pick(dice: &mut StdRng, words: &[String]) -> String {
    words[dice.random_range(0..words.len())].clone()
}
