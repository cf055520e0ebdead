//! Runs the operator.

use std::process::ExitCode;

use greeter::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
