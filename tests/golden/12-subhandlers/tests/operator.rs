//! The operator on an embedded API server: no cluster, no waiting.

use std::error::Error;

use kopf_runtime::kube::Client;
use kopf_runtime::{Kind, Reference};
use kopf_testserver::{Resource, Server, User};
use serde_json::Value;

use granter::generated::database::Database;
use granter::generated::operator;

const KIND: Reference = Database::REFERENCE;
const RESOURCE: Resource = Resource::new(KIND.group, KIND.version, KIND.plural);
const NAMESPACE: Option<&str> = Some("default");
const SAMPLES: &str = "deploy/samples/database.yaml";
const OPERATOR_NAMESPACE: &str = "granter-system";
const ACCOUNT: &str = "granter";
const LAST_HANDLED: &str = "granter.db.example.com/last-handled-configuration";

/// What happens to the sample once it is handled.
const EDITS: &str = r#"
spec:
  users:
  - grants:
    - read
    - write
    name: ada
  - name: bob
  - name: eve
---
spec:
  parameters:
    timeout: null
    workers: "4"
  users:
  - name: eve
"#;

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
    let mut object = server
        .wait_for(RESOURCE, NAMESPACE, name, is_handled)
        .await?;

    for edit in documents(EDITS)? {
        let before = last_handled(&object).map(str::to_owned);
        server.patch(RESOURCE, NAMESPACE, name, edit)?;
        let is_new = |object: Option<&Value>| object.and_then(last_handled) != before.as_deref();
        object = server.wait_for(RESOURCE, NAMESPACE, name, is_new).await?;
    }

    server.delete(RESOURCE, NAMESPACE, name)?;
    server.wait_gone(RESOURCE, NAMESPACE, name).await?;
    operator.stop().await;
    Ok(())
}

fn is_handled(object: Option<&Value>) -> bool {
    object.is_some_and(|object| last_handled(object).is_some())
}

/// What the operator notes on an object that it has handled.
fn last_handled(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][LAST_HANDLED].as_str()
}

fn documents(text: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    Ok(serde_yaml::from_multiple(text)?)
}
