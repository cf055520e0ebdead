use super::*;

#[test]
fn an_edit_is_an_update_from_what_was_handled() {
    let mut world = World::settled([create("c"), update("u")]);
    world.edit(x(2)).settle();
    assert_eq!(world.called(), ["u update"]);
    assert_eq!(world.base(), x(2));
}

// C-12: and not in between, and not for nothing.
#[test]
fn the_diff_base_is_written_at_the_end_if_the_essence_differs() {
    let mut world = World::settled([update("u1"), update("u2"), resume("r"), delete("d")]);
    let written = |world: &World| world.merge["metadata"]["annotations"].get(BASE).is_some();
    world.edit(x(2)).cycle();
    assert!(!written(&world));
    assert!(world.cycle().done && written(&world));
    assert_eq!(world.base(), x(2));
    world.answer("r", [wait(5)]);
    world.restart().cycle();
    assert!(world.pass(5).cycle().done && !written(&world));
    assert!(world.edit(x(3)).delete().cycle().done && written(&world));
    assert_eq!(world.base(), x(3), "also by a deletion");
}

// C-14
#[test]
fn edits_made_meanwhile_are_one_accumulated_update() {
    let mut world = World::settled([update("u")]);
    world.edit(x(2)).edit(x(3)).restart().settle();
    assert_eq!(world.changes(), ["u 1->3"]);
}

// B
#[test]
fn system_metadata_and_status_are_no_change() {
    let mut world = World::settled([update("u")]);
    world.edit(json!({"metadata": {"generation": 5, "resourceVersion": "9"}, "status": {"x": 1}}));
    let came = world.cycle();
    assert_eq!((came.reason, world.merge.clone()), (Reason::Noop, json!({})));
}

// C, *Lost change*
#[test]
fn a_handler_that_is_done_is_called_for_an_edit_made_while_others_are_not() {
    let mut world = World::settled([update("u1"), update("u2")]);
    world.answer("u2", [wait(60)]);
    world.edit(x(2)).settle();
    assert_eq!(world.changes(), ["u1 1->2", "u2 1->2"]);
    world.edit(x(3)).settle();
    assert_eq!(world.changes(), ["u1 2->3"]);
    world.pass(60).settle();
    assert_eq!(world.changes(), ["u2 1->3"]);
    assert_eq!((world.base(), world.traces()), (x(3), vec![]));
}

// C, *Lost change*
#[test]
fn a_handler_that_is_retried_about_a_later_edit_still_sees_what_it_has_handled() {
    let mut world = World::settled([update("u1"), update("u2")]);
    world.answer("u1", [ok(), wait(5)]).answer("u2", [wait(60)]);
    world.edit(x(2)).settle();
    world.changes();
    world.edit(x(3)).settle();
    world.pass(5).edit(x(4)).settle();
    assert_eq!(world.changes(), ["u1 2->3", "u1 2->4"]);
    assert_eq!(world.record("u1").unwrap().retries, 2);
}

// C, *Lost change*
#[test]
fn a_failure_is_called_again_for_a_later_edit() {
    let mut world = World::settled([update("u1"), update("u2")]);
    world.answer("u1", [give_up()]).answer("u2", [wait(60)]);
    world.edit(x(2)).settle();
    world.edit(x(3)).settle();
    assert_eq!(world.changes(), ["u1 1->2", "u2 1->2", "u1 2->3"]);
}

// C, *Revert*
#[test]
fn an_edit_that_is_taken_back_is_told_to_those_who_have_applied_it() {
    let mut world = World::settled([update("u1"), update("u2"), update("u3")]);
    world.answer("u3", [wait(60)]);
    world.edit(x(2)).settle();
    assert_eq!(world.changes(), ["u1 1->2", "u2 1->2", "u3 1->2"]);
    let came = world.edit(x(1)).cycle();
    assert_eq!(came.reason, Reason::Update);
    assert_eq!(world.record("u3"), None, "it has not applied anything");
    world.settle();
    assert_eq!(world.changes(), ["u1 2->1", "u2 2->1"]);
    assert_eq!((world.base(), world.traces()), (x(1), vec![]));
}

