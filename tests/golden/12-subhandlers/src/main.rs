//! Runs the operator.

use std::process::ExitCode;

use granter::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
