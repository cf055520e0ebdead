//! One call of a webhook, from the question to its verdict.

use std::sync::Mutex;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::CONTENT_TYPE;
use serde_json::{Value, from_slice};
use tokio::time::{sleep, timeout};

use crate::admission::hooks::{Hook, Power};
use crate::admission::network::{self, Address, Breakage, Route};
use crate::admission::reviews::{self, Verdict};
use crate::admission::tls::{self, Reply};
use crate::admission::{Attempt, lock};
use crate::cluster::{Cluster, Place};

/// Asks a webhook; otherwise, why there is no verdict.
pub(super) async fn ask(
    cluster: &Mutex<Cluster>,
    attempt: &Attempt<'_>,
    (hook, power): (&Hook, Power),
    place: &Place,
    (old, new): (Option<&Value>, &Value),
) -> Result<Verdict, String> {
    let version = reviews::version_for(hook).ok_or(
        "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
    )?;
    let uid = lock(cluster).next_uid();
    let question = reviews::question(attempt, (version, &uid), place, old, new);
    let address = network::address(hook, hook.seconds());
    let answer = timeout(
        Duration::from_secs(hook.seconds()),
        post(cluster, hook, &address, question),
    )
    .await;
    let answer = answer.unwrap_or_else(|_| Err(undelivered(&address, "context deadline exceeded")));
    let answer = answer.map_err(|why| format!("failed to call webhook: {why}"))?;
    reviews::verdict(&answer, (version, &uid), power)
}

async fn post(cluster: &Mutex<Cluster>, hook: &Hook, address: &Address, question: Value) -> Result<Value, String> {
    let (breakage, route) = {
        let mut cluster = lock(cluster);
        let breakage = cluster.network.take_breakage(&hook.name);
        (breakage, network::route(&cluster, hook, address))
    };
    match breakage {
        Some(Breakage::Refused) => {
            let why = format!("dial tcp {}: connect: connection refused", address.endpoint());
            return Err(undelivered(address, &why));
        }
        Some(Breakage::Timeout) => {
            sleep(Duration::from_secs(hook.seconds())).await;
            return Err(undelivered(address, "context deadline exceeded"));
        }
        None => {}
    }
    let (host, port) = match route {
        Route::InProcess(answerer) => return Ok(answerer(address.path.clone(), question).await),
        Route::Nowhere(why) => return Err(undelivered(address, &why)),
        Route::Socket { host, port } => (host, port),
    };
    let authorities = hook
        .client_config
        .ca_bundle
        .as_ref()
        .filter(|bundle| !bundle.is_empty());
    let authorities = authorities.map(|bundle| STANDARD.decode(bundle).unwrap_or_default());
    let body = question.to_string().into_bytes();
    let reply = tls::post(address, (&host, port), authorities.as_deref(), body).await;
    read(&reply.map_err(|why| undelivered(address, &why))?)
}

fn undelivered(address: &Address, why: &str) -> String {
    format!("Post {:?}: {why}", address.url)
}

/// The review in a reply; otherwise, what the server's client library makes of it.
fn read(reply: &Reply) -> Result<Value, String> {
    let content_type = reply
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let code = reply.code.as_u16();
    if !reply.code.is_success() {
        let body: Option<Value> = from_slice(&reply.body).ok();
        // A status says itself what is wrong.
        if let Some(status) = body.filter(|body| body["kind"] == "Status" && body["status"] == "Failure") {
            return Err(status["message"].as_str().unwrap_or_default().to_owned());
        }
        let is_text = content_type.is_empty() || content_type.starts_with("text/");
        let text = if is_text {
            String::from_utf8_lossy(&reply.body)
        } else {
            "unknown".into()
        };
        return Err(refusal(code, text.trim()));
    }
    if reply.body.is_empty() {
        let code = reply.code.as_u16();
        return Err(format!(
            "0-length response with status code: {code} and content type: {content_type}"
        ));
    }
    let value = from_slice(&reply.body).map_err(|error| {
        let first = String::from_utf8_lossy(&reply.body).chars().next().unwrap_or_default();
        let why = match error.column() {
            1 => format!("invalid character '{first}' looking for beginning of value"),
            _ => error.to_string(),
        };
        format!("couldn't get version/kind; json parse error: {why}")
    });
    match value? {
        Value::Object(fields) => Ok(Value::Object(fields)),
        other => {
            let what = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            Err(format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {what} into Go value of type \
                 struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                 \"json:\\\"kind,omitempty\\\"\" }}"
            ))
        }
    }
}

fn refusal(code: u16, text: &str) -> String {
    let message = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        403 => text,
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500.. => return format!("an error on the server ({text:?}) has prevented the request from succeeding"),
        _ => return format!("the server responded with the status code {code} but did not return more information"),
    };
    message.into()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode};

    use super::*;

    fn reply(code: u16, content_type: &'static str, body: &'static str) -> Result<Value, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        read(&Reply {
            code: StatusCode::from_u16(code).unwrap(),
            headers,
            body: Bytes::from(body),
        })
    }

    #[test]
    fn replies_that_are_no_reviews_are_told_in_the_words_of_the_client_library() {
        let json = "application/json";
        for (code, content_type, body, told) in [
            (404, json, "{}", "the server could not find the requested resource"),
            (
                500,
                json,
                "{}",
                "an error on the server (\"unknown\") has prevented the request from succeeding",
            ),
            (
                500,
                "text/plain",
                "oh no\n",
                "an error on the server (\"oh no\") has prevented the request from succeeding",
            ),
            (403, "text/plain", "keep out", "keep out"),
            (
                400,
                json,
                "{\"kind\": \"Status\", \"status\": \"Failure\", \"message\": \"bad\"}",
                "bad",
            ),
            (
                301,
                json,
                "",
                "the server responded with the status code 301 but did not return more information",
            ),
            (
                200,
                json,
                "",
                "0-length response with status code: 200 and content type: application/json",
            ),
            (
                200,
                json,
                "hello",
                "couldn't get version/kind; json parse error: invalid character 'h' looking for beginning of value",
            ),
        ] {
            assert_eq!(reply(code, content_type, body).unwrap_err(), told);
        }
        assert!(
            reply(200, json, "[]")
                .unwrap_err()
                .contains("cannot unmarshal array into Go value")
        );
        assert!(reply(201, json, "{}").unwrap().is_object());
    }
}
