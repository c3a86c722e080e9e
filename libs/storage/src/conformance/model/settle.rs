//! A stream that was opened, compared with what is known of it.

use std::collections::BTreeSet;

use armadex_model::ObjectKey;

use super::fleet::{At, Kind};
use super::map::{Key, Model};
use crate::conformance::fixture::{Fixture, Writer};
use crate::{Change, ClusterId, Phase, Stream};

/// It stands where it stood and has what it had; of what a closed one has left behind everything is removed, as whoever compares it with the member does.
pub(super) async fn settle(
    fixture: &Fixture,
    (cluster, at, kind): (ClusterId, At, &mut Kind),
    stream: Stream,
    model: &mut Model,
) {
    let is_here = |(of, path): &Key| (path.0, *of) == at;
    let rest = fixture.sink.keys(cluster, stream.resource, None, 1000);
    let rest = rest.await.expect("keys");
    let writer = Writer {
        cluster,
        stream: stream.clone(),
    };
    if kind.position.is_some() {
        assert_eq!(stream.position, kind.position);
        assert_eq!(stream.hidden, !kind.is_open);
        fixture.write(&writer, []).await.expect("written");
        model.append(&mut kind.kept);
        let known = model.keys().filter(|key| is_here(key));
        let known = known.map(|(_, path)| ObjectKey::new(path.1, path.2));
        let (known, rest) = (BTreeSet::from_iter(known), BTreeSet::from_iter(rest));
        assert_eq!(rest, known, "rows of {at:?}");
    } else {
        let phase = stream.position.as_ref().map(|position| position.phase);
        let expected = (!rest.is_empty()).then_some(Phase::Listing);
        assert_eq!(phase, expected, "rows that are left must be compared");
        let gone: Vec<Change> = rest.into_iter().map(Change::Delete).collect();
        fixture.write(&writer, gone).await.expect("written");
        model.retain(|key, _| !is_here(key));
        kind.kept.clear();
    }
    kind.is_open = true;
    kind.stream = Some(stream);
}
