//! The memory that objects at rest cost: those that were handled before, and have only handlers of changes.
//!
//! The operator runs in a process of its own, once with one object and once with many; the difference of the resident
//! sets is theirs. More than a kibibyte each is a failure.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use kopf_runtime::kube::{Client, Config};
use kopf_runtime::{Change, HandlerResult, Operator, Resource};
use kopf_testserver::Server;

use carts::{Cart, cart, definition};
use resident::resident;

#[path = "shared/carts.rs"]
mod carts;
#[path = "shared/resident.rs"]
mod resident;

const COUNT: usize = 20_000;
/// Bytes of the resident set for each of them.
const LIMIT: usize = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|argument| argument == "--operator") {
        Some(index) => operate(arguments.get(index + 1).ok_or("the address is missing")?),
        None => compare(),
    }
}

/// Measures both operators and says what the difference is.
#[tokio::main]
async fn compare() -> Result<(), Box<dyn Error>> {
    let few = measure(1).await?;
    let many = measure(COUNT).await?;
    let each = many.saturating_sub(few) / (COUNT - 1);
    println!("resident with 1 object:         {:>8} KiB", few / 1024);
    println!("resident with {COUNT} objects:    {:>8} KiB", many / 1024);
    println!("for each object:                {each:>8} bytes, of {LIMIT} allowed");
    if each > LIMIT {
        return Err(format!("{each} bytes for each object").into());
    }
    Ok(())
}

/// The resident set, in bytes, of an operator with so many objects.
async fn measure(count: usize) -> Result<usize, Box<dyn Error>> {
    let server = Server::new();
    server.apply(definition())?;
    for number in 0..count {
        server.apply(cart(number))?;
    }
    let listening = server.listen("127.0.0.1:0").await?;
    let mut operator = Command::new(std::env::current_exe()?);
    operator.args(["--operator", &listening.url()]);
    let output = tokio::task::spawn_blocking(move || operator.output()).await??;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let patches = server.audit().with_verb("patch").len();
    if patches > 0 {
        return Err(format!("the objects count as handled, and yet there were {patches} patches").into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// The other process: runs an operator until it rests, and prints its resident set in bytes.
///
/// The runtime is that of `Operator::main`.
#[tokio::main]
async fn operate(url: &str) -> Result<(), Box<dyn Error>> {
    let client = Client::try_from(Config::new(url.parse()?))?;
    let handler = |_: Change<Cart>| async { HandlerResult::Ok(()) };
    let resource = Resource::of::<Cart>()
        .on_create("fill", handler, |o| o)
        .on_update("fill", handler, |o| o);
    let operator = Operator::new("shop").resource(resource).start(client);
    operator.ready().await;
    // At rest, only the stream has a task.
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut before = usize::MAX;
    while before != tasks() {
        before = tasks();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    println!("{}", resident("self")?);
    operator.stop().await;
    Ok(())
}
