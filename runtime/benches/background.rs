//! What timers and daemons cost: ten thousand objects with one of each, beside the same operator without them.
//!
//! The operator is a program of its own, on the embedded API server. It prints the memory for each object, the CPU time
//! at rest and while each timer ticks every ten seconds, and the requests made; at the end, how long all takes to stop
//! on SIGTERM. What exceeds its limit is a failure.

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kopf_runtime::{Change, Daemon, HandlerResult, Operator, Resource, Timer, hours, secs};
use kopf_testserver::{Listening, Server};

use carts::{Cart, cart, definition};
use programs::Program;
use resident::resident;

#[path = "shared/carts.rs"]
mod carts;
#[path = "shared/programs.rs"]
mod programs;
#[path = "shared/resident.rs"]
mod resident;

const COUNT: usize = 10_000;
/// Bytes of the resident set for each object, with its timer and its daemon, which see all of its two kilobytes live.
const LIMIT: usize = 40 * 1024;
/// How long CPU time is measured.
const WINDOW: Duration = Duration::from_secs(30);
/// The share of one core that may be used while nothing is to be done.
const RESTING: f64 = 0.01;
/// Microseconds of CPU time for one call of a timer that has nothing to say.
const TICK: f64 = 200.0;
/// What a pod has from SIGTERM on, unless its manifest says otherwise.
const GRACE: Duration = Duration::from_secs(30);

static TICKS: AtomicUsize = AtomicUsize::new(0);
static BEGUN: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);

fn main() -> ExitCode {
    let interval = match programs::role().as_deref() {
        None => return compare(),
        Some("plain") => None,
        Some("resting") => Some(hours(1)),
        Some(_) => Some(secs(10)),
    };
    programs::operate(operator(interval), || {
        [&TICKS, &BEGUN, &ENDED].map(|counter| counter.load(Ordering::Relaxed))
    })
}

/// An operator of changes, with a timer and a daemon besides if there is an interval.
fn operator(interval: Option<Duration>) -> Operator {
    let handler = |_: Change<Cart>| async { HandlerResult::Ok(()) };
    let tick = |_: Timer<Cart>| async {
        TICKS.fetch_add(1, Ordering::Relaxed);
        HandlerResult::Ok(())
    };
    let attend = |Daemon { stopped, .. }: Daemon<Cart>| async move {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        stopped.wait().await;
        ENDED.fetch_add(1, Ordering::Relaxed);
        HandlerResult::Ok(())
    };
    let plain = Resource::of::<Cart>()
        .on_create("fill", handler, |o| o)
        .on_update("fill", handler, |o| o);
    Operator::new("shop").resource(match interval {
        None => plain,
        Some(interval) => plain
            .timer("tick", tick, |o| o.interval(interval))
            .daemon("attend", attend, |o| o),
    })
}

fn compare() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures one operator after the other.
#[tokio::main]
async fn measure() -> Result<(), Box<dyn Error>> {
    let plain = [measured("plain", 1).await?, measured("plain", COUNT).await?];
    let resting = [measured("resting", 1).await?, measured("resting", COUNT).await?];
    let ticking = [measured("ticking", 1).await?, measured("ticking", COUNT).await?];
    let each = |[few, many]: &[Measured; 2]| many.resident.saturating_sub(few.resident) / (COUNT - 1);
    let (without, fresh, all) = (each(&plain), each(&resting), each(&ticking));
    let ticking = &ticking[1];
    let cpu = |measured: &Measured| measured.cpu.as_secs_f64() / WINDOW.as_secs_f64();
    let tick = ticking.cpu.as_secs_f64() * 1e6 / f64::from(u32::try_from(ticking.ticks)?);
    let (percent, window) = (100.0 * RESTING, WINDOW.as_secs());
    println!("{COUNT} objects, each with a timer and a daemon");
    println!("memory of an object, all in:        {all:>8} bytes, of {LIMIT} allowed");
    println!(
        "  above the operator without them:  {:>8} bytes",
        all.saturating_sub(without)
    );
    println!("  just after finalizers were set:   {fresh:>8} bytes, what the allocator keeps included");
    println!("CPU in {window} s:");
    println!("  at rest, without them:            {:>8.2} %", 100.0 * cpu(&plain[1]));
    println!(
        "  at rest:                          {:>8.2} %, of {percent} allowed",
        100.0 * cpu(&resting[1])
    );
    println!(
        "  ticking every 10 s:               {:>8.2} %, {} calls",
        100.0 * cpu(ticking),
        ticking.ticks
    );
    println!("  for each call:                    {tick:>8.1} µs, of {TICK} allowed");
    println!("requests from the first start to rest, and later:");
    println!(
        "  without them:                     {:>8}, {}",
        plain[1].begun, plain[1].rested
    );
    println!(
        "  with them, finalizers to be set:  {:>8}, {}",
        resting[1].begun, resting[1].rested
    );
    println!(
        "  ticking, after that:              {:>8}, {}",
        ticking.begun, ticking.rested
    );
    println!("all stopped after SIGTERM, of {} s allowed:", GRACE.as_secs());
    println!(
        "  at rest:                          {:>8.2} s",
        resting[1].stop.as_secs_f64()
    );
    println!(
        "  ticking:                          {:>8.2} s",
        ticking.stop.as_secs_f64()
    );
    let faults = [
        (all > LIMIT, "memory"),
        (cpu(&resting[1]) > RESTING, "CPU at rest"),
        (tick > TICK, "CPU of a call"),
        (resting[1].rested > 10 || ticking.rested > 10, "requests at rest"),
    ];
    match faults.iter().find(|(is_fault, _)| *is_fault) {
        Some((_, name)) => Err(format!("more than allowed: {name}").into()),
        None => Ok(()),
    }
}

