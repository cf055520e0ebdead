//! What handlers keep in memory about objects.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use kopf_runtime::{
    Change, Event, EventType, Filter, HandlerResult, Kind, Operator, Reference, Resource, RunError, RunOptions,
    Temporary, Timer, millis, secs,
};
use kopf_tests::cluster::Cluster;
use kopf_tests::on_both_servers;
use kopf_tests::widgets::{self, Notes, Widget, WidgetSpec, create, path};
use serde_json::{Value, json};
use tokio::time::Instant;

/// A widget with a memo of its own.
struct Counted;

/// How often something was seen.
#[derive(Default)]
struct Counter(AtomicU64);

impl Counter {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Kind for Counted {
    type Spec = WidgetSpec;
    type Status = Value;
    type Memo = Counter;
    const REFERENCE: Reference = Widget::REFERENCE;
}

fn handled(object: &Value) -> bool {
    object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].is_string()
}

fn often(Filter { memo, .. }: Filter<'_, Counted>) -> bool {
    memo.get() >= 3
}

on_both_servers! {
    all_handlers_of_an_object_share_its_memo;
    a_memo_lasts_over_retries_and_panics_and_ends_with_its_object;
    memos_are_made_from_the_operators;
}

// M-1, F-13
async fn all_handlers_of_an_object_share_its_memo(cluster: &Cluster) {
    widgets::install(cluster).await;
    let seen = |Event { memo, .. }: Event<Counted>| async move {
        memo.next();
        HandlerResult::Ok(())
    };
    let made = |Change { memo, .. }: Change<Counted>| async move { HandlerResult::Ok(memo.get() >= 1) };
    let tick = |Timer { memo, .. }: Timer<Counted>| async move { HandlerResult::Ok(memo.get() >= 3) };
    let rare = |_: Change<Counted>| async { HandlerResult::Ok(true) };
    let operator = cluster.start(
        Operator::new("suite").resource(
            Resource::of::<Counted>()
                .on_event("seen", seen, |o| o)
                .on_create("made", made, |o| o)
                .on_update("rare", rare, |o| o.when(often))
                .timer("tick", tick, |o| o.interval(millis(300)).optional(true)),
        ),
    );
    let one = path(cluster, "one");
    create(cluster, "one", json!({"size": 1})).await;
    let both = json!(true);
    cluster
        .wait(&one, |object| handled(object) && object["status"]["made"] == both)
        .await;
    for size in 2..5 {
        cluster.patch(&one, &json!({"spec": {"size": size}})).await;
        tokio::time::sleep(millis(100)).await;
    }
    cluster
        .wait(&one, |object| {
            object["status"]["tick"] == both && object["status"]["rare"] == both
        })
        .await;
    operator.stop().await;
}

