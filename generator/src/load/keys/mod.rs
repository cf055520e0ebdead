//! The keys of the format: those that are built, and those that are not yet.

mod entries;

pub(super) use entries::{DAEMON, HANDLER, INDEX, SUB_HANDLER, SUB_HANDLER_LACKS, TIMER};

/// The keys of one mapping.
pub(super) struct Keys {
    /// Where they stand, for messages.
    pub(super) place: &'static str,
    /// Built.
    pub(super) now: &'static [&'static str],
    /// Part of the format, refused until they are built.
    pub(super) later: &'static [&'static str],
    /// Keys that belong to another mapping, which the help names.
    pub(super) elsewhere: &'static [(&'static str, &'static str)],
}

impl Keys {
    /// Where a key belongs that this mapping does not have.
    pub(super) fn home(&self, key: &str) -> Option<String> {
        let named = self.elsewhere.iter().find(|(name, _)| *name == key);
        match named {
            Some((_, home)) => Some((*home).to_owned()),
            None => entries::home(self, key),
        }
    }
}

pub(super) const TOP: Keys = Keys {
    place: "the operator spec",
    now: &[
        "apiVersion",
        "kind",
        "metadata",
        "project",
        "peering",
        "settings",
        "memo",
        "resources",
        "deploy",
    ],
    later: &["watch", "admission", "activities", "permissions", "generate"],
    elsewhere: &[
        (
            "spec",
            "an entry of `resources`; the operator spec itself has no such wrapper",
        ),
        ("handlers", "an entry of `resources`"),
        ("timers", "an entry of `resources`"),
        ("daemons", "an entry of `resources`"),
        ("indexes", "an entry of `resources`"),
        ("name", "`metadata`"),
    ],
};

pub(super) const METADATA: Keys = Keys {
    place: "`metadata`",
    now: &["name", "description", "labels", "annotations"],
    later: &[],
    elsewhere: &[],
};

pub(super) const PROJECT: Keys = Keys {
    place: "`project`",
    now: &["runtime"],
    later: &["crate", "edition", "license", "repository", "rustVersion", "extras"],
    elsewhere: &[],
};

pub(super) const RUNTIME: Keys = Keys {
    place: "`project.runtime`",
    now: &["path"],
    later: &["git", "rev", "version"],
    elsewhere: &[],
};

pub(super) const PEERING: Keys = Keys {
    place: "`peering`",
    now: &["name", "mandatory", "priority", "lifetime", "stealth", "clusterwide"],
    later: &[],
    elsewhere: &[],
};

pub(super) const SETTINGS: Keys = Keys {
    place: "`settings`",
    now: &[
        "persistence",
        "posting",
        "execution",
        "background",
        "queueing",
        "networking",
    ],
    later: &["process", "watching", "scanning"],
    elsewhere: &[("peering", "the top level"), ("admission", "the top level")],
};

pub(super) const PERSISTENCE: Keys = Keys {
    place: "`settings.persistence`",
    now: &["prefix", "finalizer", "progress", "diffbase", "formerly"],
    later: &[],
    elsewhere: &[],
};

pub(super) const STORAGE: Keys = Keys {
    place: "a storage",
    now: &["annotations", "status"],
    later: &[],
    elsewhere: &[],
};

pub(super) const PROGRESS_ANNOTATIONS: Keys = Keys {
    place: "the `annotations` of a progress storage",
    now: &["prefix", "v1"],
    later: &[],
    elsewhere: &[("key", "`diffbase`"), ("ignoredFields", "`diffbase`")],
};

pub(super) const PROGRESS_STATUS: Keys = Keys {
    place: "the `status` of a progress storage",
    now: &["field", "readOnly"],
    later: &[],
    elsewhere: &[("ignoredFields", "`diffbase`")],
};

pub(super) const DIFFBASE_ANNOTATIONS: Keys = Keys {
    place: "the `annotations` of a diffbase storage",
    now: &["prefix", "key", "ignoredFields", "v1"],
    later: &[],
    elsewhere: &[],
};

pub(super) const DIFFBASE_STATUS: Keys = Keys {
    place: "the `status` of a diffbase storage",
    now: &["field", "ignoredFields"],
    later: &[],
    elsewhere: &[("readOnly", "`progress`")],
};

pub(super) const FORMER: Keys = Keys {
    place: "an item of `formerly`",
    now: &["prefix", "finalizer"],
    later: &[],
    elsewhere: &[],
};

pub(super) const EXECUTION: Keys = Keys {
    place: "`settings.execution`",
    now: &["defaultBackoff", "lifecycle", "maxWorkers"],
    later: &[],
    elsewhere: &[],
};

