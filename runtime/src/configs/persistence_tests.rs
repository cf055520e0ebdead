use super::*;
use crate::configs::diffbase::{AnnotationsDiffBase, StatusDiffBase};
use crate::configs::progress::{AnnotationsProgress, StatusProgress};

fn refusal(change: impl FnOnce(&mut PersistenceSettings)) -> String {
    let mut settings = PersistenceSettings::default();
    change(&mut settings);
    settings.check().expect_err("it is refused")
}

// S, P-16, B-7
#[test]
fn the_defaults_are_kopfs() {
    let settings = PersistenceSettings::default();
    assert_eq!(settings.prefix, "kopf.zalando.org");
    assert_eq!(settings.finalizer, "kopf.zalando.org/KopfFinalizerMarker");
    assert!(settings.progress.is_empty() && settings.diffbase.is_empty() && settings.formerly.is_empty());
    assert_eq!(settings.check(), Ok(()));
}

// N-8, P-13
#[test]
fn names_that_the_api_refuses_are_refused_at_the_start() {
    let cases = [
        (
            refusal(|settings| settings.prefix = "Kopf_Op".into()),
            "settings.persistence.prefix: the prefix \"Kopf_Op\"",
        ),
        (
            refusal(|settings| settings.prefix = String::new()),
            "settings.persistence.prefix: the prefix of annotations is empty",
        ),
        (
            refusal(|settings| settings.finalizer = "no domain".into()),
            "settings.persistence.finalizer: \"no domain\"",
        ),
        (
            refusal(|settings| settings.progress = vec![Arc::new(AnnotationsProgress::new(""))]),
            "settings.persistence.progress[0]: the prefix of annotations is empty",
        ),
        (
            refusal(|settings| {
                settings.progress = vec![
                    Arc::new(AnnotationsProgress::new("a.example.com")),
                    Arc::new(StatusProgress::new("spec.progress")),
                ];
            }),
            "settings.persistence.progress[1]: \"spec.progress\" is no field below the status",
        ),
        (
            refusal(|settings| settings.diffbase = vec![Arc::new(AnnotationsDiffBase::new("a.example.com").key(""))]),
            "settings.persistence.diffbase[0]: the key",
        ),
        (
            refusal(|settings| settings.diffbase = vec![Arc::new(StatusDiffBase::new("status"))]),
            "settings.persistence.diffbase[0]: \"status\" is no field below the status",
        ),
        (
            refusal(|settings| settings.formerly = vec![Former::new("-", "a/b")]),
            "settings.persistence.formerly[0].prefix: the prefix \"-\"",
        ),
        (
            refusal(|settings| settings.formerly = vec![Former::new("a", "/")]),
            "settings.persistence.formerly[0].finalizer: \"/\"",
        ),
        (
            refusal(|settings| {
                settings.formerly = vec![Former::new("kopf.zalando.org", "kopf.zalando.org/KopfFinalizerMarker")];
            }),
            "settings.persistence.formerly[0]: these are the prefix and the finalizer of now",
        ),
    ];
    for (message, beginning) in cases {
        assert!(message.starts_with(beginning), "{message}");
    }
}
