//! Connections to webhooks: HTTP/1.1 over TLS, with the certificates of their configurations.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::admission::network::Address;

/// The answer of a webhook.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) code: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Posts a review; what goes wrong on the way is told as the server's library tells it.
pub(super) async fn post(
    address: &Address,
    (host, port): (&str, u16),
    authorities: Option<&[u8]>,
    body: Vec<u8>,
) -> Result<Reply, String> {
    let socket = TcpStream::connect((host, port)).await;
    let socket = socket.map_err(|error| dial_fault(host, port, &error))?;
    let name = ServerName::try_from(address.name.clone()).map_err(|error| error.to_string())?;
    let connector = TlsConnector::from(Arc::new(client(authorities)?));
    let stream = connector.connect(name, socket).await;
    let stream = stream.map_err(|error| tls_fault(&address.name, &error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let target = address
        .url
        .split_once(&address.authority)
        .map_or("/", |(_, target)| target);
    let request = Request::post(target)
        .header("host", &address.authority)
        .header("user-agent", "kube-apiserver-admission")
        .header("accept", "application/json, */*")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await;
    let (head, body) = response.map_err(|error| exchange_fault(&error))?.into_parts();
    let body = body.collect().await.map_err(|error| exchange_fault(&error))?;
    Ok(Reply {
        code: head.status,
        headers: head.headers,
        body: body.to_bytes(),
    })
}

fn client(authorities: Option<&[u8]>) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let authorities: Vec<CertificateDer<'static>> = match authorities {
        // Anything in between that is no certificate is skipped, as in the real server.
        Some(pem) => CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect(),
        None => rustls_native_certs::load_native_certs().certs,
    };
    let verifier = Arc::new(Verifier::new(authorities, Arc::clone(&provider)));
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?.dangerous();
    Ok(builder.with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Verifies chains as usual, and also accepts a certificate that is itself among the authorities, as Go does: quickly
/// made certificates are often their own authority, which the library takes for a fault.
#[derive(Debug)]
struct Verifier {
    authorities: Vec<CertificateDer<'static>>,
    /// Missing if there is no authority to trust.
    chains: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn new(authorities: Vec<CertificateDer<'static>>, provider: Arc<CryptoProvider>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities.iter().cloned());
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        Self {
            authorities,
            chains: chains.ok(),
            provider,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.authorities.iter().any(|authority| authority == certificate) {
            let parsed = ParsedCertificate::try_from(certificate)?;
            rustls::client::verify_server_name(&parsed, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        let Some(chains) = &self.chains else {
            return Err(CertificateError::UnknownIssuer.into());
        };
        chains.verify_server_cert(certificate, intermediates, name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn dial_fault(host: &str, port: u16, error: &io::Error) -> String {
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("dial tcp {host}:{port}: connect: connection refused"),
        // Addresses that were looked up have a number of the system; failed look-ups have none.
        _ if error.raw_os_error().is_none() => format!("dial tcp: lookup {host}: no such host"),
        _ => format!("dial tcp {host}:{port}: connect: {error}"),
    }
}

fn tls_fault(host: &str, error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let Some(Error::InvalidCertificate(fault)) = inner else {
        return match (inner, error.kind()) {
            (Some(Error::InvalidMessage(_)), _) => "tls: first record does not look like a TLS handshake".into(),
            (None, io::ErrorKind::UnexpectedEof) => "EOF".into(),
            _ => error.to_string(),
        };
    };
    let time = |time: &UnixTime| {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        Timestamp::from_second(seconds).unwrap_or_default().to_string()
    };
    let range = |now: &UnixTime, word: &str, limit: &UnixTime| {
        let (now, limit) = (time(now), time(limit));
        format!("certificate has expired or is not yet valid: current time {now} is {word} {limit}")
    };
    let why = match fault {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".into(),
        CertificateError::ExpiredContext { time, not_after } => range(time, "after", not_after),
        CertificateError::NotValidYetContext { time, not_before } => range(time, "before", not_before),
        CertificateError::NotValidForNameContext { presented, .. } => name_fault(host, presented),
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

/// `presented` are names as the library shows them: `DnsName("a")` or `IpAddress(1.2.3.4)`.
fn name_fault(host: &str, presented: &[String]) -> String {
    let of = |form: &str| {
        let names = presented.iter().filter_map(|name| {
            let inner = name.strip_prefix(form)?.strip_prefix('(')?.strip_suffix(')')?;
            Some(inner.trim_matches('"').to_owned())
        });
        names.collect::<Vec<_>>()
    };
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    let names = of(if is_address { "IpAddress" } else { "DnsName" });
    match (is_address, names.is_empty()) {
        (true, true) => format!("cannot validate certificate for {host} because it doesn't contain any IP SANs"),
        (false, true) => format!("certificate is not valid for any names, but wanted to match {host}"),
        _ => format!("certificate is valid for {}, not {host}", names.join(", ")),
    }
}

fn exchange_fault(error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_closed() {
        "EOF".into()
    } else {
        error.to_string()
    }
}
