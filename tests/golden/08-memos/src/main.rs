//! Runs the operator.

use std::process::ExitCode;

use switchboard::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
