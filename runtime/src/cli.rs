//! The command line of an operator, with Kopf's options (CLI-02, CLI-03).

use std::process::ExitCode;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;

use crate::engines::probing::Endpoint;
use crate::logging::{self, LogFormat, Verbosity};
use crate::operator::{Operator, RunOptions};
use crate::structs::errors::causes;

#[derive(Parser)]
#[command(about = "A Kubernetes operator", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Watches the cluster and handles its objects
    Run(RunArgs),
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
struct RunArgs {
    /// Namespace to serve; repeatable
    #[arg(short, long = "namespace", value_name = "NAME", conflicts_with = "all_namespaces", value_parser = NonEmptyStringValueParser::new())]
    namespace: Vec<String>,
    /// Serves all namespaces and cluster-scoped objects
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Ignores other operators; the only mode there is for now
    #[arg(long)]
    standalone: bool,
    /// Takes over from all other operators while it runs (not supported yet)
    #[arg(long)]
    dev: bool,
    /// Priority among operators of one peering (not supported yet)
    #[arg(short, long, value_name = "NUMBER", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// Name of the peering object (not supported yet)
    #[arg(short = 'P', long, value_name = "NAME")]
    peering: Option<String>,
    /// Where to serve the probes, such as <http://0.0.0.0:8081/healthz>
    #[arg(short = 'L', long, value_name = "URL")]
    liveness: Option<Endpoint>,
    /// Logs more: why things are done
    #[arg(short, long)]
    verbose: bool,
    /// Logs most: also what the libraries underneath do
    #[arg(short, long)]
    debug: bool,
    /// Logs warnings and errors only
    #[arg(short, long)]
    quiet: bool,
    /// Shape of the log lines
    #[arg(long, value_enum, default_value = "full", value_name = "FORMAT", ignore_case = true)]
    log_format: LogFormat,
}

impl RunArgs {
    fn verbosity(&self) -> Verbosity {
        // The louder option wins (LOG-05).
        match self {
            Self { debug: true, .. } => Verbosity::Debug,
            Self { verbose: true, .. } => Verbosity::Verbose,
            Self { quiet: true, .. } => Verbosity::Quiet,
            _ => Verbosity::Normal,
        }
    }

    /// What the command line asks for and this version lacks.
    fn unsupported(&self) -> Option<String> {
        let option = match self {
            Self { dev: true, .. } => "--dev",
            Self { priority: Some(_), .. } => "--priority",
            Self { peering: Some(_), .. } => "--peering",
            _ => {
                let is_pattern = |name: &&String| name.contains(['*', '?', '!', ',']);
                return self.namespace.iter().find(is_pattern).map(|name| {
                    format!("the namespace pattern '{name}' is not supported yet: name each namespace with its own --namespace")
                });
            }
        };
        Some(format!("{option} is not supported yet: the operator runs standalone"))
    }
}

pub(crate) fn main(operator: Operator) -> ExitCode {
    // clap keeps names for the life of the program.
    let name: &'static str = operator.name().to_owned().leak();
    let command = Arguments::command().name(name);
    let matches = command.clone().get_matches();
    let Command::Run(run) = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments.command,
        Err(error) => error.exit(),
    };
    if let Some(message) = run.unsupported() {
        command
            .clone()
            .error(clap::error::ErrorKind::InvalidValue, message)
            .exit();
    }
    logging::init(run.verbosity(), run.log_format);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::Error::from(error).context("cannot start the async runtime")),
    };
    let ended = runtime.block_on(serve(operator, run));
    // A blocking handler may still run; the process does not wait for it.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn fail(error: &anyhow::Error) -> ExitCode {
    tracing::error!("{}", causes(error.as_ref()));
    ExitCode::FAILURE
}

async fn serve(operator: Operator, run: RunArgs) -> anyhow::Result<()> {
    use anyhow::Context as _;

    let name = operator.name().to_owned();
    tracing::info!("Starting {name} standalone: other operators are not looked for");
    if run.namespace.is_empty() && !run.all_namespaces {
        tracing::warn!("Serving all namespaces, since neither --namespace nor --all-namespaces is given");
    }
    let config = Config::infer()
        .await
        .context("cannot find out how to reach a cluster")?;
    let client = client(config, &name, operator.connect_timeout())?;
    let stopping = CancellationToken::new();
    tokio::spawn(stop_on_signal(stopping.clone()));
    let options = RunOptions::new(client)
        .namespaces(run.namespace)
        .probed_at(run.liveness)
        .stop_on(stopping);
    operator.run(options).await?;
    tracing::info!("Stopped");
    Ok(())
}

/// A client that names the operator in its User-Agent.
fn client(mut config: Config, name: &str, connect_timeout: Option<Duration>) -> anyhow::Result<Client> {
    let agent = http::HeaderValue::from_str(name)?;
    config.connect_timeout = connect_timeout.or(config.connect_timeout);
    config.headers.push((http::header::USER_AGENT, agent));
    Ok(Client::try_from(config)?)
}

async fn stop_on_signal(stopping: CancellationToken) {
    let name = first_signal().await;
    tracing::info!("Stopping on {name}");
    stopping.cancel();
    // Whoever asks twice means it.
    let name = first_signal().await;
    tracing::warn!("Stopping at once on a second {name}");
    std::process::exit(1);
}

async fn first_signal() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> RunArgs {
        let Command::Run(run) = Arguments::parse_from(line.split(' ')).command;
        run
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    // LOG-05
    #[test]
    fn the_louder_option_wins() {
        assert_eq!(parse("op run -q -v").verbosity(), Verbosity::Verbose);
        assert_eq!(parse("op run -q").verbosity(), Verbosity::Quiet);
        assert_eq!(parse("op run").verbosity(), Verbosity::Normal);
    }

    // CLI-03, CLI-05
    #[test]
    fn namespaces_repeat_and_exclude_the_whole_cluster() {
        assert_eq!(parse("op run -n a --namespace b").namespace, ["a", "b"]);
        assert!(Arguments::try_parse_from(["op", "run", "-A", "-n", "a"]).is_err());
        assert!(Arguments::try_parse_from(["op", "run", "-n", ""]).is_err());
    }

    #[test]
    fn what_is_not_supported_yet_is_refused() {
        for line in [
            "op run --dev",
            "op run --priority 5",
            "op run -P default",
            "op run -n team-*",
        ] {
            let message = parse(line).unsupported().expect(line);
            assert!(message.contains("not supported yet"), "{message}");
        }
        assert_eq!(parse("op run -A --standalone").unsupported(), None);
    }
}
