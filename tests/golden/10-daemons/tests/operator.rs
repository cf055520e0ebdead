//! The operator on an embedded API server: no cluster, no waiting.

use std::error::Error;

use kopf_runtime::kube::Client;
use kopf_runtime::{Kind, Reference};
use kopf_testserver::{Resource, Server, User};
use serde_json::Value;

use lighthouse::generated::beacon::Beacon;
use lighthouse::generated::operator;

const KIND: Reference = Beacon::REFERENCE;
const RESOURCE: Resource = Resource::new(KIND.group, KIND.version, KIND.plural);
const NAMESPACE: Option<&str> = Some("default");
const SAMPLES: &str = "deploy/samples/beacon.yaml";
const OPERATOR_NAMESPACE: &str = "lighthouse-system";
const ACCOUNT: &str = "lighthouse";

#[tokio::test(start_paused = true)]
async fn handles_its_sample() -> Result<(), Box<dyn Error>> {
    let server = Server::new();
    server.install("deploy/all")?;
    // With the rights of its service account, no more.
    let account = User::service_account(OPERATOR_NAMESPACE, ACCOUNT);
    let operator = operator().start(Client::new(server.service_as(account), "default"));
    operator.ready().await;

    let samples = server.install(SAMPLES)?;
    let sample = samples.first().ok_or("there is no sample")?;
    let name = sample["metadata"]["name"]
        .as_str()
        .ok_or("the sample has no name")?;
    server
        .wait_for(RESOURCE, NAMESPACE, name, is_handled)
        .await?;

    server.delete(RESOURCE, NAMESPACE, name)?;
    server.wait_gone(RESOURCE, NAMESPACE, name).await?;
    operator.stop().await;
    Ok(())
}

fn is_handled(object: Option<&Value>) -> bool {
    object.is_some()
}