// C, *Revert*
#[test]
fn the_next_edit_after_a_taken_back_one_skips_nobody() {
    let mut world = World::settled([update("u1"), update("u2")]);
    world.answer("u2", [wait(60)]);
    world.edit(x(2)).settle();
    world.edit(x(1)).settle();
    world.changes();
    world.edit(x(3)).settle();
    assert_eq!(world.changes(), ["u1 1->3", "u2 1->3"]);
}

// C, *Revert*
#[test]
fn a_revert_that_fails_is_retried_from_what_was_handled() {
    let mut world = World::settled([update("u1"), update("u2")]);
    world.answer("u1", [ok(), wait(5)]).answer("u2", [wait(60)]);
    world.edit(x(2)).settle();
    let came = world.edit(x(1)).settle();
    assert_eq!(
        (came.reason, came.delay),
        (Reason::Update, Some(Duration::from_secs(5)))
    );
    world.pass(5).settle();
    assert_eq!(world.changes(), ["u1 1->2", "u2 1->2", "u1 2->1", "u1 2->1"]);
    assert_eq!((world.base(), world.traces()), (x(1), vec![]));
}

// C, *Revert*: nobody has applied the edit, so nothing is left of it.
#[test]
fn an_edit_taken_back_before_anyone_has_applied_it_is_a_noop() {
    let mut world = World::settled([update("u1")]);
    world.answer("u1", [wait(60)]);
    world.edit(x(2)).settle();
    let came = world.edit(x(1)).cycle();
    assert_eq!((came.reason, came.done, world.traces()), (Reason::Noop, true, vec![]));
}

// C, *Stale records*
#[test]
fn records_go_when_filters_stop_matching() {
    let mut world = World::settled([labelled(update("u1"), "on", PRESENT), update("u2")]);
    world.annotate(
        BASE,
        json!("{\"metadata\":{\"labels\":{\"on\":\"\"}},\"spec\":{\"x\":1}}\n"),
    );
    world.answer("u1", [wait(60)]).answer("u2", [wait(60)]);
    world
        .edit(json!({"metadata": {"labels": {"on": ""}}, "spec": {"x": 2}}))
        .settle();
    assert_eq!(world.record("u1").unwrap().retries, 1);
    world.edit(json!({"metadata": {"labels": {"on": null}}})).settle();
    assert_eq!(world.traces(), ["kopf.zalando.org/u2"]);
    world.edit(json!({"metadata": {"labels": {"on": ""}}})).settle();
    assert_eq!(world.record("u1").unwrap().retries, 1, "a new series");
}

// C, *Stale records*
#[test]
fn records_go_even_when_nobody_is_interested_any_more() {
    let mut world = World::settled([labelled(update("u"), "on", PRESENT)]);
    world.answer("u", [wait(60)]);
    world.edit(json!({"metadata": {"labels": {"on": ""}}})).settle();
    assert_eq!(world.traces().len(), 1);
    let came = world.edit(json!({"metadata": {"labels": {"on": null}}})).cycle();
    assert!(!came.stealth);
    assert_eq!(world.traces(), Vec::<String>::new());
    assert!(world.cycle().stealth);
}

// P-11, improved
#[test]
fn records_of_handlers_that_are_gone_from_the_code_are_purged() {
    let mut world = World::settled([update("u")]);
    world.annotate(
        "kopf.zalando.org/renamed",
        json!("{\"retries\":3,\"success\":false,\"failure\":false}"),
    );
    assert_eq!(world.cycle().reason, Reason::Noop);
    assert_eq!(world.traces(), Vec::<String>::new());
}

// P-10
#[test]
fn sub_handlers_records_are_purged_with_their_parents() {
    let mut world = World::settled([update("p")]);
    let parent =
        "{\"purpose\":\"update\",\"retries\":1,\"success\":false,\"failure\":false,\"subrefs\":[\"p/a\",\"p/absent\"]}";
    world.annotate("kopf.zalando.org/p", json!(parent));
    world.annotate(
        "kopf.zalando.org/p.a",
        json!("{\"retries\":1,\"success\":true,\"failure\":false}"),
    );
    world.edit(x(2)).cycle();
    assert_eq!(world.traces(), Vec::<String>::new());
    assert_eq!(
        world.merge["metadata"]["annotations"].get("kopf.zalando.org/p.absent"),
        None
    );
}

