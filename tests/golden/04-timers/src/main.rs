//! Runs the operator.

use std::process::ExitCode;

use gauge::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
