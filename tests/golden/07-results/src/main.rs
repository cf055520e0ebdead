//! Runs the operator.

use std::process::ExitCode;

use landlord::generated;

fn main() -> ExitCode {
    generated::operator().main()
}
