//! What happens to a handler and its sub-handlers meanwhile: edits, deletions, restarts (C, P, U).

use super::*;

// C, *Improve on*; U-6: an edit that comes meanwhile
#[test]
fn an_edit_meanwhile_is_told_to_those_that_have_finished() {
    let mut world = World::settled([update("p"), update("q")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world
        .want("p", ["a", "b"])
        .answer("p/b", [wait(10)])
        .answer("q", [wait(100)]);
    world.edit(x(2)).cycle();
    assert_eq!(world.changes(), ["p 1->2", "p/a 1->2", "p/b 1->2", "q 1->2"]);
    world.edit(x(3)).pass(10).cycle();
    assert_eq!(world.changes(), ["p 1->3", "p/a 2->3", "p/b 1->3"]);
    // All of the family have finished; others go on.
    world.edit(x(4)).cycle();
    assert_eq!(world.changes(), ["p 3->4", "p/a 3->4", "p/b 3->4"]);
    assert!(world.pass(90).cycle().done);
    assert_eq!(
        (world.changes(), world.base(), world.traces()),
        (vec!["q 1->4".into()], x(4), vec![])
    );
}

// C, *Improve on*: an edit that is taken back meanwhile
#[test]
fn what_is_taken_back_is_told_to_those_that_have_handled_it() {
    let mut world = World::settled([update("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b"]).answer("p/b", [wait(10)]);
    world.edit(x(2)).cycle();
    world.changes();
    assert!(world.edit(x(1)).pass(10).cycle().done);
    assert_eq!(
        world.changes(),
        ["p 2->1", "p/a 2->1"],
        "and the other one has seen nothing"
    );
    assert_eq!((world.base(), world.traces()), (x(1), vec![]));
    // Also to the state that the parent itself has handled.
    let mut world = World::settled([update("p"), update("q")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b"]).answer("q", [wait(100)]);
    world.edit(x(2)).cycle();
    world.answer("p/b", [wait(10)]).edit(x(3)).cycle();
    world.changes();
    world.edit(x(2)).pass(10).cycle();
    assert_eq!(world.changes(), ["p 3->2", "p/a 3->2"]);
    assert!(world.record("p").unwrap().success);
}

// B-015, C-15: a creation is of one essence, also for those that a handler has called
#[test]
fn an_edit_during_a_creation_is_an_update_afterwards() {
    let mut world = World::new([create("p"), update("u")]);
    world.want("p", ["a", "b"]).answer("p/b", [wait(10)]);
    world.cycle();
    world.edit(x(2)).cycle();
    world.pass(10).settle();
    assert_eq!(
        world.changes(),
        [
            "p null->1",
            "p/a null->1",
            "p null->1",
            "p/b null->1",
            "p null->1",
            "p/b null->1",
            "u 1->2"
        ]
    );
    assert_eq!((world.base(), world.traces()), (x(2), vec![]));
}

// C-16, P-10: a deletion supersedes them
#[test]
fn a_deletion_drops_what_is_unfinished_of_a_family() {
    let mut world = World::settled([update("p"), delete("d")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world
        .want("p", ["a", "b"])
        .answer("p/b", [wait(1000)])
        .want("d", ["a"])
        .answer("d/a", [wait(5)]);
    world.edit(x(2)).cycle();
    world.called();
    assert_eq!(world.delete().cycle().delay, Some(Duration::from_secs(5)));
    assert_eq!(world.called(), ["d delete", "d/a delete"]);
    assert_eq!(world.traces(), ["kopf.zalando.org/d", "kopf.zalando.org/d.a"]);
    assert!(world.pass(5).cycle().released);
}

// B-022: the filter of the parent turns false in between
#[test]
fn no_record_stays_of_a_parent_that_is_filtered_out() {
    for others in [false, true] {
        let mut world = World::settled([labelled(update("p"), "tier", PRESENT), update("q")]);
        world.lifecycle = Lifecycle::AllAtOnce;
        world.edit(json!({"metadata": {"labels": {"tier": "gold"}}})).cycle();
        world.want("p", ["a", "b"]).answer("p/b", [wait(10)]);
        if others {
            world.answer("q", [wait(20)]);
        }
        world.called();
        world.edit(x(2)).cycle();
        world.edit(json!({"metadata": {"labels": null}})).settle();
        world.called();
        if others {
            // It is remembered that one of them is done, for when the filter holds again.
            assert_eq!(world.subrefs("p"), ["p/a", "p/b"]);
            world.pass(20).settle();
        }
        assert_eq!(world.traces(), Vec::<String>::new());
        // A later change starts clean.
        world
            .edit(json!({"metadata": {"labels": {"tier": "gold"}}}))
            .edit(x(3))
            .cycle();
        assert!(world.called().contains(&"p/a update".to_owned()));
        assert_eq!(world.record("p/b").map_or(0, |record| record.retries), 0);
    }
}

// P-12, U-12: another process goes on
#[test]
fn a_restart_repeats_no_sub_handler_that_has_finished() {
    let mut world = World::new([create("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    world.want("p", ["a", "b"]).answer("p/b", [wait(10)]);
    world.cycle();
    world.called();
    assert_eq!(world.restart().cycle().delay, Some(Duration::from_secs(10)));
    assert_eq!(world.called(), Vec::<String>::new());
    world.pass(10).cycle();
    assert_eq!(world.called(), ["p create", "p/b create"]);
}

// P-8, U-9: records that Kopf has left
#[test]
fn the_family_that_kopf_began_is_continued() {
    let mut world = World::settled([update("p")]);
    world.lifecycle = Lifecycle::AllAtOnce;
    let record = |success: bool, more: Value| {
        let mut record = json!({
            "started": "2031-02-03T04:05:00.000000+00:00", "purpose": "update", "retries": 1,
            "success": success, "failure": false,
        });
        merge_into(&mut record, &more);
        json!(record.to_string())
    };
    let delayed = "2031-02-03T04:05:16.000000+00:00";
    world.annotate(
        "kopf.zalando.org/p",
        record(false, json!({"delayed": delayed, "subrefs": ["p/a", "p/b"]})),
    );
    world.annotate("kopf.zalando.org/p.a", record(true, json!({"stopped": delayed})));
    world.annotate(
        "kopf.zalando.org/p.b",
        record(false, json!({"delayed": delayed, "message": "busy"})),
    );
    world.want("p", ["a", "b"]).edit(x(2));
    assert_eq!(world.cycle().delay, Some(Duration::from_secs(10)));
    assert_eq!(world.called(), Vec::<String>::new());
    assert!(world.pass(10).cycle().done);
    assert_eq!(world.called(), ["p update", "p/b update"]);
    assert_eq!(world.traces(), Vec::<String>::new());
}

// C, *Improve on*: whatever happens in whatever order, each sub-handler is told a gapless story up to the last state.
#[test]
fn no_sub_handler_misses_a_change_or_is_told_twice() {
    for seed in 0..300_u64 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let told = ["p/a", "p/b", "p/a/x", "u"];
        let mut world = World::settled([update("p"), update("u")]);
        world.want("p", ["a", "b"]).want("p/a", ["x"]);
        world.lifecycle = [Lifecycle::Asap, Lifecycle::AllAtOnce][usize::try_from(random(2)).unwrap()].clone();
        let mut known: std::collections::BTreeMap<&str, Value> = told.map(|id| (id, json!(1))).into();
        let mut follow = |world: &mut World| {
            for made in std::mem::take(&mut world.calls) {
                let Some(id) = told.into_iter().find(|id| *id == made.id) else {
                    continue;
                };
                let x = |value: &Value| value.pointer("/spec/x").unwrap_or(value).clone();
                assert_ne!(x(&made.old), x(&made.new), "seed {seed}: {made:?}");
                if world.record(id).is_none_or(|record| record.finished()) {
                    assert_eq!(x(&made.old), known[id], "seed {seed}: {made:?}");
                    known.insert(id, x(&made.new));
                }
            }
            known.clone()
        };
        for _ in 0..40 {
            match random(5) {
                0 => drop(world.pass(i64::try_from(random(8)).unwrap())),
                1 | 2 => {
                    for id in ["p", "p/b", "p/a/x", "u"] {
                        let outcome = if random(10) < 4 { wait(5) } else { ok() };
                        world.answer(id, [outcome]);
                    }
                    world.cycle();
                    follow(&mut world);
                }
                3 => drop(world.restart()),
                _ => drop(world.edit(x(u32::try_from(1 + random(3)).unwrap()))),
            }
        }
        world.pass(100).answers.clear();
        world.settle();
        let known = follow(&mut world);
        let last = world.object["spec"]["x"].clone();
        assert!(
            known.values().all(|value| *value == last),
            "seed {seed}: {known:?} {last}"
        );
        assert_eq!(
            (world.base(), world.traces()),
            (json!({"spec": {"x": last}}), vec![]),
            "seed {seed}"
        );
    }
}
