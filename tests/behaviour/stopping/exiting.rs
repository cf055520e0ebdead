//! The operator's end: told to all at once, and bounded (G-20, G-21).

use super::*;

// B-059, G-20, G-21: fifty loops that look at their flag each second, and one that does not.
#[tokio::test(start_paused = true)]
async fn the_operators_end_is_told_to_all_at_once_and_bounded() {
    let log = capture(Verbosity::Normal);
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let (notes, begin) = (Notes::default(), Instant::now());
    let watch = {
        let notes = notes.clone();
        move |Daemon { name, stopped, .. }: Daemon<Widget>| {
            let notes = notes.clone();
            notes.add("begun");
            async move {
                let _dropped = (name == "w7").then(|| Dropped(notes.clone(), begin));
                while name == "w7" || !stopped.is_set() {
                    tokio::time::sleep(secs(1)).await;
                }
                notes.add(format!("{} at {}", stopped.reason(), begin.elapsed().as_secs()));
                HandlerResult::Ok(())
            }
        }
    };
    let operator = Operator::new("suite")
        .settings(|settings| settings.queueing.exit_timeout = secs(7))
        .resource(Resource::of::<Widget>().daemon("watch", watch, |o| o));
    let operator = cluster.start(operator);
    for number in 0..50 {
        create(&cluster, &format!("w{number}"), json!({"size": 1})).await;
    }
    notes.wait_for(50).await;
    at(begin, 100.5).await;
    operator.stop().await;
    assert!(
        begin.elapsed() < Duration::from_secs_f64(108.0),
        "{:?}",
        begin.elapsed()
    );
    let seen = notes.all();
    let obedient = seen.iter().filter(|note| *note == "OPERATOR_EXITING at 101").count();
    assert_eq!(obedient, 49, "{seen:?}");
    assert_eq!(seen.last().unwrap(), "dropped at 107.50");
    let text = log.text();
    let named = text
        .lines()
        .filter(|line| line.contains("Handler watch did not stop in time and was dropped"));
    let named: Vec<&str> = named.collect();
    assert!(named.len() == 1 && named[0].contains("/w7]"), "{named:?}");
}

// G-20: nobody is told that the object was deleted, for that may mean another end.
#[tokio::test(start_paused = true)]
async fn the_operators_end_is_no_deletion() {
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let watch = {
        let notes = notes.clone();
        move |Daemon { stopped, .. }: Daemon<Widget>| {
            let notes = notes.clone();
            async move {
                notes.add("begun");
                stopped.wait().await;
                tokio::time::sleep(secs(2)).await;
                notes.add(stopped.reason().to_string());
                HandlerResult::Ok(())
            }
        }
    };
    // The object is being handled when the end comes.
    let later = |_: Change<Widget>| async { HandlerResult::<()>::Err(Temporary::after(secs(3600), "later").into()) };
    let resource = Resource::of::<Widget>()
        .daemon("watch", watch, |o| o)
        .on_create("later", later, |o| o);
    let operator = cluster.start(Operator::new("suite").resource(resource));
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    tokio::time::sleep(secs(60)).await;
    operator.stop().await;
    assert_eq!(notes.all(), ["begun", "OPERATOR_EXITING"]);
}

// G-20: with times of its own, a daemon has them also then, be they longer.
#[tokio::test(start_paused = true)]
async fn the_stages_hold_for_the_operators_end_too() {
    let (notes, begin) = (Notes::default(), Instant::now());
    let options = |o: DaemonOptions<Widget>| o.cancellation_backoff(secs(15)).cancellation_timeout(secs(10));
    let (_cluster, operator) = at_work(&notes, stubborn(&notes, begin, false), options).await;
    at(begin, 5.0).await;
    operator.stop().await;
    let seen = [
        "begun",
        "OPERATOR_EXITING at 5.00",
        "OPERATOR_EXITING|DAEMON_SIGNALLED|DAEMON_CANCELLED at 20.00",
        "dropped at 30.00",
    ];
    assert_eq!(notes.all(), seen);
    assert!(begin.elapsed() < Duration::from_secs_f64(31.0), "{:?}", begin.elapsed());
}

// B-060: (a) at rest; (c) with a server that cannot be reached, and something to be written.
#[tokio::test(start_paused = true)]
async fn the_operators_end_takes_no_time_at_rest_and_needs_no_server() {
    for reachable in [true, false] {
        let cluster = Cluster::embedded().await;
        widgets::install(&cluster).await;
        let notes = Notes::default();
        let (at_rest, noted) = (notes.clone(), notes.clone());
        let watch = move |Daemon { stopped, .. }: Daemon<Widget>| {
            at_rest.add("begun");
            async move {
                stopped.wait().await;
                HandlerResult::Ok("written too late")
            }
        };
        let tick = move |_: Timer<Widget>| {
            noted.add("begun");
            async { HandlerResult::Ok(()) }
        };
        let resource = Resource::of::<Widget>()
            .daemon("watch", watch, |o| o)
            .timer("tick", tick, |o| o.interval(secs(3600)))
            .timer(
                "later",
                |_: Timer<Widget>| async { HandlerResult::Ok(()) },
                |o| o.initial_delay(secs(3600)),
            );
        let operator = cluster.start(Operator::new("suite").resource(resource));
        for number in 0..20 {
            create(&cluster, &format!("w{number}"), json!({"size": 1})).await;
        }
        notes.wait_for(40).await;
        tokio::time::sleep(secs(60)).await;
        let begin = Instant::now();
        if !reachable {
            cluster.embedded.as_ref().unwrap().faults().stop();
        }
        operator.stop().await;
        // The limit is `exit_timeout`, and what was being posted.
        let limit = if reachable { secs(2) } else { secs(14) };
        assert!(begin.elapsed() < limit, "{:?}", begin.elapsed());
    }
}

// B-060: (b) on the real clock, which threads need.
#[tokio::test]
async fn the_operators_end_does_not_wait_for_threads() {
    let log = capture(Verbosity::Normal);
    let cluster = Cluster::embedded().await;
    widgets::install(&cluster).await;
    let notes = Notes::default();
    let (handler, end, kept) = thread(&notes);
    let operator = operator(handler, |o| o).settings(|settings| settings.queueing.exit_timeout = millis(100));
    let operator = cluster.start(operator);
    create(&cluster, "a", json!({"size": 1})).await;
    notes.wait_for(1).await;
    // It has ten minutes to go; what bounds the end is that nobody waits for it.
    operator.stop().await;
    assert_eq!(notes.all(), ["begun"]);
    assert!(
        log.text()
            .contains("Handler watch did not stop in time and cannot be interrupted")
    );
    let reason = kept.lock().unwrap().clone().unwrap().reason();
    assert!(
        reason.contains(StopReason::OPERATOR_EXITING | StopReason::DAEMON_ABANDONED),
        "{reason}"
    );
    end.send(()).unwrap();
    notes.wait_for(2).await;
}
