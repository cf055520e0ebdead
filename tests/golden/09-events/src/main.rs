//! Runs the operator.

use std::process::ExitCode;

use crier::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
