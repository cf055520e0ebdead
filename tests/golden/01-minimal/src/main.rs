//! Runs the operator.

use std::process::ExitCode;

fn main() -> ExitCode {
    greeter::generated::operator().main()
}
