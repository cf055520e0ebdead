//! Runs the operator.

use std::process::ExitCode;

use lighthouse::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
