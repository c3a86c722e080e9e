//! What is written where it cannot be told which labels are worth an index.

use armadex_storage::Written;

use super::*;

/// A database in which adding up what the index has fails so many times, and so many commits do.
struct Unsummed {
    database: Arc<Contended>,
    failures: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    commits: Arc<AtomicUsize>,
}

struct UnsummedTransaction {
    transaction: Box<dyn Transaction>,
    failures: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    commits: Arc<AtomicUsize>,
}

impl Unsummed {
    fn wrap(&self, transaction: Box<dyn Transaction>) -> Box<dyn Transaction> {
        Box::new(UnsummedTransaction {
            transaction,
            failures: Arc::clone(&self.failures),
            asked: Arc::clone(&self.asked),
            commits: Arc::clone(&self.commits),
        })
    }
}

#[async_trait]
impl Database for Unsummed {
    fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        Ok(self.wrap(self.database.read(lane).await?))
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        Ok(self.wrap(self.database.write().await?))
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.database.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {}

    async fn rest(&self) {}

    async fn close(&self) {}
}

#[async_trait]
impl Connection for UnsummedTransaction {
    fn dialect(&self) -> Dialect {
        self.transaction.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.transaction.execute(statement).await
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        if ["post.sum", "post.sizes_in"].contains(&statement.name) {
            self.asked.fetch_add(1, SeqCst);
            let left = self.failures.load(SeqCst);
            if left > 0 {
                self.failures.store(left - 1, SeqCst);
                return Err(passing("it took too long"));
            }
        }
        self.transaction.fetch(statement, each).await
    }
}

#[async_trait]
impl Transaction for UnsummedTransaction {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        match is_left(&self.commits) {
            true => Err(passing("it went away")),
            false => self.transaction.commit().await,
        }
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        self.transaction.rollback().await
    }
}

/// A writer to two streams that knows a label key by two objects, and how often it has added up: that fails so many times, and so many commits do.
async fn on_unsummed(
    fleet: &mut Fleet,
    failures: usize,
    commits: usize,
) -> (Writer, Arc<AtomicUsize>) {
    fleet.open().await;
    let contended = Contended::new(Arc::clone(&fleet.database), 0);
    let mut writer = writer_on(&contended, fleet.committed.clone());
    writer.labels = LabelKeys::new(2);
    let asked = Arc::new(AtomicUsize::new(0));
    writer.database = Arc::new(Unsummed {
        database: contended,
        failures: Arc::new(failures.into()),
        asked: Arc::clone(&asked),
        commits: Arc::new(commits.into()),
    });
    (writer, asked)
}

/// It is asked again when as many objects more were met, and not with each batch.
#[tokio::test]
async fn what_waits_is_written_although_deciding_on_a_label_key_fails() {
    let mut fleet = Fleet::of(2).await;
    let (mut writer, asked) = on_unsummed(&mut fleet, 1, 0).await;
    // Two objects are enough to ask, and four to ask again.
    for (round, asked_by_then) in [(0, 0), (1, 1), (2, 2), (3, 2)] {
        for done in writer.results(&fleet.own_values(round)).await {
            let is_written = matches!(done, Ok(Done::Written(Written { added: 1, .. })));
            assert!(is_written, "{done:?}");
        }
        assert_eq!(asked.load(SeqCst), asked_by_then, "round {round}");
    }
    let resource = fleet.streams[0].resource.0;
    assert_eq!(writer.labels.unposted(resource).len(), 1);
}

/// The same objects once more are no others, and one that nobody stored is none.
#[tokio::test]
async fn labels_of_what_is_not_committed_are_not_counted() {
    let mut fleet = Fleet::of(2).await;
    let (mut writer, asked) = on_unsummed(&mut fleet, 0, 1).await;
    let refused = writer.results(&fleet.own_values(0)).await;
    assert!(refused.iter().all(Result::is_err), "{refused:?}");
    for (round, asked_by_then) in [(0, 0), (1, 1)] {
        let done = writer.results(&fleet.own_values(round)).await;
        assert!(done.iter().all(Result::is_ok), "{done:?}");
        assert_eq!(asked.load(SeqCst), asked_by_then, "round {round}");
    }
}

impl Fleet {
    /// An object with a value of its own for a label for each of the streams.
    fn own_values(&self, round: usize) -> Vec<Work> {
        let streams = self.clusters.iter().zip(&self.streams);
        let work = streams.map(|(cluster, stream)| own_value(round, *cluster, stream));
        work.collect()
    }
}

/// An object with a value of its own for a label.
fn own_value(round: usize, cluster: ClusterId, stream: &Stream) -> Work {
    let name = format!("p-{}-{round}", cluster.0);
    let pod = object("ns", &name).label("id", &name).build();
    let batch = room::batch_of(cluster, stream, vec![Change::Put(pod)]);
    Work::Write(prepared(batch))
}

/// Streams of so many clusters, and processes that write to them and know a label key by sixteen objects.
struct Filling<const WRITERS: usize> {
    database: Arc<Contended>,
    streams: Vec<(ClusterId, Stream)>,
    writers: [Writer; WRITERS],
    /// It has the place.
    _fleet: Fleet,
}

impl<const WRITERS: usize> Filling<WRITERS> {
    async fn of(place: Place, clusters: usize) -> Self {
        let mut fleet = Fleet::in_place(place, clusters).await;
        fleet.open().await;
        let streams = fleet.clusters.iter().copied();
        let streams = Vec::from_iter(streams.zip(fleet.streams.iter().cloned()));
        let database = Contended::new(Arc::clone(&fleet.database), 0);
        let writers = [(); WRITERS].map(|()| {
            let mut writer = writer_on(&database, fleet.committed.clone());
            writer.labels = LabelKeys::new(16);
            writer
        });
        Self {
            database,
            streams,
            writers,
            _fleet: fleet,
        }
    }
}

