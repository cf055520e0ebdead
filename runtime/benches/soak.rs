//! Whether memory stays as it is however long an operator runs (B-087).
//!
//! First a timer patches the status of an object of half a mebibyte every ten milliseconds, for ten minutes; then a
//! hundred thousand objects come and go, each with a timer, a daemon and an entry in an index. The operator is a program
//! of its own, on the embedded API server; its resident set is printed as it goes. One that grows after warming up is a
//! failure. `KOPF_GEN_SOAK_SECONDS` shortens the first part to so many seconds, and the second in proportion.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kopf_runtime::{
    Change, Daemon, Entries, HandlerResult, Index, IndexKey, Operator, Resource, Timer, hours, millis, secs,
};
use kopf_testserver::{Listening, Server};
use serde_json::{Value, json};

use carts::{Cart, cart, definition};
use programs::Program;
use resident::resident;

#[path = "shared/carts.rs"]
mod carts;
#[path = "shared/programs.rs"]
mod programs;
#[path = "shared/resident.rs"]
mod resident;

/// The name of the variable, and the seconds without it.
const SECONDS: (&str, u64) = ("KOPF_GEN_SOAK_SECONDS", 600);
/// Objects that come and go in a full run, and how many of them are there at once.
const CHURN: usize = 100_000;
const AT_ONCE: usize = 500;
/// Rows of each table.
const ROWS: usize = 10;
/// By how much the memory of the last third may exceed that of the second.
const GROWTH: f64 = 1.05;
/// How long a step of the operator may take.
const PATIENCE: Duration = Duration::from_secs(120);

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BEGUN: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// Carts by who has them.
#[derive(Clone, Copy, Debug)]
struct ByOwner;

impl IndexKey for ByOwner {
    const ID: &'static str = "by_owner";
    type Key = String;
    type Value = String;
}

fn main() -> ExitCode {
    let resource = match programs::role().as_deref() {
        None => return soak(),
        Some("patching") => patching(),
        Some(_) => churning(),
    };
    programs::operate(Operator::new("shop").resource(resource), || {
        [&CALLS, &BEGUN, &ENDED].map(|counter| counter.load(Ordering::Relaxed))
    })
}

/// A timer that never rests.
fn patching() -> Resource<Cart> {
    let tick = |Timer { patch, .. }: Timer<Cart>| async move {
        patch.status(json!({"calls": CALLS.fetch_add(1, Ordering::Relaxed)}));
        HandlerResult::Ok(())
    };
    Resource::of::<Cart>().timer("tick", tick, |o| o.interval(millis(10)))
}

/// Something of everything that is kept for an object.
fn churning() -> Resource<Cart> {
    let fill = |_: Change<Cart>| async { HandlerResult::Ok("filled") };
    let empty = |_: Change<Cart>| async { HandlerResult::Ok(()) };
    let tick = |_: Timer<Cart>| async {
        CALLS.fetch_add(1, Ordering::Relaxed);
        HandlerResult::Ok(())
    };
    let attend = |Daemon { stopped, .. }: Daemon<Cart>| async move {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        stopped.wait().await;
        ENDED.fetch_add(1, Ordering::Relaxed);
        HandlerResult::Ok(())
    };
    let owner = |Index { name, spec, .. }: Index<Cart>| async move {
        let owner = spec["owner"].as_str().unwrap_or_default().to_owned();
        Ok(Entries::one(owner, name.clone()))
    };
    Resource::of::<Cart>()
        .on_create("fill", fill, |o| o)
        .on_delete("empty", empty, |o| o)
        .timer("tick", tick, |o| o.interval(hours(1)))
        .daemon("attend", attend, |o| o)
        .index(ByOwner, owner, |o| o)
}

fn soak() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::var(SECONDS.0).map_or(Ok(SECONDS.1), |text| text.parse())?;
    let share = usize::try_from(seconds)? * CHURN / usize::try_from(SECONDS.1)?;
    // The server has threads of its own, so that this one may wait.
    let runtime = tokio::runtime::Runtime::new()?;
    let patched = runtime.block_on(Bench::new())?.patch(Duration::from_secs(seconds))?;
    let churned = runtime.block_on(Bench::new())?.churn(share.max(ROWS * AT_ONCE))?;
    judge("patching", &patched)?;
    judge("churning", &churned)
}

