//! What an error of a handler means (E-1).

use super::execution::Outcome;
use crate::structs::errors::{Permanent, Temporary, chain};

/// Sorts an error by its class. The outermost `Temporary` or `Permanent` decides.
pub(crate) fn classify(error: &anyhow::Error) -> Outcome {
    // `downcast_ref` finds a context layer as well as an error in the chain.
    if let Some(permanent) = error.downcast_ref::<Permanent>().or_else(|| find(error)) {
        let message = message_of(error, &permanent.message);
        return Outcome::Permanent { message };
    }
    if let Some(temporary) = error.downcast_ref::<Temporary>().or_else(|| find(error)) {
        let message = message_of(error, &temporary.message);
        return Outcome::Temporary {
            delay: temporary.delay,
            message,
        };
    }
    Outcome::Arbitrary { message: chain(error) }
}

fn find<E: std::error::Error + 'static>(error: &anyhow::Error) -> Option<&E> {
    error.chain().find_map(|cause| cause.downcast_ref::<E>())
}

/// The whole chain; but where the class was given as context of its own cause, that cause is said only once.
fn message_of(error: &anyhow::Error, own: &str) -> String {
    let top = error.to_string();
    if top == own { top } else { chain(error) }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use std::time::Duration;

    use super::*;
    use crate::structs::errors::OrRetry as _;

    // E-1
    #[test]
    fn there_are_three_classes_and_a_temporary_error_waits_a_minute_unless_it_says_otherwise() {
        let temporary = |delay: Option<u64>| Outcome::Temporary {
            delay: delay.map(Duration::from_secs),
            message: "busy".into(),
        };
        assert_eq!(classify(&Temporary::new("busy").into()), temporary(Some(60)));
        let later = Temporary::after(Duration::from_secs(5), "busy");
        assert_eq!(classify(&later.into()), temporary(Some(5)));
        assert_eq!(classify(&Temporary::soon("busy").into()), temporary(None));
        let message = String::from("busy");
        assert_eq!(classify(&Permanent::new("busy").into()), Outcome::Permanent { message });
        let message = String::from("busy");
        assert_eq!(classify(&anyhow::anyhow!("busy")), Outcome::Arbitrary { message });
    }

    // E-1
    #[test]
    fn errors_keep_their_class_below_context() {
        let error = anyhow::Error::from(Permanent::new("reserved")).context("cannot provision");
        assert_eq!(
            classify(&error),
            Outcome::Permanent {
                message: "cannot provision: reserved".into()
            }
        );

        let error = anyhow::Error::from(Temporary::after(Duration::from_secs(3), "busy")).context("cannot resize");
        assert_eq!(
            classify(&error),
            Outcome::Temporary {
                delay: Some(Duration::from_secs(3)),
                message: "cannot resize: busy".into()
            }
        );
    }

    #[test]
    fn other_errors_are_arbitrary_and_tell_their_whole_chain() {
        let error = Err::<(), _>(std::io::Error::other("refused"))
            .context("cannot connect")
            .unwrap_err();
        assert_eq!(
            classify(&error),
            Outcome::Arbitrary {
                message: "cannot connect: refused".into()
            }
        );
    }

    #[test]
    fn any_result_can_be_made_temporary_or_permanent() {
        let error = "x".parse::<u8>().or_give_up().unwrap_err();
        assert_eq!(
            classify(&error),
            Outcome::Permanent {
                message: "invalid digit found in string".into()
            }
        );

        let error = "x".parse::<u8>().or_retry(Duration::ZERO).unwrap_err();
        assert_eq!(
            classify(&error),
            Outcome::Temporary {
                delay: Some(Duration::ZERO),
                message: "invalid digit found in string".into()
            }
        );
    }
}
