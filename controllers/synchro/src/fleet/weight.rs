//! What a replica weighs beside the others, by what its clusters cost it. Whoever pays much more than the others do gives some of them away, slowly, and takes them
//! back as slowly: a cluster that moves has its member asked anew who it is, and what costs now may not in an hour.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use armadex_control_plane::Load;
use armadex_model::ClusterName;
use tokio::time::sleep;
use tracing::info;

use crate::config::Shared;
use crate::fleet::place::Place;
use crate::told::metrics::Metrics;

/// Between two changes, each of which moves a tenth of what a replica has at the most.
const PERIOD: Duration = Duration::from_secs(600);
/// What a stream costs in which nothing happens, in objects a minute: its bookmarks and positions, and the share that its cluster has in discoveries, probes and statuses.
const OF_A_STREAM: u64 = 40;
/// Where a replica has less than this on average nothing is moved for it: a thousand streams, or some percent of a core. One cluster of a few is much of all, and would go to and
/// fro.
const WORTH: u64 = 1_000 * OF_A_STREAM;
/// The least that one weighs, and the most.
const WEIGHTS: (u32, u32) = (50, 100);

/// Says again and again what this replica has, and what it weighs for that.
pub(crate) async fn weigh(shared: &Shared, place: &Place) -> Infallible {
    let mut received = received_by_now(&shared.metrics);
    let mut weight = Load::default().weight;
    loop {
        sleep(PERIOD).await;
        let by_now = received_by_now(&shared.metrics);
        // Nothing is what one pays who has not said it.
        let cost = cost(&shared.metrics, &received, &by_now).max(1);
        received = by_now;
        let Some((number, mut loads)) = shared.sharing.loads() else {
            continue;
        };
        let load = Load { weight, cost };
        loads.insert(number, load);
        let costs = Vec::from_iter(loads.values().map(|load| load.cost));
        let next = next_weight(load, &costs);
        if next != weight {
            info!(
                weight = next,
                cost, "this replica weighs otherwise beside the others"
            );
        }
        weight = next;
        place.say(Load { weight, cost });
    }
}

/// Objects that came in of each cluster.
fn received_by_now(metrics: &Metrics) -> BTreeMap<ClusterName, u64> {
    let clusters = metrics.clusters().into_iter();
    let received = clusters.map(|(name, counted)| (name, counted.received_objects.get()));
    received.collect()
}

/// What the clusters cost, in objects a minute. Of one that came meanwhile all counts, which is what it has cost.
fn cost(
    metrics: &Metrics,
    before: &BTreeMap<ClusterName, u64>,
    by_now: &BTreeMap<ClusterName, u64>,
) -> u64 {
    let more = by_now.iter().map(|(name, received)| {
        let before = before.get(name).copied().unwrap_or_default();
        received.saturating_sub(before)
    });
    let minutes = PERIOD.as_secs() / 60;
    let clusters = metrics.clusters().into_iter();
    let streams: u64 = clusters.map(|(_, counted)| counted.streams.get()).sum();
    more.sum::<u64>() / minutes + OF_A_STREAM * streams
}

/// A tenth less for who pays a third more than all do on average, and a tenth more again for who pays less. While one has not said what he pays, which takes who came a period,
/// nobody can tell.
fn next_weight(Load { weight, cost }: Load, costs: &[u64]) -> u32 {
    if costs.contains(&0) {
        return weight;
    }
    let (least, most) = WEIGHTS;
    let mean = costs.iter().sum::<u64>() / (costs.len() as u64).max(1);
    let step = weight.div_ceil(10);
    if mean >= WORTH && cost > mean + mean / 3 {
        return weight.saturating_sub(step).max(least);
    }
    match cost < mean || mean < WORTH {
        true => (weight + step).min(most),
        false => weight,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one that weighs so much and costs so many times the worth weighs next, beside two others.
    #[track_caller]
    fn check(weight: u32, costs: [u64; 3], expected: u32) {
        let costs = costs.map(|cost| cost * WORTH);
        let [cost, ..] = costs;
        assert_eq!(next_weight(Load { weight, cost }, &costs), expected);
    }

    #[test]
    fn who_pays_much_more_gives_some_away_and_who_pays_less_takes_it_back() {
        check(100, [3, 3, 3], 100);
        check(100, [4, 3, 3], 100);
        check(100, [6, 3, 3], 90);
        check(90, [6, 3, 3], 81);
        check(51, [6, 3, 3], 50);
        check(50, [6, 3, 3], 50);
        check(50, [2, 3, 3], 55);
        check(95, [2, 3, 3], 100);
        check(90, [4, 3, 3], 90);
    }

    #[test]
    fn who_has_not_said_yet_what_he_pays_counts_for_nothing() {
        check(100, [6, 3, 0], 100);
        check(90, [6, 3, 0], 90);
        check(90, [2, 3, 0], 90);
        check(90, [0, 3, 3], 90);
    }

    #[test]
    fn where_little_is_done_nothing_moves() {
        let costs = [2 * WORTH, 1, 1];
        let of = |weight| Load {
            weight,
            cost: 2 * WORTH,
        };
        assert_eq!(next_weight(of(100), &costs), 100);
        assert_eq!(next_weight(of(70), &costs), 77);
        let little = Load {
            weight: 95,
            cost: 1,
        };
        assert_eq!(next_weight(little, &[1]), 100);
    }

    #[test]
    fn a_cluster_costs_what_came_in_and_something_for_each_stream() {
        let metrics = Metrics::default();
        let [one, two] = ["one", "two"].map(|name| metrics.of(&name.parse().expect("a name")));
        one.received_objects.add(700);
        one.streams.add(2);
        let before = received_by_now(&metrics);
        one.received_objects.add(300);
        two.received_objects.add(100);
        two.streams.add(1);
        let by_now = received_by_now(&metrics);
        assert_eq!(cost(&metrics, &before, &by_now), 40 + 3 * OF_A_STREAM);
        drop(one);
        let by_now = received_by_now(&metrics);
        assert_eq!(cost(&metrics, &before, &by_now), 10 + OF_A_STREAM);
    }
}
