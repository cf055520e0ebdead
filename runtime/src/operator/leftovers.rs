//! What is left of objects within a running operator: nothing that grows, and nothing at all once they are gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kopf_testserver::Server;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::*;
use crate::arguments::{Change, Daemon, Index, Timer};
use crate::intents::environment::Environment;
use crate::intents::indexes::{Entries, IndexKey};

use crate::options::{hours, millis, secs};
use crate::reactor::processing::Processor;
use crate::structs::errors::HandlerResult;
use crate::structs::references::Reference;

const CARTS: kopf_testserver::Resource<'static> = kopf_testserver::Resource::new("shop.example.com", "v1", "carts");

/// Counts as long as it is there.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn among(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Cart;

impl Kind for Cart {
    type Spec = Value;
    type Status = Value;
    type Memo = Counted;
    const REFERENCE: Reference = Reference {
        group: "shop.example.com",
        version: "v1",
        kind: "Cart",
        plural: "carts",
        namespaced: true,
    };
}

/// Carts by their size.
#[derive(Clone, Copy)]
struct BySize;

impl IndexKey for BySize {
    const ID: &'static str = "by_size";
    type Key = i64;
    type Value = String;
}

/// An operator at work, seen from inside.
struct Inside {
    server: Server,
    environment: Environment,
    processor: Arc<Processor>,
    memos: Arc<AtomicUsize>,
}

impl Inside {
    /// Starts an operator on a server of its own.
    async fn start(resource: impl FnOnce(Resource<Cart>) -> Resource<Cart>) -> Self {
        let server = Server::new();
        server.apply(definition()).unwrap();
        let memos = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&memos);
        let carts = Resource::with_memo::<Cart, ()>(move |_| Arc::new(Counted::among(&counted)));
        let operator = Operator::new("shop")
            .resource(resource(carts))
            .settings(|settings| settings.queueing.worker_limit = Some(2));
        let client = Client::new(server.service(), "default");
        let plan = operator.plan(RunOptions::new(client).follow_tokio_time()).unwrap();
        let assembly = running::assemble(plan);
        let environment = assembly.environment.clone();
        let processor = Arc::clone(&assembly.streams[0].processor);
        let listed = assembly.streams[0].listed.clone();
        for stream in assembly.streams {
            tokio::spawn(stream.run(environment.stopping.clone()));
        }
        listed.cancelled().await;
        Self {
            server,
            environment,
            processor,
            memos,
        }
    }

    fn put(&self, number: usize, size: usize) {
        let name = format!("cart-{number}");
        let spec = json!({"size": size});
        if self.server.get(CARTS, Some("default"), &name).is_some() {
            let patch = json!({"spec": spec});
            self.server.patch(CARTS, Some("default"), &name, patch).unwrap();
        } else {
            let metadata = json!({"name": name});
            let cart = json!({"apiVersion": "shop.example.com/v1", "kind": "Cart", "metadata": metadata, "spec": spec});
            self.server.apply(cart).unwrap();
        }
    }

    fn delete(&self, number: usize) {
        let name = format!("cart-{number}");
        self.server.delete(CARTS, Some("default"), &name).unwrap();
    }

    /// Waits for so many objects without any event left to look at, and so many tasks.
    async fn until(&self, objects: usize, tasks: usize) {
        let begin = Instant::now();
        let size = || (self.processor.inventory.size(), self.environment.tasks.len());
        while size() != ((objects, 0), tasks) {
            assert!(
                begin.elapsed() < secs(60),
                "{:?} instead of {objects} and {tasks}",
                size()
            );
            sleep(millis(10)).await;
        }
    }

    fn handles(&self) -> usize {
        Arc::strong_count(&self.processor)
    }

    fn indexed(&self) -> usize {
        self.environment.indexes.of(BySize).values().len()
    }

    fn remembered(&self) -> usize {
        self.memos.load(Ordering::SeqCst)
    }
}

fn definition() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "carts.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Cart", "plural": "carts", "singular": "cart", "listKind": "CartList"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

async fn by_size(Index { name, spec, .. }: Index<Cart>) -> HandlerResult<Entries<i64, String>> {
    Ok(Entries::one(spec["size"].as_i64().unwrap_or_default(), name))
}

