//! Who feeds an index: kinds, handlers, and functions that are registered twice (I-1).

use super::*;

on_both_servers! {
    several_kinds_and_handlers_feed_one_index;
}

// I-1, I-6: under their names, which are the same; and two functions for one kind.
async fn several_kinds_and_handlers_feed_one_index(cluster: &Cluster) {
    let stage = Stage::new(cluster).await;
    match cluster
        .request(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &gadgets(),
        )
        .await
    {
        Ok(_) => {}
        Err(kopf_runtime::kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("{error}"),
    }
    let collection = widgets::collection(cluster).replace("widgets", "gadgets");
    cluster.wait(&collection, |list| list["kind"] == "GadgetList").await;
    let tenfold = blocking(|Index { body, .. }: Index<Widget>| {
        let entries = say(&body)?;
        let size = if entries == Entries::keep() { 0 } else { 10 };
        Ok(Entries::one("k".to_owned(), size))
    });
    let operator = cluster.start(
        Operator::new("suite")
            .resource(
                stage
                    .resource(|o| o)
                    .index(Said, tenfold, |o| o.label("tenfold", "yes")),
            )
            .resource(Resource::of::<Gadget>().index(Said, said(&stage.calls, &stage.met), |o| o)),
    );
    let spec = |number: i64| json!({"size": 1, "says": {"k": number}});
    create_with(cluster, "a", json!({"labels": {"tenfold": "yes"}}), spec(1)).await;
    cluster
        .request("POST", &collection, &gadget(cluster, "a", &spec(2)))
        .await
        .unwrap();
    stage.met.wait(json!({"k": [1, 2, 10]})).await;
    cluster
        .patch(&path(cluster, "a"), &json!({"metadata": {"labels": null}}))
        .await;
    stage.met.wait(json!({"k": [1, 2]})).await;
    stage.delete("a").await;
    stage.met.wait(json!({"k": [2]})).await;
    cluster
        .request("DELETE", &format!("{collection}/a"), &Value::Null)
        .await
        .unwrap();
    stage.met.wait(json!({})).await;
    operator.stop().await;
}

// H-10: one function that was registered twice is one contributor, by the first registration that matches.
#[tokio::test(start_paused = true)]
async fn a_function_contributes_once_however_often_it_is_registered() {
    let cluster = Cluster::embedded().await;
    let stage = Stage::new(&cluster).await;
    let again = said(&stage.calls, &stage.met);
    let resource = stage.resource(|o| o.label("x", "yes")).index(Said, again, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    create_with(
        &cluster,
        "a",
        json!({"labels": {"x": "yes"}}),
        json!({"size": 1, "says": {"a": 1}}),
    )
    .await;
    stage.met.wait(json!({"a": [1]})).await;
    cluster
        .patch(
            &path(&cluster, "a"),
            &json!({"metadata": {"labels": null}, "spec": {"size": 2}}),
        )
        .await;
    stage.calls.wait_for(2).await;
    tokio::time::sleep(secs(10)).await;
    operator.stop().await;
    assert_eq!(
        (stage.met.said(), stage.calls.all()),
        (json!({"a": [1]}), vec!["a 1".into(), "a 2".into()])
    );
}

/// The index `said` with other values.
#[derive(Clone, Copy)]
struct Misheard;

impl IndexKey for Misheard {
    const ID: &'static str = "said";
    type Key = String;
    type Value = Vec<u8>;
}

// I-1: one index has one type, and an id of its own.
#[tokio::test(start_paused = true)]
async fn contradicting_indexes_refuse_the_start() {
    let cluster = Cluster::embedded().await;
    let refusal = async |operator: Operator| {
        let options = RunOptions::new(cluster.client.clone());
        let ended = timeout(secs(10), operator.run(options)).await;
        ended.expect("it does not start").unwrap_err().to_string()
    };
    let (notes, met) = (Notes::default(), Met::default());
    let misheard = |_: Index<Gadget>| async { HandlerResult::Ok(Entries::none()) };
    let message = refusal(
        Operator::new("suite")
            .resource(Resource::of::<Widget>().index(Said, said(&notes, &met), |o| o))
            .resource(Resource::of::<Gadget>().index(Misheard, misheard, |o| o)),
    )
    .await;
    for part in [
        "`said`",
        "`alloc::string::String` to `i64`",
        "`alloc::string::String` to `alloc::vec::Vec<u8>`",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let seen = |_: Event<Widget>| async { HandlerResult::Ok(()) };
    let resource = Resource::of::<Widget>()
        .index(Said, said(&notes, &met), |o| o)
        .on_event("said", seen, |o| o);
    let message = refusal(Operator::new("suite").resource(resource)).await;
    assert!(
        message.contains("Widget: an index and another handler have the id `said`"),
        "{message}"
    );
}