// P-12: "Kill the operator while a handler with retries is half-way".
#[test]
fn a_restart_goes_on_with_the_next_attempt_and_repeats_no_success() {
    let mut world = World::settled([update("u1"), update("u2")]);
    world.answer("u2", [wait(20), wait(20)]);
    world.edit(x(2)).settle();
    world.restart().pass(20).settle();
    world.restart().pass(20).settle();
    let retries: Vec<_> = world.calls.iter().map(|made| (made.id.as_str(), made.retry)).collect();
    assert_eq!(retries, [("u1", 0), ("u2", 0), ("u2", 1), ("u2", 2)]);
}

// Section 24, trace 3
#[test]
fn a_restart_during_retries_mixes_resuming_in_first() {
    let mut world = World::settled([resume("r"), update("u")]);
    world.answer("u", [wait(5), wait(20)]);
    world.edit(x(2)).settle();
    world.pass(5).settle();
    world.called();
    let came = world.restart().settle();
    assert_eq!(
        (world.called(), came.delay),
        (vec!["r update".to_owned()], Some(Duration::from_secs(20)))
    );
    world.pass(20).settle();
    assert_eq!(world.calls[0].retry, 2);
    assert_eq!(world.called(), ["u update"]);
}

// P-12, P-16: a cycle that Kopf has begun.
#[test]
fn a_cycle_begun_by_kopf_is_finished() {
    let mut world = World::settled([update("u1"), update("u2")]);
    world.edit(x(2));
    world.annotate("kopf.zalando.org/u1", json!("{\"started\":\"2031-02-03T04:00:00.000000+00:00\",\"stopped\":\"2031-02-03T04:00:01.000000+00:00\",\"purpose\":\"update\",\"retries\":1,\"success\":true,\"failure\":false}"));
    world.edit(json!({"status": {"kopf": {"progress": {"u2": {"purpose": "update", "retries": 4}}}}}));
    world.settle();
    assert_eq!(world.calls[0].retry, 4);
    assert_eq!(world.called(), ["u2 update"]);
    assert_eq!(world.object["status"], json!({"kopf": {"progress": {}}}));
}

// E-9
#[test]
fn a_handler_beyond_its_limits_fails_without_a_call() {
    let mut handler = update("u");
    handler.limits.retries = Some(100);
    let mut world = World::settled([handler]);
    world.annotate(
        "kopf.zalando.org/u",
        json!("{\"purpose\":\"update\",\"retries\":100,\"success\":false,\"failure\":false}"),
    );
    assert!(world.edit(x(2)).cycle().done);
    assert_eq!((world.called(), world.base()), (vec![], x(2)));
}

// B-034: a status of one's own is no change.
#[test]
fn retries_end_although_the_handler_writes_to_the_status() {
    let mut handler = update("u");
    handler.limits.retries = Some(3);
    let mut world = World::settled([handler]);
    world.answer("u", [wait(5), wait(5), wait(5)]);
    world.writes.insert("u".into(), json!({"status": {"lastError": "now"}}));
    world.edit(x(2)).settle();
    world.pass(5).settle();
    world.pass(5).settle();
    let came = world.pass(5).settle();
    assert_eq!((world.calls.len(), came.reason), (3, Reason::Noop));
}

#[test]
fn a_record_notes_what_was_handled_as_a_patch_of_the_diff_base() {
    let mut world = World::settled([update("u1"), update("u2")]);
    world.edit(json!({"spec": {"x": null, "y": {"z": 1}}})).cycle();
    let record = world.record("u1").unwrap();
    assert_eq!(record.handled, Some(json!({"spec": {"x": null, "y": {"z": 1}}})));
    assert_eq!(world.record("u2").unwrap().handled, None);
    assert!(
        world
            .annotation("kopf.zalando.org/u1")
            .unwrap()
            .ends_with(",\"handled\":{\"spec\":{\"x\":null,\"y\":{\"z\":1}}}}")
    );
}

// B-054
#[test]
fn large_notes_are_digested_and_still_tell_edits_apart() {
    let mut world = World::settled([update("u1"), update("u2")]);
    world.answer("u2", [wait(60)]);
    world.edit(json!({"spec": {"big": "x".repeat(10_000)}})).settle();
    assert!(world.annotation("kopf.zalando.org/u1").unwrap().len() < 5_000);
    world.settle();
    assert_eq!(world.called(), ["u1 update", "u2 update"]);
    world.edit(json!({"spec": {"x": 7}})).settle();
    assert_eq!(world.changes(), ["u1 1->7"]);
}
