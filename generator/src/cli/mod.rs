//! Arguments, and the exit status of each command.

mod generate;
mod new;
mod output;
mod project;
mod trial;
mod try_;
mod validate;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::{env, io};

use clap::{Parser, Subcommand};

/// Generates Kubernetes operators in Rust from one YAML spec.
#[derive(Debug, Parser)]
#[command(name = "kopf-gen", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the project of a new operator.
    New(new::Arguments),
    /// Bring the project in this folder up to date with its operator.yaml.
    Generate(generate::Arguments),
    /// Check a spec, and write nothing.
    Validate(validate::Arguments),
    /// Build a spec's operator and run it on its samples, without a cluster.
    Try(try_::Arguments),
}

/// How a command ended, unless it failed on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Nothing to do, or done.
    Done = 0,
    /// `--check` found differences.
    Differs = 1,
    /// The spec is not valid.
    Invalid = 2,
    /// A conflict, or an edit where nobody edits.
    Conflict = 3,
    /// The disk, or a fault in kopf-gen.
    Failed = 4,
    /// `try` could not build the operator.
    BuildFailed = 5,
    /// A handler failed in `try`, or a sample was refused.
    HandlerFailed = 6,
}

/// Runs the command that the arguments name.
pub(crate) fn main() -> ExitCode {
    // A usage error is not a finding of `--check`, so clap's own status does not fit.
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let status = if error.use_stderr() {
                Status::Invalid
            } else {
                Status::Done
            };
            // There is nowhere else to say that the terminal is gone.
            drop(error.print());
            return ExitCode::from(status as u8);
        }
    };
    let result = match &arguments.command {
        Command::New(arguments) => new::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Validate(arguments) => validate::run(arguments),
        Command::Try(arguments) => try_::run(arguments),
    };
    let status = result.unwrap_or_else(|error| {
        output::error(&error);
        Status::Failed
    });
    ExitCode::from(status as u8)
}

/// Whether messages may be coloured.
pub(crate) fn use_color() -> bool {
    io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
