//! The state of one server: what is served and what is stored, and the places where objects live.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::access::{self, Access};
use crate::admission::network::Network;
use crate::kinds::{Kind, Kinds, Version, crds, representations, unserved};
use crate::objects::writing::How;
use crate::status::Status;
use crate::store::Store;

/// Where timestamps come from.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

pub(crate) struct Cluster {
    pub(crate) store: Store,
    pub(crate) kinds: Kinds,
    pub(crate) network: Network,
    pub(crate) access: Access,
    clock: Clock,
    sequence: u64,
}

/// A kind in one of its versions, and the namespace ("" for cluster-scoped kinds).
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) kind: Arc<Kind>,
    pub(crate) version: String,
    pub(crate) namespace: String,
}

impl Place {
    pub(crate) fn version(&self) -> Result<&Version, Status> {
        self.kind
            .version(&self.version)
            .ok_or_else(|| unserved::path(&self.kind.group))
    }

    pub(crate) fn api_version(&self) -> String {
        self.kind.api_version(&self.version)
    }

    /// A stored object in the version of this place.
    pub(crate) fn present(&self, object: &Arc<Value>) -> Arc<Value> {
        if object["apiVersion"] == *self.api_version() && !self.kind.revised {
            return Arc::clone(object);
        }
        let mut object = Value::clone(object);
        if self.kind.custom {
            crds::read(&self.kind, &mut object, &self.version);
        } else {
            representations::convert(&mut object, &self.api_version());
        }
        Arc::new(object)
    }
}

impl Cluster {
    pub(crate) fn new(clock: Clock) -> Self {
        let (store, kinds) = (Store::new(), Kinds::built_in());
        let mut cluster = Self {
            store,
            kinds,
            network: Network::default(),
            access: Access::default(),
            clock,
            sequence: 0,
        };
        for name in ["default", "kube-system"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let place = cluster
                .place("", "v1", "namespaces", None)
                .expect("namespaces are a built-in kind");
            cluster
                .create(&place, namespace, How::default())
                .expect("the first namespaces are valid");
        }
        access::install(&mut cluster);
        cluster
    }

    pub(crate) fn place(
        &self,
        group: &str,
        version: &str,
        plural: &str,
        namespace: Option<&str>,
    ) -> Result<Place, Status> {
        let kind = self.kinds.get(group, plural);
        let kind = kind.ok_or_else(|| unserved::kind(group, version, plural))?;
        let place = Place {
            kind: Arc::clone(kind),
            version: version.to_owned(),
            namespace: namespace.unwrap_or_default().to_owned(),
        };
        place.version()?;
        if !place.kind.namespaced && !place.namespace.is_empty() {
            return Err(unserved::path(group));
        }
        Ok(place)
    }

    pub(crate) fn timestamp(&self) -> Timestamp {
        (self.clock)()
    }

    /// The time of now, as objects hold it.
    pub(crate) fn now(&self) -> String {
        self.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// A UUID in the form of version 4, though counted: two runs of a test see the same ones.
    pub(crate) fn next_uid(&mut self) -> String {
        let (high, low) = (self.next_scrambled(), self.next_scrambled());
        let id = (u128::from(high) << 64) | u128::from(low);
        let id = (id & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{id:032x}");
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// The five characters that make a generated name unique, from the server's alphabet.
    pub(crate) fn next_suffix(&mut self) -> String {
        const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut rest = self.next_scrambled();
        let mut suffix = String::new();
        for _ in 0..5 {
            suffix.push(char::from(ALPHABET[usize::try_from(rest % 27).unwrap_or_default()]));
            rest /= 27;
        }
        suffix
    }

    // The finalizer of SplitMix64: consecutive numbers in, unrelated ones out.
    fn next_scrambled(&mut self) -> u64 {
        self.sequence += 1;
        let mut z = self.sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
