//! Which of the waiting handlers are called in this cycle (L).

pub(crate) use crate::configs::settings::Lifecycle;

/// The chosen candidates, in the order of calling; each candidate is given by its retries, in registration order.
///
/// `random` yields a number below its argument, which is never 0.
pub(crate) fn pick(lifecycle: Lifecycle, retries: &[u32], mut random: impl FnMut(usize) -> usize) -> Vec<usize> {
    let all = 0..retries.len();
    match lifecycle {
        Lifecycle::AllAtOnce => all.collect(),
        Lifecycle::OneByOne => all.take(1).collect(),
        Lifecycle::Asap => all.min_by_key(|&index| retries[index]).into_iter().collect(),
        Lifecycle::Randomized if retries.is_empty() => Vec::new(),
        Lifecycle::Randomized => vec![random(retries.len())],
        Lifecycle::Shuffled => {
            let mut order: Vec<usize> = all.collect();
            for last in (1..order.len()).rev() {
                order.swap(last, random(last + 1));
            }
            order
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zero(_: usize) -> usize {
        0
    }

    // L-2
    #[test]
    fn asap_takes_the_least_retried_and_the_first_of_equals() {
        assert_eq!(pick(Lifecycle::Asap, &[2, 0, 1], zero), [1]);
        assert_eq!(pick(Lifecycle::Asap, &[1, 1], zero), [0]);
    }

    // L-2
    #[test]
    fn the_others_take_all_or_one() {
        assert_eq!(pick(Lifecycle::AllAtOnce, &[2, 0, 1], zero), [0, 1, 2]);
        assert_eq!(pick(Lifecycle::OneByOne, &[2, 0, 1], zero), [0]);
        assert_eq!(pick(Lifecycle::Randomized, &[2, 0, 1], |below| below - 1), [2]);
        assert_eq!(pick(Lifecycle::Shuffled, &[0, 0, 0], zero), [1, 2, 0]);
        let mut shuffled = pick(Lifecycle::Shuffled, &[0; 10], |below| below / 2);
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
        ];
        for lifecycle in all {
            assert!(pick(lifecycle, &[], |below| panic!("random below {below}")).is_empty());
        }
    }
}
