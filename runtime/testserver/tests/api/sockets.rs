use kopf_testserver::{Failure, Traffic};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{greeting, server};

#[tokio::test]
async fn a_listening_server_answers_and_streams_until_it_is_shut_down() {
    let server = server();
    let listening = server.listen("127.0.0.1:0").await.unwrap();
    assert!(
        listening
            .kubeconfig()
            .contains(&format!("server: {}\n", listening.url()))
    );

    let mut stream = TcpStream::connect(listening.address()).await.unwrap();
    let path = "/apis/demo.example.com/v1/greetings?watch=true";
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes())
        .await
        .unwrap();
    server.apply(greeting("hello")).unwrap();
    let mut text = String::new();
    while !text.contains("hello") {
        let mut part = [0; 4096];
        let length = stream.read(&mut part).await.unwrap();
        text.push_str(&String::from_utf8_lossy(&part[..length]));
    }
    assert!(
        text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("ADDED"),
        "{text}"
    );

    listening.shutdown().await;
    let mut rest = Vec::new();
    // Either the end or a broken connection: both mean that it is closed.
    let _ = stream.read_to_end(&mut rest).await;
}

#[tokio::test]
async fn a_scripted_reset_closes_the_connection() {
    let server = server();
    let listening = server.listen("127.0.0.1:0").await.unwrap();
    server.faults().plan(Traffic::any().verb("get"), 1, Failure::Reset);
    let mut stream = TcpStream::connect(listening.address()).await.unwrap();
    stream
        .write_all(b"GET /version HTTP/1.1\r\nHost: here\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer).await;
    assert!(end.is_err() || answer.is_empty());
}
