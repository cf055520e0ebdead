//! The command `kopf-gen`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
