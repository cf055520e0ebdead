//! A server of webhooks that both API servers can call: over HTTPS on loopback, with answers from the tables.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

const AUTHORITY: &str = include_str!("../../runtime/testserver/tests/certificates/authority.pem");
const CERTIFICATE: &str = include_str!("../../runtime/testserver/tests/certificates/server.pem");
const KEY: &str = include_str!("../../runtime/testserver/tests/certificates/server.key");

/// Answers by the path under which they are given.
type Answers = Arc<Mutex<BTreeMap<String, Value>>>;

struct Webhooks {
    port: u16,
    answers: Answers,
}

/// Serves the webhooks of a check, and gives what its steps need to know of them.
pub(crate) fn serve(place: &str, webhooks: &BTreeMap<String, Value>) -> Vec<(String, String)> {
    static RUNNING: OnceLock<Webhooks> = OnceLock::new();
    if webhooks.is_empty() {
        return Vec::new();
    }
    let running = RUNNING.get_or_init(start);
    let mut answers = running.answers.lock().unwrap();
    for (name, answer) in webhooks {
        answers.insert(format!("/{place}/{name}"), answer.clone());
    }
    vec![
        ("hooks".into(), format!("https://127.0.0.1:{}/{place}", running.port)),
        ("hooks_port".into(), running.port.to_string()),
        ("ca".into(), STANDARD.encode(AUTHORITY)),
    ]
}

fn start() -> Webhooks {
    let chain = CertificateDer::pem_slice_iter(CERTIFICATE.as_bytes()).map(Result::unwrap);
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect(), PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap());
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers = Answers::default();
    let given = Arc::clone(&answers);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, answers) = (Arc::clone(&config), Arc::clone(&given));
            // A caller that goes away is no fault of the suite.
            thread::spawn(move || drop(answer(stream, config, &answers)));
        }
    });
    Webhooks { port, answers }
}

/// Answers the only request of a connection.
fn answer(stream: TcpStream, config: Arc<ServerConfig>, answers: &Answers) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut reader = BufReader::new(StreamOwned::new(connection, stream));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        match header.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let review: Value = serde_json::from_slice(&body).map_err(io::Error::other)?;
    let wanted = answers.lock().unwrap().get(&path).cloned();
    let (code, media, text) = reply(&wanted.unwrap_or_else(|| json!({"code": 404})), &review);
    let length = text.len();
    let stream = reader.get_mut();
    write!(
        stream,
        "HTTP/1.1 {code} Answer\r\nContent-Type: {media}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )?;
    stream.flush()?;
    stream.conn.send_close_notify();
    stream.flush()
}

/// The code, the media type and the body of an answer.
fn reply(wanted: &Value, review: &Value) -> (u64, &'static str, String) {
    if let Some(seconds) = wanted["after"].as_u64() {
        thread::sleep(Duration::from_secs(seconds));
    }
    let code = wanted["code"].as_u64().unwrap_or(200);
    if let Some(text) = wanted["text"].as_str() {
        return (code, "text/plain", text.to_owned());
    }
    let request = &review["request"];
    let mut response = wanted.get("response").cloned().unwrap_or_else(|| json!({}));
    let usual = [("uid", request["uid"].clone()), ("allowed", json!(true))];
    for (field, value) in usual {
        if response.get(field).is_none() {
            response[field] = value;
        }
    }
    if let Some(patch) = wanted.get("patch") {
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(STANDARD.encode(patch.to_string()));
    }
    if wanted["tell"] == true {
        let mut causes = Vec::new();
        tell(request, "", &mut causes);
        response["allowed"] = json!(false);
        response["status"] = json!({"message": "as asked", "details": {"causes": causes}});
    }
    let mut answer = json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response});
    for field in ["apiVersion", "kind"] {
        if let Some(value) = wanted.get(field) {
            answer[field] = value.clone();
        }
    }
    (code, "application/json", answer.to_string())
}

/// Every field of a request as a cause of its refusal, so that it can be compared.
fn tell(value: &Value, path: &str, causes: &mut Vec<Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                tell(value, &format!("{path}/{key}"), causes);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                tell(value, &format!("{path}/{index}"), causes);
            }
        }
        // What both servers cannot have in common.
        _ if path.contains("/managedFields") || path.starts_with("/userInfo") => {}
        Value::String(_) if path.ends_with("/resourceVersion") || path.ends_with("Timestamp") => {
            causes.push(json!({"field": path, "message": "given"}));
        }
        value => causes.push(json!({"field": path, "message": value.to_string()})),
    }
}