async fn fill(_: Change<Cart>) -> HandlerResult {
    Ok(())
}

// B-087, M-1, G-25: entries of the inventory, memos, tasks, what they hold, and values in indexes.
#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_objects_that_are_gone() {
    const COUNT: usize = 20;
    let attend = |Daemon { stopped, .. }: Daemon<Cart>| async move {
        stopped.wait().await;
        HandlerResult::Ok(())
    };
    let tick = |_: Timer<Cart>| async { HandlerResult::Ok(()) };
    let inside = Inside::start(|carts| {
        carts
            .on_create("fill", fill, |o| o)
            .on_delete("empty", fill, |o| o)
            .timer("tick", tick, |o| o.interval(hours(1)))
            .daemon("attend", attend, |o| o)
            .index(BySize, by_size, |o| o)
    })
    .await;
    let handles = inside.handles();
    for round in 0..10 {
        (0..COUNT).for_each(|number| inside.put(number, number));
        inside.until(COUNT, 2 * COUNT).await;
        assert_eq!(
            (inside.remembered(), inside.indexed()),
            (COUNT, COUNT),
            "in round {round}"
        );
        (0..COUNT).for_each(|number| inside.delete(number));
        inside.until(0, 0).await;
        assert_eq!((inside.remembered(), inside.indexed()), (0, 0), "after round {round}");
        assert_eq!(inside.handles(), handles, "after round {round}");
    }
    inside.environment.stopping.cancel();
}

// B-087: a timer that patches all the time.
#[tokio::test(start_paused = true)]
async fn thousands_of_ticks_leave_nothing_behind() {
    let calls = Arc::<AtomicUsize>::default();
    let tick = {
        let calls = Arc::clone(&calls);
        move |Timer { patch, .. }: Timer<Cart>| {
            patch.status(json!({"calls": calls.fetch_add(1, Ordering::SeqCst)}));
            async { HandlerResult::Ok(()) }
        }
    };
    let inside = Inside::start(|carts| {
        carts
            .timer("tick", tick, |o| o.interval(millis(10)))
            .index(BySize, by_size, |o| o)
    })
    .await;
    inside.put(0, 1);
    let mut sizes = Vec::new();
    for until in [100, 1_000, 3_000] {
        while calls.load(Ordering::SeqCst) < until {
            sleep(millis(10)).await;
        }
        // The echo of the last patch is looked at between two ticks.
        let quiet = || inside.processor.inventory.size() == (1, 0) && inside.environment.tasks.len() == 1;
        while !quiet() {
            sleep(millis(1)).await;
        }
        sizes.push((inside.handles(), inside.remembered(), inside.indexed()));
    }
    assert_eq!(sizes, [sizes[0]; 3]);
    inside.delete(0);
    inside.until(0, 0).await;
    inside.environment.stopping.cancel();
}

// B-088: nothing waits in any queue once all is handled.
#[tokio::test(start_paused = true)]
async fn queues_are_empty_after_many_edits_with_few_workers() {
    const COUNT: usize = 100;
    let slowly = |_: Change<Cart>| async {
        sleep(millis(5)).await;
        HandlerResult::Ok(())
    };
    let inside = Inside::start(|carts| {
        carts
            .on_create("fill", slowly, |o| o)
            .on_update("fill", slowly, |o| o)
            .index(BySize, by_size, |o| o)
    })
    .await;
    let handles = inside.handles();
    for size in 1..=10 {
        (0..COUNT).for_each(|number| inside.put(number, size));
        sleep(millis(100)).await;
    }
    inside.until(COUNT, 0).await;
    assert_eq!(inside.handles(), handles);
    let sizes = inside.environment.indexes.of(BySize);
    assert_eq!((sizes.keys(), sizes.values().len()), (vec![10], COUNT));
    for cart in inside.server.list(CARTS, None) {
        let handled = &cart["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"];
        assert!(handled.as_str().unwrap().contains("\"size\":10"), "{cart:#}");
    }
    (0..COUNT).for_each(|number| inside.delete(number));
    inside.until(0, 0).await;
    assert_eq!((inside.remembered(), inside.indexed()), (0, 0));
    inside.environment.stopping.cancel();
}
