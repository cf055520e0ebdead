//! Runs the operator.

use std::process::ExitCode;

use podwatch::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
