//! Index handlers that fail: when they are called again, and what stays of their object.

use super::*;

/// The times of calls, in whole seconds since the first one.
fn timed(
    stage: &Stage<'_>,
    times: &Notes,
) -> impl Fn(Index<Widget>) -> BoxFuture<'static, HandlerResult<Entries<String, i64>>> + Send + Sync + 'static + use<> {
    let (met, times, begin) = (stage.met.clone(), times.clone(), OnceLock::new());
    move |Index {
              body, retry, indexes, ..
          }: Index<Widget>| {
        let _ = met.0.set(indexes);
        let begin = *begin.get_or_init(Instant::now);
        times.add(format!("{retry} at {}", begin.elapsed().as_secs()));
        Box::pin(async move { say(&body) })
    }
}

// I-11, *Improve on*: the values are gone meanwhile, events do not hurry it, and it is repeated without one.
#[tokio::test(start_paused = true)]
async fn a_temporary_error_is_repeated_by_itself() {
    let cluster = Cluster::embedded().await;
    let stage = Stage::new(&cluster).await;
    let times = Notes::default();
    let resource = Resource::of::<Widget>().index(Said, timed(&stage, &times), |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    stage.create("a", json!({"size": 1, "says": {"a": 1}})).await;
    stage.met.wait(json!({"a": [1]})).await;
    let begin = Instant::now();
    stage.edit("a", json!({"fails": "for a while"})).await;
    stage.met.wait(json!({})).await;
    tokio::time::sleep(secs(5)).await;
    stage.edit("a", json!({"fails": null, "says": {"a": 2}})).await;
    tokio::time::sleep(secs(4)).await;
    assert_eq!((stage.met.said(), times.all().len()), (json!({}), 2));
    stage.met.wait(json!({"a": [2]})).await;
    assert!((10..=11).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
    // A success has ended the series, and nothing is called for nothing.
    tokio::time::sleep(hours(1)).await;
    assert_eq!(times.all(), ["0 at 0", "0 at 0", "1 at 10"]);
    // Without a delay, the next event is early enough, and so is a moment without one.
    stage.edit("a", json!({"fails": "for a moment"})).await;
    stage.met.wait(json!({})).await;
    stage.edit("a", json!({"fails": null})).await;
    stage.met.wait(json!({"a": [2]})).await;
    operator.stop().await;
}

// I-11, I-12: arbitrary errors as temporary ones, after the backoff; retries and timeout make them permanent.
#[tokio::test(start_paused = true)]
async fn limits_make_errors_permanent() {
    type Options = fn(IndexOptions<Widget>) -> IndexOptions<Widget>;
    let cases: [(Options, &[&str]); 3] = [
        (
            |o| o.errors(ErrorsMode::Temporary).backoff(secs(7)).retries(3),
            &["0 at 0", "1 at 7", "2 at 14"],
        ),
        (
            |o| o.errors(ErrorsMode::Temporary).backoff(secs(7)).timeout(secs(10)),
            &["0 at 0", "1 at 7"],
        ),
        (|o| o.errors(ErrorsMode::Permanent), &["0 at 0"]),
    ];
    for (options, expected) in cases {
        let cluster = Cluster::embedded().await;
        let stage = Stage::new(&cluster).await;
        let times = Notes::default();
        let resource = Resource::of::<Widget>().index(Said, timed(&stage, &times), options);
        let operator = cluster.start(Operator::new("suite").resource(resource));
        stage
            .create("a", json!({"size": 1, "fails": "somehow", "says": {"a": 1}}))
            .await;
        tokio::time::sleep(hours(1)).await;
        stage.edit("a", json!({"fails": null})).await;
        tokio::time::sleep(hours(1)).await;
        assert_eq!(times.all(), expected);
        assert_eq!(stage.met.said(), json!({}));
        operator.stop().await;
    }
}

// I-12: a success resets all.
#[tokio::test(start_paused = true)]
async fn a_success_begins_the_count_anew() {
    let cluster = Cluster::embedded().await;
    let stage = Stage::new(&cluster).await;
    let times = Notes::default();
    let resource = Resource::of::<Widget>().index(Said, timed(&stage, &times), |o| o.retries(2));
    let operator = cluster.start(Operator::new("suite").resource(resource));
    stage
        .create("a", json!({"size": 1, "fails": "for a while", "says": {"a": 1}}))
        .await;
    for round in 0..3 {
        tokio::time::sleep(secs(5)).await;
        stage.edit("a", json!({"fails": null})).await;
        tokio::time::sleep(secs(10)).await;
        assert_eq!(stage.met.said(), json!({"a": [1]}), "in round {round}");
        if round < 2 {
            stage.edit("a", json!({"fails": "for a while"})).await;
        }
    }
    operator.stop().await;
    let retries: Vec<_> = times.all().iter().map(|call| call[..1].to_owned()).collect();
    assert_eq!(retries, ["0", "1", "0", "1", "0", "1"]);
}

// I-19, *Improve on*: an object that waits after an error of its own is indexed.
#[tokio::test(start_paused = true)]
async fn a_throttled_object_is_indexed() {
    let cluster = Cluster::embedded().await;
    let stage = Stage::new(&cluster).await;
    let patches = Traffic::any().verb("patch").resource("widgets");
    server(&cluster)
        .faults()
        .plan(patches, usize::MAX, Failure::status(422));
    let made = |_: Change<Widget>| async { HandlerResult::Ok(()) };
    let operator = cluster.start(
        Operator::new("suite")
            .settings(|settings| settings.queueing.error_delays = vec![hours(1)])
            .resource(stage.resource(|o| o).on_create("made", made, |o| o)),
    );
    stage.create("a", json!({"size": 1, "says": {"a": 1}})).await;
    tokio::time::sleep(secs(10)).await;
    let begin = Instant::now();
    // Patches are refused, and so is every one of the operator's.
    let put = async |spec: Value| {
        let mut object = cluster.get(&path(&cluster, "a")).await;
        object["spec"] = spec;
        cluster.request("PUT", &path(&cluster, "a"), &object).await.unwrap();
    };
    put(json!({"size": 1, "says": {"a": 2}})).await;
    stage.met.wait(json!({"a": [2]})).await;
    put(json!({"size": 1, "fails": "for a while"})).await;
    stage.met.wait(json!({})).await;
    put(json!({"size": 1, "says": {"a": 3}})).await;
    stage.met.wait(json!({"a": [3]})).await;
    assert!(begin.elapsed() < secs(30), "{:?}", begin.elapsed());
    operator.stop().await;
}