/// What one operator used.
struct Measured {
    resident: usize,
    /// Of all cores, within the window.
    cpu: Duration,
    /// Calls of timers within the window.
    ticks: usize,
    /// Requests until it rested.
    begun: usize,
    /// Requests within the window.
    rested: usize,
    /// From SIGTERM to its end.
    stop: Duration,
}

/// Runs an operator with so many objects until it rests, watches it for a while, and stops it.
async fn measured(role: &'static str, count: usize) -> Result<Measured, Box<dyn Error>> {
    let server = Server::new();
    server.apply(definition())?;
    for number in 0..count {
        let mut cart = cart(number);
        if role == "ticking" {
            cart["metadata"]["finalizers"] = serde_json::json!(["kopf.zalando.org/KopfFinalizerMarker"]);
        }
        server.apply(cart)?;
    }
    let listening = server.listen("127.0.0.1:0").await?;
    tokio::task::spawn_blocking(move || watch(role, count, &server, &listening).map_err(|error| error.to_string()))
        .await?
        .map_err(Into::into)
}

fn watch(role: &str, count: usize, server: &Server, listening: &Listening) -> Result<Measured, Box<dyn Error>> {
    let kubeconfig = std::env::temp_dir().join(format!("kopf-gen-bench-{}", std::process::id()));
    std::fs::write(&kubeconfig, listening.kubeconfig())?;
    // The few are looked at for their memory only.
    let window = if count == COUNT { WINDOW } else { Duration::ZERO };
    let expected = if role == "plain" { 0 } else { count };
    let mut program = Program::start(role, &kubeconfig)?;
    let process = program.process();
    let begin = Instant::now();
    while program.counters()?[1] < expected || server.audit().with_verb("watch").is_empty() {
        if begin.elapsed() > Duration::from_secs(300) {
            return Err("not all daemons began".into());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // What is left of the beginning: echoes, tasks that end.
    std::thread::sleep(Duration::from_secs(5));
    let (begun, ticks, cpu) = (server.audit().len(), program.counters()?[0], used(&process)?);
    std::thread::sleep(window);
    let mut measured = Measured {
        resident: resident(&process)?,
        cpu: used(&process)?.saturating_sub(cpu),
        ticks: program.counters()?[0] - ticks,
        begun,
        rested: server.audit().len() - begun,
        stop: Duration::ZERO,
    };
    let (stop, counters) = program.terminate(GRACE)?;
    if counters[1..] != [expected, expected] {
        return Err(format!("of {expected} daemons {} began and {} ended", counters[1], counters[2]).into());
    }
    measured.stop = stop;
    std::fs::remove_file(&kubeconfig)?;
    Ok(measured)
}

/// The CPU time that a process used so far, on all cores.
fn used(process: &str) -> Result<Duration, Box<dyn Error>> {
    /// Of all systems that are built for today.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program may have spaces in it; behind it, user and system time are the 12th and 13th.
    let (_, rest) = stat.rsplit_once(')').ok_or("this system does not tell the CPU time")?;
    let times: Result<Vec<f64>, _> = rest.split_whitespace().skip(11).take(2).map(str::parse).collect();
    Ok(Duration::from_secs_f64(times?.iter().sum::<f64>() / TICKS_PER_SECOND))
}
