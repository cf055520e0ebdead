use serde_json::{Value, json};

use super::stage::{Kopf, Stage, handled};

kopf_on_both_servers! {
    the_peer_of_higher_priority_works_alone;
    peers_meet_in_an_object_of_the_cluster;
}

/// Paused, and its streams are closed.
async fn paused(kopf: &Kopf, times: usize) {
    let wanted = |log: &str| {
        log.matches("Pausing operations in favour of").count() == times
            && log.matches("Pausing the watch-stream for toys").count() == times
    };
    kopf.wait("a pause", wanted).await;
}

async fn the_peer_of_higher_priority_works_alone(stage: &Stage) {
    stage.define("kopf.dev", "KopfPeering", "Namespaced").await;
    let namespace = stage.cluster.namespace.clone();
    let peerings = format!("/apis/kopf.dev/v1/namespaces/{namespace}/kopfpeerings");
    let peering = json!({"apiVersion": "kopf.dev/v1", "kind": "KopfPeering", "metadata": {"name": "toys"}});
    let start = |name: &str, priority: &str| {
        let arguments = [
            "--namespace",
            &namespace,
            "--peering=toys",
            &format!("--priority={priority}"),
        ];
        stage.run("peers.py", name, &arguments, &[("POD_ID", name)])
    };
    stage.cluster.request("POST", &peerings, &peering).await.unwrap();
    meet(stage, &format!("{peerings}/toys"), start).await;
}

async fn peers_meet_in_an_object_of_the_cluster(stage: &Stage) {
    stage.define("kopf.dev", "ClusterKopfPeering", "Cluster").await;
    let peerings = "/apis/kopf.dev/v1/clusterkopfpeerings";
    let name = stage.cluster.namespace.clone();
    let peering = json!({"apiVersion": "kopf.dev/v1", "kind": "ClusterKopfPeering", "metadata": {"name": name}});
    let option = format!("--peering={name}");
    let start = |name: &str, priority: &str| {
        let arguments = ["--all-namespaces", &option, &format!("--priority={priority}")];
        stage.run(
            "peers.py",
            name,
            &arguments,
            &[("POD_ID", name), ("CLUSTERWIDE", "yes")],
        )
    };
    stage.cluster.request("POST", peerings, &peering).await.unwrap();
    meet(stage, &format!("{peerings}/{name}"), start).await;
}

async fn meet(stage: &Stage, peering: &str, start: impl Fn(&str, &str) -> Kopf) {
    let size = |size: u32| async move {
        let patch = json!({"spec": {"size": size}});
        stage.cluster.patch(&stage.toy("ball"), &patch).await;
    };
    // A call is not the end of it: what is not recorded yet is done by the next operator again.
    let recorded = |size: u32| async move {
        let wanted = |toy: &Value| handled(toy)["spec"]["size"] == size;
        stage.cluster.wait(&stage.toy("ball"), wanted).await;
    };
    let small = start("small", "1");
    stage.create("ball", json!({"size": 1})).await;
    small.wait_call("take ball").await;
    recorded(1).await;
    let peers = stage.cluster.get(peering).await;
    assert_eq!(peers["status"]["small"]["priority"], 1, "{peers:#}");
    assert_eq!(peers["status"]["small"]["lifetime"], 3, "{peers:#}");

    let big = start("big", "100");
    paused(&small, 1).await;
    size(2).await;
    recorded(2).await;
    assert_eq!(big.stop(&[]), ["keep ball 2"]);
    let peers = stage.cluster.get(peering).await;
    assert_eq!(peers["status"]["big"], Value::Null, "it took leave: {peers:#}");
    size(3).await;
    recorded(3).await;

    // One that is killed counts until its record is too old.
    let big = start("again", "100");
    paused(&small, 2).await;
    size(4).await;
    recorded(4).await;
    assert_eq!(big.calls(), ["keep ball 4"]);
    let at_last = stage.cluster.get(peering).await;
    assert_eq!(at_last["status"]["again"]["priority"], 100, "{at_last:#}");
    big.kill();
    size(5).await;
    recorded(5).await;
    stage
        .cluster
        .wait(peering, |peers| peers["status"]["again"].is_null())
        .await;
    assert_eq!(small.stop(&[]), ["take ball", "keep ball 3", "keep ball 5"]);
    let peers = stage.cluster.get(peering).await;
    assert_eq!(peers["status"]["small"], Value::Null, "{peers:#}");
}
