//! Serves an empty cluster on loopback and prints a kubeconfig for it.
//!
//! ```text
//! cargo run -p kopf-testserver --example serve -- 127.0.0.1:8001 > kubeconfig
//! ```

use kopf_testserver::Server;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let listening = Server::new().listen(address).await?;
    println!("{}", listening.kubeconfig());
    std::future::pending().await
}
