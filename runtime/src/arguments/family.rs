//! The fields that the argument structs of all families share.

/// Declares an argument struct: the fields that all families share, then its own; and what unit tests call: a text that
/// says what for, and what makes the call of the shared part.
macro_rules! arguments {
    ($(#[$doc:meta])* $family:ident { $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* }, for test: $what:literal = $test:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[non_exhaustive]
        pub struct $family<K: $crate::kind::Kind> {
            /// `.metadata.name`.
            pub name: String,
            /// `.metadata.namespace`; `None` for cluster-scoped objects.
            pub namespace: Option<String>,
            /// `.metadata.uid`.
            pub uid: String,
            /// `.metadata.labels`.
            pub labels: std::collections::BTreeMap<String, String>,
            /// `.metadata.annotations`.
            pub annotations: std::collections::BTreeMap<String, String>,
            /// `.metadata`, raw, with a typed view.
            pub meta: $crate::arguments::Raw<k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta>,
            /// `.spec`, typed and shared.
            pub spec: std::sync::Arc<K::Spec>,
            /// `.status`, raw, with a typed view: it may stem from an older schema.
            pub status: $crate::arguments::Raw<K::Status>,
            /// The whole object, raw.
            pub body: $crate::structs::bodies::Body,
            /// Changes to the object, gathered here and sent once after the call.
            pub patch: $crate::structs::patches::Patch,
            /// How many attempts there were before this one.
            pub retry: u32,
            /// When the first attempt began.
            pub started: jiff::Timestamp,
            /// The time since `started`.
            pub runtime: std::time::Duration,
            /// What the handler's `param` option says.
            pub param: serde_json::Value,
            /// What is kept in memory about the object, shared by all its handlers of the process; lost at a restart
            /// and when the object is gone (M-1).
            pub memo: std::sync::Arc<K::Memo>,
            /// The operator's indexes, by their keys.
            pub indexes: $crate::intents::indexes::Indexes,
            /// Posts Kubernetes events about the object.
            pub events: $crate::intents::contexts::Events,
            /// The cluster, for whatever else the handler does there.
            pub client: $crate::arguments::LazyClient,
            /// The span of this call, for work that is moved elsewhere; log records in it name the object.
            pub span: tracing::Span,
            $($(#[$field_doc])* pub $field: $field_type,)*
        }

        impl<K: $crate::kind::Kind> $family<K> {
            fn from_common(common: $crate::intents::invocation::Common, $($field: $field_type,)*) -> Self {
                let $crate::intents::invocation::Common { body, patch, retry, started, runtime, param, context } = common;
                let spec = context.spec.clone().and_then(|spec| spec.downcast::<K::Spec>().ok());
                let memo = context.memo.clone().and_then(|memo| memo.downcast::<K::Memo>().ok());
                Self {
                    name: body.name().unwrap_or_default().to_owned(),
                    namespace: body.namespace().map(str::to_owned),
                    uid: body.uid().unwrap_or_default().to_owned(),
                    labels: $crate::arguments::common::texts(body.labels()),
                    annotations: $crate::arguments::common::texts(body.annotations()),
                    meta: $crate::arguments::Raw::stanza(&body, "metadata"),
                    spec: spec.expect("the spec was parsed before any handler is called"),
                    status: $crate::arguments::Raw::stanza(&body, "status"),
                    body,
                    patch,
                    retry,
                    started,
                    runtime,
                    param,
                    memo: memo.expect("the memo was made before any handler is called"),
                    indexes: context.indexes,
                    events: context.events,
                    client: $crate::arguments::LazyClient::new(context.client),
                    span: tracing::Span::current(),
                    $($field,)*
                }
            }

            #[doc = concat!("The arguments of ", $what, ", with a default memo.")]
            ///
            /// # Panics
            /// If the object's spec does not fit `K::Spec`.
            #[must_use]
            pub fn for_test(object: impl Into<serde_json::Value>) -> Self
            where
                K::Memo: Default,
            {
                Self::for_test_with(object, K::Memo::default())
            }

            #[doc = concat!("The arguments of ", $what, ", with this memo.")]
            ///
            /// # Panics
            /// If the object's spec does not fit `K::Spec`.
            #[must_use]
            pub fn for_test_with(
                object: impl Into<serde_json::Value>,
                memo: impl Into<std::sync::Arc<K::Memo>>,
            ) -> Self {
                let common = $crate::arguments::common::for_test::<K>(object.into(), memo.into());
                Self::from(($test)(common))
            }
        }
    };
}