/// Writes an object with a value of its own for a label to each of these streams.
async fn write_own_value(writer: &mut Writer, round: usize, streams: &[(ClusterId, Stream)]) {
    let work = streams
        .iter()
        .map(|(cluster, stream)| own_value(round, *cluster, stream));
    let done = writer.results(&Vec::from_iter(work)).await;
    assert!(done.iter().all(Result::is_ok), "{done:?}");
}

/// Neither has met more than a part of what is stored.
#[tokio::test]
async fn a_key_is_learnt_though_others_fill_the_store_as_well_and_one_began_before() {
    for place in Place::of_each_kind() {
        let filling = Filling::of(place, 5).await;
        let streams = filling.streams;
        let [mut one, mut other, mut before] = filling.writers;
        for round in 100..105 {
            write_own_value(&mut before, round, &streams[..1]).await;
        }
        let resource = streams[0].1.resource.0;
        for round in 0..9 {
            assert!(one.labels.unposted(resource).is_empty(), "round {round}");
            write_own_value(&mut one, round, &streams[..3]).await;
            write_own_value(&mut other, round, &streams[3..]).await;
        }
        // Sixteen objects of two streams are enough.
        assert_eq!(one.labels.unposted(resource).len(), 1);
    }
}

/// It has met the first objects of a cluster that somebody else looks after now, who stores many more.
#[tokio::test]
async fn a_key_is_learnt_though_somebody_else_fills_a_stream_that_was_begun_here() {
    for place in Place::of_each_kind() {
        let filling = Filling::of(place, 3).await;
        let mut streams = filling.streams;
        let [mut one, mut other] = filling.writers;
        write_own_value(&mut one, 0, &streams).await;
        run(
            &filling.database,
            "UPDATE stream SET epoch = epoch + 1000 WHERE cluster = 3",
        )
        .await;
        streams[2].1.epoch += 1000;
        for round in 1..40 {
            write_own_value(&mut other, round, &streams[2..]).await;
        }
        let resource = streams[0].1.resource.0;
        for round in 1..40 {
            write_own_value(&mut one, round, &streams[..2]).await;
        }
        assert_eq!(one.labels.unposted(resource).len(), 1);
    }
}

/// Both sessions of it began anew while the store did not answer.
#[tokio::test]
async fn a_key_is_learnt_though_a_stream_is_opened_twice_in_one_transaction() {
    for place in Place::of_each_kind() {
        let filling = Filling::of(place, 2).await;
        let mut streams = filling.streams;
        let [mut one] = filling.writers;
        for round in 0..4 {
            write_own_value(&mut one, round, &streams).await;
        }
        let (cluster, stream) = &mut streams[1];
        let twice = one.results(&[opening(*cluster), opening(*cluster)]).await;
        let [Ok(Done::Opened(Ok(_))), Ok(Done::Opened(Ok(last)))] = &twice[..] else {
            panic!("{twice:?}");
        };
        *stream = last.clone();
        let resource = stream.resource.0;
        for round in 4..9 {
            write_own_value(&mut one, round, &streams).await;
        }
        assert_eq!(one.labels.unposted(resource).len(), 1);
    }
}

/// Two clusters come after a restart, whose objects have values of their own for a label that all others have in common.
#[tokio::test]
async fn few_clusters_decide_nothing_for_many_that_were_there_before() {
    for place in Place::of_each_kind() {
        let filling = Filling::of(place, 20).await;
        let streams = filling.streams;
        let [mut before, mut after] = filling.writers;
        let common = streams[..18].iter().map(|(cluster, stream)| {
            let pod = object("ns", "common").label("id", "web").build();
            let batch = room::batch_of(*cluster, stream, vec![Change::Put(pod)]);
            Work::Write(prepared(batch))
        });
        let done = before.results(&Vec::from_iter(common)).await;
        assert!(done.iter().all(Result::is_ok), "{done:?}");
        for round in 0..20 {
            write_own_value(&mut after, round, &streams[18..]).await;
        }
        let resource = streams[0].1.resource.0;
        assert!(after.labels.unposted(resource).is_empty());
    }
}

/// Most of those that show the type carry no such label, and so lie beside the two in wide gaps.
#[tokio::test]
async fn clusters_that_stand_alone_among_many_without_the_label_have_no_more_of_a_say() {
    for place in Place::of_each_kind() {
        let filling = Filling::of(place, 400).await;
        let streams = filling.streams;
        let [mut before, mut after] = filling.writers;
        let some = |(index, (cluster, stream)): (usize, &(ClusterId, Stream))| {
            let pod = object("ns", "some");
            let pod = match index {
                0..40 => pod.label("id", "web"),
                _ => pod.label("other", "web"),
            };
            let batch = room::batch_of(*cluster, stream, vec![Change::Put(pod.build())]);
            Work::Write(prepared(batch))
        };
        let others = streams.iter().enumerate();
        let (alone, others): (Vec<_>, Vec<_>) =
            others.partition(|(index, _)| [220, 399].contains(index));
        for part in others.chunks(64) {
            let work = part.iter().copied().map(some);
            let done = before.results(&Vec::from_iter(work)).await;
            assert!(done.iter().all(Result::is_ok), "{done:?}");
        }
        let alone = Vec::from_iter(alone.into_iter().map(|(_, stream)| stream.clone()));
        for round in 0..20 {
            write_own_value(&mut after, round, &alone).await;
        }
        let resource = streams[0].1.resource.0;
        assert!(after.labels.unposted(resource).is_empty());
    }
}