pub(super) const BACKGROUND: Keys = Keys {
    place: "`settings.background`",
    now: &["cancellationPolling", "timerLimit"],
    later: &[],
    elsewhere: &[
        ("cancellationBackoff", "an entry of `timers` or `daemons`"),
        ("cancellationTimeout", "an entry of `timers` or `daemons`"),
    ],
};

/// Settings of Kopf for what is done in steps there.
pub(super) const BACKGROUND_LACKS: &[(&str, &str)] =
    &[("instantExitTimeout", AT_ONCE), ("instantExitZeroTimeCycles", AT_ONCE)];

const AT_ONCE: &str = "the end of a daemon or a timer is noticed at once here, without waiting in steps: remove it";

pub(super) const QUEUEING: Keys = Keys {
    place: "`settings.queueing`",
    now: &["errorDelays", "workerLimit", "exitTimeout"],
    later: &["idleTimeout", "batchWindow"],
    elsewhere: &[],
};

pub(super) const NETWORKING: Keys = Keys {
    place: "`settings.networking`",
    now: &["requestTimeout", "connectTimeout", "errorBackoffs", "enforceRetryAfter"],
    later: &[],
    elsewhere: &[],
};

pub(super) const POSTING: Keys = Keys {
    place: "`settings.posting`",
    now: &["enabled", "loggers", "level"],
    later: &[],
    elsewhere: &[],
};

pub(super) const DEPLOY: Keys = Keys {
    place: "`deploy`",
    now: &["namespace", "image"],
    later: &[
        "imagePullSecrets",
        "kubernetes",
        "replicas",
        "election",
        "resources",
        "env",
        "nodeSelector",
        "tolerations",
        "affinity",
        "topologySpread",
        "priorityClass",
        "podAnnotations",
        "profile",
        "health",
        "metrics",
        "networkPolicy",
        "outputs",
    ],
    elsewhere: &[],
};

/// Keys that identify a resource in ways that are not built yet: with one of them no other is missed.
pub(super) const OTHER_IDENTITIES: &[&str] = &[
    "group",
    "versions",
    "external",
    "crd",
    "category",
    "everything",
    "selector",
];

pub(super) const RESOURCE: Keys = Keys {
    place: "a resource",
    now: &[
        "apiVersion",
        "kind",
        "plural",
        "singular",
        "listKind",
        "module",
        "shortNames",
        "scope",
        "types",
        "spec",
        "status",
        "statusSubresource",
        "preserveUnknownFields",
        "handlers",
        "timers",
        "daemons",
        "indexes",
        "memo",
        "samples",
    ],
    later: &[
        "group",
        "versions",
        "external",
        "crd",
        "category",
        "everything",
        "selector",
        "categories",
        "rules",
        "printerColumns",
        "selectableFields",
        "scale",
        "deprecated",
        "conversion",
        "webhooks",
        "permissions",
        "userRoles",
        "renamedFrom",
    ],
    elsewhere: &[("activities", "the top level")],
};

/// Keys that only kinds with a `spec` of their own take.
pub(super) const OWN_KEYS: &[&str] = &[
    "plural",
    "singular",
    "listKind",
    "shortNames",
    "scope",
    "types",
    "status",
    "statusSubresource",
    "preserveUnknownFields",
];

pub(super) const BACKOFF: Keys = Keys {
    place: "`backoff`",
    now: &["initial", "max", "jitter"],
    later: &[],
    elsewhere: &[],
};

pub(super) const INITIAL_DELAY: Keys = Keys {
    place: "`initialDelay`",
    now: &["upTo", "fn", "env", "default"],
    later: &[],
    elsewhere: &[],
};

pub(super) const ENVIRONMENT: Keys = Keys {
    place: "a value from the environment",
    now: &["env", "default"],
    later: &[],
    elsewhere: &[],
};

/// Of labels and annotations.
pub(super) const TEXT_CRITERION: Keys = Keys {
    place: "a criterion of a label or an annotation",
    now: &["present", "absent", "fn", "env", "default"],
    later: &[],
    elsewhere: &[],
};

/// Of fields.
pub(super) const VALUE_CRITERION: Keys = Keys {
    place: "a criterion of a field",
    now: &["equals", "present", "absent", "fn"],
    later: &[],
    elsewhere: &[],
};

pub(super) const CONDITION: Keys = Keys {
    place: "`when`",
    now: &["fn", "cel", "all", "any", "none", "not"],
    later: &[],
    elsewhere: &[
        ("labels", "the entry itself"),
        ("annotations", "the entry itself"),
        ("field", "the entry itself"),
        ("value", "the entry itself"),
    ],
};
