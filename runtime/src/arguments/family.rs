//! The fields that the argument structs of all families share.

/// Declares an argument struct: the fields that all families share, then its own.
macro_rules! arguments {
    ($(#[$doc:meta])* $family:ident { $($(#[$field_doc:meta])* $field:ident: $field_type:ty,)* }) => {
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
                    labels: body.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
                    annotations: body.annotations().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
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
        }
    };
}