/// The last third against the second one.
fn judge(name: &str, rows: &[usize]) -> Result<(), Box<dyn Error>> {
    let mean = |rows: &[usize]| rows.iter().sum::<usize>() / rows.len().max(1);
    let third = rows.len() / 3;
    let (before, after) = (
        mean(&rows[third..rows.len() - third]),
        mean(&rows[rows.len() - third..]),
    );
    #[expect(clippy::cast_precision_loss, reason = "sizes of processes are far below 2^52 bytes")]
    let growth = after as f64 / before as f64;
    println!(
        "{name}: from {} to {} KiB, {growth:.3} times",
        before / 1024,
        after / 1024
    );
    if growth > GROWTH {
        return Err(format!("{name}: memory grew {growth:.3} times, of {GROWTH} allowed").into());
    }
    Ok(())
}

/// A server and the way to it.
struct Bench {
    server: Server,
    _listening: Listening,
    kubeconfig: PathBuf,
}

impl Bench {
    async fn new() -> Result<Self, Box<dyn Error>> {
        let server = Server::new();
        // The changes of a large object are not to fill the memory of this process.
        server.keep_changes(1_000);
        server.apply(definition())?;
        let listening = server.listen("127.0.0.1:0").await?;
        let kubeconfig = std::env::temp_dir().join(format!("kopf-gen-soak-{}", std::process::id()));
        std::fs::write(&kubeconfig, listening.kubeconfig())?;
        Ok(Self {
            server,
            _listening: listening,
            kubeconfig,
        })
    }

    fn start(&self, role: &str) -> Result<Program, Box<dyn Error>> {
        Program::start(role, Path::new(&self.kubeconfig))
    }

    /// The resident set at the end of each tenth of the time.
    fn patch(self, time: Duration) -> Result<Vec<usize>, Box<dyn Error>> {
        let mut large = cart(0);
        let line = "0123456789abcdef".repeat(64);
        large["spec"]["lines"] = Value::Array(vec![line.into(); 512]);
        self.server.apply(large)?;
        let mut program = self.start("patching")?;
        until(|| Ok(program.counters()?[0] > 0))?;
        println!("an object of 0.5 MiB whose timer patches its status every 10 ms");
        println!("{:>10} {:>10} {:>14}", "seconds", "calls", "resident, KiB");
        let (begin, mut rows) = (Instant::now(), Vec::new());
        for row in 1..=ROWS {
            let end = time * u32::try_from(row)? / u32::try_from(ROWS)?;
            // One moment says little: the mean of many does.
            let mut samples = Vec::new();
            while begin.elapsed() < end {
                std::thread::sleep(millis(100));
                samples.push(resident(&program.process())?);
            }
            let mean = samples.iter().sum::<usize>() / samples.len().max(1);
            println!(
                "{:>10} {:>10} {:>14}",
                end.as_secs(),
                program.counters()?[0],
                mean / 1024
            );
            rows.push(mean);
        }
        program.terminate(secs(30))?;
        Ok(rows)
    }

    /// The resident set while nothing is there, after each tenth of the objects.
    fn churn(self, count: usize) -> Result<Vec<usize>, Box<dyn Error>> {
        let mut program = self.start("churning")?;
        println!("objects that come and go, {AT_ONCE} at once");
        println!("{:>10} {:>14}", "objects", "resident, KiB");
        let mut rows = Vec::new();
        let mut made = 0;
        for row in 1..=ROWS {
            while made < count * row / ROWS {
                self.come_and_go(&mut program, made)?;
                made += AT_ONCE;
            }
            let resident = resident(&program.process())?;
            println!("{made:>10} {:>14}", resident / 1024);
            rows.push(resident);
        }
        program.terminate(secs(30))?;
        Ok(rows)
    }

    /// Makes some objects, waits until each has been handled and has its timer and daemon, and deletes them.
    fn come_and_go(&self, program: &mut Program, made: usize) -> Result<(), Box<dyn Error>> {
        const CARTS: kopf_testserver::Resource<'static> =
            kopf_testserver::Resource::new("shop.example.com", "v1", "carts");
        for number in made..made + AT_ONCE {
            let mut cart = cart(number);
            cart["metadata"]["annotations"] = Value::Null;
            self.server.apply(cart)?;
        }
        let all = made + AT_ONCE;
        until(|| {
            let counters = program.counters()?;
            let filled = |cart: &Value| cart["status"]["fill"] == "filled";
            Ok(counters[..2] == [all, all] && self.server.list(CARTS, None).iter().all(filled))
        })?;
        for number in made..made + AT_ONCE {
            self.server.delete(CARTS, Some("default"), &format!("cart-{number}"))?;
        }
        until(|| Ok(program.counters()?[2] == all && self.server.list(CARTS, None).is_empty()))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

fn until(mut condition: impl FnMut() -> Result<bool, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    while !condition()? {
        if begin.elapsed() > PATIENCE {
            return Err("the operator has not come so far".into());
        }
        std::thread::sleep(millis(20));
    }
    Ok(())
}
