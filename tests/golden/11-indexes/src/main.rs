//! Runs the operator.

use std::process::ExitCode;

use harbour::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