// M-1, M-2
async fn a_memo_lasts_over_retries_and_panics_and_ends_with_its_object(cluster: &Cluster) {
    widgets::install(cluster).await;
    let notes = Notes::default();
    let operator = || {
        let made = {
            let notes = notes.clone();
            move |Change { memo, retry, name, .. }: Change<Counted>| {
                notes.add(format!("{name} {}", memo.next()));
                async move {
                    match retry {
                        0 => Err(Temporary::after(millis(100), "not yet").into()),
                        1 => panic!("a bad day"),
                        _ => HandlerResult::Ok(()),
                    }
                }
            }
        };
        let gone = {
            let notes = notes.clone();
            move |Event {
                      memo, name, event_type, ..
                  }: Event<Counted>| {
                if event_type == EventType::Deleted {
                    notes.add(format!("{name} gone {}", memo.get()));
                }
                async { HandlerResult::Ok(()) }
            }
        };
        let back = {
            let notes = notes.clone();
            move |Change { memo, name, .. }: Change<Counted>| {
                notes.add(format!("{name} back {}", memo.get()));
                async { HandlerResult::Ok(()) }
            }
        };
        Operator::new("suite").resource(
            Resource::of::<Counted>()
                .on_create("made", made, |o| o.backoff(millis(100)))
                .on_resume("back", back, |o| o)
                .on_event("gone", gone, |o| o),
        )
    };
    let running = cluster.start(operator());
    let a = path(cluster, "a");
    // Twice under one name: the second object is another one.
    for round in 1..=2 {
        create(cluster, "a", json!({"size": 1})).await;
        cluster.wait(&a, handled).await;
        cluster.request("DELETE", &a, &Value::Null).await.unwrap();
        cluster.wait(&a, Value::is_null).await;
        notes.wait_for(4 * round).await;
    }
    create(cluster, "b", json!({"size": 1})).await;
    cluster.wait(&path(cluster, "b"), handled).await;
    let before = [
        "a 1", "a 2", "a 3", "a gone 3", "a 1", "a 2", "a 3", "a gone 3", "b 1", "b 2", "b 3",
    ];
    let all = notes.wait_for(before.len()).await;
    assert_eq!(all, before);
    running.stop().await;
    // Nothing of it is stored.
    let running = cluster.start(operator());
    assert_eq!(notes.wait_for(before.len() + 1).await.last().unwrap(), "b back 0");
    running.stop().await;
}

/// What the operator remembers.
#[derive(Default)]
struct Shop {
    objects: AtomicU64,
    words: Arc<Mutex<Vec<String>>>,
}

/// What it remembers of one object: a copy of what was there, and the inner value itself.
struct Note {
    number: u64,
    words: Arc<Mutex<Vec<String>>>,
}

struct Numbered;

impl Kind for Numbered {
    type Spec = WidgetSpec;
    type Status = Value;
    type Memo = Note;
    const REFERENCE: Reference = Widget::REFERENCE;
}

fn note(shop: &Arc<Shop>) -> Arc<Note> {
    Arc::new(Note {
        number: shop.objects.fetch_add(1, Ordering::Relaxed),
        words: Arc::clone(&shop.words),
    })
}

// M-1, M-4
async fn memos_are_made_from_the_operators(cluster: &Cluster) {
    widgets::install(cluster).await;
    let words = Arc::new(Mutex::new(vec!["begin".to_owned()]));
    let shop = Shop {
        objects: AtomicU64::new(7),
        words: Arc::clone(&words),
    };
    let said = |Change { memo, .. }: Change<Numbered>| async move {
        let words = memo.words.lock().unwrap().clone();
        HandlerResult::Ok(json!({"number": memo.number, "words": words}))
    };
    let operator = cluster.start(
        Operator::new("suite").memo(shop).resource(
            Resource::with_memo::<Numbered, Shop>(note)
                .on_create("said", said, |o| o)
                .on_update("said", said, |o| o),
        ),
    );
    let a = path(cluster, "a");
    create(cluster, "a", json!({"size": 1})).await;
    let object = cluster
        .wait(&a, |object| handled(object) && object["status"].is_object())
        .await;
    assert_eq!(object["status"]["said"], json!({"number": 7, "words": ["begin"]}));
    // Inner values are shared, what was copied is not; and it was copied once.
    words.lock().unwrap().push("again".to_owned());
    cluster.patch(&a, &json!({"spec": {"size": 2}})).await;
    let again = json!({"number": 7, "words": ["begin", "again"]});
    cluster.wait(&a, |object| object["status"]["said"] == again).await;
    let b = path(cluster, "b");
    create(cluster, "b", json!({"size": 1})).await;
    cluster.wait(&b, |object| object["status"]["said"]["number"] == 8).await;
    // Here, in the operator's memo, and in those of two objects; which go with their objects.
    assert_eq!(Arc::strong_count(&words), 4);
    for path in [&a, &b] {
        cluster.request("DELETE", path, &Value::Null).await.unwrap();
    }
    let began = Instant::now();
    while Arc::strong_count(&words) > 2 {
        assert!(began.elapsed() < secs(60), "memos outlive their objects");
        tokio::time::sleep(millis(20)).await;
    }
    operator.stop().await;
}

