//! What stands for the network between the server and its webhooks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::admission::hooks::{Hook, ServiceReference};
use crate::admission::urls::Url;
use crate::cluster::Cluster;

/// Answers the reviews sent to a path.
pub(crate) type Answerer = Arc<dyn Fn(String, Value) -> BoxFuture<'static, Value> + Send + Sync>;

/// How calls of a webhook fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breakage {
    /// Nobody listens.
    Refused,
    /// Nobody answers in time.
    Timeout,
}

/// Who can be reached, beside what really listens.
#[derive(Default)]
pub(crate) struct Network {
    /// Where services listen: by namespace, name and port.
    addresses: BTreeMap<(String, String, u16), String>,
    /// Beginnings of URLs, and who answers there.
    answerers: Vec<(String, Answerer)>,
    /// Names of webhooks whose next calls fail, and how often they do.
    broken: Vec<(String, Breakage, usize)>,
}

impl fmt::Debug for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<_> = self.answerers.iter().map(|(url, _)| url).collect();
        formatter
            .debug_struct("Network")
            .field("addresses", &self.addresses)
            .field("answerers", &urls)
            .field("broken", &self.broken)
            .finish()
    }
}

impl Network {
    /// Lets a port of a service lead to an address.
    pub(super) fn resolve(&mut self, namespace: &str, name: &str, port: u16, address: String) {
        self.addresses.insert((namespace.into(), name.into(), port), address);
    }

    /// Answers what is sent to URLs with this beginning; a later one goes before an earlier one.
    pub(super) fn answer(&mut self, url: &str, answerer: Answerer) {
        self.answerers.insert(0, (url.trim_end_matches('/').into(), answerer));
    }

    /// Lets the next calls of a webhook fail.
    pub(crate) fn break_webhook(&mut self, name: &str, how: Breakage, times: usize) {
        self.broken.push((name.into(), how, times));
    }

    /// Forgets the calls that are to fail.
    pub(crate) fn mend_webhooks(&mut self) {
        self.broken.clear();
    }

    /// Takes the failure that was planned first for a webhook.
    pub(super) fn take_breakage(&mut self, hook: &str) -> Option<Breakage> {
        let found = self
            .broken
            .iter_mut()
            .find(|(name, _, times)| name == hook && *times > 0)?;
        found.2 -= 1;
        let breakage = found.1;
        self.broken.retain(|(_, _, times)| *times > 0);
        Some(breakage)
    }

    fn answerer(&self, url: &str) -> Option<Answerer> {
        let found = self.answerers.iter().find(|(start, _)| {
            let rest = url.strip_prefix(start.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '?']))
        });
        found.map(|(_, answerer)| Arc::clone(answerer))
    }
}

/// A webhook as it is called: by which URL, at which endpoint, under which name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) url: String,
    pub(super) path: String,
    /// Host and port as in the URL.
    pub(super) authority: String,
    /// What the certificate must be for.
    pub(super) name: String,
}

impl Address {
    /// Host and port.
    pub(super) fn endpoint(&self) -> String {
        let url = Url {
            host: &self.authority,
            ..Url::default()
        };
        let (host, port) = url.endpoint();
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }
}

/// Where a call goes in the end.
pub(super) enum Route {
    InProcess(Answerer),
    Socket {
        host: String,
        port: u16,
    },
    /// It cannot go anywhere.
    Nowhere(String),
}

/// The address of a webhook, with the time that it is told to have.
pub(super) fn address(hook: &Hook, seconds: u64) -> Address {
    let (authority, name, path) = match (&hook.client_config.url, &hook.client_config.service) {
        (Some(url), _) => {
            let url = Url::parse(url).unwrap_or_default();
            (url.host.to_owned(), url.endpoint().0.to_owned(), url.path.to_owned())
        }
        (None, service) => {
            let service = service.clone().unwrap_or_default();
            let name = format!("{}.{}.svc", service.name, service.namespace);
            (
                format!("{name}:{}", service.port()),
                name,
                service.path.unwrap_or_default(),
            )
        }
    };
    let path = if path.starts_with('/') {
        path
    } else {
        format!("/{path}")
    };
    Address {
        url: format!("https://{authority}{path}?timeout={seconds}s"),
        path,
        authority,
        name,
    }
}

