//! Which of the waiting handlers are called in this cycle (L).
//!
//! By default it is one handler per cycle, so that its success is stored before the next one starts (B-029). Kopf's
//! reference would rather go on while handlers succeed quickly; that saves requests, and loses what was done whenever
//! the operator is killed in between.

pub(crate) use crate::configs::lifecycles::{Lifecycle, Waiting};
use crate::structs::bodies::Body;

/// The chosen candidates, in the order of calling; they are given in registration order.
///
/// `random` yields a number below its argument, which is never 0.
pub(crate) fn pick(
    lifecycle: &Lifecycle,
    waiting: &[Waiting<'_>],
    body: &Body,
    mut random: impl FnMut(usize) -> usize,
) -> Vec<usize> {
    if waiting.is_empty() {
        return Vec::new();
    }
    let all = 0..waiting.len();
    match lifecycle {
        Lifecycle::AllAtOnce => all.collect(),
        Lifecycle::OneByOne => vec![0],
        Lifecycle::Asap => all.min_by_key(|&index| waiting[index].retries).into_iter().collect(),
        Lifecycle::Randomized => vec![random(waiting.len())],
        Lifecycle::Shuffled => {
            let mut order: Vec<usize> = all.collect();
            for last in (1..order.len()).rev() {
                order.swap(last, random(last + 1));
            }
            order
        }
        Lifecycle::Custom(choice) => {
            let mut chosen = Vec::new();
            for index in choice.choose(waiting, body) {
                if all.contains(&index) && !chosen.contains(&index) {
                    chosen.push(index);
                }
            }
            if chosen.is_empty() {
                return pick(&Lifecycle::Asap, waiting, body, random);
            }
            chosen
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    const IDS: [&str; 10] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"];

    fn picked(lifecycle: &Lifecycle, retries: &[u32], random: impl FnMut(usize) -> usize) -> Vec<usize> {
        let waiting: Vec<Waiting<'_>> = retries
            .iter()
            .zip(IDS)
            .map(|(&retries, id)| Waiting::new(id, retries, Timestamp::UNIX_EPOCH))
            .collect();
        pick(
            lifecycle,
            &waiting,
            &Body::new(json!({"metadata": {"name": "a"}})),
            random,
        )
    }

    fn zero(_: usize) -> usize {
        0
    }

    // L-2
    #[test]
    fn asap_takes_the_least_retried_and_the_first_of_equals() {
        assert_eq!(picked(&Lifecycle::Asap, &[2, 0, 1], zero), [1]);
        assert_eq!(picked(&Lifecycle::Asap, &[1, 1], zero), [0]);
    }

    // L-2
    #[test]
    fn the_others_take_all_or_one() {
        assert_eq!(picked(&Lifecycle::AllAtOnce, &[2, 0, 1], zero), [0, 1, 2]);
        assert_eq!(picked(&Lifecycle::OneByOne, &[2, 0, 1], zero), [0]);
        assert_eq!(picked(&Lifecycle::Randomized, &[2, 0, 1], |below| below - 1), [2]);
        assert_eq!(picked(&Lifecycle::Shuffled, &[0, 0, 0], zero), [1, 2, 0]);
        let mut shuffled = picked(&Lifecycle::Shuffled, &[0; 10], |below| below / 2);
        shuffled.sort_unstable();
        assert_eq!(shuffled, (0..10).collect::<Vec<_>>());
    }

    // L-2
    #[test]
    fn every_lifecycle_accepts_an_empty_list() {
        let all = [
            Lifecycle::Asap,
            Lifecycle::AllAtOnce,
            Lifecycle::OneByOne,
            Lifecycle::Randomized,
            Lifecycle::Shuffled,
            Lifecycle::custom(|waiting, _| panic!("{waiting:?}")),
        ];
        for lifecycle in all {
            assert!(picked(&lifecycle, &[], |below| panic!("random below {below}")).is_empty());
        }
    }

    // L-5
    #[test]
    fn a_function_chooses_by_ids_records_and_the_object() {
        let most_retried = Lifecycle::custom(|waiting, body| {
            assert_eq!((waiting[1].id, body.name()), ("h1", Some("a")));
            let mut order: Vec<usize> = (0..waiting.len()).collect();
            order.sort_by_key(|&index| std::cmp::Reverse(waiting[index].retries));
            order
        });
        assert_eq!(picked(&most_retried, &[1, 0, 2], zero), [2, 0, 1]);
        let careless = Lifecycle::custom(|_, _| vec![1, 7, 1, 0]);
        assert_eq!(
            picked(&careless, &[0, 0], zero),
            [1, 0],
            "what is not there is not called, nor twice"
        );
        let idle = Lifecycle::custom(|_, _| Vec::new());
        assert_eq!(
            picked(&idle, &[1, 0], zero),
            [1],
            "somebody is called, or nothing would go on"
        );
    }
}
