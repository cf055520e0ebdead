//! Runs the operator.

use std::process::ExitCode;

use courier::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