/// Finds out where a call goes.
pub(super) fn route(cluster: &Cluster, hook: &Hook, address: &Address) -> Route {
    if let Some(answerer) = cluster.network.answerer(&address.url) {
        return Route::InProcess(answerer);
    }
    let Some(service) = &hook.client_config.service else {
        let url = Url {
            host: &address.authority,
            ..Url::default()
        };
        let (host, port) = url.endpoint();
        return Route::Socket {
            host: host.into(),
            port,
        };
    };
    resolve(cluster, service).map_or_else(Route::Nowhere, |(host, port)| Route::Socket { host, port })
}

fn resolve(cluster: &Cluster, service: &ServiceReference) -> Result<(String, u16), String> {
    let (namespace, name) = (&service.namespace, &service.name);
    let port = u16::try_from(service.port()).unwrap_or_default();
    if let Some(address) = cluster.network.addresses.get(&(namespace.clone(), name.clone(), port)) {
        let url = Url {
            host: address,
            ..Url::default()
        };
        let (host, port) = url.endpoint();
        return Ok((host.into(), port));
    }
    let services = (String::new(), "services".to_owned());
    let found = cluster.store.get(&services, namespace, name);
    let found = found.ok_or_else(|| format!("service {name:?} not found"))?;
    let spec = &found["spec"];
    if spec["type"] == "ExternalName" {
        return Ok((spec["externalName"].as_str().unwrap_or_default().to_owned(), port));
    }
    let mut ports = spec["ports"].as_array().into_iter().flatten();
    if !ports.any(|each| each["port"] == port) {
        return Err(format!("no service port {port} found for service {name:?}"));
    }
    // Nothing runs behind services here, so that their addresses refuse, as without endpoints.
    let address = spec["clusterIP"].as_str().unwrap_or_default();
    Err(format!("dial tcp {address}:{port}: connect: connection refused"))
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn of(client: &Value) -> Address {
        let hook: Hook = from_value(json!({"clientConfig": client})).unwrap();
        address(&hook, 7)
    }

    #[test]
    fn addresses_are_those_of_urls_or_of_services() {
        let url = of(&json!({"url": "https://hooks.example.com:8443/a/b"}));
        assert_eq!(url.url, "https://hooks.example.com:8443/a/b?timeout=7s");
        assert_eq!(
            (url.authority.as_str(), url.name.as_str()),
            ("hooks.example.com:8443", "hooks.example.com")
        );
        assert_eq!(of(&json!({"url": "https://a"})).url, "https://a/?timeout=7s");
        let service = of(&json!({"service": {"name": "x", "namespace": "y", "path": "/z"}}));
        assert_eq!(service.url, "https://x.y.svc:443/z?timeout=7s");
        assert_eq!(service.name, "x.y.svc");
        assert_eq!(
            of(&json!({"service": {"name": "x", "namespace": "y", "port": 1}})).url,
            "https://x.y.svc:1/?timeout=7s"
        );
    }

    #[test]
    fn answers_are_found_by_the_beginning_of_a_url() {
        let mut network = Network::default();
        let answerer: Answerer = Arc::new(|_, review| Box::pin(async { review }));
        network.answer("https://a.example.com/x/", answerer);
        for (url, found) in [
            ("https://a.example.com/x?timeout=1s", true),
            ("https://a.example.com/x/y?timeout=1s", true),
            ("https://a.example.com/xy?timeout=1s", false),
            ("https://a.example.com:443/x?timeout=1s", false),
        ] {
            assert_eq!(network.answerer(url).is_some(), found, "{url}");
        }
    }

    #[test]
    fn breakages_are_taken_in_order_and_as_often_as_planned() {
        let mut network = Network::default();
        network.break_webhook("a", Breakage::Timeout, 1);
        network.break_webhook("a", Breakage::Refused, 2);
        let taken: Vec<_> = (0..4).map(|_| network.take_breakage("a")).collect();
        let refused = Some(Breakage::Refused);
        assert_eq!(taken, [Some(Breakage::Timeout), refused, refused, None]);
        assert_eq!(network.take_breakage("b"), None);
    }
}