// M-4: what does not fit is refused before any request, with the names of both types.
#[tokio::test(start_paused = true)]
async fn an_operators_memo_of_another_type_is_refused() {
    let server = kopf_testserver::Server::new();
    let client = kopf_runtime::kube::Client::new(server.service(), "default");
    let resource = || Resource::with_memo::<Numbered, Shop>(note);
    for (operator, given) in [
        (Operator::new("suite").memo(5_u8).resource(resource()), "`u8`"),
        (Operator::new("suite").resource(resource()), "`()`"),
    ] {
        match operator.run(RunOptions::new(client.clone())).await {
            Err(RunError::Malformed(message)) => {
                assert!(
                    message.starts_with("Widget: its memos are made from an operator's memo"),
                    "{message}"
                );
                assert!(message.contains("memos::Shop`") && message.contains(given), "{message}");
            }
            other => panic!("the operator started: {other:?}"),
        }
    }
    assert_eq!(server.audit().counts().len(), 0);
}

// M-4, X-1: a memo that cannot be made holds up its own object, until it can.
#[tokio::test(start_paused = true)]
async fn a_memo_that_cannot_be_made_is_nobody_elses_trouble() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let tried = AtomicU64::new(0);
    let derive = move |_: &Arc<()>| -> Arc<Counter> {
        assert!(
            tried.fetch_add(1, Ordering::Relaxed) != 1,
            "the second one is difficult"
        );
        Arc::default()
    };
    let made = |Change { memo, .. }: Change<Counted>| async move { HandlerResult::Ok(memo.next()) };
    let operator = cluster.start(
        Operator::new("suite").resource(Resource::with_memo::<Counted, ()>(derive).on_create("made", made, |o| o)),
    );
    let done = |object: &Value| object["status"]["made"] == 1;
    create(&cluster, "a", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "a"), done).await;
    create(&cluster, "b", json!({"size": 1})).await;
    create(&cluster, "c", json!({"size": 1})).await;
    cluster.wait(&path(&cluster, "c"), done).await;
    cluster.wait(&path(&cluster, "b"), done).await;
    operator.stop().await;
}

// M-5: with one memo for all, what one object's handler writes, another's reads.
#[tokio::test(start_paused = true)]
async fn one_memo_may_serve_all_objects() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let made = |Change { memo, .. }: Change<Counted>| async move { HandlerResult::Ok(memo.next()) };
    let operator = cluster.start(
        Operator::new("suite")
            .memo(Counter(AtomicU64::new(40)))
            .resource(Resource::with_memo::<Counted, Counter>(Arc::clone).on_create("made", made, |o| o)),
    );
    for (name, count) in [("a", 41), ("b", 42)] {
        create(&cluster, name, json!({"size": 1})).await;
        cluster
            .wait(&path(&cluster, name), |object| object["status"]["made"] == count)
            .await;
    }
    operator.stop().await;
}

// M-1
#[tokio::test]
async fn arguments_for_tests_have_the_memo_that_they_are_given() {
    let memo = Arc::new(Counter(AtomicU64::new(4)));
    let object = json!({"metadata": {"name": "a"}, "spec": {"size": 1}});
    let change = Change::<Counted>::for_test_with(object.clone(), Arc::clone(&memo));
    assert_eq!(change.memo.next(), 5);
    assert_eq!(Timer::<Counted>::for_test_with(object.clone(), memo).memo.get(), 5);
    assert_eq!(Event::<Counted>::for_test(object.clone()).memo.get(), 0);
    assert_eq!(
        Filter::<Counted>::for_test_with(object, Counter(AtomicU64::new(9)))
            .memo
            .get(),
        9
    );
}
